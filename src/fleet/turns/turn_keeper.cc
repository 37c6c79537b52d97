#include "fleet/turns/turn_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "fleet/document/document.h"
#include "fleet/document/encoding.h"
#include "foreign/elf_facts.h"
#include "query/words.h"

namespace geiger::fleet {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLongestPeriod = std::int64_t{7} * 86'400;

/// 64 bits that differ between hosts, periods, salts and questions.
std::uint64_t draw(const Schedule& schedule, std::string_view host, std::int64_t period,
                   std::string_view question) {
  return hash_of(
      fmt::format("{}{}{}{}{}{}{}", schedule.salt, '\0', host, '\0', period, '\0', question));
}

/// In [0, 1).
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

base::Outcome<Schedule> parse_schedule(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto seconds = [](std::string_view part) -> std::int64_t {
    const auto time = query::parse_duration(part);
    return time.has_value() ? static_cast<std::int64_t>(time.value()) / kSecond : 0;
  };
  Schedule schedule;
  if (slash != std::string_view::npos) {
    schedule.length = seconds(text.substr(0, slash));
    schedule.period = seconds(text.substr(slash + 1));
  }
  const bool is_sound = schedule.length > 0 && schedule.length <= schedule.period &&
                        schedule.period <= kLongestPeriod;
  if (is_sound) return schedule;
  return base::Failure{
      fmt::format("invalid schedule '{}' (example: 2m/1h, two minutes of every hour)", text)};
}

base::Outcome<double> parse_host_share(std::string_view text) {
  constexpr double kPercent = 100;
  const auto percent =
      text.ends_with('%') ? base::number_in<double>(text.substr(0, text.size() - 1)) : std::nullopt;
  if (percent && *percent > 0 && *percent <= kPercent) return *percent / kPercent;
  return base::Failure{fmt::format("invalid share '{}' (example: 5%)", text)};
}

std::optional<Turn> turn_in_period(const Schedule& schedule, std::string_view host,
                                   std::int64_t second) {
  const std::int64_t period = second / schedule.period;
  if (unit(draw(schedule, host, period, "whether")) >= schedule.share) return std::nullopt;
  const std::int64_t beginnings = schedule.period - schedule.length + 1;
  const auto offset = static_cast<std::int64_t>(draw(schedule, host, period, "when") %
                                                static_cast<std::uint64_t>(beginnings));
  const std::int64_t begin = period * schedule.period + offset;
  return Turn{begin, begin + schedule.length};
}

namespace {

using control::Controlled;
using control::ProcessStatus;
using control::Standing;

constexpr std::int64_t kPerSecond = 1'000'000'000, kPerMilli = 1'000'000;
/// A program follows a request when it next looks, whether or not its answer is awaited.
constexpr std::chrono::milliseconds kNoPatience{0};

/// Since when a process runs, in Unix milliseconds.
std::int64_t beginning_of(std::uint64_t start_ticks, const Now& now) {
  const auto ticks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  const auto since_boot = static_cast<std::int64_t>(base::clock_now(CLOCK_BOOTTIME));
  const auto start = static_cast<std::int64_t>(start_ticks * (kPerSecond / ticks));
  return (now.realtime - (since_boot - start)) / kPerMilli;
}

}  // namespace

base::Outcome<void> TurnKeeper::prepare(const std::string& directory) {
  // The programs of all users whom root's agent may call write there, as into /tmp.
  constexpr mode_t kOwn = 0700, kOfAll = 01777;
  const mode_t mode = geteuid() == 0 ? kOfAll : kOwn;
  if (mkdir(directory.c_str(), mode) != 0 && errno != EEXIST) {
    return base::Failure{directory + ": " + std::strerror(errno)};
  }
  const base::UniqueFd made(
      open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  const bool is_ours = made.is_open() && fstat(made.get(), &status) == 0 &&
                       status.st_uid == geteuid() && fchmod(made.get(), mode) == 0;
  if (!is_ours) return base::Failure{directory + ": is not a directory of this user"};
  return {};
}

TurnKeeper::TurnKeeper(Schedule schedule, std::string directory, FollowedProcess::Names names,
                       Spool& spool, Spool::Log log)
    : schedule_(std::move(schedule)),
      directory_(std::move(directory)),
      names_(std::move(names)),
      spool_(spool),
      log_(std::move(log)) {}

std::int64_t TurnKeeper::look(const Now& now) {
  const std::int64_t second = now.realtime / kPerSecond;
  const auto turn = turn_in_period(schedule_, names_.host, second);
  const bool is_turn = turn && turn->begin <= second && second < turn->end;
  if (is_turn && is_turn_ != true) begin_turn();
  if (!is_turn && is_turn_ != false) end_turn();
  is_turn_ = is_turn;
  if (const std::int64_t step = second / now.grid; step_ != step) {
    if (step_ == step - 1) record_unrecorded_runs(now);
    step_ = step;
  }
  std::int64_t next = (second / schedule_.period + 1) * schedule_.period;
  if (turn && second < turn->begin) next = turn->begin;
  if (is_turn) next = turn->end;
  return next * kPerSecond;
}

bool TurnKeeper::is_in_turn(const ProcessStatus& status) const {
  return status.trace.starts_with(directory_ + "/") &&
         (status.standing == Standing::kRecording || status.standing == Standing::kPaused);
}

void TurnKeeper::begin_turn() {
  called_.clear();
  for (const ProcessStatus& status : control::controlled_processes()) {
    if (!control::waits_for_request(status.standing) || status.pending == true) continue;
    auto program = Controlled::open(status.pid);
    if (!program.has_value()) continue;
    const auto called = program->call({.directory = directory_});
    if (called.has_value()) called_.insert(status.pid);
    if (!called.has_value()) log_("not recorded: " + called.reason());
  }
}

/// Also ends what an agent that is gone began.
void TurnKeeper::end_turn() {
  for (const ProcessStatus& status : control::controlled_processes()) {
    const bool has_not_begun = called_.contains(status.pid) && status.pending == true;
    if (!is_in_turn(status) && !has_not_begun) continue;
    auto program = Controlled::open(status.pid);
    // One that does not allocate stops when it does.
    if (program.has_value()) static_cast<void>(program->stop(kNoPatience));
  }
  called_.clear();
}

/// A fleet has to know of all hosts that ran a service, as those that were recorded stand for
/// them.
void TurnKeeper::record_unrecorded_runs(const Now& now) {
  std::map<Identity, Known> still_there;
  const std::int64_t step = now.realtime / kPerSecond / now.grid - 1;
  for (const ProcessStatus& status : control::controlled_processes()) {
    const bool sleeps = control::waits_for_request(status.standing) || is_in_turn(status);
    if (sleeps) record_unrecorded_run(status.pid, step, now, still_there);
  }
  known_ = std::move(still_there);
}

void TurnKeeper::record_unrecorded_run(pid_t pid, std::int64_t step, const Now& now,
                                       std::map<Identity, Known>& still_there) {
  const auto target = control::TargetProcess::open(pid);
  if (!target.has_value()) return;
  const Identity identity{pid, target->facts().start};
  if (const auto found = known_.find(identity); found != known_.end()) {
    still_there.insert(*found);
  } else {
    const std::string file = fmt::format("/proc/{}/exe", pid);
    std::error_code error;
    const std::string executable = std::filesystem::read_symlink(file, error);
    if (error) return;
    const std::string build = foreign::read_elf_facts(file, {}).build_id;
    still_there[identity] = {
        names_of({static_cast<std::uint32_t>(pid), executable, build}, names_.given), executable};
  }
  const Known& known = still_there[identity];
  Document document;
  Window& window = document.window;
  window.key = {known.names.service, known.names.version, names_.host, 0, step * now.grid};
  window.key.process =
      hash_of(fmt::format("{}{}{}{}{}", names_.host, '\0', pid, '\0', identity.second));
  const std::int64_t end = (step + 1) * now.grid * 1000;
  const std::int64_t ran =
      std::min(end - beginning_of(identity.second, now), now.grid * std::int64_t{1000});
  if (ran <= 0) return;
  window.began_ms = end - ran;
  window.alive_ms = static_cast<std::uint64_t>(ran);
  window.seed = window.key.process;
  window.skew_ms = now.skew_ms;
  window.executable = known.executable;
  window.labels = names_.labels;
  if (const auto checked = check_limits(document); !checked.has_value()) {
    return log_(known.executable + ": " + checked.reason());
  }
  const auto kept = spool_.put(window.key, pack(document));
  if (!kept.has_value()) log_(kept.reason());
}

}  // namespace geiger::fleet
