// Gives every location an address of its own, for formats that identify locations only by address.
#include "analysis/export/heap_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/export/shown_stacks.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "estimation/counts.h"

namespace geiger::exports {

/// A module where its locations have their addresses.
struct PlacedModule {
  std::uint32_t module = profile::kNone;
  Address start = 0, end = 0;
};

/// Modules stay where they were mapped, unless another one is there: those of several processes
/// may overlap. Then they move, whole, after all others.
class AddressLayout {
 public:
  /// The recording must outlive it.
  explicit AddressLayout(const profile::Recording& recording);

  /// Where the program's module stands first.
  [[nodiscard]] const std::vector<PlacedModule>& modules() const { return modules_; }
  /// Of a location: the run-time address that was recorded, moved as its module was; an unused one
  /// where that is another location's (the same place without what was trimmed) or, outside of
  /// modules, means something else too. Never 0.
  [[nodiscard]] Address of(std::uint32_t location);
  /// An address that no location has.
  [[nodiscard]] Address unused() { return next_++; }

 private:
  /// Takes at least this many bytes.
  void place(PlacedModule& placed, Address least);
  [[nodiscard]] bool is_free(Address start, Address end) const;
  [[nodiscard]] Address distance(const profile::Location& location) const;

  const profile::Recording& recording_;
  std::vector<PlacedModule> modules_;
  std::vector<Address> starts_;       ///< By module.
  std::map<Address, Address> taken_;  ///< By modules; ends by starts.
  std::set<Address> given_;           ///< What locations have already.
  std::vector<Address> by_location_;  ///< 0: not looked up yet.
  Address next_ = 0;                  ///< Nothing is here or after.
};

// The rows of a heap text: numbers that a reader scales up by a formula of its own.
//
// A reader takes a row of n objects and b bytes for n samples, each drawn with probability 1 -
// e^(-b/(nR)), R being the interval of the header. Samples that were drawn that way stand in their
// row as they are. Others (certain ones, thinned ones, those of another interval) are written as
// numbers whose scaled bytes are the estimate; readers do not scale a row of bytes without objects.

/// Before a reader scales them up.
struct RowObjects {
  std::uint64_t count = 0;
  Bytes bytes = 0;
};

struct HeapTextRow {
  std::uint32_t stack = profile::kNone;
  RowObjects live, allocated;
};

struct HeapTextTable {
  std::vector<HeapTextRow> rows;  ///< In order of stacks.
  /// R; 0: everything was recorded, and no reader is to scale anything.
  Bytes interval = 0;
};

/// Bytes of each stack are its estimate once a reader has scaled them up, to half a byte per row
/// and, as readers take e^(-b/(nR)) for (1 - 1/R)^(b/n), to one part in 2R; so are objects, but for
/// stacks of less than a sample's worth: these are right together, to about one object. Where what
/// is live was drawn with another interval than what was allocated (at the peak, when thinned),
/// there is one R only: `allocated` repeats `live` then, as in heap texts that contain nothing
/// else.
[[nodiscard]] HeapTextTable heap_text_table(const profile::Recording& recording,
                                            const profile::Profile& allocated,
                                            const profile::Profile& live);

namespace {

constexpr Address kPage = 4096;
/// More than any program's file: a location further away is not of its module.
constexpr Address kFarthest = Address{1} << 40;
constexpr Address kHighest = Address{1} << 62;

Address to_page(Address address) { return (address + kPage - 1) / kPage * kPage; }

}  // namespace

AddressLayout::AddressLayout(const profile::Recording& recording)
    : recording_(recording),
      starts_(recording.modules.size()),
      by_location_(recording.locations.size()) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < recording.modules.size(); ++i) order.push_back(i);
  const std::string program = program_of(recording);
  std::stable_partition(order.begin(), order.end(),
                        [&](std::uint32_t i) { return recording.modules[i].path == program; });
  std::vector<Address> lengths(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const profile::Module& module = recording.modules[i];
    if (module.start < kHighest && module.end < kHighest) next_ = std::max(next_, module.end);
    if (recording.modules[order[i]].kind == profile::ModuleKind::kSource) continue;
    modules_.push_back({order[i], 0, 0});
  }
  for (const profile::Location& location : recording.locations) {
    if (location.module >= lengths.size()) {
      if (location.vaddr < kHighest) next_ = std::max(next_, location.vaddr + 1);
      continue;
    }
    const Address inside = distance(location);
    if (inside < kFarthest)
      lengths[location.module] = std::max(lengths[location.module], inside + 1);
  }
  next_ = to_page(std::max(next_, kPage));
  for (PlacedModule& placed : modules_) place(placed, lengths[placed.module]);
}

void AddressLayout::place(PlacedModule& placed, Address least) {
  const profile::Module& module = recording_.modules[placed.module];
  const Address mapped = module.end > module.start ? module.end - module.start : 0;
  const Address length = to_page(std::max({mapped < kFarthest ? mapped : 0, least, Address{1}}));
  placed.start = module.start;
  if (module.start == 0 || module.start >= kHighest ||
      !is_free(module.start, module.start + length)) {
    placed.start = next_;
    next_ += length;
  }
  placed.end = placed.start + length;
  taken_.emplace(placed.start, placed.end);
  starts_[placed.module] = placed.start;
}

bool AddressLayout::is_free(Address start, Address end) const {
  const auto behind = taken_.lower_bound(end);
  return behind == taken_.begin() || std::prev(behind)->second <= start;
}

/// How far from the start of its module.
Address AddressLayout::distance(const profile::Location& location) const {
  const profile::Module& module = recording_.modules[location.module];
  return location.vaddr + module.bias - module.start;
}

Address AddressLayout::of(std::uint32_t index) {
  Address& known = by_location_[index];
  if (known != 0) return known;
  const profile::Location& location = recording_.locations[index];
  if (recording_.is_source(location)) return known = unused();
  if (location.module < starts_.size()) {
    const Address inside = distance(location);
    const Address address = starts_[location.module] + inside;
    const bool is_told = inside < kFarthest && given_.insert(address).second;
    return known = is_told ? address : unused();
  }
  const bool is_told = location.module >= starts_.size() && location.vaddr != 0 &&
                       location.vaddr < kHighest && is_free(location.vaddr, location.vaddr + 1) &&
                       given_.insert(location.vaddr).second;
  return known = is_told ? location.vaddr : unused();
}

namespace {

using profile::Profile;
using profile::Recording;

/// R of a mean distance E = 1/lambda: T where lambda is -log1p(-1/T), hence E all but T - 1/2, and
/// N where others drew with lambda = 1/N.
Bytes header_interval(double mean_distance) {
  return static_cast<Bytes>(std::floor(mean_distance + 0.75));
}

/// What a reader multiplies a sample of this many bytes by.
double scale_of(double bytes, double interval) { return -1 / std::expm1(-bytes / interval); }

/// The bytes that a reader scales to `scaled` > `interval`: x with x = scaled (1 -
/// e^(-x/interval)).
double bytes_scaled_to(double scaled, double interval) {
  const double ratio = scaled / interval;
  return interval * (ratio + boost::math::lambert_w0(-ratio * std::exp(-ratio)));
}

/// An estimate that a row has to come to.
struct Target {
  double objects = 0, bytes = 0;
};

/// Rows for a target: one with objects, and a second one with bytes only.
struct RowPair {
  RowObjects row;
  Bytes beside = 0;
};

Bytes whole(double value) {
  return value < 0.5 ? 0 : static_cast<Bytes>(std::llround(std::min(value, 0x1p62)));
}

/// Finds the rows that a reader will scale to a target.
class RowFitter {
 public:
  explicit RowFitter(Bytes interval) : interval_(static_cast<double>(interval)) {}

  RowPair rows_for(const Target& target) {
    const double scale = scale_of(target.bytes / target.objects, interval_);
    const double count = std::floor(std::min(target.objects / scale, 0x1p52));
    return count >= 1 ? with_count(target, count) : of_less_than_a_sample(target);
  }

 private:
  /// Samples of the size that readers scale to the objects; it comes to too few bytes.
  [[nodiscard]] RowPair with_count(const Target& target, double count) const {
    const double size = target.objects > count ? -interval_ * std::log1p(-count / target.objects)
                                               : target.bytes / target.objects;
    RowPair pair;
    pair.row = {static_cast<std::uint64_t>(count), std::max<Bytes>(whole(count * size), 1)};
    const auto bytes = static_cast<double>(pair.row.bytes);
    pair.beside = whole(target.bytes - bytes * scale_of(bytes / count, interval_));
    return pair;
  }

  /// A sample stands for an interval at least. Either it is written with the size that is scaled to
  /// the bytes, which comes to too many objects, or with bytes and no object: whichever brings the
  /// objects of the whole nearer to the truth.
  RowPair of_less_than_a_sample(const Target& target) {
    const double wanted = target.objects + owed_;
    owed_ = wanted;
    RowPair pair;
    pair.beside = whole(target.bytes);
    if (target.bytes < interval_ + 1) return pair;
    const Bytes size = std::max<Bytes>(whole(bytes_scaled_to(target.bytes, interval_)), 1);
    const double objects = target.bytes / static_cast<double>(size);
    if (std::abs(wanted - objects) >= std::abs(wanted)) return pair;
    owed_ = wanted - objects;
    return {{1, size}, 0};
  }

  double interval_;
  double owed_ = 0;  ///< Objects.
};

/// The columns of a row that a pair goes into.
using ObjectColumns = std::vector<RowObjects HeapTextRow::*>;

class RowBuilder {
 public:
  RowBuilder(const Recording& recording, Bytes interval)
      : recording_(recording), interval_(interval) {}

  /// Adds samples that are drawn as readers assume unchanged; returns what rows must express of the
  /// others.
  std::map<std::uint32_t, Target> add(const Profile& profile, const ObjectColumns& columns) {
    std::map<std::uint32_t, Target> targets;
    for (const profile::Entry& entry : profile.entries) {
      const estimation::Count count = count_of(entry, recording_, profile);
      if (count.size == 0 || count.count == 0) continue;
      if (!is_plain(count)) {
        add(targets[entry.stack], count);
        continue;
      }
      HeapTextRow& row = plain_[{entry.stack, count.size}];
      row.stack = entry.stack;
      for (const auto column : columns) {
        (row.*column).count += count.count;
        (row.*column).bytes += count.count * count.size;
      }
    }
    return targets;
  }

  void tell(const std::map<std::uint32_t, Target>& targets, const ObjectColumns& columns) {
    RowFitter fitter(std::max<Bytes>(interval_, 1));
    for (const auto& [stack, target] : targets) {
      const RowPair pair = fitter.rows_for(target);
      if (pair.row.count > 0) append(stack, pair.row, columns);
      if (pair.beside > 0) append(stack, {0, pair.beside}, columns);
    }
  }

  std::vector<HeapTextRow> take() {
    for (const auto& [key, row] : plain_) rows_.push_back(row);
    std::ranges::stable_sort(rows_, {}, &HeapTextRow::stack);
    return std::move(rows_);
  }

 private:
  /// Thinned ones never are: R is their interval over what was kept of them.
  [[nodiscard]] bool is_plain(const estimation::Count& count) const {
    if (estimation::is_certain(count)) return interval_ == 0;
    return header_interval(1 / count.lambda) == interval_;
  }

  static void add(Target& target, const estimation::Count& count) {
    const double weight = static_cast<double>(count.count) / inclusion_probability(count);
    target.objects += weight;
    target.bytes += weight * static_cast<double>(count.size);
  }

  void append(std::uint32_t stack, const RowObjects& objects, const ObjectColumns& columns) {
    HeapTextRow& row = rows_.emplace_back();
    row.stack = stack;
    for (const auto column : columns) row.*column = objects;
  }

  const Recording& recording_;
  const Bytes interval_;
  std::map<std::pair<std::uint32_t, Bytes>, HeapTextRow> plain_;  ///< By stack and size.
  std::vector<HeapTextRow> rows_;
};

/// Takes what is live out of what was allocated, where it is a part of that: both columns of a row
/// have it then, and what remains was freed.
void split(std::map<std::uint32_t, Target>& live, std::map<std::uint32_t, Target>& allocated,
           std::map<std::uint32_t, Target>& both) {
  constexpr double kSame = 1e-9;
  for (auto at = live.begin(); at != live.end();) {
    const auto found = allocated.find(at->first);
    const Target part = at->second;
    if (found == allocated.end() || found->second.bytes < part.bytes * (1 - kSame) ||
        found->second.objects < part.objects * (1 - kSame)) {
      ++at;
      continue;
    }
    Target& rest = found->second;
    rest.objects -= part.objects;
    rest.bytes -= part.bytes;
    if (rest.bytes <= part.bytes * kSame) allocated.erase(found);
    both.insert(live.extract(at++));
  }
}

}  // namespace

HeapTextTable heap_text_table(const Recording& recording, const Profile& allocated,
                              const Profile& live) {
  HeapTextTable table;
  const Profile& first = live.entries.empty() ? allocated : live;
  table.interval = header_interval(first.largest_interval);
  RowBuilder rows(recording, table.interval);
  const auto kLive = &HeapTextRow::live;
  const auto kAllocated = &HeapTextRow::allocated;
  const bool repeats =
      !allocated.entries.empty() && header_interval(allocated.largest_interval) != table.interval;
  std::map<std::uint32_t, Target> both;
  if (repeats) {
    both = rows.add(live, {kLive, kAllocated});
  } else {
    auto live_targets = rows.add(live, {kLive});
    auto allocated_targets = rows.add(allocated, {kAllocated});
    split(live_targets, allocated_targets, both);
    rows.tell(live_targets, {kLive});
    rows.tell(allocated_targets, {kAllocated});
  }
  rows.tell(both, {kLive, kAllocated});
  table.rows = rows.take();
  return table;
}

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
