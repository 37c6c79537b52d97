#include "analysis/observe/geiger_heap.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/path.h"
#include "vocabulary/heap_layout.h"

namespace geiger::observe {
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
      segments_ += layout::kSegmentBytes;
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
      } else if (page.owner == layout::kSamplesOnly) {
        add_range(HeapPart::kSamples, at, bytes);
        if (page.heap < kPage || !std::has_single_bit(page.heap)) return false;
        leaves_[at / layout::kSlotBytes] = page.heap;
      } else if (!read_page(at, bytes, page)) {
        return false;
      }
      slot += page.slots;
    }
    return true;
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
    if (segments_ + *huge_mapped > *mapped) return false;
    // Where huge objects are is known of samples only: what of them is in memory, the profile says.
    add(HeapPart::kLarge, *huge, 0);
    add(HeapPart::kHeaders, *huge_mapped - *huge, 0);
    add(HeapPart::kEmpty, *mapped - segments_ - *huge_mapped, 0);
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
  GeigerHeap found_{{}, PageOccupancy(layout::kSlotBytes), {}, {}};
  std::vector<BlockPage> pages_;
  tsl::robin_map<Address, std::size_t> slots_;  ///< Index into pages_.
  tsl::robin_map<Address, Bytes> leaves_;       ///< Slots of samples, and the bytes of a leaf.
  Bytes segments_ = 0;
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
