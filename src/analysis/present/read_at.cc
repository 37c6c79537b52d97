#include "analysis/present/read_at.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/format.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/totals.h"

namespace geiger::present {

std::optional<ReadAt> read_at(const profile::Recording& recording, profile::Moment moment) {
  std::optional<ReadAt> read;
  const Nanoseconds start = profile::start_of(recording);
  for (const profile::Observations& observations : recording.observations) {
    const profile::Snapshot* snapshot = profile::snapshot_at(observations, moment);
    if (snapshot == nullptr) continue;
    const Nanoseconds after = snapshot->time - std::min(snapshot->time, start);
    if (!read) read = ReadAt{.first = after, .last = after, .moment = moment};
    ++read->processes;
    read->first = std::min(read->first, after);
    read->last = std::max(read->last, after);
  }
  return read;
}

std::string text_of(const ReadAt& read) {
  std::string text = duration(read.first);
  if (read.last != read.first) text += " to " + duration(read.last);
  const bool is_last = read.moment == profile::Moment::kLast;
  text += fmt::format(" after the start, at the {} reading", is_last ? "last" : "largest RSS");
  return read.processes == 1 ? text
                             : fmt::format("{} of each of {} processes", text, read.processes);
}

const Fields<ReadAt>& fields_of(Of<ReadAt> /*type*/) {
  static const auto kFields =
      Fields<ReadAt>("snapshot", "When the memory of processes was read.")
          .field("processes", "whose memory was read", &ReadAt::processes)
          .field("first_ns", "the first reading, after the start", &ReadAt::first)
          .field("last_ns", "the last reading, after the start", &ReadAt::last)
          .field("moment", "the reading with the largest RSS, or the last one",
                 [](const ReadAt& it) {
                   return it.moment == profile::Moment::kLast ? "last" : "maximum";
                 })
          .one_of({"maximum", "last"});
  return kFields;
}

}  // namespace geiger::present
