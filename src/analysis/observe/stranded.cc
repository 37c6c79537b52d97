#include "analysis/observe/stranded.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "analysis/observe/glibc_heap.h"
#include "analysis/profile/measured.h"
#include "base/clock.h"

namespace geiger::observe {
namespace {

using profile::Snapshot;

/// A walk that meets a change of the heap is repeated, not believed.
constexpr int kTries = 2;
constexpr Bytes kMostTrace = 16 * kMiB;

std::string_view file_name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Reads only what is in memory: a read of another page would bring it there.
ReadMemory reader_of(int fd, Pagemap& pagemap) {
  return [fd, &pagemap](Address address, void* into, std::size_t size) {
    if (pagemap.residency(address, size).resident != size) return false;
    return ::pread(fd, into, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
  };
}

/// A chunk that was no chunk of its heap must have been freed meanwhile.
bool all_were_freed(const std::vector<trace::Ref>& unmatched, TraceFollower& follower) {
  if (unmatched.empty()) return true;
  static_cast<void>(follower.follow(kMostTrace, base::monotonic_now()));
  return std::ranges::none_of(unmatched,
                              [&](trace::Ref ref) { return follower.live().contains(ref); });
}

void take_waste(const HeapWalk& walk, std::span<const LiveSample> samples, Snapshot& snapshot) {
  for (const LiveSample& sample : samples) {
    if (std::ranges::find(walk.unmatched, sample.ref) != walk.unmatched.end()) continue;
    const ChunkRange chunk = chunk_of(sample);
    const double waste = walk.occupancy.waste_of(chunk.start, chunk.end);
    snapshot.waste.push_back(
        {sample.ref, profile::rounded_at_random(waste, snapshot.time ^ sample.ref)});
  }
  std::ranges::sort(snapshot.waste, {}, &profile::SampleWaste::sample);
  snapshot.waste_fault.clear();
}

}  // namespace

void add_waste(const ProcessFiles& files, std::span<const Mapping> mappings, Pagemap& pagemap,
               std::span<const LiveSample> samples, TraceFollower& follower, Snapshot& snapshot) {
  const std::string_view allocator = file_name_of(follower.header().allocator);
  if (!allocator.starts_with("libc.so") && !allocator.starts_with("libc-2")) {
    snapshot.waste_fault =
        allocator.starts_with("libjemalloc")
            ? "jemalloc answers when the program allocates next, which it has not since"
            : std::string(allocator) + " does not tell from outside";
    return;
  }
  const Descriptor memory = files.open("mem");
  if (!memory.is_open()) {
    snapshot.waste_fault = std::string("mem: ") + std::strerror(errno);
    return;
  }
  const ReadMemory read = reader_of(memory.get(), pagemap);
  for (int i = 0; i < kTries; ++i) {
    pagemap.forget();
    HeapWalk walk{PageOccupancy(follower.header().page_size), {}};
    const auto reason = walk_glibc(read, mappings, samples, walk);
    if (!reason && all_were_freed(walk.unmatched, follower)) {
      return take_waste(walk, samples, snapshot);
    }
    snapshot.waste_fault = reason.value_or("live samples are no chunks of their heaps");
  }
}

}  // namespace geiger::observe
