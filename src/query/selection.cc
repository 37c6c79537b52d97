#include "query/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/gaps.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/totals.h"
#include "base/text.h"
#include "query/filters.h"
#include "query/text_file.h"
#include "query/words.h"

namespace geiger::query {

namespace {

using profile::FrameRules;

base::Outcome<FrameRules> parse_rules(base::Outcome<std::string> read, const std::string& path) {
  const std::string text = GEIGER_TRY(std::move(read).with_prefix("--rules: "));
  return FrameRules::parse(text).with_prefix(path + ":");
}

/// The rules of the working directory; none where there is no file, or it is ignored.
base::Outcome<FrameRules> read_rules_here(std::vector<std::string>& remarks) {
  const auto file = open_own_file(kRulesFile);
  if (!file.has_value()) {
    remarks.push_back(
        fmt::format("./{0} is ignored: {1} (to use it: --rules {0})", kRulesFile, file.reason()));
    return FrameRules();
  }
  if (!file->is_open()) return FrameRules();
  return parse_rules(read_text(file.value(), kRulesFile), kRulesFile);
}

}  // namespace

base::Outcome<std::shared_ptr<const FrameRules>> frame_rules_of(const FrameOptions& options,
                                                                std::vector<std::string>& remarks) {
  const std::string& named = options.rules_file;
  auto rules = GEIGER_TRY(named.empty() ? read_rules_here(remarks)
                                        : parse_rules(read_text_file(named), named));
  for (const std::string& expression : options.hidden) {
    auto pattern = GEIGER_TRY(profile::NamePattern::parse(expression).with_prefix("--hide "));
    rules.hide(std::move(pattern));
  }
  if (options.finds_wrappers) rules.find_wrappers(*options.finds_wrappers);
  rules.shows_plumbing = options.shows_plumbing;
  rules.frames = options.frames;
  return std::make_shared<const FrameRules>(std::move(rules));
}

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

namespace {

using profile::About;
using profile::AtInstant;
using profile::GroupBy;
using profile::Kind;
using profile::KindRules;

constexpr const char* kWholeKindsHelp =
    "allocated: everything (default);\n"
    "live: not freed at the end, or at --at;\n"
    "peak: live at the moment of the largest heap;\n"
    "temporary: freed within 1 ms";
constexpr const char* kMappingKindsHelp =
    ";\nmapped, mapped-peak, mapped-total, mapped-files, reserved:\n"
    "the program's own mmap calls";
constexpr const char* kPartKindsHelp =
    ";\nresident, swapped, untouched: live objects by the state of\n"
    "their pages at the RSS maximum;\n"
    "usable, live-usable: sizes including allocator overhead;\n"
    "overhead, live-overhead: allocator overhead (rounding);\n"
    "stranded: free memory held by live objects (run --fragmentation);\n"
    "zero, blank, duplicate: zero bytes, wholly zero objects, equal\n"
    "objects beyond the first (run --content)";

bool is_known(About about, Kinds kinds) {
  if (about == About::kObjects) return true;
  return kinds == Kinds::kAll || (about == About::kMappings && kinds == Kinds::kWithMappings);
}

base::Outcome<void> check_instant(const KindRules& rules, const std::string& at) {
  const bool is_of_mappings = rules.about == About::kMappings;
  if (is_of_mappings && at == "peak") {
    return base::Failure{"for the largest total use --kind mapped-peak"};
  }
  switch (rules.at) {
    case AtInstant::kAny:
      return {};
    case AtInstant::kSnapshot:
      if (at == "maximum" || at == "last") return {};
      return base::Failure{"--at for this kind: maximum or last"};
    case AtInstant::kNever:
      break;
  }
  return base::Failure{is_of_mappings ? "for mappings at an instant use --kind mapped"
                                      : "--at applies to live memory: use --kind live"};
}

bool is_of_allocations(GroupBy by) {
  return by == GroupBy::kHeap || by == GroupBy::kAlignment || by == GroupBy::kLifetime ||
         by == GroupBy::kType || by == GroupBy::kHolder || by == GroupBy::kLabel;
}

}  // namespace

std::vector<std::string> names_of(Kinds kinds) {
  std::vector<std::string> names;
  for (const KindRules& rules : profile::kKindRules) {
    if (is_known(rules.about, kinds)) names.emplace_back(rules.name);
  }
  return names;
}

std::string help_of(Kinds kinds) {
  std::string help = kWholeKindsHelp;
  if (is_known(About::kSnapshots, kinds)) help += kPartKindsHelp;
  if (is_known(About::kMappings, kinds)) help += kMappingKindsHelp;
  return help;
}

base::Outcome<void> check_question(const KindQuestion& question) {
  if (!question.at.empty() && question.has_window) {
    return base::Failure{"--at cannot be combined with --from or --to"};
  }
  // Without --kind, --at is of what was live, and a window of what was allocated.
  const Kind meant = question.at.empty() ? Kind::kAllocated : Kind::kLiveAtEnd;
  const KindRules& rules = profile::rules_of(question.kind.value_or(meant));
  const bool is_of_mappings = rules.about == About::kMappings;
  if (question.has_filter && is_of_mappings) return base::Failure{std::string(profile::kNoFilters)};
  if (!question.at.empty()) return check_instant(rules, question.at);
  if (!question.has_window || rules.takes_window) return {};
  return base::Failure{is_of_mappings
                           ? "for mappings made in a window use --kind mapped-total"
                           : "--from and --to select allocations; with --kind live use --at WHEN"};
}

base::Outcome<void> check_grouping(Kind kind, GroupBy by) {
  if (!is_of_allocations(by) || !profile::is_of_mappings(kind)) return {};
  return base::Failure{"--by: mappings have no heap, lifetime, type, holder, label or alignment"};
}

base::Outcome<void> check_lives(Kind kind, const char* format) {
  if (kind == Kind::kAllocated) return {};
  return base::Failure{fmt::format(
      "{}: it follows objects from allocation to free, so --kind does not apply", format)};
}

namespace {

using profile::Kind;

bool has_filter(const SelectionOptions& options) {
  return !options.heap.empty() || !options.thread.empty() || !options.label.empty() ||
         !options.type.empty() || !options.size.empty() || !options.function.empty() ||
         !options.focus.empty() || !options.ignore.empty() || !options.pids.empty();
}

KindQuestion question_of(const SelectionOptions& options) {
  const bool has_window = !options.from.empty() || !options.to.empty();
  return {options.kind, options.at, has_window, has_filter(options)};
}

/// "live at mark:warm" of kinds that are otherwise of the end.
std::string text_at(Kind kind, const std::string& instant) {
  constexpr std::string_view kTheEnd = "the end";
  std::string text(profile::kind_text(kind));
  text.resize(text.size() - kTheEnd.size());
  return text + instant;
}

/// Instants of one option, resolved.
class Instants {
 public:
  Instants(const profile::Recording& recording, Subject& subject)
      : recording_(recording), subject_(subject) {}

  base::Outcome<void> apply(const SelectionOptions& options) {
    subject_.selection.kind = kind_of(options);
    const bool is_default = !options.kind && options.at.empty();
    if (is_default && profile::has_live_only(recording_)) {
      subject_.selection.kind = Kind::kLiveAtEnd;
    }
    if (profile::is_of_snapshot(subject_.selection.kind)) {
      const bool is_last = options.at == "last";
      subject_.selection.moment = is_last ? profile::Moment::kLast : profile::Moment::kMaximum;
      subject_.scope.asked =
          present::asked_inside(recording_, subject_.selection.kind, subject_.selection.moment);
      subject_.scope.read =
          present::read_at(recording_, subject_.selection.kind, subject_.selection.moment);
      return {};
    }
    if (!options.at.empty()) return apply_at(options.at);
    std::optional<Instant> from, to;
    for (const auto& [name, text, instant] :
         {std::tuple{"--from", &options.from, &from}, std::tuple{"--to", &options.to, &to}}) {
      if (text->empty()) continue;
      *instant = GEIGER_TRY(instant_of(*text, recording_, subject_.selection.heap)
                                .with_prefix(name + std::string(": ")));
    }
    return apply_window(from, to);
  }

 private:
  [[nodiscard]] Nanoseconds after_start(const Instant& instant) const {
    return instant.time - std::min(instant.time, profile::start_of(recording_));
  }

  base::Outcome<void> apply_at(const std::string& text) {
    const Instant at =
        GEIGER_TRY(instant_of(text, recording_, subject_.selection.heap).with_prefix("--at: "));
    if (at.kind == Instant::Kind::kEnd) return {};
    if (at.kind == Instant::Kind::kPeak) return {};  // A kind of its own.
    subject_.selection.at = at.time;
    subject_.scope.at = after_start(at);
    subject_.scope.when = text_at(subject_.selection.kind, at.text);
    return {};
  }

  base::Outcome<void> apply_window(const std::optional<Instant>& from,
                                   const std::optional<Instant>& to) {
    const bool has_from = from && from->kind != Instant::Kind::kStart;
    const bool has_to = to && to->kind != Instant::Kind::kEnd;
    const Nanoseconds start = profile::start_of(recording_);
    const Nanoseconds end = start + profile::duration_of(recording_);
    const Nanoseconds first = from ? from->time : start;
    const Nanoseconds last = to ? to->time : end;
    if ((has_from || has_to) && first >= last) {
      const std::string left = from ? from->text : "the start";
      const std::string right = to ? to->text : "the end";
      return base::Failure{
          fmt::format("the window is empty: it begins at {} and ends at {}", left, right)};
    }
    if (has_from) {
      subject_.selection.from = from->time;
      subject_.scope.from = after_start(*from);
    }
    if (has_to) {
      subject_.selection.to = to->time;
      subject_.scope.to = after_start(*to);
    }
    const auto is_chosen = [](const auto& one) { return one && one->is_chosen_by_samples; };
    subject_.scope.is_split = is_chosen(from) || is_chosen(to);
    subject_.selection.is_chosen_by_samples = subject_.scope.is_split;
    if (has_from || has_to) subject_.scope.when = window_text(from, to, has_from, has_to);
    return {};
  }

  [[nodiscard]] std::string window_text(const std::optional<Instant>& from,
                                        const std::optional<Instant>& to, bool has_from,
                                        bool has_to) const {
    const std::string_view what = profile::kind_text(subject_.selection.kind);
    if (!has_to) return fmt::format("{} from {} on", what, from->text);
    return fmt::format("{} from {} to {}", what, has_from ? from->text : "the start", to->text);
  }

  const profile::Recording& recording_;
  Subject& subject_;
};

void describe_filters(const SelectionOptions& options, present::Scope& scope) {
  const std::pair<const char*, const std::string&> given[] = {
      {"heap", options.heap},   {"thread", options.thread}, {"label", options.label},
      {"type", options.type},   {"size", options.size},     {"function", options.function},
      {"focus", options.focus}, {"ignore", options.ignore}};
  for (const auto& [what, which] : given) {
    if (!which.empty()) scope.only.emplace_back(what, which);
  }
  for (const std::uint32_t pid : options.pids) scope.only.emplace_back("pid", std::to_string(pid));
}

/// Fails where a recording that only counted its samples cannot answer.
base::Outcome<void> check_tallies(const profile::Recording& recording,
                                  const profile::Selection& selection) {
  if (!is_aggregated(recording)) return {};
  if (selection.from || selection.to || selection.at) {
    return base::Failure{fmt::format("no windows and no instants: {}", profile::kAggregated)};
  }
  if (profile::is_of_mappings(selection.kind)) return {};
  const auto told = profile::check_kind(recording, selection.kind, selection.moment);
  if (told.reason() != profile::kAggregated) return {};
  return base::Failure{
      fmt::format("{} is not available: {}", profile::name_of(selection.kind), told.reason())};
}

/// What was live at the end says little of a program that freed its heap before it exited.
void remark_on_cleanup(const SelectionOptions& options, const profile::Recording& recording,
                       Subject& subject) {
  const bool is_at_end = subject.selection.kind == Kind::kLiveAtEnd && options.at.empty() &&
                         !subject.selection.to && !is_aggregated(recording);
  if (!is_at_end) return;
  const std::vector<profile::Teardown> teardowns = profile::find_teardowns(recording);
  const profile::Teardown* largest = profile::largest_of(teardowns);
  const bool is_tidied = largest != nullptr && largest->is_found() &&
                         largest->kind != profile::Teardown::Kind::kFinalization;
  if (!is_tidied) return;
  subject.remarks.push_back(
      fmt::format("most of the heap was freed in the last {}; --at cleanup shows it before that",
                  present::duration(largest->end - largest->from)));
}

/// Processes that ended earlier hold nothing at the end.
void remark_on_earlier_ends(const profile::Recording& recording, Subject& subject) {
  const profile::Selection& selection = subject.selection;
  const bool is_of_end = selection.kind == Kind::kLiveAtEnd || is_of_live_blocks(selection.kind);
  if (!is_of_end || subject.scope.end.empty() || selection.at_own_ends) return;
  const std::vector<bool> there = there_at_end(recording, selection);
  const auto is_left_out = [&](const profile::Sample& sample) {
    return sample.free_time == 0 && !there[sample.process] &&
           (!selection.keeps || selection.keeps(sample) != profile::Answer::kNo);
  };
  if (std::ranges::none_of(recording.samples, is_left_out)) return;
  subject.remarks.push_back(
      "processes that ended earlier hold nothing then; --pid PID selects what one held at its own "
      "end");
}

}  // namespace

bool is_aggregated(const profile::Recording& recording) {
  return std::ranges::any_of(recording.processes, &profile::Process::is_aggregated);
}

base::Outcome<Subject> subject_of(const SelectionOptions& options,
                                  const profile::Recording& recording) {
  GEIGER_TRY(check_question(question_of(options)));
  Subject subject;
  if (!options.heap.empty()) {
    subject.selection.heap = GEIGER_TRY(heap_named(options.heap, recording));
  }
  GEIGER_TRY(Instants(recording, subject).apply(options));
  GEIGER_TRY(check_tallies(recording, subject.selection));
  remark_on_cleanup(options, recording, subject);
  Remarks remarks;
  auto filter = GEIGER_TRY(filter_of(options, recording, remarks));
  std::ranges::move(remarks.said, std::back_inserter(subject.remarks));
  subject.scope.open = std::move(remarks.open);
  if (profile::is_of_content(subject.selection.kind)) {
    subject.scope.open.emplace_back(present::kUnknownContent);
  }
  subject.scope.lacks = profile::missing_part(recording);
  subject.selection.keeps = std::move(filter);
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    const bool is_chosen =
        std::ranges::find(options.pids, recording.processes[i].pid) != options.pids.end();
    if (is_chosen) subject.selection.processes.push_back(i);
  }
  subject.selection.at_own_ends = options.at_own_ends;
  subject.scope.end = present::end_text(recording, subject.selection);
  remark_on_earlier_ends(recording, subject);
  describe_filters(options, subject.scope);
  return subject;
}

Kind kind_of(const SelectionOptions& options) {
  // Of each process its own peak, measured without the bias of having been chosen.
  if (options.at == "peak") return Kind::kLiveAtPeak;
  return options.kind.value_or(options.at.empty() ? Kind::kAllocated : Kind::kLiveAtEnd);
}

present::Scope scope_as_typed(const SelectionOptions& options) {
  present::Scope scope;
  describe_filters(options, scope);
  const Kind kind = kind_of(options);
  const bool is_of_instant = kind == Kind::kLiveAtEnd || profile::is_mapping_snapshot(kind);
  if (is_of_instant && !options.at.empty() && options.at != "end") {
    scope.when = text_at(kind, options.at);
  }
  const bool has_window = !options.from.empty() || !options.to.empty();
  if (!has_window) return scope;
  scope.when = fmt::format("{} from {} to {}", profile::kind_text(kind),
                           options.from.empty() ? "start" : options.from,
                           options.to.empty() ? "end" : options.to);
  return scope;
}

}  // namespace geiger::query
