#include "serve/admission.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace geiger::serve {

Admission::Admission(std::size_t most_waiting)
    : most_waiting_(most_waiting), needed_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Admission::add(Arrival arrival) {
  const std::lock_guard lock(mutex_);
  const Peer peer = arrival.peer;
  arrivals_[peer].push_back(std::move(arrival));
  if (++waiting_ > most_waiting_) drop_oldest();
  update();
  added_.notify_one();
}

bool Admission::drop_one() {
  const std::lock_guard lock(mutex_);
  if (waiting_ == 0) return false;
  drop_oldest();
  update();
  return true;
}

void Admission::drop_oldest() {
  const auto most =
      std::ranges::max_element(arrivals_, {}, [](const auto& each) { return each.second.size(); });
  most->second.pop_front();
  if (most->second.empty()) arrivals_.erase(most);
  --waiting_;
}

std::optional<Arrival> Admission::next() {
  std::unique_lock lock(mutex_);
  ++idle_;
  update();
  added_.wait(lock, [this] { return ends_ || waiting_ != 0; });
  --idle_;
  if (waiting_ == 0) return std::nullopt;
  const auto threads_of = [this](const auto& each) {
    const auto served = served_.find(each.first);
    return served == served_.end() ? 0 : served->second;
  };
  const auto first = std::ranges::min_element(arrivals_, {}, threads_of);
  Arrival arrival = std::move(first->second.front());
  first->second.pop_front();
  if (first->second.empty()) arrivals_.erase(first);
  --waiting_;
  ++served_[arrival.peer];
  update();
  return arrival;
}

void Admission::leave(Peer peer, bool gave_way) {
  {
    const std::lock_guard lock(mutex_);
    count_down(served_, peer);
    if (gave_way) --leaving_;
    update();
  }
  left_.notify_all();
}

void Admission::end() {
  const std::lock_guard lock(mutex_);
  ends_ = true;
  update();
  added_.notify_all();
}

bool Admission::is_needed() const {
  const std::lock_guard lock(mutex_);
  return is_signalled_;
}

bool Admission::gives_way(Peer peer) {
  const std::lock_guard lock(mutex_);
  if (!is_short()) return false;
  // By threads, not by how many of them wait just now: those of a peer with many may all be busy.
  const auto most =
      std::ranges::max_element(served_, {}, [](const auto& each) { return each.second; });
  if (!ends_ && most != served_.end() && served_[peer] < most->second) return false;
  ++leaving_;
  update();
  return true;
}

bool Admission::wait_for_leave(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  if (slow_ == 0) return false;
  left_.wait_for(lock, longest);
  return true;
}

/// More is requested than connections were asked to give way for. While a thread is in next(), it
/// has yet to take one of those that wait: only then is it known whose threads are most.
bool Admission::is_short() const {
  const std::size_t wanted = idle_ == 0 ? waiting_ : 0;
  return ends_ || wanted + needs_ > leaving_;
}

void Admission::update() {
  if (is_short() == is_signalled_) return;
  is_signalled_ = !is_signalled_;
  std::uint64_t event = 1;
  // Neither can fail: the event is 0 or 1.
  static_cast<void>(is_signalled_ ? write(needed_.get(), &event, sizeof event)
                                  : read(needed_.get(), &event, sizeof event));
}

void Admission::count_down(Counts& counts, Peer peer) {
  const auto count = counts.find(peer);
  if (--count->second == 0) counts.erase(count);
}

Admission::Waiting::Waiting(Admission& admission) : admission_(admission) {
  const std::lock_guard lock(admission_.mutex_);
  ++admission_.slow_;
}

Admission::Waiting::~Waiting() {
  const std::lock_guard lock(admission_.mutex_);
  --admission_.slow_;
}

Admission::Need::Need(Admission& admission) : admission_(admission) {
  const std::lock_guard lock(admission_.mutex_);
  ++admission_.needs_;
  admission_.update();
}

Admission::Need::~Need() {
  const std::lock_guard lock(admission_.mutex_);
  --admission_.needs_;
  admission_.update();
}

}  // namespace geiger::serve
