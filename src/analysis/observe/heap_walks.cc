#include "analysis/observe/heap_walks.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/observe/allocator_heaps.h"
#include "analysis/observe/process_memory.h"
#include "analysis/profile/memory/measured.h"
#include "base/clock.h"
#include "base/text.h"

namespace geiger::observe {

namespace {

using profile::Snapshot;

/// A walk that meets a change of the heap is repeated, not believed.
constexpr int kTries = 2;
constexpr Bytes kMostTraceAtOnce = 16 * kMiB;
/// Read at once: a walk goes through the heap in steps of some bytes.
constexpr std::size_t kPagesOfHeap = 16;

/// Fails where the free bytes beside objects of an allocator cannot be read: of all but glibc's
/// malloc.
base::Outcome<void> check_allocator(std::string_view allocator) {
  if (is_glibc(allocator)) return {};
  if (allocator.starts_with("libjemalloc")) {
    return base::Failure{
        "jemalloc answers at the program's next allocation, and there has been none since"};
  }
  if (allocator.starts_with("libmimalloc")) {
    return base::Failure{
        "mimalloc shows how full its pages are only to the thread that owns them, and their "
        "layout changes between versions (glibc's malloc and jemalloc can be read)"};
  }
  if (allocator.starts_with("libtcmalloc")) {
    return base::Failure{
        "tcmalloc exports neither its spans nor the free lists of its caches, only totals "
        "(glibc's malloc and jemalloc can be read)"};
  }
  return base::Failure{std::string(allocator) + " cannot be read from outside"};
}

void add_one(trace::Ref sample, double waste, Snapshot& snapshot) {
  snapshot.waste.push_back({sample, profile::rounded_at_random(waste, snapshot.time ^ sample)});
}

void finish(Snapshot& snapshot) {
  std::ranges::sort(snapshot.waste, {}, &profile::SampleWaste::sample);
  snapshot.waste_fault.clear();
}

void take_waste(HeapWalk& walk, std::span<const LiveSample> samples, Snapshot& snapshot) {
  std::ranges::sort(walk.unmatched);
  for (const LiveSample& sample : samples) {
    if (std::ranges::binary_search(walk.unmatched, sample.ref)) continue;
    const ChunkRange chunk = chunk_of(sample);
    add_one(sample.ref, walk.occupancy.waste_of(chunk.start, chunk.end), snapshot);
  }
  finish(snapshot);
}

void take_waste(const GeigerHeap& heap, Snapshot& snapshot) {
  for (const SampleBlock& block : heap.blocks) {
    add_one(block.ref, heap.occupancy.waste_of(block.start, block.end), snapshot);
  }
  finish(snapshot);
}

}  // namespace

std::vector<LiveSample> without_pools(std::span<const LiveSample> samples) {
  std::vector<LiveSample> chunks(samples.begin(), samples.end());
  std::erase_if(chunks, [](const LiveSample& sample) {
    return vocabulary::is_python_block(sample.entry_point);
  });
  return chunks;
}

bool all_were_freed(const std::vector<trace::Ref>& unmatched, TraceFollower& follower) {
  if (unmatched.empty()) return true;
  static_cast<void>(follower.follow(kMostTraceAtOnce, base::monotonic_now()));
  return std::ranges::none_of(unmatched,
                              [&](trace::Ref ref) { return follower.live().contains(ref); });
}

void add_census(const ProcessFiles& files, std::span<const Mapping> mappings, Pagemap& pagemap,
                std::span<const LiveSample> all, TraceFollower& follower, bool wants_waste,
                Snapshot& snapshot) {
  const base::UniqueFd memory = files.open("mem");
  if (!memory.is_open()) {
    if (wants_waste) snapshot.waste_fault = std::string("mem: ") + std::strerror(errno);
    return;
  }
  const std::vector<LiveSample> samples =
      wants_waste ? without_pools(all) : std::vector<LiveSample>{};
  const ResidentIn resident = [&](Address start, Bytes bytes) {
    return pagemap.residency(start, bytes).resident;
  };
  for (int i = 0; i < kTries; ++i) {
    pagemap.forget();
    MemoryReader reader(memory.get(), pagemap, follower.header().page_size, kPagesOfHeap);
    const auto heap = read_geiger_heap(reader.function(), resident, mappings,
                                       follower.header().allocator, samples);
    if (heap.has_value()) snapshot.census = heap->census;
    if (!wants_waste) {
      if (heap.has_value()) return;
      continue;
    }
    if (heap.has_value() && all_were_freed(heap->unmatched, follower)) {
      return take_waste(heap.value(), snapshot);
    }
    snapshot.waste_fault =
        heap.has_value() ? "some live samples do not match any block of the heap" : heap.reason();
  }
}

void add_waste(const ProcessFiles& files, std::span<const Mapping> mappings, Pagemap& pagemap,
               std::span<const LiveSample> all, TraceFollower& follower, Snapshot& snapshot) {
  const auto readable = check_allocator(base::file_name_of(follower.header().allocator));
  if (!readable.has_value()) {
    snapshot.waste_fault = readable.reason();
    return;
  }
  const base::UniqueFd memory = files.open("mem");
  if (!memory.is_open()) {
    snapshot.waste_fault = std::string("mem: ") + std::strerror(errno);
    return;
  }
  const std::vector<LiveSample> samples = without_pools(all);
  for (int i = 0; i < kTries; ++i) {
    pagemap.forget();
    MemoryReader reader(memory.get(), pagemap, follower.header().page_size, kPagesOfHeap);
    HeapWalk walk{PageOccupancy(follower.header().page_size), {}, {}};
    const auto walked = walk_glibc(reader.function(), mappings, samples, Heaps::kOfSamples, walk);
    if (walked.has_value() && all_were_freed(walk.unmatched, follower)) {
      return take_waste(walk, samples, snapshot);
    }
    snapshot.waste_fault = walked.has_value()
                               ? "some live samples do not match any chunk of the heap"
                               : walked.reason();
  }
}

namespace {

using profile::ChunkCensus;
using profile::ChunkCount;

/// A walk that meets a change of the heap is repeated, not believed.
constexpr int kWalkTries = 4;
/// Nothing else is done meanwhile, so no walk may read more: half a second.
constexpr Bytes kMostRead = kGiB;
/// Read at once: a walk goes through the heap in steps of some bytes.
constexpr std::size_t kPagesOfWalk = 16;

ChunkCensus census_of(const HeapWalk& walk, Nanoseconds began) {
  ChunkCensus census;
  census.time = began + (base::monotonic_now() - began) / 2;
  for (const auto& [bytes, count] : walk.in_use) census.in_use.push_back({bytes, count});
  std::ranges::sort(census.in_use, {}, &ChunkCount::bytes);
  return census;
}

base::Outcome<ChunkCensus> walk_once(const ReadMemory& read, std::span<const Mapping> mappings,
                                     TraceFollower& follower) {
  const Nanoseconds began = base::monotonic_now();
  const std::vector<LiveSample> samples = without_pools(follower.live().by_address());
  HeapWalk walk{PageOccupancy(follower.header().page_size), {}, {}};
  GEIGER_TRY(walk_glibc(read, mappings, samples, Heaps::kAll, walk));
  ChunkCensus census = census_of(walk, began);
  if (all_were_freed(walk.unmatched, follower)) return census;
  return base::Failure{"some live samples do not match any chunk of the heap"};
}

/// Whether the heap of an arena, which is found by its first page, could be overlooked.
bool may_hide_arenas(std::span<const Mapping> mappings, Pagemap& pagemap, Bytes page) {
  return std::ranges::any_of(mappings, [&](const Mapping& mapping) {
    return std::ranges::any_of(arena_places(mapping), [&](Address place) {
      return pagemap.residency(place, page).swapped > 0;
    });
  });
}

base::Outcome<ChunkCensus> walk_chunks(const ProcessFiles& files, TraceFollower& follower) {
  const std::string_view allocator = follower.header().allocator;
  if (!is_glibc(allocator)) {
    return base::Failure{"only glibc's heap can be walked, not that of " +
                         std::string(base::file_name_of(allocator))};
  }
  const auto maps = files.read("maps");
  if (!maps) return base::Failure{std::string("maps: ") + std::strerror(errno)};
  const base::UniqueFd pages = files.open("pagemap"), memory = files.open("mem");
  if (!pages.is_open() || !memory.is_open()) {
    return base::Failure{std::string("mem: ") + std::strerror(errno)};
  }
  const std::vector<Mapping> mappings = parse_smaps(*maps);
  const Bytes page_size = follower.header().page_size;
  Pagemap pagemap(Pagemap::reader_of(pages.get()), page_size);
  if (may_hide_arenas(mappings, pagemap, page_size)) {
    return base::Failure{"a part of the process is swapped out"};
  }
  base::Outcome<ChunkCensus> census = base::Failure{""};
  Bytes bytes = 0;
  for (int i = 0; i < kWalkTries && !census.has_value(); ++i) {
    pagemap.forget();
    MemoryReader reader(memory.get(), pagemap, page_size, kPagesOfWalk);
    const auto read = [&](Address address, void* into, std::size_t size) {
      return (bytes += size) <= kMostRead && reader.read(address, into, size);
    };
    census = walk_once(read, mappings, follower);
  }
  if (bytes > kMostRead) return base::Failure{"the heap is too large to be walked"};
  return census;
}

}  // namespace

void ChunkWalks::walk(const ProcessFiles& files, TraceFollower& follower, Nanoseconds now) {
  next_ = now + step_;
  auto census = walk_chunks(files, follower);
  fault_ = census.has_value() ? "" : census.reason();
  if (!census.has_value()) return;
  walks_.push_back(std::move(census.value()));
  if (walks_.size() <= profile::kMostWalks) return;
  profile::thin(walks_);
  step_ *= 2;
}

void ChunkWalks::take(profile::Observations& into) {
  into.walks = std::move(walks_);
  into.walk_fault = std::move(fault_);
}

}  // namespace geiger::observe
