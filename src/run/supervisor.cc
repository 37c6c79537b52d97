#include "run/supervisor.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>

#include "trace/format.h"

namespace geiger::run {
namespace {

using std::chrono::nanoseconds;

// Without traces nothing but signals wakes the loop.
constexpr nanoseconds kForever = std::chrono::hours(1);

timespec to_timespec(nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((time - seconds).count())};
}

}  // namespace

Supervisor::Supervisor(pid_t program, const std::string& directory, RecordingWindow window,
                       ObservationOptions observation, const control::WatchOptions& watch)
    : program_(program), relay_(program) {
  if (directory.empty()) return;
  feeder_.emplace(directory);
  unrecorded_.emplace(program, directory);
  if (!watch.is_empty()) watch_.emplace(watch);
  if (observation.observes) observer_.emplace(observation.wants_waste);
  if (observer_ && observation.wants_waste) asks_ = start_ + std::chrono::milliseconds(500);
  if (window.delay.count() > 0) {
    opens_ = start_ + window.delay;
    feeder_->set_paused(true);
  }
  if (window.duration) closes_ = start_ + window.delay + *window.duration;
}

// Stops and continuations of the program become ours; ends of other processes are only noted.
bool Supervisor::reap() {
  int status = 0;
  pid_t pid = 0;
  rusage usage{};
  while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage)) > 0) {
    if (pid != program_) continue;
    if (WIFSTOPPED(status)) {
      relay_.stop_like(WSTOPSIG(status));
    } else {
      status_ = status;
      if (observer_) observer_->take_maximum(static_cast<Bytes>(usage.ru_maxrss) * kKiB);
      return true;
    }
  }
  return false;
}

void Supervisor::keep_window() {
  const auto now = Clock::now();
  if (opens_ && now >= *opens_) {
    feeder_->set_paused(false);
    opens_.reset();
  }
  if (closes_ && now >= *closes_) {
    feeder_->set_paused(true);
    closes_.reset();
  }
}

// Each answer takes the program's time and a record per live sample, so the rests grow
// with the run: the last answer is at most a tenth of the run, and a second, old.
void Supervisor::ask_utilization() {
  const auto now = Clock::now();
  if (!asks_ || now < *asks_) return;
  feeder_->ask_utilization();
  asks_ = now + std::chrono::seconds(1) + (now - start_) / 10;
}

nanoseconds Supervisor::observe() {
  if (!observer_) return kForever;
  ask_utilization();
  observer_->follow(feeder_->writing());
  const nanoseconds wait(observer_->round());
  feeder_->ask_residency(observer_->take_questions());
  return wait;
}

nanoseconds Supervisor::watch() {
  if (!watch_) return kForever;
  watch_->follow(feeder_->writing());
  return watch_->round();
}

nanoseconds Supervisor::next_wait(nanoseconds proposed) const {
  const auto now = Clock::now();
  for (const auto& instant : {opens_, closes_, asks_}) {
    if (instant) proposed = std::min(proposed, std::max(*instant - now, nanoseconds(0)));
  }
  return proposed;
}

void Supervisor::wait(nanoseconds at_most) const {
  std::array<pollfd, 2> sources{pollfd{relay_.fd(), POLLIN, 0},
                                pollfd{feeder_ ? feeder_->fd() : -1, POLLIN, 0}};
  const timespec timeout = to_timespec(at_most);
  ppoll(sources.data(), sources.size(), &timeout, nullptr);
}

int Supervisor::wait_for_end() {
  while (true) {
    nanoseconds idle = kForever;
    if (feeder_) {
      idle = feeder_->round();
      keep_window();
      idle = std::min({idle, observe(), watch(), unrecorded_->round()});
    }
    wait(next_wait(idle));
    if (relay_.relay() && reap()) break;
  }
  if (feeder_) feeder_->finish();
  watch_.reset();  // It has traces open for writing, as their processes had.
  relay_.discard();
  return status_;
}

std::uint32_t Supervisor::end_signal() const {
  if (!WIFSIGNALED(status_)) return 0;
  const auto signal = static_cast<std::uint32_t>(WTERMSIG(status_));
  const bool may_lack_memory = signal == SIGKILL && observe::oom_kills() > oom_kills_;
  return may_lack_memory ? signal | trace::kEndShortOfMemory : signal;
}

}  // namespace geiger::run
