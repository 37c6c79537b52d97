#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "analysis/holders/layout.h"
#include "analysis/observe/allocator_heaps.h"

namespace geiger::holders {

namespace {

constexpr Bytes kHeader = 16;  ///< From a chunk to its block.
constexpr Bytes kLeastChunk = 32;
constexpr std::uint64_t kPreviousInUse = 1, kHasOwnMapping = 2, kFlags = 7;
constexpr Bytes kArenaHeap = 64 * kMiB;
constexpr Bytes kArenaState = 2200;  ///< sizeof(struct malloc_state).
constexpr Bytes kTop = 96;           ///< In that, where its last chunk is.
/// So many chunks in a row are no accident.
constexpr int kEnoughChunks = 6;

/// A heap grows meanwhile; pointers up to `limit` are noticed.
struct Heap {
  Address first = 0, end = 0, limit = 0;
};
constexpr Bytes kMostGrowth = 16 * kMiB;

/// The size in a chunk's header; 0 if that cannot be a header.
Bytes chunk_bytes(std::uint64_t size) {
  const Bytes bytes = size & ~kFlags;
  return bytes >= kLeastChunk && bytes % 16 == 0 && (size & kHasOwnMapping) == 0 ? bytes : 0;
}

/// glibc 2.32 and later mangle the links between chunks in caches.
Address demangled(Address block, std::uint64_t link) { return link ^ block >> 12; }

/// Words as they were a little ago, by windows: headers that follow each other share them.
class RecentWords {
 public:
  explicit RecentWords(Memory& memory) : memory_(memory) {}

  [[nodiscard]] std::uint64_t at(Address address) {
    const Address start = address / kWindow * kWindow;
    Window& window = windows_[start / kWindow % windows_.size()];
    if (window.start != start) {
      window.start = start;
      memory_.read_now({start, kWindow}, window.bytes.data());
    }
    std::uint64_t word = 0;
    std::memcpy(&word, window.bytes.data() + (address - start), sizeof word);
    return word;
  }
  /// From here on they are read again.
  void forget() {
    for (Window& window : windows_) window.start = kNowhere;
  }

 private:
  static constexpr Bytes kWindow = 4 * kKiB;
  static constexpr Address kNowhere = ~Address{0};
  struct Window {
    Address start = kNowhere;
    std::array<std::byte, kWindow> bytes;
  };

  Memory& memory_;
  std::array<Window, 2> windows_;  ///< A chunk may lie in both.
};

/// What malloc has taken from free chunks, and from the last chunk of a heap: by their headers.
class LateGlibcBlocks : public LateBlocks {
 public:
  /// `heaps`: their chunks. `caches`: those of threads. `key`: the second word of chunks in them;
  /// 0: not known.
  LateGlibcBlocks(Memory& memory, std::vector<Span> heaps, std::vector<Address> caches,
                  std::uint64_t key)
      : words_(memory), heaps_(std::move(heaps)), caches_(std::move(caches)), key_(key) {}

  // That a block is not in use may have changed a little ago; that it is may change at any time.
  std::optional<Span> at(Address target, Span free) override {
    const bool is_chunk = is_in_heap(free.start) && free.holds(target);
    if (!is_chunk || std::ranges::find(caches_, free.start) != caches_.end()) return std::nullopt;
    Known& known = known_.try_emplace(free.start, Known{{}, free.start}).first.value();
    while (known.next <= target) {
      Chunk chunk = chunk_at(known.next);
      if (!chunk.is_used) {
        words_.forget();
        chunk = chunk_at(known.next);
      }
      if (chunk.is_used) known.used.push_back(chunk.block);
      const bool is_end = chunk.block.end == known.next;
      if (is_end || (!chunk.is_used && chunk.block.holds(target))) return std::nullopt;
      known.next = chunk.block.end;
    }
    const auto after = std::ranges::upper_bound(known.used, target, {}, &Span::start);
    if (after == known.used.begin() || !std::prev(after)->holds(target)) return std::nullopt;
    const Span block = *std::prev(after);
    if (!is_cached(block.start)) return block;
    words_.forget();
    return is_cached(block.start) ? std::nullopt : std::optional(block);
  }

 private:
  struct Chunk {
    Span block;  ///< Empty: it has no header.
    bool is_used = false;
  };
  /// Blocks in use that were found in what was one free block.
  struct Known {
    std::vector<Span> used;  ///< In order of addresses.
    Address next = 0;        ///< Where to look for more.
  };

  [[nodiscard]] bool is_in_heap(Address address) const {
    return std::ranges::any_of(heaps_, [&](const Span& heap) { return heap.holds(address); });
  }
  [[nodiscard]] Chunk chunk_at(Address block) {
    const Address end = block + chunk_bytes(words_.at(block - 8));
    return {{block, end}, end != block && (words_.at(end - 8) & kPreviousInUse) != 0};
  }
  /// Chunks in caches look used.
  [[nodiscard]] bool is_cached(Address block) {
    const Address next = demangled(block, words_.at(block));
    return (key_ != 0 && words_.at(block + 8) == key_) || next == 0 ||
           (next % 16 == 0 && is_in_heap(next));
  }

  RecentWords words_;
  std::vector<Span> heaps_;
  std::vector<Address> caches_;
  std::uint64_t key_;
  tsl::robin_map<Address, Known> known_;  ///< By the free block's start.
};

class GlibcBlocks {
 public:
  GlibcBlocks(Layout& layout, Memory& memory, const Met& met)
      : layout_(layout), words_(memory), memory_(memory), met_(met) {}

  void add_all() {
    name_heap();
    const auto& mappings = layout_.mappings;
    for (std::size_t i = 0; i < mappings.size(); ++i) {
      const observe::Mapping& mapping = mappings[i];
      if (!mapping.is_writable || !mapping.is_readable || mapping.is_shared) continue;
      if (mapping.path == "[heap]") {
        heap_ = {mapping.start, mapping.end, mapping.end};
        // Of a forked child it may be two, and a chunk lie in both.
        const auto goes_on = [&](const observe::Mapping& next) {
          return next.path == "[heap]" && next.start == heap_.end && next.is_readable;
        };
        for (; i + 1 < mappings.size() && goes_on(mappings[i + 1]); ++i) {
          heap_.end = mappings[i + 1].end;
        }
        const Address next = i + 1 < mappings.size() ? mappings[i + 1].start : ~Address{0};
        heap_.limit = std::min(next, heap_.end + kMostGrowth);
        walk(layout_.blocks.add({heap_.first, heap_.limit}), heap_);
      } else if (mapping.path.empty()) {
        add_mapping(mapping, i + 1 < mappings.size() ? &mappings[i + 1] : nullptr);
      }
    }
    layout_.blocks.index();
    free_cached();
    layout_.late.push_back(std::make_unique<LateGlibcBlocks>(memory_, std::move(heaps_),
                                                             std::move(caches_), cache_key_));
  }

 private:
  [[nodiscard]] std::uint64_t word(Address address, Address end) { return words_.at(address, end); }
  [[nodiscard]] std::uint64_t word_now(Address address) {
    std::uint64_t word = 0;
    memory_.read_now({address, sizeof word}, reinterpret_cast<std::byte*>(&word));
    return word;
  }

  /// Arenas of threads, and chunks with mappings of their own, which may be neighbours. What
  /// follows an arena is reserved for it: `next`.
  void add_mapping(const observe::Mapping& mapping, const observe::Mapping* next) {
    const bool may_grow = next != nullptr && next->start == mapping.end && !next->is_readable;
    const Address limit = may_grow ? std::min(next->end, mapping.end + kMostGrowth) : mapping.end;
    Area* area = nullptr;
    const auto get_area = [&]() -> Area& {
      if (area == nullptr) area = &layout_.blocks.add({mapping.start, limit});
      return *area;
    };
    const Bytes page = memory_.page_bytes();
    for (Address at = mapping.start; at + page <= mapping.end;) {
      if (memory_.is_absent(at)) {
        at += page;
      } else if (auto heap = arena_heap_at(at, mapping.end)) {
        layout_.leave_out({at, heap->first});
        heap->limit = heap->end == mapping.end ? limit : heap->end;
        walk(get_area(), *heap);
        at = std::max(at + page, heap->end / page * page);
      } else if (const Bytes bytes = own_chunk_at(at, mapping.end); bytes > 0) {
        get_area().add(at + kHeader);
        if (met_) met_(at + kHeader, word(at + kHeader, mapping.end));
        close(get_area(), at + bytes, limit);  // The guard of a stack may follow.
        layout_.leave_out({at, at + bytes});
        at += bytes;
      } else {
        at += page;
      }
    }
  }

  std::optional<Heap> arena_heap_at(Address at, Address end) {
    if (at % kArenaHeap != 0) return std::nullopt;
    const std::uint64_t arena = word(at, end), before = word(at + 8, end);
    const Bytes bytes = word(at + 16, end);
    const bool is_sane = bytes >= 4096 && bytes <= kArenaHeap && bytes % 4096 == 0;
    const Bytes description = arena % kArenaHeap;
    if (!is_sane || description < 32 || description > 128) return std::nullopt;
    // It may have grown since the mappings were read.
    const Address until = std::min(end, at + bytes);
    if (before != 0) {
      if (before % kArenaHeap != 0) return std::nullopt;
      return Heap{at + description, until, until};
    }
    if (arena - description != at) return std::nullopt;
    arenas_.push_back(arena);
    return Heap{(arena + kArenaState + 15) / 16 * 16, until, until};
  }

  Bytes own_chunk_at(Address at, Address end) {
    const std::uint64_t size = word(at + 8, end);
    const Bytes bytes = size & ~kFlags;
    const bool is_one = word(at, end) == 0 && (size & kFlags) == kHasOwnMapping && bytes >= 4096 &&
                        bytes % 4096 == 0 && at + bytes <= end;
    return is_one ? bytes : 0;
  }

  /// What lies from `at` to the next block belongs to no block.
  static void close(Area& area, Address at, Address end) {
    if (at >= end) return;
    area.add(at);
    area.set_free(at);
  }

  /// The size of the chunk at `at`; 0: not a chunk.
  Bytes chunk_at(Address at, Address end) {
    const Bytes bytes = chunk_bytes(word(at + 8, end));
    return bytes <= end - at ? bytes : 0;
  }

  /// While malloc divides a chunk, the second part has no size yet.
  Bytes chunk_soon(Address at, Address end) {
    constexpr int kMostLooks = 3;
    constexpr std::chrono::milliseconds kPause(1);
    for (int i = 0; i < kMostLooks; ++i) {
      if (i > 0) std::this_thread::sleep_for(kPause);
      const Bytes bytes = chunk_bytes(word_now(at + 8));
      if (bytes > 0 && bytes <= end - at) return bytes;
    }
    return 0;
  }

  bool is_chain(Address at, Address end) {
    for (int i = 0; i < kEnoughChunks; ++i) {
      if (at + kLeastChunk > end) return false;
      const Bytes bytes = chunk_at(at, end);
      if (bytes == 0) return false;
      at += bytes;
      if (at == end) return true;
    }
    return true;
  }

  /// Where the chain of chunks breaks, it is looked for again: what is skipped is a root.
  void walk(Area& area, Heap heap) {
    heaps_.push_back({heap.first, heap.limit});
    Address at = heap.first, from = heap.first;
    while (at + kLeastChunk <= heap.end) {
      Bytes bytes = chunk_at(at, heap.limit);
      if (bytes == 0) bytes = chunk_soon(at, heap.limit);
      if (bytes == 0) {
        layout_.leave_out({from, at});
        close(area, at, heap.end);
        const Address broken = at;
        for (at += 16; at + kLeastChunk <= heap.end && !is_chain(at, heap.end);) at += 16;
        at = std::min(at, heap.end);
        layout_.not_understood += at - broken;
        from = at;
        continue;
      }
      const Address next = at + bytes;
      const bool is_used =
          next + kHeader <= heap.end && (word(next + 8, heap.end) & kPreviousInUse) != 0;
      area.add(at + kHeader);
      if (!is_used) area.set_free(at + kHeader);
      if (is_used && met_) met_(at + kHeader, word(at + kHeader, heap.end));
      at = next;
    }
    layout_.leave_out({from, at});
    if (at < heap.end || heap.limit == heap.end) close(area, heap.end, area.span().end);
  }

  // Chunks that caches keep look used. Their lists are walked, and only as far as they make sense:
  // the program goes on meanwhile.

  void free_cached() {
    for (Area& area : layout_.blocks.areas()) free_tcaches(area);
    if (const Address arena = main_arena(); arena != 0) {
      layout_.leave_out({arena, arena + kArenaState});
      free_fastbins(arena);
    }
    leave_out_breaks();
    for (const Address arena : arenas_) free_fastbins(arena);
  }

  struct Tcache {
    std::array<std::uint16_t, 64> counts;
    std::array<Address, 64> first;
  };
  static constexpr Bytes kTcacheChunk = sizeof(Tcache) + kHeader;

  void free_tcaches(Area& area) {
    for (Address at = area.span().start; (at = next_block(area, at)) != 0; at += kGrain) {
      if (area.end_of(at) - at != kTcacheChunk || area.is_free(at)) continue;
      Tcache cache{};
      const Piece piece{at, sizeof cache};
      memory_.read({&piece, 1}, reinterpret_cast<std::byte*>(&cache));
      if (!is_tcache(cache)) continue;
      area.set_free(at);
      caches_.push_back(at);
      for (std::size_t i = 0; i < cache.counts.size(); ++i) {
        if (cache.counts[i] != 0) free_list(cache.first[i], kLeastChunk + 16 * i);
      }
    }
  }

  Address next_block(const Area& area, Address from) const {
    if (from >= area.span().end) return 0;
    const Address at = area.is_start(from) ? from : area.end_of(from);
    return at < area.span().end ? at : 0;
  }

  bool is_tcache(const Tcache& cache) const {
    constexpr std::uint16_t kMost = 127;  // 7, if not tuned.
    bool has_any = false;
    for (std::size_t i = 0; i < cache.counts.size(); ++i) {
      if (cache.counts[i] > kMost) return false;
      if (cache.counts[i] == 0) continue;
      const bool is_block = cache.first[i] % 16 == 0 &&
                            std::as_const(layout_.blocks).area_of(cache.first[i]) != nullptr;
      if (!is_block) return false;
      has_any = true;
    }
    return has_any;
  }

  /// `chunk`: the size of all of them; 0: any.
  void free_list(Address block, Bytes chunk) {
    constexpr int kMostListed = 1'000'000;
    for (int i = 0; block != 0 && i < kMostListed; ++i) {
      Area* area = block % 16 == 0 ? layout_.blocks.area_of(block) : nullptr;
      if (area == nullptr || !area->is_start(block) || area->is_free(block)) return;
      if (chunk != 0 && area->end_of(block) - block != chunk) return;
      const std::uint64_t link = word_now(block);
      area->set_free(block);
      if (chunk != 0 && cache_key_ == 0) cache_key_ = word_now(block + 8);
      block = next_of(block, link);
    }
  }

  Address next_of(Address block, std::uint64_t link) {
    const Address mangled = demangled(block, link);
    return mangled % 16 == 0 && layout_.blocks.area_of(mangled) != nullptr ? mangled
           : layout_.blocks.area_of(link) != nullptr                       ? link
                                                                           : 0;
  }

  void free_fastbins(Address arena) {
    constexpr std::size_t kBins = 10;
    std::array<Address, kBins> bins{};
    const Piece piece{arena + 16, sizeof bins};
    memory_.read({&piece, 1}, reinterpret_cast<std::byte*>(bins.data()));
    for (Address chunk : bins) {
      // They link chunks, not blocks.
      for (int i = 0; chunk != 0 && i < 1'000'000; ++i) {
        const Address block = chunk + kHeader;
        Area* area = chunk % 16 == 0 ? layout_.blocks.area_of(block) : nullptr;
        if (area == nullptr || !area->is_start(block) || area->is_free(block)) break;
        const std::uint64_t link = word_now(block);
        area->set_free(block);
        chunk = next_of(block, link);
      }
    }
  }

  /// In the C library's data: it names a chunk of [heap] as the top one, which may be another than
  /// when that was walked, and empty bins point to themselves.
  Address main_arena() {
    constexpr Bytes kMostGrown = kGiB;  // Since the mappings were read.
    const Span heap{heap_.first, heap_.end + kMostGrown};
    return main_arena([&](Address top) { return heap.holds(top); });
  }

  /// The C library's variable (__curbrk) that says where the heap ends: it grows past there.
  void leave_out_breaks() {
    if (heap_.end == 0) return;
    for (std::size_t i = 0; i < layout_.modules.size(); ++i) {
      const observe::Mapping& mapping = layout_.mappings[i];
      const std::uint32_t module = layout_.modules[i];
      const bool is_its = module != kNoMapping && mapping.is_writable &&
                          observe::is_glibc(layout_.mappings[module].path);
      if (!is_its) continue;
      for (Address at = mapping.start; at + 8 <= mapping.end; at += 8) {
        const Address end = word(at, mapping.end);
        const bool is_break =
            end % memory_.page_bytes() == 0 && heap_.end <= end && end <= heap_.limit;
        if (is_break) layout_.leave_out({at, at + 8});
      }
    }
  }

  /// Core files do not say which mapping it is.
  void name_heap() {
    auto& mappings = layout_.mappings;
    const auto heap_at = [&](Address top) {
      return std::ranges::find_if(mappings, [&](const observe::Mapping& mapping) {
        return mapping.holds(top) && mapping.is_writable && mapping.path.empty();
      });
    };
    if (std::ranges::find(mappings, "[heap]", &observe::Mapping::path) != mappings.end()) return;
    const Address arena = main_arena([&](Address top) { return heap_at(top) != mappings.end(); });
    if (arena != 0) heap_at(word(arena + kTop, arena + kArenaState))->path = "[heap]";
  }

  template <class IsTop>
  Address main_arena(const IsTop& is_top) {
    Address found = 0;
    int most = 0;  // What lies a little before or behind it has fewer.
    for (const observe::Mapping& mapping : layout_.mappings) {
      if (!mapping.is_writable || !observe::is_glibc(mapping.path)) continue;
      for (Address at = mapping.start; at + kArenaState <= mapping.end; at += 8) {
        if (!is_top(word(at + kTop, mapping.end))) continue;
        const int empty = empty_bins(at, mapping.end);
        if (empty <= most) continue;
        found = at;
        most = empty;
      }
    }
    return found;
  }

  int empty_bins(Address arena, Address end) {
    constexpr Bytes kBins = 112;
    int count = 0;
    for (Bytes bin = 0; bin < 127 * 16; bin += 16) {
      const Address self = arena + kTop + bin;
      const bool is_empty =
          word(arena + kBins + bin, end) == self && word(arena + kBins + bin + 8, end) == self;
      count += is_empty ? 1 : 0;
    }
    return count;
  }

  Layout& layout_;
  Words words_;
  Memory& memory_;
  const Met& met_;
  std::vector<Address> arenas_;
  std::vector<Span> heaps_;
  std::vector<Address> caches_;
  std::uint64_t cache_key_ = 0;
  Heap heap_;  ///< [heap].
};

}  // namespace

void add_glibc_blocks(Layout& layout, Memory& memory, const Met& met) {
  GlibcBlocks(layout, memory, met).add_all();
}

}  // namespace geiger::holders
