#include "query/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/present/format.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/memory/gaps.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/peak.h"
#include "analysis/profile/totals.h"
#include "query/filters.h"
#include "query/instants.h"
#include "query/kind_options.h"

namespace geiger::query {
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
      subject_.scope.read = present::read_at(recording_, subject_.selection.moment);
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
  if (largest == nullptr || !largest->is_found()) return;
  subject.remarks.push_back(
      fmt::format("most of the heap was freed in the last {}; --at cleanup selects what was live "
                  "before that",
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
