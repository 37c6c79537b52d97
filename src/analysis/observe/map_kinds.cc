#include "analysis/observe/map_kinds.h"

#include <algorithm>

namespace geiger::observe {
namespace {

using profile::MapKind;

constexpr std::string_view kRuntimeLibrary = "/libgeiger-preload.so";

bool is_any_in(Address start, Address end, std::span<const Address> addresses) {
  const auto first = std::ranges::lower_bound(addresses, start);
  return first != addresses.end() && *first < end;
}

/// Whether the allocator has put objects, or parts of them, into [start, end).
bool is_heap(Address start, Address end, const MapFacts& facts) {
  if (facts.live->is_heap(start, end)) return true;
  const auto first = std::ranges::upper_bound(facts.extents, start, {}, &Range::end);
  return first != facts.extents.end() && first->start < end;
}

bool is_shared_memory(const Mapping& mapping) {
  const auto starts = [&](std::string_view prefix) { return mapping.path.starts_with(prefix); };
  return starts("/memfd:") || starts("/dev/shm/") || starts("/dev/zero") || starts("/SYSV") ||
         (mapping.is_shared && !mapping.path.starts_with('/'));
}

/// Zero-initialised data of a library lies after its file in an anonymous mapping.
bool is_bss_of_runtime(std::span<const Mapping> mappings, std::size_t i) {
  return i > 0 && mappings[i].path.empty() && mappings[i].is_writable &&
         mappings[i - 1].end == mappings[i].start &&
         mappings[i - 1].path.ends_with(kRuntimeLibrary);
}

MapKind kind_of_anonymous(const Mapping& mapping, const MapFacts& facts) {
  if (mapping.path == "[heap]") return MapKind::kMallocHeap;
  const bool is_stack = is_any_in(mapping.start, mapping.end, facts.stacks);
  if (mapping.path == "[stack]" || is_stack) return MapKind::kStack;
  if (mapping.path.starts_with('[') && !mapping.path.starts_with("[anon")) return MapKind::kOther;
  const bool has_objects = is_heap(mapping.start, mapping.end, facts);
  return has_objects ? MapKind::kMallocHeap : MapKind::kAnonymous;
}

MapKind kind_of(std::span<const Mapping> mappings, std::size_t i, const MapFacts& facts) {
  const Mapping& mapping = mappings[i];
  if (is_trace(mapping, facts) || mapping.path.ends_with(kRuntimeLibrary)) return MapKind::kRuntime;
  if (is_bss_of_runtime(mappings, i)) return MapKind::kRuntime;
  if (is_shared_memory(mapping)) return MapKind::kShared;
  if (mapping.path.starts_with('/') || mapping.inode != 0) return MapKind::kFile;
  return kind_of_anonymous(mapping, facts);
}

}  // namespace

bool is_trace(const Mapping& mapping, const MapFacts& facts) {
  return mapping.is_shared && mapping.inode == facts.trace_inode &&
         mapping.path.ends_with("/" + facts.trace_name);
}

std::vector<MapKind> kinds_of(std::span<const Mapping> mappings, const MapFacts& facts) {
  std::vector<MapKind> kinds;
  kinds.reserve(mappings.size());
  for (std::size_t i = 0; i < mappings.size(); ++i) kinds.push_back(kind_of(mappings, i, facts));
  return kinds;
}

std::vector<Range> own_ranges(const MapFacts& facts) {
  std::vector<Range> own;
  for (const Range& range : facts.live->mappings().ranges()) {
    const Address end = range.end();
    if (is_heap(range.start, end, facts) || is_any_in(range.start, end, facts.stacks)) continue;
    const bool touches = !own.empty() && own.back().end() == range.start;
    if (touches) {
      own.back().bytes += range.bytes;
    } else {
      own.push_back(range);
    }
  }
  return own;
}

profile::MapTable totals_of(std::span<const Mapping> mappings, std::span<const MapKind> kinds) {
  profile::MapTable table{};
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    profile::MapTotals& totals = table[static_cast<std::size_t>(kinds[i])];
    totals.size += mappings[i].end - mappings[i].start;
    totals.resident += mappings[i].resident;
    totals.swapped += mappings[i].swapped;
  }
  return table;
}

}  // namespace geiger::observe
