#include "analysis/page/kind_pages.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/memory/measured.h"

namespace geiger::page {
namespace {

using profile::Kind;

/// What a page says of a kind, and instead where it is followed.
struct KindWords {
  Kind kind;
  std::string_view about;
  std::string_view title_now = {}, about_now = {};  ///< Empty: no other words.
};

constexpr std::array<KindWords, 16> kWords{{
    {Kind::kAllocated, "All allocations, freed or not: who keeps the allocator busy."},
    {Kind::kLiveAtEnd, "Not freed by the end: the place to look for leaks.", "Live now",
     "Allocated and not yet freed."},
    {Kind::kLiveAtPeak, "The heap when it was largest: what to shrink for a lower peak."},
    {Kind::kResident, "Bytes of live objects on resident pages when the resident set was largest."},
    {Kind::kSwapped, "Bytes of live objects on pages that were swapped out."},
    {Kind::kUntouched,
     "Bytes of live objects that were allocated but never touched, or returned to the kernel."},
    {Kind::kStranded,
     "Free bytes on pages and slabs that live objects hold: fragmentation, by who holds it."},
    {Kind::kOverhead, "Bytes that the allocator adds by rounding up sizes, over all allocations."},
    {Kind::kLiveOverhead,
     "Bytes that the allocator adds by rounding up sizes, in the heap at the end.",
     "Allocator overhead (rounding), live now",
     "Bytes that the allocator adds by rounding up sizes, in the live heap now."},
    {Kind::kUsable, "Usable sizes of all allocations: requested bytes and rounding."},
    {Kind::kLiveUsable, "Usable sizes of the heap at the end: requested bytes and rounding.",
     "Usable (after rounding), live now",
     "Usable sizes of the live heap now: requested bytes and rounding."},
    {Kind::kMapped, "Memory from the program's own mmap calls, accessible at the end; exact."},
    {Kind::kMappedAtPeak, "Memory from the program's own mmap calls, at its peak; exact."},
    {Kind::kMappedTotal, "All memory from the program's own mmap calls; exact."},
    {Kind::kReserved,
     "Addresses that the program had reserved (mapped without access) at the end; exact."},
    {Kind::kMappedFiles, "Files that the program had mapped at the end; exact."},
}};

const KindWords& words_of(Kind kind) { return *std::ranges::find(kWords, kind, &KindWords::kind); }

}  // namespace

std::string title_of(Kind kind, bool is_followed) {
  const KindWords& words = words_of(kind);
  if (is_followed && !words.title_now.empty()) return std::string(words.title_now);
  std::string title(profile::kind_text(kind));
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

std::vector<Kind> kinds_in_order(bool is_followed) {
  std::vector<Kind> kinds(kKinds.begin(), kKinds.end());
  if (is_followed) std::swap(kinds[0], kinds[1]);
  return kinds;
}

std::string_view about(Kind kind, bool is_followed) {
  const KindWords& words = words_of(kind);
  return is_followed && !words.about_now.empty() ? words.about_now : words.about;
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
