// --plumbing (or --no-plumbing), --hide and --rules: which frames a report leaves out and whom it blames.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/profile/frame_roles.h"
#include "cli/outcome.h"

namespace CLI {
class App;
}

namespace geiger::cli {

/// As typed.
struct FrameOptions {
  bool shows_plumbing = false;
  std::vector<std::string> hidden;  ///< Regular expressions.
  std::string rules_file;           ///< Empty: kRulesFile, if it is there.
};

/// Read from the working directory where no other file is named.
inline constexpr const char* kRulesFile = ".geiger-rules";

void add_frame_options(CLI::App& verb, FrameOptions& options);
/// The same for what shows all frames unless asked not to.
void add_all_frames_options(CLI::App& verb, FrameOptions& options);

/// The rules that the options and the file ask for; null where they ask for nothing.
[[nodiscard]] Outcome<std::shared_ptr<const profile::FrameRules>> frame_rules_of(
    const FrameOptions& options);

}  // namespace geiger::cli
