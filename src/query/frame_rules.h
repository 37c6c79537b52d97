// Which frames a report omits and which one it blames, by the options --plumbing, --frames, --hide,
// --rules.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/profile/frames/frame_roles.h"
#include "base/outcome.h"

namespace geiger::query {

/// The options as typed.
struct FrameOptions {
  bool shows_plumbing = false;
  profile::FramesShown frames = profile::FramesShown::kMixed;
  std::vector<std::string> hidden;  ///< Regular expressions.
  std::string rules_file;           ///< Empty: kRulesFile, if it is there.
};

/// Read from the working directory where no other file is named, if it is the caller's or root's:
/// rules hide frames, and any user may put a file into /tmp.
inline constexpr const char* kRulesFile = ".geiger-rules";

/// The rules that the options and the file ask for. `remarks` gets a sentence if the file of the
/// working directory is ignored.
[[nodiscard]] base::Outcome<std::shared_ptr<const profile::FrameRules>> frame_rules_of(
    const FrameOptions& options, std::vector<std::string>& remarks);

}  // namespace geiger::query
