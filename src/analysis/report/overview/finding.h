// The finding: the one sentence that a report opens with. It names the function and the line
// of the program's own code that holds or allocates most, where the samples prove it, and
// says what is open where they do not.
//
//   At the peak SessionStore::open (leaky.cc:11) held 95 % [86, 99] of 58.0 MiB [44.1, 74.9].
//
// What was allocated is said beside it where that is what matters (find_opening):
//
//   join (parser.cc:27) allocated 88 % ± 3 of 1.59 GiB; 97 % ± 1 of it was freed within 1 ms.
//
// A function is a candidate if at least kSamplesToName samples passed through it, or what is known
// of it exactly is enough, and the lower limit of its share is at least kShareToName. Of candidates
// those are leaders most of whose bytes pass through no candidate further in: so `main` is named
// only where it allocates itself, and the function that three equal ones are called from only where
// none of them is proved.
//
// A function that the rest of the program runs through too, such as a dispatcher, gives way to the
// owner of what is held (profile/lives/owners.h), if the lower limit of that one's share is at
// least kShareToName; the largest of many that are each too small, from kShareOfPart on.
//
//   At the peak LruCache::get (cache.cc:26) held 40 % ± 4 of 812 MiB ± 32, in 10 sites.
//
// A function with nearly everything, such as a script's top level, answers little. Then its parts
// follow: its own lines and the functions that it calls, chosen by the same rules from
// kShareOfPart on, unless one of them has nearly everything again, or one line is all of them.
//
//   At the peak <module> (service.py:4 +2) held 94 % [82, 98] of 19.8 MiB [13.5, 28.0]: 54 %
//   [36, 71] in <module> itself (service.py:4), 26 % [12, 47] in remember (service.py:8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/measure.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::report {

/// A function is not named on fewer samples.
inline constexpr std::uint64_t kSamplesToName = 6;
/// A function is named if its share is at least this, by its lower limit.
inline constexpr double kShareToName = 0.25;
/// A function with at least this share has its parts named too.
inline constexpr double kNearlyAll = 0.9;
/// A part is named if its share of the whole is at least this, by its lower limit.
inline constexpr double kShareOfPart = 0.1;
/// Beside the heap what was allocated is said too, if it is surely this many times the heap.
inline constexpr double kChurn = 10;
/// What was allocated comes first, if it is this many times a heap that is surely below
/// kSmallHeap: such a program is looked at for its allocations.
inline constexpr double kMostlyChurn = 100;
inline constexpr double kSmallHeap = 64.0 * (1U << 20U);
/// At most this many are named where it is open which of them is the largest.
inline constexpr std::size_t kMostNamed = 3;

enum class FindingVerdict : std::uint8_t {
  kNothing,  ///< No samples at all.
  kEmpty,    ///< Samples, all known to be of 0 bytes.
  kTooFew,   ///< Fewer than kSamplesToName.
  kSpread,   ///< No function reaches kShareToName; `sites` has the largest, or an owner.
  kFound,    ///< One function, or several whose intervals overlap.
};

/// A part of what a function holds: one of its own lines, or a function that it calls.
struct FoundPart {
  std::string function;  ///< As demangled.
  bool is_own = false;   ///< A line of the function itself.
  profile::SourceLine where;
  present::Share share;  ///< Of the whole.
};

/// A function that a finding names.
struct FoundSite {
  std::string function;       ///< As demangled.
  profile::SourceLine where;  ///< The line of its call with most of its bytes.
  std::string process;        ///< Where several processes have samples: the one with most of it.
  present::Measure held;      ///< With all that it calls.
  present::Share share;
  std::vector<std::uint32_t> stacks;  ///< Those that pass through it; the one with most first.
  bool is_blamed = false;             ///< Most of it is allocated by the function itself.
  std::uint64_t owned = 0;            ///< Of an owner: the number of its stacks.
  std::vector<FoundPart> parts;       ///< Of a function with nearly everything.
};

struct Finding {
  FindingVerdict verdict = FindingVerdict::kNothing;
  profile::Kind kind = profile::Kind::kAllocated;
  present::Measure total;
  std::vector<FoundSite> sites;  ///< The largest first.
  /// "97 % ± 1 of it was freed within 1 ms": of what was allocated, if most of it was freed soon.
  std::string lives;
};

/// A recording with the names and roles of its frames, which searches of several profiles share.
struct NamedRecording {
  const profile::Recording& recording;
  profile::Labels labels;
  profile::FrameRoles roles;

  explicit NamedRecording(const profile::Recording& of)
      : recording(of), labels(of), roles(of, labels) {}
};

/// The finding of one kind of profile; `profile` was selected from `recording`.
[[nodiscard]] Finding find(const profile::Recording& recording, const profile::Profile& profile,
                           double level);
[[nodiscard]] Finding find(const NamedRecording& named, const profile::Profile& profile,
                           double level);

/// The kind that a report of a whole run opens on: the peak; the end where its lower limit is
/// above half of the peak's estimate; what was allocated where neither has the samples to name
/// a function. `peak` is null where the recording knows no peak.
[[nodiscard]] const Finding& opening(const Finding& allocated, const Finding& live,
                                     const Finding* peak);

/// The finding that a report opens with, what is said beside it, and the totals of all three.
struct Opening {
  Finding finding;
  std::optional<Finding> beside;
  present::Measure allocated, live_at_end, live_at_peak;
};
/// All profiles were selected from the recording; a function is looked for, which takes most of the
/// time, in the chosen one, and in what was allocated where the chosen one names no function in
/// particular or what was allocated is surely kChurn times it. Without `has_peak` the recording
/// knows no peak.
[[nodiscard]] Opening find_opening(const NamedRecording& named, const profile::Profile& allocated,
                                   const profile::Profile& live, const profile::Profile& peak,
                                   bool has_peak, double level);

/// "at the peak SessionStore::open (leaky.cc:11) held 95 % [86, 99] of 58.0 MiB [44.1, 74.9]".
[[nodiscard]] std::string clause(const Finding& finding);
/// clause() as a sentence, without a line break.
[[nodiscard]] std::string sentence(const Finding& finding);

/// "SessionStore::open (leaky.cc:11)".
[[nodiscard]] std::string site_text(const FoundSite& site);
/// "10 sites": of an owner; empty of others.
[[nodiscard]] std::string sites_text(const FoundSite& site);
/// "at service.py:4": a line of the function; "in remember (service.py:8)": what it calls.
[[nodiscard]] std::string part_text(const FoundPart& part);

[[nodiscard]] const present::Fields<Finding>& fields_of(present::Of<Finding> /*type*/);

/// "found", "spread", "too_few", "nothing".
[[nodiscard]] std::string_view name_of(FindingVerdict verdict);

}  // namespace geiger::report
