#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/holders/layout.h"
#include "analysis/observe/allocator_heaps.h"
#include "vocabulary/heap_layout.h"

namespace geiger::holders {

using observe::BlockRun;
using observe::LiveSample;

namespace {

Address end_of(const BlockRun& run) { return run.start + run.count * run.block; }

base::Outcome<observe::GeigerHeap> read_heap(const Layout& layout, Memory& memory,
                                             std::string_view library) {
  const auto read = [&](Address address, void* into, std::size_t size) {
    const Piece piece{address, size};
    memory.read({&piece, 1}, static_cast<std::byte*>(into));
    return true;
  };
  const auto resident = [](Address, Bytes) { return Bytes{0}; };
  return observe::read_geiger_heap(read, resident, layout.mappings, library, {});
}

/// In what was never a block.
class LateGeigerBlocks : public LateBlocks {
 public:
  LateGeigerBlocks(const Layout& layout, Memory& memory, std::string_view library)
      : layout_(layout), memory_(memory), library_(library) {}

  std::optional<Span> at(Address target, Span /*free*/) override {
    auto block = known_at(target);
    constexpr int kMostReads = 100;
    if (!block && reads_ < kMostReads) {
      ++reads_;
      auto found = read_heap(layout_, memory_, library_);
      if (found.has_value()) runs_ = std::move(found->runs);
      std::ranges::sort(runs_, {}, &BlockRun::start);
      block = known_at(target);
    }
    return block;
  }

 private:
  [[nodiscard]] std::optional<Span> known_at(Address target) const {
    const auto after = std::ranges::upper_bound(runs_, target, {}, &BlockRun::start);
    if (after == runs_.begin() || target >= end_of(*std::prev(after))) return std::nullopt;
    const BlockRun& run = *std::prev(after);
    const Address start = target - (target - run.start) % run.block;
    return Span{start, start + run.block};
  }

  const Layout& layout_;
  Memory& memory_;
  std::string library_;
  std::vector<BlockRun> runs_;  ///< In order of addresses.
  int reads_ = 0;
};

void add_runs(BlockMap& blocks, const std::vector<BlockRun>& runs) {
  for (const BlockRun& run : runs) {
    Area* area = blocks.area_of(run.start);
    if (area == nullptr || end_of(run) > area->span().end) continue;
    for (std::uint64_t i = 0; i < run.count; ++i) area->add(run.start + i * run.block);
  }
  // Between them: headers, and what was never a block.
  for (const BlockRun& run : runs) {
    Area* area = blocks.area_of(run.start);
    const Address end = end_of(run);
    if (area == nullptr || end >= area->span().end || area->is_start(end)) continue;
    area->add(end);
    area->set_free(end);
  }
}

/// Where huge objects are is known of samples only.
void add_huge(Layout& layout, std::span<const LiveSample> samples) {
  std::vector<Span> huge;
  Address done = 0;
  for (const LiveSample& sample : samples) {
    const Span span{sample.address, sample.address + std::max(sample.usable, sample.requested)};
    if (span.start < done || layout.blocks.area_of(span.start) != nullptr) continue;
    huge.push_back(span);
    done = span.end;
  }
  for (const Span& span : huge) {
    Area& area = layout.blocks.add(span);
    area.add(area.span().start);
    layout.leave_out(span);
  }
}

}  // namespace

bool add_geiger_blocks(Layout& layout, Memory& memory, std::span<const LiveSample> samples,
                       std::string_view library) {
  constexpr Bytes kSegment = vocabulary::heap_layout::kSegmentBytes;
  const auto found = read_heap(layout, memory, library);
  if (!found.has_value()) return false;
  for (const Address segment : found->segments) {
    layout.blocks.add({segment, segment + kSegment});
    layout.leave_out({segment, segment + kSegment});
  }
  layout.blocks.index();  // To find areas; blocks follow.
  add_runs(layout.blocks, found->runs);
  add_huge(layout, samples);
  layout.blocks.index();
  layout.late.push_back(std::make_unique<LateGeigerBlocks>(layout, memory, library));
  return true;
}

}  // namespace geiger::holders
