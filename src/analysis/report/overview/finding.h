// The finding: the one sentence that a report opens with. It names the function and the line
// of the program's own code that holds or allocates most, where the samples prove it, and
// says what is open where they do not.
//
//   At the peak SessionStore::open (leaky.cc:11) held 95 % [86, 99] of 58.0 MiB [44.1, 74.9].
//
// A function is a candidate if at least kSamplesToName samples passed through it, or what is known
// of it exactly is enough, and the lower limit of its share is at least kShareToName. Of candidates
// those are leaders most of whose bytes pass through no candidate further in: so `main` is named
// only where it allocates itself, and the function that three equal ones are called from only where
// none of them is proved.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/present/json.h"
#include "analysis/present/measure.h"
#include "analysis/present/share.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/source_line.h"
#include "analysis/profile/labels.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"

namespace geiger::report {

/// A function is not named on fewer samples.
inline constexpr std::uint64_t kSamplesToName = 6;
/// A function is named if its share is at least this, by its lower limit.
inline constexpr double kShareToName = 0.25;
/// At most so many are named where it is open which of them is the largest.
inline constexpr std::size_t kMostNamed = 3;

enum class FindingVerdict : std::uint8_t {
  kNothing,  ///< No samples at all.
  kTooFew,   ///< Fewer than kSamplesToName.
  kSpread,   ///< No function reaches kShareToName; `sites` has the largest.
  kFound,    ///< One function, or several whose intervals overlap.
};

/// A function that a finding names.
struct FoundSite {
  std::string function;       ///< As demangled.
  profile::SourceLine where;  ///< The line of its call with most of its bytes.
  std::string process;        ///< Where several processes have samples: the one with most of it.
  present::Measure held;      ///< With all that it calls.
  present::Share share;
  std::uint32_t stack = profile::kNone;  ///< Of those that pass through it, the one with most.
};

struct Finding {
  FindingVerdict verdict = FindingVerdict::kNothing;
  profile::Kind kind = profile::Kind::kAllocated;
  present::Measure total;
  std::vector<FoundSite> sites;  ///< The largest first.
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

/// "at the peak SessionStore::open (leaky.cc:11) held 95 % [86, 99] of 58.0 MiB [44.1, 74.9]".
[[nodiscard]] std::string clause(const Finding& finding);
/// clause() as a sentence, without a line break.
[[nodiscard]] std::string sentence(const Finding& finding);

/// "SessionStore::open (leaky.cc:11)".
[[nodiscard]] std::string site_text(const FoundSite& site);

/// The finding as a field: its sentence, and what the sentence says.
void write_field(present::JsonWriter& json, std::string_view name, const Finding& finding);

/// "found", "spread", "too_few", "nothing".
[[nodiscard]] std::string_view name_of(FindingVerdict verdict);

}  // namespace geiger::report
