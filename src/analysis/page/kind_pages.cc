#include "analysis/page/kind_pages.h"

#include <utility>

#include "analysis/present/heading.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/memory/measured.h"

namespace geiger::page {

using profile::Kind;

std::string title_of(Kind kind, bool is_followed) {
  if (is_followed && kind == Kind::kLiveAtEnd) return "Live now";
  if (is_followed && kind == Kind::kLiveOverhead) return "Given beyond what was asked for, live";
  if (is_followed && kind == Kind::kLiveUsable) return "As much as the allocator gave, live";
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
  if (is_followed && kind == Kind::kLiveAtEnd) return "What was allocated and is not freed yet.";
  if (is_followed && kind == Kind::kLiveOverhead) {
    return "What the allocator gave beyond what was asked for, of what is live now.";
  }
  if (is_followed && kind == Kind::kLiveUsable) {
    return "What the allocator gave for what is live now, rounding included.";
  }
  switch (kind) {
    case Kind::kAllocated:
      return "Everything that was allocated, freed or not: who keeps the allocator busy.";
    case Kind::kLiveAtEnd:
      return "What was not freed by the end: the place to look for leaks.";
    case Kind::kLiveAtPeak:
      return "What was live when the heap was largest: what to shrink for a lower maximum.";
    case Kind::kResident:
      return "Bytes of live objects on resident pages when the resident set was largest.";
    case Kind::kSwapped:
      return "Bytes of live objects on pages that were swapped out.";
    case Kind::kUntouched:
      return "Bytes of live objects that were never touched or were given back: asked for in vain.";
    case Kind::kStranded:
      return "Free bytes on pages and slabs that live objects hold: fragmentation, by who holds "
             "it.";
    case Kind::kOverhead:
      return "What the allocator gave beyond what was asked for, of everything allocated.";
    case Kind::kLiveOverhead:
      return "What the allocator gave beyond what was asked for, of what was live at the end.";
    case Kind::kUsable:
      return "What the allocator gave for everything allocated, rounding included.";
    case Kind::kLiveUsable:
      return "What the allocator gave for what was live at the end, rounding included.";
    case Kind::kMapped:
      return "Memory that the program mapped past its allocator, accessible at the end; exact.";
    case Kind::kMappedAtPeak:
      return "Memory that the program mapped past its allocator, when most was; exact.";
    case Kind::kMappedTotal:
      return "All memory that the program ever mapped past its allocator; exact.";
    case Kind::kReserved:
      return "Addresses that the program mapped but could not access at the end; exact.";
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
    if (recording.mappings.empty()) return "the program mapped nothing past its allocator";
  }
  const bool has_window = selection.from || selection.to;
  if (has_window && profile::is_of_snapshot(kind))
    return "it is of the largest resident set, not of a window";
  if (has_window && profile::is_of_live_blocks(kind)) return "it is of the end, not of a window";
  return profile::unavailable(recording, kind, selection.moment).value_or("");
}

}  // namespace geiger::page
