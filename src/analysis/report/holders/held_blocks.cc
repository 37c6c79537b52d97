#include "analysis/report/holders/held_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/report/holders/holders.h"

namespace geiger::report {

using present::Fields;
using present::Of;
using profile::ChunkCount;
using profile::HeldBlocks;

namespace {

struct BlockTotals {
  Bytes bytes = 0;
  std::uint64_t blocks = 0;

  [[nodiscard]] std::string text() const {
    return fmt::format("{} in {}", present::exact_bytes(bytes), present::plural(blocks, "block"));
  }
};

template <class Counts>
BlockTotals totals(const BlocksReport& report, const Counts& counts) {
  BlockTotals found;
  for (const HeldBlocks& part : report.parts) {
    if (!counts(part)) continue;
    found.bytes += part.bytes;
    found.blocks += part.blocks;
  }
  return found;
}

BlockTotals all_of(const BlocksReport& report) {
  return totals(report, [](const HeldBlocks&) { return true; });
}

/// "64 B ×9, 48 B ×2, 5 other sizes".
std::string sizes_text(const std::vector<ChunkCount>& sizes) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(sizes.size(), kShown); ++i) {
    text += fmt::format("{}{} ×{}", i == 0 ? "" : ", ", present::exact_bytes(sizes[i].bytes),
                        present::exact_count(sizes[i].count));
  }
  if (sizes.size() > kShown) {
    text += ", " + present::plural(sizes.size() - kShown, "other size");
  }
  return text;
}

std::string holder_text(const HeldBlocks& part) {
  return part.hold == profile::Hold::kReached ? shown_root(part.root)
                                              : std::string(words_of(part.hold));
}

}  // namespace

std::string sentence(const BlocksReport& report) {
  const BlockTotals lost =
      totals(report, [](const HeldBlocks& part) { return profile::is_unreachable(part.hold); });
  const BlockTotals open = totals(report, [](const HeldBlocks& part) {
    return part.hold != profile::Hold::kReached && !profile::is_unreachable(part.hold);
  });
  if (open.blocks > 0) return fmt::format("Of {} it is undecided what holds them.", open.text());
  if (lost.blocks == 0) return "All blocks are held.";
  return fmt::format("{} is unreachable.", lost.text());
}

std::string to_text(const BlocksReport& report, const present::Style& style) {
  std::string said = fmt::format(
      "{}\n\n{}, process {} ({}): {} of its heap are in use, with what the allocator adds to each.",
      sentence(report), present::printable(report.core), report.pid,
      present::printable(report.program), all_of(report).text());
  if (report.unread > 0) {
    said +=
        fmt::format(" The core file lacks {} of its memory.", present::exact_bytes(report.unread));
  }
  std::string out = present::wrap_lines(said + "\n", style.width) + "\n";
  present::Grid grid({{"held"},
                      {"freed without it"},
                      {"blocks"},
                      {"root", present::Align::kLeft},
                      {"sizes", present::Align::kLeft}});
  const std::size_t shown =
      report.top == 0 ? report.parts.size() : std::min(report.top, report.parts.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const HeldBlocks& part = report.parts[i];
    grid.add({present::exact_bytes(part.bytes), present::exact_bytes(part.alone),
              present::exact_count(part.blocks), holder_text(part), sizes_text(part.sizes)});
    grid.keep_whole();
  }
  out += grid.text(style);
  if (shown < report.parts.size()) {
    out += fmt::format("{} more roots; --top 0 shows all.\n", report.parts.size() - shown);
  }
  return out;
}

namespace {

// What the fields of this namespace are of.
struct BlocksOfSize : ChunkCount {};
struct BlocksHeld : HeldBlocks {};

template <class As, class Item>
std::vector<As> as(const std::vector<Item>& items) {
  std::vector<As> all;
  for (const Item& item : items) all.push_back({item});
  return all;
}

const Fields<BlocksOfSize>& fields_of(Of<BlocksOfSize> /*type*/) {
  static const auto kFields =
      Fields<BlocksOfSize>("block_size")
          .field("bytes", "of a block", [](const BlocksOfSize& it) { return it.bytes; })
          .field("count", "", [](const BlocksOfSize& it) { return it.count; });
  return kFields;
}

const Fields<BlocksHeld>& fields_of(Of<BlocksHeld> /*type*/) {
  static const auto kFields =
      Fields<BlocksHeld>("held_blocks", "Blocks that are held alike.")
          .field("hold", "", [](const BlocksHeld& it) { return key_of(it.hold); })
          .one_of(present::texts_of<profile::Hold>([](profile::Hold hold) { return key_of(hold); }))
          .field("root", "that a shortest chain begins at",
                 [](const BlocksHeld& it) { return present::if_true(!it.root.empty(), it.root); })
          .field("bytes", "with what the allocator adds to each",
                 [](const BlocksHeld& it) { return it.bytes; })
          .field("blocks", "", [](const BlocksHeld& it) { return it.blocks; })
          .field("alone_bytes", "of them, what no other root holds",
                 [](const BlocksHeld& it) { return it.alone; })
          .field("sizes", "those with most bytes first",
                 [](const BlocksHeld& it) { return as<BlocksOfSize>(it.sizes); })
          .field("text", "what holds them, in words",
                 [](const BlocksHeld& it) { return holder_text(it); });
  return kFields;
}

}  // namespace

const Fields<BlocksReport>& fields_of(Of<BlocksReport> /*type*/) {
  static const auto kFields =
      Fields<BlocksReport>("held-blocks")
          .field("sentence", "", [](const BlocksReport& it) { return sentence(it); })
          .field("core", "path of the core file", &BlocksReport::core)
          .field("program", "name of the process", &BlocksReport::program)
          .field("pid", "", &BlocksReport::pid)
          .field("bytes", "of all blocks in use",
                 [](const BlocksReport& it) { return all_of(it).bytes; })
          .field("blocks", "in use", [](const BlocksReport& it) { return all_of(it).blocks; })
          .field("unread_bytes", "of its memory, what the core file lacks", &BlocksReport::unread)
          .field("not_understood_bytes", "of heaps; they count as roots",
                 &BlocksReport::not_understood)
          .field("parts", "by what holds them, the largest first",
                 [](const BlocksReport& it) { return as<BlocksHeld>(it.parts); });
  return kFields;
}

std::string to_json(const BlocksReport& report) { return present::document("held-blocks", report); }

}  // namespace geiger::report
