#include "live/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/present/format.h"
#include "base/clock.h"
#include "control/controlled.h"
#include "query/filters.h"
#include "query/selection.h"
#include "terminal/terminal.h"

namespace geiger::live {

namespace {

/// So many instants are kept of the recent time: each becomes the recent one in its turn.
constexpr Nanoseconds kSteps = 4;

}  // namespace

void GrowthWatch::look(const follow::Follower& follower, Nanoseconds now) {
  now_ = now;
  const bool begins = instants_.empty() || !follower.can_compare(instants_.front().baseline);
  if (begins) {
    instants_.clear();
    looks_ = 0;
  } else {
    ++looks_;
  }
  if (begins || now - instants_.back().time >= recent_ / kSteps) {
    instants_.push_back({now, follower.baseline()});
  }
  while (instants_.size() > 2 && now - instants_[2].time >= recent_) {
    instants_.erase(instants_.begin() + 1);
  }
}

std::optional<report::LiveChange> GrowthWatch::change(const follow::Follower& follower,
                                                      const Instant& from) const {
  if (!follower.can_compare(from.baseline) || now_ <= from.time) return std::nullopt;
  follow::Change change = follower.change_since(from.baseline);
  return report::LiveChange{now_ - from.time, looks_, std::move(change.came),
                            std::move(change.went)};
}

std::optional<report::LiveChanges> GrowthWatch::changes(const follow::Follower& follower) const {
  if (instants_.empty()) return std::nullopt;
  auto start = change(follower, instants_.front());
  if (!start) return std::nullopt;
  report::LiveChanges changes{std::move(*start), std::nullopt};
  const bool has_recent = instants_.size() > 1 && now_ - instants_[1].time >= recent_;
  if (has_recent) changes.recent = change(follower, instants_[1]);
  return changes;
}

namespace {

std::string alternatives(const std::vector<std::string>& expressions) {
  std::string all;
  for (const std::string& one : expressions) all += (all.empty() ? "" : "|") + one;
  return all;
}

}  // namespace

base::Outcome<LiveSelection> LiveSelection::of(const query::SelectionOptions& options,
                                               std::vector<std::string>& remarks) {
  auto rules = GEIGER_TRY(query::frame_rules_of(options.frames, remarks));
  query::Remarks unmatched;  // No stack is known yet.
  GEIGER_TRY(query::filter_of(options, profile::Recording(), unmatched));
  LiveSelection selection;
  selection.options_ = options;
  selection.rules_ = std::move(rules);
  return selection;
}

void LiveSelection::apply(profile::Recording& picture, report::LiveOptions& live) const {
  picture.frame_rules = rules_;
  // What no stack matches yet, one may match later: nothing to remark on.
  query::Remarks remarks;
  live.keeps = std::move(query::filter_of(options_, picture, remarks).value());
  live.table.scope = query::scope_as_typed(options_);
  live.table.scope.open = std::move(remarks.open);
}

query::SelectionOptions with_expression(query::SelectionOptions options, const std::string& which,
                                        const std::string& expression) {
  if (which == "focus") options.focus = expression;
  if (which == "ignore") options.ignore = expression;
  if (which != "hide") return options;
  options.frames.hidden.clear();
  if (!expression.empty()) options.frames.hidden.push_back(expression);
  return options;
}

std::string expression_of(const query::SelectionOptions& options, const std::string& which) {
  if (which == "focus") return options.focus;
  return which == "ignore" ? options.ignore : alternatives(options.frames.hidden);
}

namespace {

using std::chrono::milliseconds;

/// Bytes read between keyboard polls: some hundredths of a second's work.
constexpr Bytes kReadAtOnce = 8 * kMiB;
/// Pictures of many tallies take long: at most a quarter of the time goes into them.
constexpr int kRestPerWork = 3;

/// Time between checks for a signal that ends the view.
constexpr milliseconds kLookAgain{50};

/// Unless a signal asks to end.
void rest_until(std::chrono::steady_clock::time_point instant) {
  for (auto now = std::chrono::steady_clock::now(); now < instant && !terminal::was_interrupted();
       now = std::chrono::steady_clock::now()) {
    std::this_thread::sleep_until(std::min(instant, now + kLookAgain));
  }
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

template <typename Value, std::size_t N>
Value next_of(const std::array<Value, N>& values, Value now) {
  const auto at = std::ranges::find(values, now);
  return at == values.end() || at + 1 == values.end() ? values.front() : *(at + 1);
}

}  // namespace

LiveSession::LiveSession(FollowedRun& run, LiveProgram* program, const SessionOptions& options)
    : run_(run),
      program_(program),
      options_(options),
      growth_(static_cast<Nanoseconds>(options.recent.count())) {
  view_.shown = run.shown();
  view_.options = options.live;
  view_.shows_plumbing = options.selection.options().frames.shows_plumbing;
}

/// Reads what was added; true when all of it was, and then there is a new picture.
bool LiveSession::look(Bytes most) {
  // Read first: what an ended run wrote is read below.
  const bool is_running = program_ != nullptr ? !program_->has_ended() : run_.is_running();
  const bool has_all = run_.look(most);
  view_.progress = has_all ? "" : progress();
  if (!has_all) return false;
  view_.has_ended = !is_running;
  view_.options.now = is_running ? base::monotonic_now() : 0;
  growth_.look(run_.follower(), base::monotonic_now());
  take_picture();
  if (is_running && report_.growth.is_any_growing()) view_.grew = report_.growth;
  history_.add(base::monotonic_now(), present::shown_bytes(report_.live).interval,
               report_.resident);
  return true;
}

/// Also between two updates, once there are names.
void LiveSession::take_picture() {
  picture_ = run_.picture();
  view_.counts_itself = run_.follower().has_aggregated();
  changes_ = growth_.changes(run_.follower());
  options_.selection.apply(picture_, view_.options);
  view_.names_missing = run_.follower().names_missing();
  report_again();
}

std::string LiveSession::progress() const {
  const follow::Follower& follower = run_.follower();
  const auto done = static_cast<double>(follower.position());
  const auto all = static_cast<double>(std::max<Bytes>(follower.end(), 1));
  return fmt::format("reading {:.0f} %", 100 * std::min(done / all, 1.0));
}

/// Which frames of the picture have `part` in their name.
std::vector<bool> LiveSession::frames_with(const std::string& part) const {
  std::vector<bool> frames;
  for (const profile::Frame& frame : picture_.frames) {
    frames.push_back(lower(frame.function).find(part) != std::string::npos);
  }
  return frames;
}

bool LiveSession::is_any_in_stack(const std::vector<bool>& frames, std::uint32_t stack) const {
  if (stack >= picture_.stacks.size()) return false;
  return std::ranges::any_of(picture_.stacks[stack].locations, [&](std::uint32_t location) {
    return std::ranges::any_of(picture_.locations[location].frames,
                               [&](std::uint32_t frame) { return frames[frame]; });
  });
}

void LiveSession::report_again() {
  report::TableOptions& table = view_.options.table;
  // Functions that only call others are left out where rows are sorted by their own bytes.
  const bool needs_own = hides_callers_ && table.sort == report::SortBy::kSelf;
  const std::string part = lower(view_.filter);
  const bool is_by_stack = table.by == profile::GroupBy::kStack && !part.empty();
  table.shows = [this, needs_own, part, is_by_stack,
                 frames = is_by_stack ? frames_with(part)
                                      : std::vector<bool>()](const profile::Row& row) {
    const bool has_own = row.self.samples + row.self.certain_samples > 0;
    const bool has_part = lower(row.name).find(part) != std::string::npos ||
                          lower(row.detail).find(part) != std::string::npos ||
                          (is_by_stack && is_any_in_stack(frames, row.stack));
    return (has_own || !needs_own) && has_part;
  };
  report_ = live_report(picture_, run_.processes(picture_), view_.options, changes_);
}

bool LiveSession::print_lines() {
  const auto every = options_.every;
  auto next = Clock::now();
  for (std::size_t looks = 0; !terminal::was_interrupted();) {
    while (!look(kReadAtOnce) && !terminal::was_interrupted()) {
    }
    if (terminal::was_interrupted()) break;
    while (!run_.follower().await_names(follow::NamesOf::kAllModules, kLookAgain) &&
           !terminal::was_interrupted()) {
    }
    take_picture();
    const std::string line = to_json(report_, picture_);
    const bool is_written =
        std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0;
    if (!is_written && errno == EPIPE) return true;  // The reader has seen enough.
    if (!is_written) {
      terminal::complain("cannot write to standard output");
      return false;
    }
    if (view_.has_ended || (options_.most_updates != 0 && ++looks == options_.most_updates)) break;
    next = std::max(next + every, Clock::now());
    rest_until(next);
  }
  return true;
}

void LiveSession::show(LiveTerminal& terminal, const present::Style& style) {
  hides_callers_ = true;
  auto due = Clock::now();
  std::size_t looks = 0;
  while (!leaves_) {
    const auto begin = Clock::now();
    const bool is_due = begin >= due && !view_.has_ended && !view_.is_paused;
    const std::size_t rows = table_rows(terminal.size());
    view_.options.table.top = view_.scroll + rows;
    if (is_due && look(kReadAtOnce)) {
      const auto work = Clock::now() - begin;
      due = std::max(due + options_.every, Clock::now() + work * kRestPerWork);
      if (options_.most_updates != 0 && ++looks == options_.most_updates) break;
    } else if (run_.follower().has_new_names() && !view_.is_paused) {
      take_picture();
    }
    terminal.paint(draw_live(view_, report_, picture_, history_, terminal.size(), style));
    const auto left = std::chrono::duration_cast<milliseconds>(due - Clock::now());
    const bool waits = view_.has_ended || view_.is_paused;
    const Key key = terminal.read(waits ? milliseconds(250)
                                        : std::clamp(left, milliseconds(0), milliseconds(250)));
    if (terminal::was_interrupted()) {
      terminal::forget_interrupt();
      leave();
    } else if (is_leaving_ && program_->has_ended()) {
      leaves_ = true;
    } else if (key == Key::kHangUp) {
      if (!is_leaving_) leave();
    } else if (key != Key::kNone) {
      obey(key, terminal.text(), terminal.size());
    }
  }
}

/// A program that was started for the view ends with it: SIGTERM first, then SIGKILL.
void LiveSession::leave() {
  if (program_ == nullptr || program_->has_ended()) {
    leaves_ = true;
    return;
  }
  program_->end();
  is_leaving_ = true;
  view_.message = "asked the program to end; press q again to kill it";
}

void LiveSession::obey(Key key, const std::string& text, ScreenSize size) {
  if (!view_.prompt.empty()) return obey_prompt(key, text);
  view_.message.clear();
  const auto page = static_cast<std::ptrdiff_t>(table_rows(size));
  switch (key) {
    case Key::kText:
      if (text.size() == 1) obey_letter(text[0], size);
      break;
    case Key::kEnter:
      view_.pane = view_.pane == Pane::kRow ? Pane::kTable : Pane::kRow;
      break;
    case Key::kEscape:
      view_.pane = Pane::kTable;
      break;
    case Key::kUp:
      move_cursor(-1, size);
      break;
    case Key::kDown:
      move_cursor(1, size);
      break;
    case Key::kPageUp:
      move_cursor(-page, size);
      break;
    case Key::kPageDown:
      move_cursor(page, size);
      break;
    case Key::kHome:
      move_cursor(-static_cast<std::ptrdiff_t>(view_.cursor), size);
      break;
    case Key::kEnd:
      move_cursor(static_cast<std::ptrdiff_t>(report_.table.rows), size);
      break;
    default:
      break;
  }
}

void LiveSession::obey_letter(char letter, ScreenSize size) {
  using profile::GroupBy;
  using report::SortBy;
  static constexpr std::array kGroups{GroupBy::kFunction, GroupBy::kLine,   GroupBy::kStack,
                                      GroupBy::kThread,   GroupBy::kModule, GroupBy::kSize,
                                      GroupBy::kType,     GroupBy::kLabel};
  static constexpr std::array kSorts{SortBy::kSelf, SortBy::kTotal, SortBy::kSamples,
                                     SortBy::kName};
  report::LiveOptions& options = view_.options;
  switch (letter) {
    case 'q':
      return leave();
    case '?':
    case 'h':
      view_.pane = view_.pane == Pane::kHelp ? Pane::kTable : Pane::kHelp;
      return;
    case ' ':
      view_.is_paused = !view_.is_paused;
      return;
    case '/':
      return ask("filter", view_.filter);
    case 'm':
      return ask("mark", "");
    case 'f':
      return ask("focus", expression_of(options_.selection.options(), "focus"));
    case 'i':
      return ask("ignore", expression_of(options_.selection.options(), "ignore"));
    case 'x':
      return ask("hide", expression_of(options_.selection.options(), "hide"));
    case 'o': {
      query::SelectionOptions changed = options_.selection.options();
      changed.frames.shows_plumbing = !changed.frames.shows_plumbing;
      select(changed);
      break;
    }
    case 'g':
    case '\t':
      options.table.by = next_of(kGroups, options.table.by);
      break;
    case 'k':
      options.kind = options.kind == profile::Kind::kAllocated ? profile::Kind::kLiveAtEnd
                                                               : profile::Kind::kAllocated;
      break;
    case 's':
      options.sorts_by_growth = false;
      options.table.sort = next_of(kSorts, options.table.sort);
      break;
    case 'r':
      options.sorts_by_growth = !options.sorts_by_growth;
      break;
    case 'w':
      options.growth_of = options.growth_of == report::GrowthOf::kRecent
                              ? report::GrowthOf::kSinceStart
                              : report::GrowthOf::kRecent;
      break;
    case 'z':
      growth_.restart();
      view_.grew = {};
      view_.message = "growth is measured from the next update on";
      return;
    case 'p':
      next_process();
      break;
    default:
      return;
  }
  view_.pane = Pane::kTable;
  move_cursor(-static_cast<std::ptrdiff_t>(view_.cursor), size);
}

void LiveSession::ask(const std::string& what, std::string typed) {
  view_.prompt = what;
  view_.typed = std::move(typed);
}

void LiveSession::select(const query::SelectionOptions& options) {
  std::vector<std::string> remarks;  // The same as at the start.
  auto selection = LiveSelection::of(options, remarks);
  if (!selection.has_value()) {
    view_.message = selection.reason();
    return;
  }
  options_.selection = std::move(selection.value());
  options_.selection.apply(picture_, view_.options);
  view_.shows_plumbing = options.frames.shows_plumbing;
  view_.cursor = view_.scroll = 0;
  report_again();
}

void LiveSession::next_process() {
  auto& only = view_.options.process;
  const std::size_t count = report_.processes.size();
  if (count < 2) {
    view_.message = "there is only one process";
    return;
  }
  const std::uint32_t next = only ? *only + 1 : 0;
  only = next < count ? std::optional(next) : std::nullopt;
}

/// Moves it as far as there are rows, and the page with it.
void LiveSession::move_cursor(std::ptrdiff_t rows, ScreenSize size) {
  const auto count = static_cast<std::ptrdiff_t>(report_.table.rows);
  const auto wanted = static_cast<std::ptrdiff_t>(view_.cursor) + rows;
  view_.cursor = static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(wanted, 0, std::max<std::ptrdiff_t>(count - 1, 0)));
  const std::size_t page = table_rows(size);
  if (view_.cursor < view_.scroll) view_.scroll = view_.cursor;
  if (view_.cursor >= view_.scroll + page) view_.scroll = view_.cursor - page + 1;
  view_.options.table.top = view_.scroll + page;
  report_again();
}

void LiveSession::obey_prompt(Key key, const std::string& text) {
  if (key == Key::kEnter) return finish_prompt();
  if (key == Key::kEscape) view_.prompt.clear();
  if (key == Key::kText && text != "\t") view_.typed += text;
  if (key != Key::kErase) return;
  // A character may have several bytes: those that go on with it go with it.
  const auto goes_on = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
  while (!view_.typed.empty() && goes_on(view_.typed.back())) view_.typed.pop_back();
  if (!view_.typed.empty()) view_.typed.pop_back();
}

void LiveSession::finish_prompt() {
  const std::string prompt = std::exchange(view_.prompt, "");
  if (prompt == "mark") return set_mark(view_.typed);
  if (prompt != "filter") {
    return select(with_expression(options_.selection.options(), prompt, view_.typed));
  }
  view_.filter = view_.typed;
  view_.cursor = view_.scroll = 0;
  report_again();
}

void LiveSession::set_mark(const std::string& name) {
  if (name.empty() || name.size() > control::kMostMarkBytes) {
    view_.message = fmt::format("a mark must have 1 to {} bytes", control::kMostMarkBytes);
    return;
  }
  const auto& only = view_.options.process;
  const auto pid = only ? static_cast<pid_t>(picture_.processes[*only].pid) : run_.pid();
  if (!pid) {
    view_.message = "choose a process first (p)";
    return;
  }
  auto controlled = control::Controlled::open(*pid);
  if (!controlled.has_value()) {
    view_.message = controlled.reason();
    return;
  }
  const auto told = controlled.value().mark(name);
  view_.message = told.has_value() ? told.value() : told.reason();
}

}  // namespace geiger::live
