#include "analysis/page/kind_pages.h"

#include <utility>

#include "analysis/present/heading.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/memory/measured.h"

namespace geiger::page {

using profile::Kind;

std::string title_of(Kind kind, bool is_followed) {
  if (is_followed && kind == Kind::kLiveAtEnd) return "Live now";
  if (is_followed && kind == Kind::kLiveOverhead) return "Allocator overhead (rounding), live now";
  if (is_followed && kind == Kind::kLiveUsable) return "Usable (after rounding), live now";
  std::string title(present::kind_text(kind));
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

std::vector<Kind> kinds_in_order(bool is_followed) {
  std::vector<Kind> kinds(kKinds.begin(), kKinds.end());
  if (is_followed) std::swap(kinds[0], kinds[1]);
  return kinds;
}

std::string_view about(Kind kind, bool is_followed) {
  if (is_followed && kind == Kind::kLiveAtEnd) return "Allocated and not yet freed.";
  if (is_followed && kind == Kind::kLiveOverhead) {
    return "Bytes that the allocator adds by rounding up sizes, in the live heap now.";
  }
  if (is_followed && kind == Kind::kLiveUsable) {
    return "Usable sizes of the live heap now: requested bytes and rounding.";
  }
  switch (kind) {
    case Kind::kAllocated:
      return "All allocations, freed or not: who keeps the allocator busy.";
    case Kind::kLiveAtEnd:
      return "Not freed by the end: the place to look for leaks.";
    case Kind::kLiveAtPeak:
      return "The heap when it was largest: what to shrink for a lower peak.";
    case Kind::kResident:
      return "Bytes of live objects on resident pages when the resident set was largest.";
    case Kind::kSwapped:
      return "Bytes of live objects on pages that were swapped out.";
    case Kind::kUntouched:
      return "Bytes of live objects that were allocated but never touched, or returned to the "
             "kernel.";
    case Kind::kStranded:
      return "Free bytes on pages and slabs that live objects hold: fragmentation, by who holds "
             "it.";
    case Kind::kOverhead:
      return "Bytes that the allocator adds by rounding up sizes, over all allocations.";
    case Kind::kLiveOverhead:
      return "Bytes that the allocator adds by rounding up sizes, in the heap at the end.";
    case Kind::kUsable:
      return "Usable sizes of all allocations: requested bytes and rounding.";
    case Kind::kLiveUsable:
      return "Usable sizes of the heap at the end: requested bytes and rounding.";
    case Kind::kMapped:
      return "Memory from the program's own mmap calls, accessible at the end; exact.";
    case Kind::kMappedAtPeak:
      return "Memory from the program's own mmap calls, at its peak; exact.";
    case Kind::kMappedTotal:
      return "All memory from the program's own mmap calls; exact.";
    case Kind::kReserved:
      return "Addresses that the program had reserved (mapped without access) at the end; exact.";
    case Kind::kMappedFiles:
      return "Files that the program had mapped at the end; exact.";
  }
  return "";
}

std::string why_unavailable(const profile::Recording& recording,
                            const profile::Selection& selection) {
  const Kind kind = selection.kind;
  const bool is_filtered = selection.keeps || selection.heap != profile::kProcessHeap;
  if (profile::is_of_mappings(kind)) {
    if (is_filtered) return std::string(profile::kNoFilters);
    if (recording.mappings.empty()) return "the program made no mmap calls of its own";
  }
  const bool has_window = selection.from || selection.to;
  if (has_window && profile::is_of_snapshot(kind))
    return "it exists for the largest resident set, not for a window";
  if (has_window && profile::is_of_live_blocks(kind))
    return "it exists for the end, not for a window";
  return profile::check_kind(recording, kind, selection.moment).reason();
}

}  // namespace geiger::page
