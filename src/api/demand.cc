#include "api/demand.h"

#include <algorithm>

#include "api/connection.h"
#include "api/heaps/custom_heaps.h"

namespace geiger::api {

std::uint64_t largest_interval_in_use() {
  return std::max(connection()->largest_interval_in_use(), largest_interval_of_heaps());
}

/// Only a recording in memory may be paused: the user who started the program asked for a file.
void Demand::hold(bool is_held) const {
  const capture::Interface* capture = connection();
  if (capture != nullptr && is_in_memory_) capture->hold(is_held);
}

/// Recording begins: earlier intervals that are no longer in use have not drawn anything.
void Demand::begin(const capture::Status& status) {
  if (!is_in_memory_ || begun_in_ == status.first_image) return;
  begun_in_ = status.first_image;
  connection()->forget_intervals();
  largest_at_start_ = largest_interval_in_use();
}

void Demand::add_user() {
  capture::Status status{};
  is_in_memory_ = recorder(status) == GEIGER_OK && status.is_in_memory;
  if (users_++ != 0) return;
  begin(status);
  hold(false);
}

void Demand::remove_user() {
  if (--users_ == 0) hold(true);
}

/// Reads the interval in force; one that was not set here becomes the program's own.
std::uint64_t Demand::observe() {
  capture::Status status{};
  if (recorder(status) != GEIGER_OK) return 0;
  if (status.interval != set_) own_ = status.interval;
  return status.interval;
}

geiger_status Demand::apply() {
  const std::uint64_t current = observe();
  if (current == 0) return GEIGER_NOT_RECORDING;
  const std::uint64_t wanted = wanted_.empty() ? own_ : std::min(own_, *wanted_.begin());
  if (wanted == current) return GEIGER_OK;
  set_ = wanted;
  return connection()->set_interval(wanted) ? GEIGER_OK : GEIGER_NOT_RECORDING;
}

geiger_status Demand::want(std::uint64_t interval) {
  observe();
  wanted_.insert(interval);
  const geiger_status status = apply();
  if (status != GEIGER_OK) wanted_.erase(wanted_.find(interval));
  return status;
}

void Demand::want_no_more(std::uint64_t interval) {
  const auto at = wanted_.find(interval);
  if (at == wanted_.end()) return;
  observe();
  wanted_.erase(at);
  apply();  // If recording has ended, nothing needs to change.
}

geiger_status Demand::set_own(std::uint64_t interval) {
  const std::uint64_t current = observe();
  if (current == 0) return GEIGER_NOT_RECORDING;
  own_ = interval;
  set_ = current;  // Else apply() would take the interval in force for the program's own.
  connection()->set_own_interval(interval);
  return apply();
}

std::uint64_t Demand::own() {
  observe();
  return own_;
}

void Demand::restart(std::uint32_t users) {
  wanted_.clear();
  set_ = 0;
  users_ = users;
  begun_in_ = 0;
  largest_at_start_ = 0;
  hold(users == 0);
}

}  // namespace geiger::api
