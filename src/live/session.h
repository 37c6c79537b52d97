// The loop of `geiger live`: reads the run at intervals, shows it, handles keys.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/follow/follower.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/report/profiles/live.h"
#include "base/outcome.h"
#include "base/units.h"
#include "live/followed_run.h"
#include "live/program.h"
#include "live/screen.h"
#include "live/terminal.h"
#include "query/selection.h"

namespace geiger::live {

// The instants that `geiger live` measures growth from: the start of watching, and one that stays
// about as long ago.

class GrowthWatch {
 public:
  /// `recent`: how long ago the recent instant is, or up to a quarter longer; above 0.
  explicit GrowthWatch(Nanoseconds recent) : recent_(recent) {}

  /// After each update of the traces: `now` is CLOCK_MONOTONIC.
  void look(const follow::Follower& follower, Nanoseconds now);
  /// The next update is the start.
  void restart() { instants_.clear(); }

  /// As of the latest update; nothing before the second one, or if growth is unknown.
  [[nodiscard]] std::optional<report::LiveChanges> changes(const follow::Follower& follower) const;

 private:
  struct Instant {
    Nanoseconds time = 0;
    follow::Baseline baseline;
  };

  [[nodiscard]] std::optional<report::LiveChange> change(const follow::Follower& follower,
                                                         const Instant& from) const;

  Nanoseconds recent_;
  Nanoseconds now_ = 0;
  std::uint64_t looks_ = 0;       ///< Since the start.
  std::deque<Instant> instants_;  ///< The start; then the recent one and those that follow it.
};

// Which samples of a followed run `geiger live` shows, and which frames: as the options ask, and as
// the user types in the view.

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

struct SessionOptions {
  std::chrono::milliseconds every{1000};  ///< From one update to the next.
  report::LiveOptions live;
  LiveSelection selection;
  std::size_t most_updates = 0;                                ///< 0: until the end.
  std::chrono::nanoseconds recent = std::chrono::seconds(30);  ///< Of growth.
};

class LiveSession {
 public:
  /// `program`: what live started itself, or null. Both must outlive this.
  LiveSession(FollowedRun& run, LiveProgram* program, const SessionOptions& options);

  /// A line of JSON per update, until the run ends or the reader closes the pipe. False if writing
  /// failed.
  [[nodiscard]] bool print_lines();
  /// The view, until the user leaves it.
  void show(LiveTerminal& terminal, const present::Style& style);

  [[nodiscard]] bool has_ended() const { return view_.has_ended; }

 private:
  using Clock = std::chrono::steady_clock;

  bool look(Bytes most);
  void take_picture();
  void report_again();
  [[nodiscard]] std::vector<bool> frames_with(const std::string& part) const;
  [[nodiscard]] bool is_any_in_stack(const std::vector<bool>& frames, std::uint32_t stack) const;
  void obey(Key key, const std::string& text, ScreenSize size);
  void obey_letter(char letter, ScreenSize size);
  void obey_prompt(Key key, const std::string& text);
  void finish_prompt();
  void move_cursor(std::ptrdiff_t rows, ScreenSize size);
  void next_process();
  void ask(const std::string& what, std::string typed);
  void select(const query::SelectionOptions& options);
  void set_mark(const std::string& name);
  void leave();
  [[nodiscard]] std::string progress() const;

  FollowedRun& run_;
  LiveProgram* program_;
  SessionOptions options_;
  LiveView view_;
  LiveHistory history_;
  GrowthWatch growth_;
  std::optional<report::LiveChanges> changes_;  ///< As of `picture_`.
  profile::Recording picture_;
  report::LiveReport report_;
  bool leaves_ = false;
  bool is_leaving_ = false;     ///< Waits for the end of the program, which was sent a signal.
  bool hides_callers_ = false;  ///< Rows without samples of their own, where those are sorted by.
};

}  // namespace geiger::live
