// Which samples of a followed run `geiger live` shows, and which frames: as the options ask, and as
// the user types in the view.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/recording.h"
#include "analysis/report/profiles/live.h"
#include "base/outcome.h"
#include "query/selection.h"

namespace geiger::live {

class LiveSelection {
 public:
  /// Everything, by the built-in rules.
  LiveSelection() = default;
  /// Fails where an expression or the rules cannot be read. `remarks` gets those of
  /// query::frame_rules_of().
  [[nodiscard]] static base::Outcome<LiveSelection> of(const query::SelectionOptions& options,
                                                       std::vector<std::string>& remarks);

  [[nodiscard]] const query::SelectionOptions& options() const { return options_; }
  /// Stacks change with every picture, so each is selected from anew: gives `picture` the rules
  /// for its frames, and `live` the samples to keep.
  void apply(profile::Recording& picture, report::LiveOptions& live) const;

 private:
  query::SelectionOptions options_;
  std::shared_ptr<const profile::FrameRules> rules_;
};

/// The options with the text typed for "focus", "ignore" or "hide"; an empty text removes it.
[[nodiscard]] query::SelectionOptions with_expression(query::SelectionOptions options,
                                                      const std::string& which,
                                                      const std::string& expression);
/// The expression for the options in force.
[[nodiscard]] std::string expression_of(const query::SelectionOptions& options,
                                        const std::string& which);

}  // namespace geiger::live
