#include "analysis/observe/glibc_heap.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "base/path.h"

namespace geiger::observe {
namespace {

constexpr Bytes kHeader = 16;   ///< From a chunk to its object.
constexpr Bytes kOverhead = 8;  ///< Chunk size minus usable size: the size word.
constexpr Bytes kLeastChunk = 32;
constexpr Bytes kFencepost = 16;  ///< Two of them end what a heap had before it moved on.
constexpr std::uint64_t kPreviousInUse = 1;
constexpr std::uint64_t kHasOwnMapping = 2;
constexpr std::uint64_t kFlags = 7;

constexpr Bytes kArenaHeap = 64 * kMiB;
constexpr Bytes kArenaState = 2200;  ///< sizeof(struct malloc_state) since 2.26.

/// A heap grows no more than this between two readings.
constexpr Bytes kMostGrowth = 64 * kMiB;

/// Heaps with more chunks than these take longer than a snapshot may.
constexpr std::uint64_t kMostChunks = 20'000'000;

/// Words of the process through a window of a few pages, so that small chunks cost one
/// read per window and large ones one page.
class Words {
 public:
  explicit Words(const ReadMemory& read) : read_(read), window_(kWindowBytes / 8) {}

  [[nodiscard]] bool read(Address address, std::uint64_t& word) {
    if (address < start_ || address + 8 > start_ + bytes_) load(address);
    if (address < start_ || address + 8 > start_ + bytes_) return false;
    std::memcpy(&word, reinterpret_cast<const char*>(window_.data()) + (address - start_), 8);
    return true;
  }

 private:
  static constexpr Bytes kWindowBytes = 64 * kKiB;
  static constexpr Bytes kPage = 4096;

  // The whole window if all of it is there, else as many pages as are.
  void load(Address address) {
    start_ = address / kPage * kPage;
    bytes_ = 0;
    if (read_(start_, window_.data(), kWindowBytes)) {
      bytes_ = kWindowBytes;
      return;
    }
    auto* into = reinterpret_cast<char*>(window_.data());
    while (bytes_ < kWindowBytes && read_(start_ + bytes_, into + bytes_, kPage)) bytes_ += kPage;
  }

  const ReadMemory& read_;
  std::vector<std::uint64_t> window_;
  Address start_ = 0;
  Bytes bytes_ = 0;
};

/// A walk along one chain.
class Chain {
 public:
  Chain(const ReadMemory& read, Address start, Address end, std::span<const LiveSample> samples,
        HeapWalk& walk)
      : words_(read), at_(start), end_(end), samples_(samples), walk_(walk) {}

  base::Outcome<void> follow() {
    std::uint64_t size = 0;
    if (!read_size(at_, size)) return base::Failure{fault_};
    for (std::uint64_t count = 0; count < kMostChunks; ++count) {
      const Address next = at_ + size;
      // The last chunk is what new ones are cut from. The heap may have grown since its
      // end was read, and that chunk with it.
      if (next >= end_) {
        step(end_, false);
        finish();
        return {};
      }
      std::uint64_t next_size = 0;
      if (!read_size(next, next_size)) return base::Failure{fault_};
      step(next, (flags_ & kPreviousInUse) != 0);
      if (next_size == kFencepost) {
        finish();
        return {};
      }
      size = next_size;
    }
    return base::Failure{"a heap has too many chunks"};
  }

 private:
  /// The size of the chunk at `address` into `size`, its flags into flags_; else the reason into
  /// fault_: there are millions of chunks, so none makes an outcome.
  [[nodiscard]] bool read_size(Address address, std::uint64_t& size) {
    std::uint64_t word = 0;
    if (!words_.read(address + 8, word)) {
      fault_ = "a part of a heap is not in memory";
      return false;
    }
    flags_ = word & kFlags;
    size = word & ~kFlags;
    const bool is_possible = size >= kLeastChunk || size == kFencepost;
    if (is_possible && size % 16 == 0 && size <= end_ - address + kMostGrowth &&
        !(flags_ & kHasOwnMapping)) {
      return true;
    }
    fault_ = "a heap is inconsistent (the program may have changed it meanwhile)";
    return false;
  }

  /// The chunk [at_, next) is whole.
  void step(Address next, bool is_used) {
    for (; first_ < samples_.size() && samples_[first_].address < next + kHeader; ++first_) {
      const LiveSample& sample = samples_[first_];
      const ChunkRange range = chunk_of(sample);
      const bool is_this = range.start == at_ && range.end == next && is_used;
      if (!is_this) walk_.unmatched.push_back(sample.ref);
    }
    walk_.occupancy.add(at_, next, is_used);
    if (is_used) ++walk_.in_use[next - at_];
    at_ = next;
  }

  void finish() {
    for (; first_ < samples_.size(); ++first_) walk_.unmatched.push_back(samples_[first_].ref);
  }

  Words words_;
  Address at_;
  Address end_;
  std::span<const LiveSample> samples_;
  HeapWalk& walk_;
  std::size_t first_ = 0;  ///< Of the samples not visited yet.
  std::uint64_t flags_ = 0;
  const char* fault_ = "";
};

std::span<const LiveSample> samples_in(std::span<const LiveSample> samples, Address start,
                                       Address end) {
  const auto first = std::ranges::lower_bound(samples, start, {}, &LiveSample::address);
  const auto last = std::ranges::lower_bound(samples, end, {}, &LiveSample::address);
  return {first, last};
}

/// The chunks of a thread's heap.
struct ArenaHeap {
  Address first = 0, end = 0;
};

/// They lie after the heap's description, and after the arena's where this is its first
/// heap.
std::optional<ArenaHeap> arena_heap_at(const ReadMemory& read, Address heap) {
  std::array<std::uint64_t, 3> description{};  // its arena; the heap before, or 0; bytes
  if (!read(heap, description.data(), sizeof description)) return std::nullopt;
  const auto [arena, before, bytes] = description;
  const Bytes description_bytes = arena % kArenaHeap;
  const bool is_sane = description_bytes >= 32 && description_bytes <= 128 && bytes >= 4096 &&
                       bytes <= kArenaHeap && bytes % 16 == 0;
  if (!is_sane) return std::nullopt;
  if (before != 0) return ArenaHeap{heap + description_bytes, heap + bytes};
  if (arena - description_bytes != heap) return std::nullopt;
  return ArenaHeap{(arena + kArenaState + 15) / 16 * 16, heap + bytes};
}

/// Without the samples whose chunks have mappings of their own, which are wholly in use, and those
/// whose mapping has gone since it was listed: they are not chunks any more.
std::vector<LiveSample> in_heaps(const ReadMemory& read, std::span<const LiveSample> samples,
                                 HeapWalk& walk) {
  Words words(read);
  std::vector<LiveSample> inside;
  for (const LiveSample& sample : samples) {
    std::uint64_t word = 0;
    if (!words.read(sample.address - 8, word)) {
      walk.unmatched.push_back(sample.ref);
    } else if ((word & kHasOwnMapping) == 0) {
      inside.push_back(sample);
    }
  }
  return inside;
}

/// The heaps of arenas in a mapping (neighbours may share one), or all of [heap]. Samples where no
/// heap lies are left unmatched: something else may have been mapped where their blocks were.
base::Outcome<void> walk_mapping(const ReadMemory& read, const Mapping& mapping,
                                 std::span<const LiveSample> samples, Heaps heaps, HeapWalk& walk) {
  if (mapping.path == "[heap]") {
    return walk_heap(read, mapping.start, mapping.end, samples, walk);
  }
  const std::vector<LiveSample> inside = in_heaps(read, samples, walk);
  std::set<Address> starts;
  for (const LiveSample& sample : inside) starts.insert(sample.address / kArenaHeap * kArenaHeap);
  if (heaps == Heaps::kAll) {
    for (const Address place : arena_places(mapping)) starts.insert(place);
  }
  for (const Address start : starts) {
    const auto own = samples_in(inside, start, start + kArenaHeap);
    const auto heap = start >= mapping.start ? arena_heap_at(read, start) : std::nullopt;
    if (!heap) {
      for (const LiveSample& sample : own) walk.unmatched.push_back(sample.ref);
      continue;
    }
    GEIGER_TRY(walk_heap(read, heap->first, heap->end, own, walk));
  }
  return {};
}

}  // namespace

ChunkRange chunk_of(const LiveSample& sample) {
  const Address start = sample.address - kHeader;
  return {start, start + sample.usable + kOverhead};
}

base::Outcome<void> walk_heap(const ReadMemory& read, Address start, Address end,
                              std::span<const LiveSample> samples, HeapWalk& walk) {
  if (end - start < kLeastChunk) return base::Failure{"a heap without room for a chunk"};
  return Chain(read, start, end, samples, walk).follow();
}

bool is_glibc(std::string_view library) {
  const std::string_view name = base::file_name_of(library);
  return name.starts_with("libc.so") || name.starts_with("libc-2");
}

std::vector<Address> arena_places(const Mapping& mapping) {
  std::vector<Address> places;
  if (!mapping.path.empty() || !mapping.is_writable || mapping.is_shared) return places;
  Address place = (mapping.start + kArenaHeap - 1) / kArenaHeap * kArenaHeap;
  for (; place < mapping.end; place += kArenaHeap) places.push_back(place);
  return places;
}

base::Outcome<void> walk_glibc(const ReadMemory& read, std::span<const Mapping> mappings,
                               std::span<const LiveSample> samples, Heaps heaps, HeapWalk& walk) {
  for (const Mapping& mapping : mappings) {
    const auto own = samples_in(samples, mapping.start, mapping.end);
    if (own.empty() && heaps == Heaps::kOfSamples) continue;
    GEIGER_TRY(walk_mapping(read, mapping, own, heaps, walk));
  }
  return {};
}

}  // namespace geiger::observe
