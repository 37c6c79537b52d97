// The kinds of profiles and the options that each allows: one row of a table per kind.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace geiger::profile {

enum class Kind : std::uint8_t {
  kAllocated,   ///< Everything allocated while recording.
  kLiveAtEnd,   ///< Not freed when the recording ended.
  kLiveAtPeak,  ///< Live at the instant of the largest estimated live heap.
  // Of a part of each object (measured.h). At the moment of a snapshot:
  kResident,   ///< Its bytes on resident pages.
  kSwapped,    ///< On pages that were swapped out.
  kUntouched,  ///< On pages that were never touched, or given back.
  kStranded,   ///< Free bytes of its page or slab that it answers for.
  // Usable beyond requested bytes:
  kOverhead,      ///< Of everything allocated.
  kLiveOverhead,  ///< Of what was live at the end.
  // What the allocator gave, requested bytes and the rest:
  kUsable,      ///< Of everything allocated.
  kLiveUsable,  ///< Of what was live at the end.
  // Of what the program mapped past its allocator, exact (mappings.h):
  kMapped,        ///< Accessible at the end, not of files.
  kMappedAtPeak,  ///< Accessible when most was.
  kMappedTotal,   ///< Everything that became accessible.
  kReserved,      ///< Mapped, but not accessible at the end.
  kMappedFiles,   ///< Of files, accessible at the end.
};

/// The events or objects that a kind adds up.
enum class About : std::uint8_t {
  kObjects,    ///< Sizes of objects.
  kBlocks,     ///< The allocator's block sizes, which every sample has.
  kSnapshots,  ///< A part of each object, read from a snapshot of the process.
  kMappings,   ///< What the program mapped past its allocator.
};

/// The instants that a kind allows.
enum class AtInstant : std::uint8_t {
  kNever,     ///< It is of a window, or names its instant itself.
  kAny,       ///< Any; the end by default.
  kSnapshot,  ///< The instant of one of its snapshots.
};

struct KindRules {
  Kind kind;
  std::string_view name;  ///< As typed and in JSON.
  std::string_view text;  ///< For people.
  About about;
  AtInstant at;
  bool takes_window;  ///< From an instant on and before another one.
};

/// In the order in which help and messages list them.
inline constexpr std::array<KindRules, 16> kKindRules{{
    {Kind::kAllocated, "allocated", "allocated", About::kObjects, AtInstant::kNever, true},
    {Kind::kLiveAtEnd, "live", "live at the end", About::kObjects, AtInstant::kAny, false},
    {Kind::kLiveAtPeak, "peak", "live at the peak", About::kObjects, AtInstant::kNever, true},
    {Kind::kResident, "resident", "resident", About::kSnapshots, AtInstant::kSnapshot, false},
    {Kind::kSwapped, "swapped", "swapped out", About::kSnapshots, AtInstant::kSnapshot, false},
    {Kind::kUntouched, "untouched", "never touched", About::kSnapshots, AtInstant::kSnapshot,
     false},
    {Kind::kUsable, "usable", "usable (after rounding)", About::kBlocks, AtInstant::kNever, true},
    {Kind::kLiveUsable, "live-usable", "usable (after rounding), live at the end", About::kBlocks,
     AtInstant::kNever, true},
    {Kind::kOverhead, "overhead", "allocator overhead (rounding)", About::kBlocks,
     AtInstant::kNever, true},
    {Kind::kLiveOverhead, "live-overhead", "allocator overhead (rounding), live at the end",
     About::kBlocks, AtInstant::kNever, true},
    {Kind::kStranded, "stranded", "stranded beside live objects", About::kSnapshots,
     AtInstant::kSnapshot, false},
    {Kind::kMapped, "mapped", "mapped at the end", About::kMappings, AtInstant::kAny, false},
    {Kind::kMappedAtPeak, "mapped-peak", "mapped at the peak of mappings", About::kMappings,
     AtInstant::kNever, true},
    {Kind::kMappedTotal, "mapped-total", "mapped in total", About::kMappings, AtInstant::kNever,
     true},
    {Kind::kMappedFiles, "mapped-files", "mapped files at the end", About::kMappings,
     AtInstant::kAny, false},
    {Kind::kReserved, "reserved", "reserved at the end", About::kMappings, AtInstant::kAny, false},
}};

[[nodiscard]] constexpr const KindRules& rules_of(Kind kind) {
  return *std::ranges::find(kKindRules, kind, &KindRules::kind);
}

[[nodiscard]] constexpr std::string_view name_of(Kind kind) { return rules_of(kind).name; }
[[nodiscard]] constexpr std::string_view kind_text(Kind kind) { return rules_of(kind).text; }

[[nodiscard]] constexpr std::optional<Kind> kind_named(std::string_view name) {
  const auto* const named = std::ranges::find(kKindRules, name, &KindRules::name);
  if (named == kKindRules.end()) return std::nullopt;
  return named->kind;
}

/// Whether a kind is about mappings, not about allocations. Filters and groups of allocations have
/// no meaning for it.
[[nodiscard]] constexpr bool is_of_mappings(Kind kind) {
  return rules_of(kind).about == About::kMappings;
}
/// Whether it is about mappings at one instant.
[[nodiscard]] constexpr bool is_mapping_snapshot(Kind kind) {
  return is_of_mappings(kind) && rules_of(kind).at == AtInstant::kAny;
}
[[nodiscard]] constexpr bool is_of_snapshot(Kind kind) {
  return rules_of(kind).about == About::kSnapshots;
}
[[nodiscard]] constexpr bool is_of_blocks(Kind kind) {
  return rules_of(kind).about == About::kBlocks;
}
/// Of blocks that were live at the end.
[[nodiscard]] constexpr bool is_of_live_blocks(Kind kind) {
  return kind == Kind::kLiveOverhead || kind == Kind::kLiveUsable;
}
/// Whether a kind sums something else than sizes of objects or mappings (measured.h).
[[nodiscard]] constexpr bool is_measured(Kind kind) {
  return is_of_blocks(kind) || is_of_snapshot(kind);
}

/// Why a filter of objects cannot go with a kind of mappings.
inline constexpr std::string_view kNoFilters = "filters apply to allocations, not to mappings";

}  // namespace geiger::profile
