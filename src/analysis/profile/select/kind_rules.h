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
  kTemporary,   ///< Allocated while recording, and freed within kTemporaryLife.
  // Of a part of each object (measured.h). At the moment of a snapshot:
  kResident,    ///< Its bytes on resident pages.
  kSwapped,     ///< On pages that were swapped out.
  kUntouched,   ///< On pages that were never touched, or given back.
  kStranded,    ///< Free bytes of its page or slab that it answers for.
  kZero,        ///< Its bytes that were zero.
  kWhollyZero,  ///< All of it, if all of its bytes were zero.
  kDuplicate,   ///< What it would save to keep one of the equal objects.
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

/// Objects that live up to this are temporary, in nanoseconds.
inline constexpr std::uint64_t kTemporaryLife = 1'000'000;

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

/// What is known of a kind, at one place: what it can be asked, and how reports speak of it.
struct KindRules {
  Kind kind;
  std::string_view name;  ///< As typed and in JSON.
  std::string_view text;  ///< For people.
  About about;
  AtInstant at = AtInstant::kNever;
  bool takes_window = false;       ///< From an instant on and before another one.
  std::string_view verb = "held";  ///< What a function did to the bytes.
  std::string_view when = {};      ///< Before the subject; empty where the verb says when.
  std::string_view which = {};     ///< Behind the bytes; may be empty.
  std::string_view meaning;        ///< A sentence.
  std::string_view text_now = {};  ///< Where the end is now; empty: no other words.
  std::string_view meaning_now = {};
};

/// In the order in which help and messages list them.
inline constexpr std::array<KindRules, 20> kKindRules{{
    {.kind = Kind::kAllocated,
     .name = "allocated",
     .text = "allocated",
     .about = About::kObjects,
     .takes_window = true,
     .verb = "allocated",
     .meaning = "All allocations, freed or not: who keeps the allocator busy."},
    {.kind = Kind::kLiveAtEnd,
     .name = "live",
     .text = "live at the end",
     .about = About::kObjects,
     .at = AtInstant::kAny,
     .when = "at the end ",
     .meaning = "Not freed by the end: the place to look for leaks.",
     .text_now = "live now",
     .meaning_now = "Allocated and not yet freed."},
    {.kind = Kind::kLiveAtPeak,
     .name = "peak",
     .text = "live at the peak",
     .about = About::kObjects,
     .takes_window = true,
     .when = "at the peak ",
     .meaning = "The heap when it was largest: what to shrink for a lower peak."},
    {.kind = Kind::kTemporary,
     .name = "temporary",
     .text = "allocated and freed within 1 ms",
     .about = About::kObjects,
     .takes_window = true,
     .verb = "allocated",
     .meaning = "Objects that were freed within 1 ms: what to reuse instead."},
    {.kind = Kind::kResident,
     .name = "resident",
     .text = "resident",
     .about = About::kSnapshots,
     .at = AtInstant::kSnapshot,
     .meaning = "Bytes of live objects on resident pages when the resident set was largest."},
    {.kind = Kind::kSwapped,
     .name = "swapped",
     .text = "swapped out",
     .about = About::kSnapshots,
     .at = AtInstant::kSnapshot,
     .meaning = "Bytes of live objects on pages that were swapped out."},
    {.kind = Kind::kUntouched,
     .name = "untouched",
     .text = "never touched",
     .about = About::kSnapshots,
     .at = AtInstant::kSnapshot,
     .meaning =
         "Bytes of live objects that were allocated but never touched, or returned to the kernel."},
    {.kind = Kind::kUsable,
     .name = "usable",
     .text = "usable (after rounding)",
     .about = About::kBlocks,
     .takes_window = true,
     .meaning = "Usable sizes of all allocations: requested bytes and rounding."},
    {.kind = Kind::kLiveUsable,
     .name = "live-usable",
     .text = "usable (after rounding), live at the end",
     .about = About::kBlocks,
     .takes_window = true,
     .meaning = "Usable sizes of the heap at the end: requested bytes and rounding.",
     .text_now = "usable (after rounding), live now",
     .meaning_now = "Usable sizes of the live heap now: requested bytes and rounding."},
    {.kind = Kind::kOverhead,
     .name = "overhead",
     .text = "allocator overhead (rounding)",
     .about = About::kBlocks,
     .takes_window = true,
     .verb = "allocated",
     .meaning = "Bytes that the allocator adds by rounding up sizes, over all allocations."},
    {.kind = Kind::kLiveOverhead,
     .name = "live-overhead",
     .text = "allocator overhead (rounding), live at the end",
     .about = About::kBlocks,
     .takes_window = true,
     .meaning = "Bytes that the allocator adds by rounding up sizes, in the heap at the end.",
     .text_now = "allocator overhead (rounding), live now",
     .meaning_now = "Bytes that the allocator adds by rounding up sizes, in the live heap now."},
    {.kind = Kind::kStranded,
     .name = "stranded",
     .text = "stranded beside live objects",
     .about = About::kSnapshots,
     .at = AtInstant::kSnapshot,
     .meaning =
         "Free bytes on pages and slabs that live objects hold: fragmentation, by who holds it."},
    {.kind = Kind::kZero,
     .name = "zero",
     .text = "zero bytes",
     .about = About::kSnapshots,
     .at = AtInstant::kSnapshot,
     .meaning = "Bytes of live objects that were zero when their content was read."},
    {.kind = Kind::kWhollyZero,
     .name = "blank",
     .text = "wholly zero objects",
     .about = About::kSnapshots,
     .at = AtInstant::kSnapshot,
     .meaning =
         "Live objects whose bytes were all zero: allocated, but nothing is stored in them."},
    {.kind = Kind::kDuplicate,
     .name = "duplicate",
     .text = "equal copies beyond the first",
     .about = About::kSnapshots,
     .at = AtInstant::kSnapshot,
     .meaning = "What it would save to keep one of each group of live objects with equal content."},
    {.kind = Kind::kMapped,
     .name = "mapped",
     .text = "mapped at the end",
     .about = About::kMappings,
     .at = AtInstant::kAny,
     .verb = "mapped",
     .meaning = "Memory from the program's own mmap calls, accessible at the end; exact."},
    {.kind = Kind::kMappedAtPeak,
     .name = "mapped-peak",
     .text = "mapped at the peak of mappings",
     .about = About::kMappings,
     .takes_window = true,
     .which = " that the program mapped itself",
     .meaning = "Memory from the program's own mmap calls, at its peak; exact."},
    {.kind = Kind::kMappedTotal,
     .name = "mapped-total",
     .text = "mapped in total",
     .about = About::kMappings,
     .takes_window = true,
     .verb = "mapped",
     .meaning = "All memory from the program's own mmap calls; exact."},
    {.kind = Kind::kMappedFiles,
     .name = "mapped-files",
     .text = "mapped files at the end",
     .about = About::kMappings,
     .at = AtInstant::kAny,
     .verb = "mapped",
     .meaning = "Files that the program had mapped at the end; exact."},
    {.kind = Kind::kReserved,
     .name = "reserved",
     .text = "reserved at the end",
     .about = About::kMappings,
     .at = AtInstant::kAny,
     .verb = "reserved",
     .meaning =
         "Addresses that the program had reserved (mapped without access) at the end; exact."},
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
/// What objects contain, which is read only if it was asked for (--content).
[[nodiscard]] constexpr bool is_of_content(Kind kind) {
  return kind == Kind::kZero || kind == Kind::kWhollyZero || kind == Kind::kDuplicate;
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
