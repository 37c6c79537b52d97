#include "analysis/observe/allocator_heaps.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "base/text.h"
#include "vocabulary/heap_layout.h"

namespace geiger::observe {

PageUse& PageOccupancy::page(std::uint64_t number) {
  if (pages_.empty() || pages_.back().page != number) pages_.push_back({number, 0, 0});
  return pages_.back();
}

void PageOccupancy::add(Address start, Address end, bool is_used) {
  for (Address at = start; at < end;) {
    const std::uint64_t number = at / page_bytes_;
    const Address next = std::min(end, (number + 1) * page_bytes_);
    const bool is_whole = next - at == page_bytes_;
    if (is_whole && !is_used) {
      // A large free block may span the whole address space of its heap.
      at = end / page_bytes_ * page_bytes_;
      continue;
    }
    PageUse& use = page(number);
    (is_used ? use.used : use.free) += next - at;
    at = next;
  }
}

double PageOccupancy::waste_per_used_byte(std::uint64_t page) const {
  const auto found = std::ranges::lower_bound(pages_, page, {}, &PageUse::page);
  if (found == pages_.end() || found->page != page || found->used == 0) return 0;
  return static_cast<double>(found->free) / static_cast<double>(found->used);
}

double PageOccupancy::waste_of(Address start, Address end) const {
  double waste = 0;
  for (Address at = start; at < end;) {
    const std::uint64_t number = at / page_bytes_;
    const Address next = std::min(end, (number + 1) * page_bytes_);
    waste += waste_per_used_byte(number) * static_cast<double>(next - at);
    at = next;
  }
  return waste;
}

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

namespace {

namespace layout = vocabulary::heap_layout;
using profile::HeapCensus;
using profile::HeapPart;

constexpr std::size_t kMostSegments = 1U << 20;
constexpr std::size_t kMostHeaps = 1U << 16;
constexpr std::size_t kMostSent = 1U << 20;
constexpr Bytes kPage = 4096;

const char* const kChanged = "the allocator's headers are inconsistent (it may have changed them)";

/// Of which every free block has a place: a small or a medium page.
struct BlockPage {
  Address start = 0;
  Bytes bytes = 0;
  Bytes block = 0;
  std::int64_t carved = 0, free = 0, kept = 0;  ///< Blocks; kept: on a heap's list, or sent to it.
  std::int64_t capacity = 0;

  [[nodiscard]] std::int64_t used() const { return carved - free - kept; }
};

class Reading {
 public:
  Reading(const ReadMemory& read, const ResidentIn& resident) : read_(read), resident_(resident) {}

  base::Outcome<GeigerHeap> read_all(std::span<const Mapping> mappings, std::string_view library,
                                     std::span<const LiveSample> samples) {
    const auto root = find_root(mappings, library);
    if (!root) return base::Failure{"the allocator of this version cannot be read"};
    if (!read_segments(*root) || !read_heaps(*root) || !add_up(*root)) {
      return base::Failure{kChanged};
    }
    for (const LiveSample& sample : samples) find_block(sample);
    return std::move(found_);
  }

 private:
  template <class Value>
  [[nodiscard]] bool get(Address address, Value& value) const {
    return read_(address, &value, sizeof value);
  }
  [[nodiscard]] std::optional<Address> word(Address address) const {
    Address value = 0;
    return get(address, value) ? std::optional(value) : std::nullopt;
  }

  /// The library's data is a few pages.
  [[nodiscard]] std::optional<layout::Root> find_root(std::span<const Mapping> mappings,
                                                      std::string_view library) const {
    for (const Mapping& mapping : mappings) {
      if (base::file_name_of(mapping.path) != base::file_name_of(library) || !mapping.is_readable)
        continue;
      std::array<char, kPage> page{};
      for (Address at = mapping.start; at < mapping.end; at += kPage) {
        if (!read_(at, page.data(), page.size())) continue;
        for (std::size_t i = 0; i + sizeof(layout::Root) <= page.size(); i += 16) {
          layout::Root root{};
          std::memcpy(&root, page.data() + i, sizeof root);
          // The page may also be mapped as it is in the file, before its addresses were relocated.
          if (std::ranges::equal(root.magic, layout::kMagic) && root.number == layout::kNumber &&
              root.segments > at) {
            return root;
          }
        }
      }
    }
    return std::nullopt;
  }

  void add(HeapPart part, Bytes mapped, Bytes resident) {
    auto& totals = found_.census.parts[static_cast<std::size_t>(part)];
    totals.size += mapped;
    totals.resident += resident;
  }
  void add_range(HeapPart part, Address start, Bytes bytes) {
    add(part, bytes, resident_(start, bytes));
  }

  [[nodiscard]] bool read_segments(const layout::Root& root) {
    auto next = word(root.segments);
    for (std::size_t i = 0; next && *next != 0; ++i) {
      std::array<layout::Page, layout::kSlots> pages{};
      if (i == kMostSegments || *next % layout::kSegmentBytes != 0 || !get(*next, pages)) {
        return false;
      }
      const auto segment = std::bit_cast<layout::Segment>(pages[0]);
      if (!read_slots(*next, segment, pages)) return false;
      found_.segments.push_back(*next);
      next = segment.next;
    }
    return next.has_value();
  }

  [[nodiscard]] bool read_slots(Address start, const layout::Segment& segment,
                                std::span<const layout::Page> pages) {
    add_range(HeapPart::kHeaders, start, layout::kSlotBytes);
    for (std::size_t slot = 1; slot < layout::kSlots;) {
      const Address at = start + slot * layout::kSlotBytes;
      if ((segment.empty >> slot & 1) != 0) {
        add_range(HeapPart::kEmpty, at, layout::kSlotBytes);
        ++slot;
        continue;
      }
      const layout::Page& page = pages[slot];
      if (page.slots == 0 || slot + page.slots > layout::kSlots) return false;
      const Bytes bytes = page.slots * layout::kSlotBytes;
      if (page.owner == layout::kLarge) {
        add_range(HeapPart::kLarge, at, bytes);
        found_.runs.push_back({at, bytes, 1});
      } else if (page.owner == layout::kSamplesOnly) {
        add_range(HeapPart::kSamples, at, bytes);
        if (page.heap < kPage || !std::has_single_bit(page.heap)) return false;
        leaves_[at / layout::kSlotBytes] = page.heap;
        add_leaves(at, bytes, page.heap);
      } else if (!read_page(at, bytes, page)) {
        return false;
      }
      slot += page.slots;
    }
    return true;
  }

  void add_leaves(Address page, Bytes bytes, Bytes leaf_bytes) {
    for (Address at = page; at < page + bytes; at += leaf_bytes) {
      layout::Leaf leaf{};
      if (!get(at, leaf) || leaf.block_bytes < 16 || leaf.first_block >= leaf_bytes) continue;
      const Bytes room = leaf_bytes - leaf.first_block;
      found_.runs.push_back({at + leaf.first_block, leaf.block_bytes, room / leaf.block_bytes});
    }
  }

  [[nodiscard]] bool read_page(Address at, Bytes bytes, const layout::Page& page) {
    if (page.size_class >= layout::kClasses || page.capacity == 0) return false;
    BlockPage found;
    found.start = at;
    found.bytes = bytes;
    found.capacity = page.capacity;
    found.carved = page.carved;
    found.free = std::int64_t{page.base} - page.needed;
    found.block = layout::block_bytes(page.size_class);
    if (found.carved > found.capacity || found.free < 0 || found.free > found.carved) return false;
    if (found.block * page.capacity > bytes) return false;
    found_.runs.push_back({at, found.block, page.carved});
    for (Bytes offset = 0; offset < bytes; offset += layout::kSlotBytes) {
      slots_[(at + offset) / layout::kSlotBytes] = pages_.size();
    }
    pages_.push_back(found);
    return true;
  }

  [[nodiscard]] BlockPage* page_of(Address address) {
    const auto slot = slots_.find(address / layout::kSlotBytes);
    return slot == slots_.end() ? nullptr : &pages_[slot->second];
  }

  [[nodiscard]] bool read_heaps(const layout::Root& root) {
    auto next = word(root.heaps);
    for (std::size_t i = 0; next && *next != 0; ++i) {
      const Address heap = *next;
      if (i == kMostHeaps || !read_lists(heap)) return false;
      for (const std::size_t place : {layout::kOutbox, layout::kArrived, layout::kInbox}) {
        const auto first = word(heap + place);
        if (!first || !read_sent(*first)) return false;
      }
      next = word(heap + layout::kNextHeap);
    }
    return next.has_value();
  }

  [[nodiscard]] bool read_lists(Address heap) {
    std::array<layout::List, layout::kClasses> lists{};
    std::array<layout::Bin, layout::kClasses> bins{};
    if (!get(heap, lists) || !get(heap + sizeof lists, bins)) return false;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const std::int64_t listed =
          static_cast<std::int64_t>(lists[i].reserve) + std::max<std::int64_t>(lists[i].left, 0);
      if (listed == 0) continue;
      // The header's address says which slot it is of.
      const Address header = bins[i].current;
      const Address segment = header & ~(layout::kSegmentBytes - 1);
      BlockPage* page =
          page_of(segment + (header - segment) / sizeof(layout::Page) * layout::kSlotBytes);
      if (page == nullptr || listed > page->carved) return false;
      page->kept += listed;
    }
    return true;
  }

  [[nodiscard]] bool read_sent(Address block) {
    for (std::size_t count = 0; block != 0; ++count) {
      BlockPage* page = page_of(block);
      const auto next = word(block);
      if (page == nullptr || !next || count == kMostSent) return false;
      ++page->kept;
      block = *next;
    }
    return true;
  }

  [[nodiscard]] bool add_up(const layout::Root& root) {
    std::vector<std::size_t> order(pages_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return pages_[i].start; });
    for (const std::size_t i : order) {
      const BlockPage& page = pages_[i];
      if (page.used() < 0) return false;
      add_page(page);
    }
    const auto mapped = word(root.mapped);
    const auto huge = word(root.huge_bytes);
    const auto huge_mapped = word(root.huge_mapped);
    if (!mapped || !huge || !huge_mapped || *huge > *huge_mapped) return false;
    const Bytes in_segments = found_.segments.size() * layout::kSegmentBytes;
    if (in_segments + *huge_mapped > *mapped) return false;
    // Where huge objects are is known of samples only: what of them is in memory, the profile says.
    add(HeapPart::kLarge, *huge, 0);
    add(HeapPart::kHeaders, *huge_mapped - *huge, 0);
    add(HeapPart::kEmpty, *mapped - in_segments - *huge_mapped, 0);
    found_.census.mapped = *mapped;
    Bytes sum = 0;
    for (const profile::MapTotals& part : found_.census.parts) sum += part.size;
    return sum == *mapped;
  }

  void add_page(const BlockPage& page) {
    const Bytes carved = page.block * static_cast<Bytes>(page.carved);
    const Bytes resident = resident_(page.start, carved);
    // A block that is not wholly touched is large; which ones are is not known.
    const auto part_of = [&](std::int64_t blocks) {
      return carved == 0 ? 0
                         : resident * static_cast<Bytes>(blocks) / static_cast<Bytes>(page.carved);
    };
    const Bytes free = part_of(page.free);
    const Bytes kept = part_of(page.kept);
    // What no live object answers for is counted apart.
    const bool is_unused = page.used() == 0;
    add(is_unused ? HeapPart::kUnused : HeapPart::kFree, page.block * static_cast<Bytes>(page.free),
        free);
    add(is_unused ? HeapPart::kUnused : HeapPart::kKept, page.block * static_cast<Bytes>(page.kept),
        kept);
    add(HeapPart::kUsed, page.block * static_cast<Bytes>(page.used()), resident - free - kept);
    add_range(HeapPart::kUncarved, page.start + carved, page.bytes - carved);
    for (Bytes offset = 0; offset < page.bytes; offset += layout::kSlotBytes) {
      const auto slots = page.bytes / layout::kSlotBytes;
      found_.occupancy.add_page({(page.start + offset) / layout::kSlotBytes,
                                 page.block * static_cast<Bytes>(page.used()) / slots,
                                 page.block * static_cast<Bytes>(page.free + page.kept) / slots});
    }
  }

  /// The block that the object at `address` was drawn in; 0: none.
  [[nodiscard]] Address proxy_of(Address address, Bytes leaf_bytes) const {
    const Address start = address & ~(leaf_bytes - 1);
    layout::Leaf leaf{};
    layout::Entry entry{};
    if (!get(start, leaf) || leaf.block_bytes == 0) return 0;
    const Address offset = address - start - leaf.first_block;
    if (offset >= leaf_bytes || offset % leaf.block_bytes != 0) return 0;
    const Address at = start + layout::kEntries + offset / leaf.block_bytes * sizeof entry;
    return get(at, entry) ? entry.proxy : 0;
  }

  void find_block(const LiveSample& sample) {
    Address block = sample.address;
    if (const auto leaf = leaves_.find(block / layout::kSlotBytes); leaf != leaves_.end()) {
      block = proxy_of(block, leaf->second);
    }
    const BlockPage* page = page_of(block);
    if (page == nullptr) {
      if (block == 0) found_.unmatched.push_back(sample.ref);
      return;  // Large: it shares no page.
    }
    const Bytes offset = block - page->start;
    if (offset % page->block != 0 || page->used() == 0) {
      found_.unmatched.push_back(sample.ref);
    } else {
      found_.blocks.push_back({sample.ref, block, block + page->block});
    }
  }

  const ReadMemory& read_;
  const ResidentIn& resident_;
  GeigerHeap found_{{}, {}, {}, PageOccupancy(layout::kSlotBytes), {}, {}};
  std::vector<BlockPage> pages_;
  tsl::robin_map<Address, std::size_t> slots_;  ///< Index into pages_.
  tsl::robin_map<Address, Bytes> leaves_;       ///< Slots of samples, and the bytes of a leaf.
};

}  // namespace

base::Outcome<GeigerHeap> read_geiger_heap(const ReadMemory& read, const ResidentIn& resident,
                                           std::span<const Mapping> mappings,
                                           std::string_view library,
                                           std::span<const LiveSample> samples) {
  return Reading(read, resident).read_all(mappings, library, samples);
}

bool is_geiger_heap(std::string_view library) {
  return base::file_name_of(library).starts_with("libgeiger-malloc");
}

}  // namespace geiger::observe
