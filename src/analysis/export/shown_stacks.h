// A recording as other formats take it: its program, names, stacks from the root, sums by stack,
// and objects one by one with their weight.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "estimation/counts.h"

namespace geiger::exports {

// The program of a recording, for formats that name only one.

/// The process that started first, and so started the others; null for an empty recording.
[[nodiscard]] const profile::Process* first_process(const profile::Recording& recording);

/// Path of its executable; "?" for an empty recording.
[[nodiscard]] std::string program_of(const profile::Recording& recording);

// Names of frames as exports write them.

/// For what is one line: control characters become spaces, invalid UTF-8 becomes U+FFFD, and an
/// empty name "?".
[[nodiscard]] std::string line_name(std::string_view name);

/// For folded stacks: a line_name() in which ';' becomes ':'.
[[nodiscard]] std::string folded_name(std::string_view name);

/// Short names for `functions`, whose names all differ; the short ones differ as well. With full
/// names they are unchanged.
[[nodiscard]] std::vector<std::string> names_for_people(const profile::Recording& recording,
                                                        std::span<const std::string> functions,
                                                        present::Names names);

// The stacks of a recording as viewers show them: functions, frames, paths from the root.

/// A function of a source file: the unit of call trees.
struct ShownFunction {
  std::string name;  ///< As recorded: any bytes that the program chose.
  std::string file;  ///< Source file, may be empty.
  std::uint32_t module = profile::kNone;
};

/// A function at a place, or a mark in place of a missing frame.
struct ShownFrame {
  std::uint32_t function = 0;
  std::uint32_t line = 0;                   ///< 0 = unknown.
  std::uint32_t location = profile::kNone;  ///< kNone: a mark.
  std::uint32_t inline_depth = 0;           ///< 0: the physical function of its location.
};

/// Frames are numbered in order of first use. The recording must outlive it.
class ShownStacks {
 public:
  explicit ShownStacks(const profile::Recording& recording);

  /// Frames of a stack, root first, inlined ones after the function that they are in. Never
  /// empty: "[no stack]" of kNone and of stacks without frames; "[truncated]" is the root of
  /// those that were cut off.
  [[nodiscard]] std::vector<std::uint32_t> path_of(std::uint32_t stack);

  [[nodiscard]] const std::vector<ShownFunction>& functions() const { return functions_; }
  /// Of those seen so far, in their order; with what tells modules of one name apart.
  [[nodiscard]] std::vector<std::string> names_of_functions(present::Names names) const;
  [[nodiscard]] const std::vector<ShownFrame>& frames() const { return frames_; }
  [[nodiscard]] const ShownFunction& function_of(std::uint32_t frame) const {
    return functions_[frames_[frame].function];
  }

 private:
  const std::vector<std::uint32_t>& frames_at(std::uint32_t location);
  std::uint32_t function(std::string_view name, std::string_view file, std::uint32_t module);
  std::uint32_t frame(const ShownFrame& frame);
  std::uint32_t mark(std::string_view name, std::uint32_t& known);

  const profile::Recording& recording_;
  const profile::ModuleFiles files_;
  std::vector<ShownFunction> functions_;
  std::vector<ShownFrame> frames_;
  /// By name, file and mark of the module.
  std::map<std::tuple<std::string, std::string, std::string>, std::uint32_t> known_;
  std::vector<std::vector<std::uint32_t>> by_location_;  ///< Outermost first.
  std::uint32_t no_stack_ = profile::kNone, truncated_ = profile::kNone;
};

// A profile summed by stack, for formats that contain only stacks and numbers.

using profile::StackSums;

/// profile::sums_by_stack() in order of stacks.
[[nodiscard]] std::vector<StackSums> sums_in_order(const profile::Recording& recording,
                                                   const profile::Profile& profile);

/// The bytes of each rounded to integers that add up to the rounded whole; and the objects.
[[nodiscard]] std::vector<std::int64_t> rounded_bytes(const std::vector<StackSums>& stacks);
[[nodiscard]] std::vector<std::int64_t> rounded_objects(const std::vector<StackSums>& stacks);

// Sampled objects one by one, each with its weight, for formats that follow objects through time.

/// A sampled object and the objects that it stands for.
struct Life {
  const profile::Sample* sample = nullptr;
  estimation::Count kind;  ///< As estimates count it.
  double bytes = 0;        ///< z/pi
  double objects = 0;      ///< 1/pi
};

/// Of what `part` selects of everything allocated, where it is known how long samples live:
/// those that were thinned out are not among them, the others stand for more. Nothing of
/// processes that only counted their samples.
[[nodiscard]] std::vector<Life> lives_of(const profile::Recording& recording,
                                         const profile::Selection& part);

/// The rate at which objects of this size alone, drawn and not thinned, have pi of the kind;
/// kCertainRate where nothing can have been missed.
[[nodiscard]] double effective_rate(const estimation::Count& kind);

/// An object comes or goes.
struct Event {
  Nanoseconds time = 0;    ///< CLOCK_MONOTONIC.
  std::uint32_t life = 0;  ///< Into the lives.
  bool is_free = false;
};

/// In order of time; allocations come before frees of the same instant.
[[nodiscard]] std::vector<Event> events_of(const std::vector<Life>& lives);

}  // namespace geiger::exports
