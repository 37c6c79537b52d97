#include "analysis/export/heap_text.h"

#include <fmt/format.h>

#include <iterator>
#include <map>

#include "analysis/export/address_layout.h"
#include "analysis/export/frame_name.h"
#include "analysis/export/heap_text_rows.h"
#include "analysis/export/program.h"
#include "analysis/profile/labels.h"

namespace geiger::exports {
namespace {

using profile::Recording;

/// A name on a line where "--" has a meaning.
std::string symbol_name(std::string_view function) {
  std::string name = line_name(function);
  for (std::size_t at = 0; (at = name.find("--", at)) != std::string::npos;) {
    name.insert(++at, 1, ' ');
  }
  return name;
}

class HeapTextWriter {
 public:
  HeapTextWriter(const Recording& recording, HeapTextTable table, const Sink& sink)
      : recording_(recording), table_(std::move(table)), layout_(recording), sink_(sink) {
    for (const HeapTextRow& row : table_.rows) note_stack(row.stack);
  }

  void write(const std::vector<std::string>& comments) {
    if (has_names_) write_symbols();
    write_header();
    for (const std::string& comment : comments) append("# {}\n", line_name(comment));
    for (const HeapTextRow& row : table_.rows) write_row(row);
    write_modules();
    sink_(out_);
  }

 private:
  template <typename... Values>
  void append(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    if (out_.size() < kFlushAt) return;
    sink_(out_);
    out_.clear();
  }

  /// Addresses, leaf first. A reader needs one at least.
  const std::string& addresses_of(std::uint32_t stack) {
    std::string& text = stacks_[stack];
    if (!text.empty()) return text;
    if (stack < recording_.stacks.size()) {
      for (const std::uint32_t location : recording_.stacks[stack].locations) {
        fmt::format_to(std::back_inserter(text), " 0x{:x}", layout_.of(location));
      }
      if (recording_.stacks[stack].is_truncated) text += mark("[truncated]", truncated_);
    }
    if (text.empty()) text = mark("[no stack]", no_stack_);
    return text;
  }

  std::string mark(const char* name, Address& address) {
    if (address == 0) address = layout_.unused();
    names_[address] = name;
    return fmt::format(" 0x{:x}", address);
  }

  void note_stack(std::uint32_t stack) {
    addresses_of(stack);
    if (stack >= recording_.stacks.size()) return;
    for (const std::uint32_t index : recording_.stacks[stack].locations) {
      std::string& name = names_[layout_.of(index)];
      if (!name.empty()) continue;
      const profile::Location& location = recording_.locations[index];
      has_names_ |= !location.frames.empty();
      name = name_of(location);
    }
  }

  /// Functions, outermost first.
  [[nodiscard]] std::string name_of(const profile::Location& location) const {
    if (location.frames.empty()) return symbol_name(profile::address_name(recording_, location));
    std::string name;
    for (auto at = location.frames.rbegin(); at != location.frames.rend(); ++at) {
      if (!name.empty()) name += "--";
      name += symbol_name(recording_.frames[*at].function);
    }
    return name;
  }

  void write_symbols() {
    append("--- symbol\nbinary={}\n", line_name(program_of(recording_)));
    for (const auto& [address, name] : names_) append("0x{:x} {}\n", address, name);
    append("---\n");
  }

  void write_header() {
    HeapTextRow whole;
    for (const HeapTextRow& row : table_.rows) {
      whole.live.count += row.live.count;
      whole.live.bytes += row.live.bytes;
      whole.allocated.count += row.allocated.count;
      whole.allocated.bytes += row.allocated.bytes;
    }
    append("heap profile: {}", numbers_of(whole));
    if (table_.interval == 0) return append("heapprofile\n");
    append("heap_v2/{}\n", table_.interval);
  }

  void write_row(const HeapTextRow& row) {
    append("{}", numbers_of(row));
    append("{}\n", std::string_view(addresses_of(row.stack)).substr(1));
  }

  static std::string numbers_of(const HeapTextRow& row) {
    return fmt::format("{:6}: {:8} [{:6}: {:8}] @ ", row.live.count, row.live.bytes,
                       row.allocated.count, row.allocated.bytes);
  }

  /// As /proc/PID/maps has them. Offsets are those of whole files, which begin with their first
  /// segment.
  void write_modules() {
    append("\nMAPPED_LIBRARIES:\n");
    for (const PlacedModule& placed : layout_.modules()) {
      append("{:x}-{:x} r-xp 00000000 00:00 0 {}\n", placed.start, placed.end,
             line_name(recording_.modules[placed.module].path));
    }
  }

  const Recording& recording_;
  const HeapTextTable table_;
  AddressLayout layout_;
  const Sink& sink_;
  std::string out_;
  std::map<std::uint32_t, std::string> stacks_;
  std::map<Address, std::string> names_;
  Address no_stack_ = 0, truncated_ = 0;
  bool has_names_ = false;
};

}  // namespace

void write_heap_text(const Recording& recording, const profile::Profile& allocated,
                     const profile::Profile& live, const std::vector<std::string>& comments,
                     const Sink& sink) {
  HeapTextWriter writer(recording, heap_text_table(recording, allocated, live), sink);
  writer.write(comments);
}

}  // namespace geiger::exports
