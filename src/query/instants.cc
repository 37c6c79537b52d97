#include "query/instants.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/marks.h"
#include "analysis/profile/peak.h"
#include "analysis/profile/totals.h"
#include "base/numbers.h"
#include "query/sizes.h"
#include "query/spelling.h"

namespace geiger::query {
namespace {

using profile::NumberedMark;
using profile::Recording;
using InstantResult = base::Outcome<Instant>;

constexpr std::string_view kMarkPrefix = "mark:";
constexpr std::size_t kMarksNamed = 8;

std::string after_start(const Recording& recording, Nanoseconds time) {
  const Nanoseconds start = profile::start_of(recording);
  return present::duration(time > start ? time - start : 0);
}

bool starts_like_number(std::string_view text) {
  return !text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
}

InstantResult edge(const Recording& recording, bool is_start) {
  const Nanoseconds start = profile::start_of(recording);
  if (is_start) return Instant{Instant::Kind::kStart, start, "the start"};
  return Instant{Instant::Kind::kEnd, start + profile::duration_of(recording), "the end"};
}

InstantResult percentage(const std::string& text, const Recording& recording) {
  const std::string_view digits(text.data(), text.size() - 1);
  const auto percent = base::number_in<double>(digits, std::chars_format::fixed);
  if (!percent || !(*percent >= 0 && *percent <= 100)) {
    return base::Failure{fmt::format("'{}' is not a part of the duration (0% to 100%)", text)};
  }
  if (*percent == 0 || *percent == 100) return edge(recording, *percent == 0);
  const auto part = static_cast<Nanoseconds>(*percent / 100 *
                                             static_cast<double>(profile::duration_of(recording)));
  const Nanoseconds time = profile::start_of(recording) + part;
  return Instant{Instant::Kind::kGiven, time,
                 fmt::format("{} ({})", text, present::duration(part))};
}

InstantResult time_after_start(const std::string& text, const Recording& recording) {
  const auto time = GEIGER_TRY(parse_duration(text));
  const bool has_unit = !text.empty() && text.back() >= 'A';
  if (!has_unit)
    return base::Failure{fmt::format("'{0}' has no unit; did you mean {0}s or {0}ms?", text)};
  const Nanoseconds duration = profile::duration_of(recording);
  if (time > duration) {
    return base::Failure{fmt::format("{} is after the end of the recording ({})", text,
                                     present::duration(duration))};
  }
  return Instant{Instant::Kind::kGiven, profile::start_of(recording) + time,
                 present::duration(time)};
}

InstantResult cleanup(const Recording& recording) {
  const std::vector<profile::Teardown> teardowns = profile::find_teardowns(recording);
  const profile::Teardown* largest = profile::largest_of(teardowns);
  const bool is_any = largest != nullptr && largest->kind != profile::Teardown::Kind::kNotFound;
  if (!is_any) return edge(recording, false);
  const Nanoseconds before = largest->from - 1;
  return Instant{Instant::Kind::kGiven, before,
                 fmt::format("the start of the cleanup ({})", after_start(recording, before))};
}

/// "NAME#2": the number after the last #; nothing if there is none.
std::optional<std::uint32_t> number_behind(std::string_view text, std::size_t hash) {
  if (hash == std::string_view::npos) return std::nullopt;
  const auto number = base::number_in<std::uint32_t>(text.substr(hash + 1));
  return number && *number > 0 ? number : std::nullopt;
}

class Marks {
 public:
  explicit Marks(const Recording& recording)
      : recording_(recording), marks_(profile::numbered_marks(recording)) {}

  [[nodiscard]] InstantResult named(const std::string& text) const {
    if (has(text)) return numbered(text, std::nullopt);
    const std::size_t hash = text.rfind('#');
    const auto number = number_behind(text, hash);
    if (number && has(text.substr(0, hash))) return numbered(text.substr(0, hash), number);
    return base::Failure{unknown(text)};
  }

 private:
  [[nodiscard]] const std::string& name_of(const NumberedMark& mark) const {
    return recording_.marks[mark.mark].name;
  }

  [[nodiscard]] bool has(const std::string& name) const {
    return std::ranges::any_of(marks_, [&](const auto& mark) { return name_of(mark) == name; });
  }

  [[nodiscard]] InstantResult numbered(const std::string& name,
                                       std::optional<std::uint32_t> number) const {
    const auto found = std::ranges::find_if(marks_, [&](const NumberedMark& mark) {
      return name_of(mark) == name && mark.number == number.value_or(1);
    });
    const auto any = std::ranges::find_if(
        marks_, [&](const NumberedMark& mark) { return name_of(mark) == name; });
    if (found == marks_.end() || (!number && any->of_name > 1)) {
      return base::Failure{fmt::format("{0} marks are named '{1}': use mark:{1}#1 to mark:{1}#{0}",
                                       any->of_name, name)};
    }
    return instant(*found);
  }

  [[nodiscard]] Instant instant(const NumberedMark& numbered) const {
    const profile::Mark& mark = recording_.marks[numbered.mark];
    std::string text = fmt::format("mark '{}'", mark.name);
    if (numbered.of_name > 1) text += fmt::format(" #{}", numbered.number);
    if (recording_.processes.size() > 1) {
      text += fmt::format(" of pid {}", recording_.processes[mark.process].pid);
    }
    return {Instant::Kind::kGiven, mark.time,
            fmt::format("{} ({})", text, after_start(recording_, mark.time))};
  }

  [[nodiscard]] std::string unknown(const std::string& text) const {
    if (marks_.empty()) return fmt::format("no mark '{}': this run has no marks", text);
    std::vector<std::string> names;
    for (const NumberedMark& mark : marks_) {
      if (mark.number == 1) names.push_back(name_of(mark));
    }
    if (const auto meant = closest(text, names)) {
      return fmt::format("no mark '{}'; did you mean '{}'?", text, *meant);
    }
    std::string list;
    for (std::size_t i = 0; i < std::min(names.size(), kMarksNamed); ++i) {
      list += (i == 0 ? "" : ", ") + names[i];
    }
    return fmt::format("no mark '{}'; there are: {}{}", text, list,
                       names.size() > kMarksNamed ? ", ..." : "");
  }

  const Recording& recording_;
  std::vector<NumberedMark> marks_;
};

}  // namespace

InstantResult instant_of(const std::string& when, const Recording& recording, std::uint32_t heap) {
  if (when.starts_with(kMarkPrefix)) return Marks(recording).named(when.substr(kMarkPrefix.size()));
  if (when == "start" || when == "end") return edge(recording, when == "start");
  if (when == "peak") {
    const profile::PeakInstant peak = profile::largest_peak(recording, heap);
    return Instant{Instant::Kind::kPeak, peak.time,
                   fmt::format("the peak ({})", after_start(recording, peak.time)),
                   peak.is_chosen_by_samples};
  }
  if (when == "cleanup") return cleanup(recording);
  if (when.ends_with('%')) return percentage(when, recording);
  if (starts_like_number(when)) return time_after_start(when, recording);
  return Marks(recording).named(when);
}

}  // namespace geiger::query
