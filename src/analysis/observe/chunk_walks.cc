#include "analysis/observe/chunk_walks.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "analysis/observe/glibc_heap.h"
#include "analysis/observe/memory_reader.h"
#include "analysis/observe/pagemap.h"
#include "analysis/observe/stranded.h"
#include "base/clock.h"
#include "base/path.h"

namespace geiger::observe {
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
