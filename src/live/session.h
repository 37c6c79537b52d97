// The loop of `geiger live`: reads the run at intervals, shows it, handles keys.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/style.h"
#include "live/followed_run.h"
#include "live/growth_watch.h"
#include "live/history.h"
#include "live/program.h"
#include "live/screen.h"
#include "live/selection.h"
#include "live/terminal.h"

namespace geiger::live {

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
