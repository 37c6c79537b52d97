#include "analysis/present/asked_inside.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/format.h"
#include "analysis/profile/memory/residency_answers.h"
#include "analysis/profile/totals.h"

namespace geiger::present {

std::optional<AskedInside> asked_inside(const profile::Recording& recording, profile::Kind kind,
                                        profile::Moment moment) {
  if (kind != profile::Kind::kResident) return std::nullopt;
  const auto answers = profile::facts_of_answers(recording, moment);
  if (answers.empty()) return std::nullopt;
  const auto [first, last] = std::ranges::minmax(answers, {}, &profile::AnswerFacts::time);
  const Nanoseconds start = profile::start_of(recording);
  AskedInside asked{.processes = answers.size(),
                    .first = first.time - std::min(first.time, start),
                    .last = last.time - std::min(last.time, start)};
  for (const profile::AnswerFacts& answer : answers) {
    asked.answered += answer.answered;
    asked.unanswered += answer.unanswered;
  }
  return asked;
}

std::string text_of(const AskedInside& asked) {
  const std::string where = asked.processes == 1
                                ? "the process"
                                : fmt::format("{} processes", exact_count(asked.processes));
  std::string text =
      fmt::format("measured by mincore inside {} at {}", where, duration(asked.first));
  if (asked.last != asked.first) text += " to " + duration(asked.last);
  if (asked.unanswered == 0) return text;
  return text + fmt::format(
                    "; {} of {} live at that time have no answer and count as between none and all "
                    "of their bytes",
                    exact_count(asked.unanswered),
                    plural(asked.answered + asked.unanswered, "sample"));
}

const Fields<AskedInside>& fields_of(Of<AskedInside> /*type*/) {
  static const auto kFields =
      Fields<AskedInside>("by_mincore", "Residency as processes told it from inside.")
          .field("processes", "that were asked", &AskedInside::processes)
          .field("first_ns", "the first time, after the start", &AskedInside::first)
          .field("last_ns", "the last time, after the start", &AskedInside::last)
          .field("answered", "samples that were live then, with an answer", &AskedInside::answered)
          .field("unanswered",
                 "those without: values and lower limits count none of their bytes, upper limits "
                 "all",
                 &AskedInside::unanswered);
  return kFields;
}

}  // namespace geiger::present
