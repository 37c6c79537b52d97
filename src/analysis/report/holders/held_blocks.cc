#include "analysis/report/holders/held_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/report/holders/holders.h"
#include "base/text.h"

namespace geiger::report {

using present::Cells;
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

namespace {

// What the fields of this namespace are of.
struct BlocksOfSize : ChunkCount {};
struct BlocksHeld : HeldBlocks {};

constexpr std::string_view kSizes = "sizes";

/// `table`, where it had no room for the sizes with these below its lines.
std::string with_sizes(std::string_view table, const std::vector<BlocksHeld>& rows,
                       const present::Style& style) {
  constexpr std::size_t kIndent = 4;
  const std::string_view heading = base::take_part(table, '\n');
  std::string out = fmt::format("{}\n", heading);
  if (heading.find(kSizes) != std::string_view::npos) return out.append(table);
  for (const BlocksHeld& row : rows) {
    const std::string sizes = present::wrap(sizes_text(row.sizes), kIndent, style.width);
    out += fmt::format("{}\n{:{}}{}\n", base::take_part(table, '\n'), "", kIndent,
                       present::paint(style, present::Role::kFaint, sizes));
  }
  return out;
}

/// Shorter than in a sentence.
std::string in_table(const BlocksHeld& part) {
  return part.hold == profile::Hold::kUnreachable ? "unreachable: such blocks point to it"
                                                  : holder_text(part);
}

template <class As, class Items>
std::vector<As> as(const Items& items) {
  std::vector<As> all;
  for (const auto& item : items) all.push_back({item});
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
          .column(Cells::kNumber, "held", present::kStays,
                  [](const BlocksHeld& it) { return present::exact_bytes(it.bytes); })
          .field("blocks", "", [](const BlocksHeld& it) { return it.blocks; })
          .field("alone_bytes", "of them, what no other root holds",
                 [](const BlocksHeld& it) { return it.alone; })
          .column(Cells::kNumber, "freed without it", 1,
                  [](const BlocksHeld& it) { return present::exact_bytes(it.alone); })
          .only_column(Cells::kNumber, "blocks", 2,
                       [](const BlocksHeld& it) { return present::exact_count(it.blocks); })
          .only_column(Cells::kName, "root", present::kStays,
                       [](const BlocksHeld& it) { return in_table(it); })
          .field("sizes", "those with most bytes first",
                 [](const BlocksHeld& it) { return as<BlocksOfSize>(it.sizes); })
          .column(Cells::kText, kSizes, 3,
                  [](const BlocksHeld& it) { return sizes_text(it.sizes); })
          .field("text", "what holds them, in words",
                 [](const BlocksHeld& it) { return holder_text(it); });
  return kFields;
}

}  // namespace

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
  const std::size_t shown =
      report.top == 0 ? report.parts.size() : std::min(report.top, report.parts.size());
  const auto rows = as<BlocksHeld>(std::span(report.parts).first(shown));
  if (rows.empty()) return out;
  const auto add = [](present::Grid& grid, std::vector<std::string> cells, const BlocksHeld& row) {
    grid.add(std::move(cells));
    if (row.hold == profile::Hold::kReached) grid.name(row.root, "");
  };
  out += with_sizes(present::fitting_grid(rows, style, add).text(style), rows, style);
  if (shown < report.parts.size()) {
    out += present::plural(report.parts.size() - shown, "more root") + "; --top 0 shows all.\n";
  }
  return out;
}

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
