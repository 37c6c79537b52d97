// Formats of flame graphs: folded stacks and speedscope's.
#pragma once

#include <span>
#include <string>

#include "analysis/export/streams/sink.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::exports {

// Folded stacks: "root;caller;leaf BYTES" per line, the common denominator of
// flame graph tools. It holds no intervals; pprof export and the reports do.

/// One line per distinct stack of functions, in order of their names, no two of which are the same.
/// The values
/// are estimated bytes; they add up to the rounded estimate of the profile.
/// Stacks that were cut off start with "[truncated]".
void write_folded(const profile::Recording& recording, const profile::Profile& profile,
                  const Sink& sink, present::Names names = present::Names::kShort);

// speedscope's file format: flame graphs in a browser, several profiles in one file.

enum class Weight : bool { kBytes, kObjects };

/// What one flame graph is of.
struct TitledProfile {
  std::string title;  ///< Shown in the bar: the place for the interval of the whole.
  const profile::Profile* profile = nullptr;
  Weight weight = Weight::kBytes;
};

/// Every profile by stacks, ordered so that alike stacks are neighbours; inlined functions are
/// frames of their own, and a function is one frame whatever the line. Integers that add up to
/// the rounded estimate of each profile. `name`: of the whole file.
void write_speedscope(const profile::Recording& recording, std::span<const TitledProfile> profiles,
                      const std::string& name, const Sink& sink,
                      present::Names names = present::Names::kShort);

}  // namespace geiger::exports
