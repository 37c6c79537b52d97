#include "analysis/profile/memory/residency_answers.h"

#include <algorithm>

#include "analysis/profile/memory/measured.h"
#include "analysis/profile/peak.h"

namespace geiger::profile {
namespace {

bool is_readable(const Snapshot* snapshot) {
  return snapshot != nullptr && snapshot->residency_fault.empty();
}

/// Whether what was read from outside is as good as an answer of `time`.
bool is_seen_from_outside(const Recording& recording, std::uint32_t process, Moment moment,
                          Nanoseconds time) {
  const Observations* observations = observations_of(recording, process);
  if (observations == nullptr || !observations->fault.empty()) return false;
  const Snapshot* last = snapshot_at(*observations, Moment::kLast);
  return is_readable(snapshot_at(*observations, moment)) && is_readable(last) && last->time >= time;
}

}  // namespace

std::map<std::uint32_t, Nanoseconds> answers_used(const Recording& recording, Moment moment) {
  std::map<std::uint32_t, Nanoseconds> newest;
  for (const ResidencyAnswer& answer : recording.residency_answers) {
    Nanoseconds& time = newest[recording.samples[answer.sample].process];
    time = std::max(time, answer.time);
  }
  std::erase_if(newest, [&](const auto& answer) {
    return is_seen_from_outside(recording, answer.first, moment, answer.second);
  });
  return newest;
}

std::vector<AnswerFacts> facts_of_answers(const Recording& recording, Moment moment) {
  const auto used = answers_used(recording, moment);
  std::map<std::uint32_t, AnswerFacts> facts;
  for (const auto& [process, time] : used) facts[process] = {process, time};
  for (const Sample& sample : recording.samples) {
    const auto found = facts.find(sample.process);
    if (found == facts.end() || sample.is_thinned_out) continue;
    if (is_live_at(sample, found->second.time)) ++found->second.unanswered;
  }
  for (const ResidencyAnswer& answer : recording.residency_answers) {
    const Sample& sample = recording.samples[answer.sample];
    const auto found = facts.find(sample.process);
    const bool counts = found != facts.end() && answer.time == found->second.time &&
                        !sample.is_thinned_out && is_live_at(sample, answer.time);
    if (!counts || found->second.unanswered == 0) continue;
    ++found->second.answered;
    --found->second.unanswered;
  }
  std::vector<AnswerFacts> all;
  for (const auto& [process, fact] : facts) all.push_back(fact);
  return all;
}

}  // namespace geiger::profile
