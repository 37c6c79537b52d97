#include "control/controlled.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "analysis/present/format.h"
#include "base/clock.h"
#include "control/run_directory.h"
#include "control/target_process.h"
#include "control/trace_home.h"
#include "inject/call_filters.h"
#include "inject/inject.h"
#include "inject/target.h"

namespace geiger::control {
namespace {

using std::chrono::milliseconds;
using Reply = base::Outcome<std::string>;

constexpr milliseconds kAnswerPoll{2};
/// How many times to retry if the process continues in its next segment meanwhile.
constexpr int kMostLooks = 50;
/// How long a program may take to load its libraries.
constexpr milliseconds kStartingUp{2000};

/// Polls until `holds` or the patience is used up.
template <typename Condition>
bool comes_true(milliseconds patience, const Condition& holds) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return holds();
    std::this_thread::sleep_for(kAnswerPoll);
  }
  return true;
}

bool is_newer(const LiveTrace& one, const LiveTrace& other) {
  return one.header().start_monotonic > other.header().start_monotonic;
}

/// The directory for a program that has none of its own: ./geiger-PROGRAM.PID, or one that the
/// program's user may write to.
base::Outcome<std::string> make_directory(const TargetProcess& target) {
  const OutputPlan plan(target.facts().name, "");
  return TraceHome::make_directory(target.pid(), plan.directory_for(target.pid()));
}

/// Removes a directory created for a trace if the trace went elsewhere: it is ours by name, or in
/// the process's /tmp.
void remove_unused(const TargetProcess& target, const std::string& directory) {
  if (rmdir(directory.c_str()) != 0) target.root().remove(directory, AT_REMOVEDIR);
}

Reply late(const std::string& shown, std::string_view wish) {
  return base::Failure{fmt::format(
      "{} has not allocated enough yet to respond: it will {} when it does", shown, wish)};
}

}  // namespace

std::string_view name_of(Standing standing) {
  switch (standing) {
    case Standing::kRecording:
      return "recording";
    case Standing::kPaused:
      return "paused";
    case Standing::kDormant:
      return "dormant";
    case Standing::kReporting:
      return "reporting";
    case Standing::kEnded:
      return "ended";
    case Standing::kInert:
      break;
  }
  return "inert";
}

base::Outcome<Controlled> Controlled::open(pid_t pid) {
  auto target = GEIGER_TRY(TargetProcess::open(pid));
  Controlled controlled;
  controlled.target_ = std::make_unique<TargetProcess>(std::move(target));
  GEIGER_TRY(controlled.look());
  if (!controlled.files_.has_runtime && !controlled.trace_) {
    return base::Failure{fmt::format("{} does not have geiger loaded (use geiger attach {})",
                                     controlled.shown(), pid)};
  }
  return controlled;
}

base::Outcome<Controlled> Controlled::open_started(pid_t pid) {
  auto controlled = open(pid);
  const auto is_settled = [&] {
    if (controlled.has_value() && controlled.value().standing() != Standing::kInert) return true;
    const auto target = TargetProcess::open(pid);
    if (!target.has_value() || !target.value().has_just_started()) return true;
    controlled = open(pid);
    return false;
  };
  comes_true(kStartingUp, is_settled);
  return controlled;
}

/// Whether the process has continued in its next segment since the last look().
bool Controlled::has_gone_on() const {
  return trace_ &&
         trace_->header().state.load(std::memory_order_acquire) == trace::State::kContinued;
}

/// Finds geiger's files in the process. While the process continues in its next segment, its maps
/// may show only the previous one: then it retries.
base::Outcome<void> Controlled::look() {
  for (int i = 0; i < kMostLooks; ++i) {
    files_ = GEIGER_TRY(target_->geiger_files());
    find_trace();
    if (!has_gone_on()) break;
    std::this_thread::sleep_for(kAnswerPoll);
  }
  if (can_be_called() && !(trace_ && trace_->is_open())) find_tool();
  return {};
}

/// A process that samples for a tracing tool has no trace. What it says about that can be read by
/// who may trace it, as who let the tool listen may.
void Controlled::find_tool() {
  const auto runtime = inject::runtime_in(target_->pid(), inject::named_modules_of(target_->pid()));
  const bool reports = runtime && static_cast<base::AttachState>(runtime->said.state) ==
                                      base::AttachState::kForTools;
  tool_interval_ = reports ? runtime->said.interval : 0;
}

/// Applies `act` to the trace that the process writes, and again if the process continues in its
/// next segment meanwhile, which may have begun too early to inherit what `act` wrote. False: the
/// recording has ended, or `act` failed.
template <typename Act>
bool Controlled::reach(const Act& act) {
  for (int i = 0; i < kMostLooks; ++i) {
    const bool is_done = trace_ && trace_->is_open() && act(*trace_);
    if (!has_gone_on()) return is_done;
    if (!look().has_value()) return false;
  }
  return false;
}

/// Picks the newest of the mapped traces that are this process's.
void Controlled::find_trace() {
  trace_.reset();
  for (const MappedFile& file : files_.traces) {
    auto trace = LiveTrace::open(target_->open_mapped(file), target_->path_of(file));
    if (!trace.has_value() || trace.value().header().pid != target_->facts().inner_pid) continue;
    if (!trace_ || is_newer(trace.value(), *trace_)) trace_ = std::move(trace.value());
  }
  const auto pid = static_cast<std::uint32_t>(target_->pid());
  if (trace_ && trace_->is_open() && pid != target_->facts().inner_pid &&
      trace_->header().outer_pid == 0) {
    record_outer_pid(trace_->fd(), pid);
  }
}

Standing Controlled::standing() const {
  if (trace_ && (trace_->is_open() || has_gone_on())) {
    return trace_->control().paused.load() != 0 ? Standing::kPaused : Standing::kRecording;
  }
  if (can_be_called()) return tool_interval_ != 0 ? Standing::kReporting : Standing::kDormant;
  return trace_ ? Standing::kEnded : Standing::kInert;
}

ProcessStatus Controlled::status(bool counts_records) const {
  ProcessStatus status;
  status.pid = target_->pid();
  status.program = target_->facts().name;
  status.standing = standing();
  if (can_be_called()) {
    if (const auto waking = Waking::look(*target_, files_)) {
      status.pending = waking->pending();
      status.interval = waking->interval();
    }
  }
  if (tool_interval_ != 0) status.interval = tool_interval_;
  if (waits_for_request(status.standing)) status.obstacle = obstacle();
  if (!trace_ || waits_for_request(status.standing)) return status;
  status.trace = trace_->path();
  status.trace_bytes = trace_->size();
  status.segment = trace_->header().segment;
  for (const auto& count : trace_->header().drops) status.dropped += count.load();
  if (!counts_records) return status;
  TraceTally tally(trace_->fd());
  tally.update(base::monotonic_now());
  status.records = tally.counts();
  status.interval = tally.counts().interval;
  return status;
}

Reply Controlled::start(Order order, milliseconds patience) {
  switch (standing()) {
    case Standing::kRecording:
      return base::Failure{shown() + " is already recording"};
    case Standing::kPaused:
      if (!reach([&](LiveTrace& trace) {
            if (order.interval != 0) trace.control().requested_interval.store(order.interval);
            trace.control().paused.store(0, std::memory_order_release);
            return true;
          })) {
        return no_trace("record");
      }
      return fmt::format("{} records to {}", shown(), trace_->path());
    case Standing::kDormant:
    case Standing::kReporting:
      return is_out_of_reach() ? start_on_thread(order) : wake(std::move(order), patience);
    default:
      // It may sleep without a place for its files.
      if (files_.has_runtime && is_out_of_reach()) {
        auto started = start_on_thread(order);
        if (started.has_value()) return started;
      }
      return no_trace("record");
  }
}

/// Why a dormant process cannot be started, as far as this is visible from outside.
std::string Controlled::obstacle() const {
  if (target_->is_confined_further()) {
    return "filters its system calls (seccomp): opening a trace could kill it "
           "(use geiger inside its container, or --despite-seccomp)";
  }
  if (!can_be_called() || target_->open_mapped(*files_.bell).is_open()) return "";
  if (files_.bell->is_deleted) return "cannot be called: " + target_->loss_of(*files_.bell);
  return "was started by root, so only root can wake it";
}

base::Outcome<void> Controlled::check_start(bool despite_seccomp) const {
  if (target_->is_confined_further()) {
    return inject::check_filters(target_->pid(), despite_seccomp).with_prefix(shown() + " ");
  }
  const std::string reason = despite_seccomp ? "" : obstacle();
  if (reason.empty()) return {};
  return base::Failure{fmt::format("{} {}", shown(), reason)};
}

base::Outcome<void> Controlled::call(Order order) {
  GEIGER_TRY(ask_to_record(order, milliseconds{0}));
  return {};
}

/// As Waking::request(). Sets `order.directory` to where the trace goes, as the process sees it.
base::Outcome<Answer> Controlled::ask_once(Order& order, milliseconds patience) {
  GEIGER_TRY(check_start(order.despite_seccomp));
  auto waking = GEIGER_TRY(Waking::open(*target_, files_));
  if (waking.pending() == true) {
    return base::Failure{shown() + " was already asked to record, and has not responded yet"};
  }
  std::string made;
  if (order.directory.empty()) {
    order.directory = made = GEIGER_TRY(make_directory(*target_));
    order.prefers_own = true;
  } else {
    const std::string its_name = target_->its_name_of(order.directory);
    if (its_name.empty()) {
      return base::Failure{
          fmt::format("{} does not see {} (another mount namespace?): name a "
                      "directory that has the same path for it",
                      shown(), order.directory)};
    }
    order.directory = its_name;
  }
  order.records = true;
  auto answer = waking.request(order, patience);
  if (!made.empty() && waking.pending() != true) remove_unused(*target_, made);
  return answer;
}

/// As ask_once(), but follows a process that moves, as services do that give up root's rights.
base::Outcome<Answer> Controlled::ask_to_record(Order& order, milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    Order asked = order;
    const auto left = end - std::chrono::steady_clock::now();
    auto answer = ask_once(asked, std::chrono::duration_cast<milliseconds>(left));
    if (!answer.has_value() || answer.value() != Answer::kMoved) {
      order = std::move(asked);
      return answer;
    }
    auto moved = GEIGER_TRY(Controlled::open(target_->pid()));
    if (moved.target().facts().start != target_->facts().start) {
      return base::Failure{shown() + " has ended"};
    }
    *this = std::move(moved);
    if (!can_be_called()) GEIGER_TRY(no_trace("record"));  // It also executed a program.
  }
}

Reply Controlled::wake(Order order, milliseconds patience) {
  const auto answer = GEIGER_TRY(ask_to_record(order, patience));
  if (answer == Answer::kLate) return late(shown(), "start");
  auto again = GEIGER_TRY(Controlled::open(target_->pid()));
  const LiveTrace* trace = again.trace();
  return fmt::format("{} records to {}", shown(),
                     trace == nullptr ? order.directory : trace->path());
}

/// Whether no file of ours reaches it, as below a root without a directory that it can write to, so
/// that only root can, on one of its threads.
bool Controlled::is_out_of_reach() const {
  return geteuid() == 0 && !(can_be_called() && Waking::can_meet(*target_, files_));
}

/// As `geiger attach`, without staying: traces are ours from their start, and it needs no file.
Reply Controlled::start_on_thread(const Order& order) {
  GEIGER_TRY(check_start(order.despite_seccomp));
  const pid_t pid = target_->pid();
  const std::string directory = order.directory.empty()
                                    ? OutputPlan(target_->facts().name, "").directory_for(pid)
                                    : order.directory;
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::Failure{fmt::format("{}: {}", directory, std::strerror(errno))};
  }
  const auto broker = TraceBroker::open(directory, pid);
  std::string words =
      fmt::format("GEIGER_DIR={}\nGEIGER_BROKER={}\n", directory, broker ? broker->digits() : "");
  if (order.interval != 0) words += fmt::format("GEIGER_INTERVAL={}\n", order.interval);
  const std::string own = target_->own_words();
  const auto attached = inject::attach({pid, order.despite_seccomp}, "", words + own);
  if (!attached.has_value()) {
    if (order.directory.empty()) rmdir(directory.c_str());
    return attached.failure();
  }
  GEIGER_TRY(look());
  return fmt::format("{} records to {}", shown(), trace_ ? trace_->path() : directory);
}

Reply Controlled::stop(milliseconds patience) {
  if (standing() != Standing::kRecording) {
    if (can_be_called()) {
      auto waking = Waking::look(*target_, files_);
      if (waking && waking->pending() == true) {
        auto called = GEIGER_TRY(Waking::open(*target_, files_));
        return reply_to(called.request({}, patience), "stop", shown() + " stays dormant");
      }
    }
    return base::Failure{shown() + (tool_interval_ == 0 ? " is not recording"
                                                        : " is not recording: a tracing tool takes "
                                                          "its samples, and ends that itself")};
  }
  std::string done = fmt::format("{} is dormant again; its trace is {}", shown(), trace_->path());
  if (files_.has_runtime && is_out_of_reach()) {
    const auto detached = inject::detach({target_->pid(), true});
    if (detached.has_value()) return done;
    if (can_be_called()) return detached.failure();
  }
  if (!can_be_called()) {
    if (!reach([](LiveTrace& trace) {
          trace.control().paused.store(1, std::memory_order_release);
          return true;
        })) {
      return no_trace("pause");
    }
    return fmt::format("{}: recording paused ({})", shown(), trace_->path());
  }
  auto waking = GEIGER_TRY(Waking::open(*target_, files_));
  return reply_to(waking.request({}, patience), "stop", std::move(done));
}

/// The reply to a request to `wish`: `done` if the process answered in time.
Reply Controlled::reply_to(const base::Outcome<Answer>& answer, std::string_view wish,
                           std::string done) const {
  if (GEIGER_TRY(answer) == Answer::kLate) return late(shown(), wish);
  return done;
}

Reply Controlled::no_trace(std::string_view wish) const {
  const std::string why =
      standing() == Standing::kEnded
          ? fmt::format("its recording has ended ({})", trace_->path())
          : std::string(
                waits_for_request(standing())
                    ? "it is not recording (use geiger ctl PID start)"
                    : "the library in it is disabled by its settings, or has no place for its "
                      "files (then root can start it)");
  return base::Failure{fmt::format("{} cannot {}: {}", shown(), wish, why)};
}

Reply Controlled::set_interval(Bytes interval, milliseconds patience) {
  if (standing() == Standing::kDormant) {
    auto waking = GEIGER_TRY(Waking::open(*target_, files_));
    waking.set_interval(interval);
    return fmt::format("{} will record with an interval of {}", shown(),
                       present::exact_bytes(interval));
  }
  if (standing() == Standing::kReporting) {
    auto waking = GEIGER_TRY(Waking::open(*target_, files_));
    waking.set_interval(interval);
    waking.call();
    const auto in_force = [&] {
      find_tool();
      return tool_interval_ == interval;
    };
    if (!comes_true(patience, in_force)) return late(shown(), "change its interval");
    return fmt::format("{} samples for a tracing tool with an interval of {}", shown(),
                       present::exact_bytes(interval));
  }
  const auto ask = [&] {
    return reach([&](LiveTrace& trace) {
      trace.control().requested_interval.store(interval, std::memory_order_release);
      return true;
    });
  };
  if (!ask()) return no_trace("change its interval");
  TraceTally tally(trace_->fd());
  const auto in_force = [&] {
    if (has_gone_on() && ask()) tally = TraceTally(trace_->fd());
    tally.update(base::monotonic_now());
    return tally.counts().interval == interval;
  };
  if (!comes_true(patience, in_force)) return late(shown(), "change its interval");
  return fmt::format("{} records with an interval of {}", shown(), present::exact_bytes(interval));
}

Reply Controlled::set_guard(std::uint32_t setting, milliseconds patience) {
  const auto ask = [&] {
    return reach([&](LiveTrace& trace) {
      if (trace.header().guard_setting.load() == 0) return false;
      trace.control().requested_guard.store(setting, std::memory_order_release);
      return true;
    });
  };
  if (!ask()) {
    if (!trace_ || !trace_->is_open()) return no_trace("change its guard mode");
    return base::Failure{shown() + " was not started in guard mode (geiger run --guard)"};
  }
  const auto in_force = [&] {
    if (has_gone_on()) static_cast<void>(ask());
    return trace_ && trace_->header().guard_setting.load() == setting;
  };
  if (!comes_true(patience, in_force)) return late(shown(), "change its guard mode");
  const std::uint32_t rate = trace::guard_rate_of(setting);
  const std::string_view obstacle = words_of(trace_->header().guard_obstacle.load()).text;
  if (rate != 0 && !obstacle.empty()) {
    return base::Failure{fmt::format("{} guards nothing: {}", shown(), obstacle)};
  }
  if (rate == 0) return shown() + " guards no further samples";
  return fmt::format("{} guards 1 in {} samples", shown(), rate);
}

Reply Controlled::mark(std::string_view name) {
  const Nanoseconds now = base::monotonic_now();
  bool is_written = false;
  reach([&](LiveTrace& trace) { return is_written = is_written || trace.write_mark(now, name); });
  if (!is_written) {
    if (!trace_ || !trace_->is_open()) return no_trace("set a mark");
    return base::Failure{shown() + " cannot set a mark: its trace is full"};
  }
  return fmt::format("{} has the mark '{}'", shown(), name);
}

Reply Controlled::begin_segment(milliseconds patience) {
  if (!trace_ || (!trace_->is_open() && !has_gone_on())) return no_trace("begin a segment");
  const std::string before = trace_->path();
  trace_->control().wanted_segment.fetch_add(1, std::memory_order_release);
  if (!comes_true(patience, [&] { return has_gone_on(); })) return late(shown(), "begin a segment");
  return fmt::format("{}: {} is complete", shown(), before);
}

std::vector<ProcessStatus> controlled_processes() {
  std::vector<ProcessStatus> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(opendir("/proc"), &closedir);
  for (const dirent* entry = processes ? readdir(processes.get()) : nullptr; entry != nullptr;
       entry = readdir(processes.get())) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (pid <= 0 || *end != '\0' || pid == getpid()) continue;
    const auto controlled = Controlled::open(static_cast<pid_t>(pid));
    if (controlled.has_value()) found.push_back(controlled.value().status(false));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& one, const auto& other) { return one.pid < other.pid; });
  return found;
}

}  // namespace geiger::control
