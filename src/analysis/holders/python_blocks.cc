#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/holders/layout.h"

namespace geiger::holders {

namespace {

constexpr Bytes kPool = 16 * kKiB;
constexpr Bytes kPoolHeader = 48;

/// What a pool's header says.
struct Pool {
  std::uint64_t used = 0;
  Address first_free = 0;
  Bytes block = 0;
  Bytes touched = 0;  ///< From the pool's start; blocks behind it were never used.
};

bool is_block(Address at, const Pool& pool, Address block) {
  const Bytes offset = block - at;
  return block == 0 || (offset >= kPoolHeader && offset < pool.touched &&
                        (offset - kPoolHeader) % pool.block == 0);
}

/// The pool that begins at `at` with `words`, if they are a pool's header. Finds free pools too, so
/// that their blocks count as free.
std::optional<Pool> pool_of(Address at, const std::array<std::uint64_t, 6>& words) {
  const std::uint64_t size_class = words[4] >> 32;
  constexpr std::uint64_t kClasses = 32, kMostArenas = 1U << 24, kLow = 0xffffffff;
  if (size_class >= kClasses || (words[4] & kLow) >= kMostArenas) return std::nullopt;
  Pool pool{words[0], words[1], (size_class + 1) * kGrain, words[5] & kLow};
  if (words[5] >> 32 != kPool - pool.block) return std::nullopt;
  const Bytes blocks = pool.touched - std::min(pool.touched, kPoolHeader);
  const bool is_sane = blocks > 0 && blocks % pool.block == 0 && pool.touched <= kPool &&
                       pool.used <= blocks / pool.block && is_block(at, pool, pool.first_free);
  return is_sane ? std::optional(pool) : std::nullopt;
}

/// Of pools, by their headers and lists of free blocks as they are now.
class LatePythonBlocks : public LateBlocks {
 public:
  /// `arenas`: mappings with pools.
  LatePythonBlocks(Memory& memory, std::vector<Span> arenas)
      : memory_(memory), arenas_(std::move(arenas)) {}

  std::optional<Span> at(Address target, Span /*free*/) override {
    const Address start = target / kPool * kPool;
    const bool is_in_arena = std::ranges::any_of(arenas_, [&](const Span& arena) {
      return arena.holds(start) && arena.holds(start + kPool - 1);
    });
    if (!is_in_arena) return std::nullopt;
    std::array<std::uint64_t, 6> header{};
    memory_.read_now({start, sizeof header}, reinterpret_cast<std::byte*>(header.data()));
    const auto pool = pool_of(start, header);
    if (!pool || target < start + kPoolHeader || target >= start + pool->touched) {
      return std::nullopt;
    }
    const Bytes into = (target - start - kPoolHeader) % pool->block;
    const Address block = target - into;
    Bytes steps = pool->touched / pool->block;
    for (Address at = pool->first_free; at != 0 && is_block(start, *pool, at) && steps > 0;
         --steps) {
      if (at == block) return std::nullopt;
      std::uint64_t next = 0;
      memory_.read_now({at, sizeof next}, reinterpret_cast<std::byte*>(&next));
      at = next;
    }
    return Span{block, block + pool->block};
  }

 private:
  Memory& memory_;
  std::vector<Span> arenas_;
};

class PythonPools {
 public:
  PythonPools(Layout& layout, Memory& memory) : layout_(layout), memory_(memory), words_(memory) {}

  bool add_all() {
    for (const observe::Mapping& mapping : layout_.mappings) {
      const bool may_have = mapping.path.empty() && mapping.is_readable && mapping.is_writable &&
                            !mapping.is_shared && mapping.end - mapping.start >= kPool;
      if (may_have) find_in({mapping.start, mapping.end});
    }
    for (const Span& span : spans_) add_area(span);
    layout_.blocks.index();  // To find areas; blocks follow.
    for (const auto& [start, pool] : pools_) add(start, pool);
    layout_.blocks.index();
    layout_.late.push_back(std::make_unique<LatePythonBlocks>(memory_, std::move(spans_)));
    return !pools_.empty();
  }

 private:
  void find_in(Span span) {
    std::vector<Span> untouched;  // Pools to be.
    for (Address at = (span.start + kPool - 1) / kPool * kPool; at + kPool <= span.end;
         at += kPool) {
      if (memory_.is_absent(at)) {
        untouched.push_back({at, at + kPool});
        continue;
      }
      const auto pool = pool_at(at, span.end);
      if (!pool) continue;
      pools_.emplace_back(at, *pool);
      if (spans_.empty() || spans_.back().start != span.start) spans_.push_back(span);
    }
    if (spans_.empty() || spans_.back().start != span.start) return;
    for (const Span& pool : untouched) layout_.leave_out(pool);
  }

  std::optional<Pool> pool_at(Address at, Address end) {
    std::array<std::uint64_t, 6> words{};
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = words_.at(at + 8 * i, end);
    return pool_of(at, words);
  }

  /// The allocator of what is not small may have an area in the mapping already.
  void add_area(Span span) {
    const auto& areas = layout_.blocks.areas();
    const bool is_known = std::ranges::any_of(areas, [&](const Area& area) {
      return area.span().start < span.end && span.start < area.span().end;
    });
    if (!is_known) layout_.blocks.add(span);
  }

  void add(Address start, const Pool& pool) {
    Area* area = layout_.blocks.area_of(start);
    if (area == nullptr || start + kPool > area->span().end) return;
    const Address end = start + pool.touched;
    area->remove_all(start, start + kPool);
    add_free(*area, start);
    if (pool.used > 0) {
      for (Address at = start + kPoolHeader; at < end; at += pool.block) area->add(at);
      free_listed(*area, start, pool);
      if (end < start + kPool) add_free(*area, end);
    }
    const Address next = start + kPool;
    if (next < area->span().end && !area->is_start(next)) add_free(*area, next);
    layout_.leave_out({start, next});
  }

  static void add_free(Area& area, Address at) {
    area.add(at);
    area.set_free(at);
  }

  /// Where the list is not as long as it must be, it is changing: all blocks may be in use.
  void free_listed(Area& area, Address start, const Pool& pool) {
    std::vector<Address> free;
    const std::uint64_t wanted = (pool.touched - kPoolHeader) / pool.block - pool.used;
    for (Address at = pool.first_free; at != 0 && is_block(start, pool, at) && free.size() < wanted;
         at = words_.at(at, start + kPool)) {
      free.push_back(at);
    }
    if (free.size() != wanted) return;
    for (const Address at : free) area.set_free(at);
  }

  Layout& layout_;
  Memory& memory_;
  Words words_;
  std::vector<std::pair<Address, Pool>> pools_;  ///< In order of addresses.
  std::vector<Span> spans_;                      ///< Mappings with pools.
};

class CollectorLists {
 public:
  CollectorLists(Layout& layout, Memory& memory, observe::PythonTypes& types)
      : layout_(layout), memory_(memory), types_(types), words_(memory) {}

  void find_links() {
    for (Area& area : layout_.blocks.areas()) {
      const Address end = area.span().end;
      Address start = area.span().start;
      if (!area.is_start(start)) start = area.end_of(start);
      for (; start < end; start = area.end_of(start)) {
        if (!area.is_free(start)) find_in(area, start, area.end_of(start) - start);
      }
    }
  }

  [[nodiscard]] std::vector<Address> modules() { return std::move(modules_); }

  void leave_out_heads(std::span<const Span> interpreter) {
    for (const Span& span : interpreter) {
      for (Address at = span.start; at + 16 <= span.end; at += 8) {
        const std::uint64_t next = words_.at(at, span.end), before = words_.at(at + 8, span.end);
        // The list may change meanwhile, at one end.
        const bool is_head =
            (leads_back(at, next) && (follows(at, before) || is_collected(before))) ||
            (follows(at, before) && is_collected(next));
        if (is_head) layout_.leave_out({at, at + 16});
      }
    }
  }

 private:
  static constexpr std::uint64_t kFlags = 7;  ///< In the lowest bits of links.

  /// Its first words: perhaps two of managed variables, the links, the references, the type.
  void find_in(Area& area, Address start, Bytes bytes) {
    std::array<std::uint64_t, 6> words{};
    const Bytes known = std::min<Bytes>(bytes / 8 * 8, sizeof words);
    for (Bytes at = 0; at < known; at += 8) {
      words[at / 8] = words_.at(start + at, area.span().end);
    }
    leave_out_stale(area, start, bytes, words);
    for (Bytes before = 16; before + 16 <= known; before += 16) {
      const Address link = start + before - 16;
      const bool is_listed = leads_back(link, words[before / 8 - 2] & ~kFlags) ||
                             follows(link, words[before / 8 - 1] & ~kFlags);
      if (!is_listed) continue;
      const auto* type = types_.type_at(words[before / 8 + 1]);
      if (type == nullptr || type->place.before != before) continue;
      area.set_link(link);
      if (type->name == "module") modules_.push_back(start + before);
      if (type->name == "dict") {
        const auto& [first, stride, count] = types_.entries_of(start + before);
        leave_out_unused(first, first + count * stride);
      }
      if (type->name == "list") {
        const Address items = word(start + before + 24);
        leave_out_unused(items, items + 8 * word(start + before + 16));
      }
    }
  }

  /// Of an object without references. Tuples are kept in a list, by their first member.
  void leave_out_stale(Area& area, Address start, Bytes bytes,
                       const std::array<std::uint64_t, 6>& words) {
    const auto* type = words[2] == 0 ? types_.type_at(words[3]) : nullptr;
    if (type == nullptr || type->place.before != 16) return;
    const bool is_tuple = type->name == "tuple";
    if (!is_tuple && type->name != "list" && type->name != "dict") return;
    for (Address at = start + (is_tuple ? 48 : 32); at + 16 <= start + bytes; at += 16) {
      area.set_link(at);
    }
  }

  /// CPython does not clear the room behind a container's last member, which ends at `end`.
  void leave_out_unused(Address first, Address end) {
    const auto block = layout_.blocks.block_at(first);
    if (!block || block->is_free || end < first) return;
    Area& area = *layout_.blocks.area_of(first);
    for (Address at = (end + kGrain - 1) / kGrain * kGrain; at < area.end_of(block->start);
         at += kGrain) {
      area.set_link(at);
    }
  }

  /// Only links to blocks matter: others hold nothing.
  bool leads_back(Address link, Address next) { return points_to(next, 8, link); }
  bool follows(Address link, Address before) { return points_to(before, 0, link); }
  bool points_to(Address block, Bytes offset, Address link) {
    return layout_.blocks.area_of(block) != nullptr && (word(block + offset) & ~kFlags) == link;
  }
  /// Whether an object follows what may be its links.
  bool is_collected(Address link) {
    if (layout_.blocks.area_of(link) == nullptr) return false;
    const auto* type = types_.type_at(word(link + 24));
    return type != nullptr && type->place.before >= 16;
  }
  std::uint64_t word(Address address) {
    std::uint64_t word = 0;
    const Piece piece{address, sizeof word};
    memory_.read({&piece, 1}, reinterpret_cast<std::byte*>(&word));
    return word;
  }

  Layout& layout_;
  Memory& memory_;
  observe::PythonTypes& types_;
  Words words_;
  std::vector<Address> modules_;
};

}  // namespace

bool add_python_blocks(Layout& layout, Memory& memory) {
  return PythonPools(layout, memory).add_all();
}

std::vector<Address> find_links(Layout& layout, Memory& memory, observe::PythonTypes& types,
                                std::span<const Span> interpreter) {
  CollectorLists lists(layout, memory, types);
  lists.find_links();
  lists.leave_out_heads(interpreter);
  return lists.modules();
}

}  // namespace geiger::holders
