#include "cli/selection.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "analysis/profile/mappings.h"
#include "analysis/profile/measured.h"
#include "analysis/profile/totals.h"
#include "analysis/report/heading.h"
#include "cli/choice.h"
#include "cli/filters.h"
#include "cli/terminal.h"
#include "cli/when.h"

namespace geiger::cli {
namespace {

using profile::Kind;
using SubjectResult = Outcome<Subject>;

constexpr const char* kWholeKindsHelp =
    "allocated: everything (default); live: not freed at the end, or --at;\n"
    "peak: live when most was";
constexpr const char* kMappingKindsHelp =
    ";\nmapped, mapped-peak, mapped-total, mapped-files, reserved: what the program\n"
    "mapped past its allocator";
constexpr const char* kPartKindsHelp =
    ";\nresident, swapped, untouched: where live objects lay at the RSS maximum;\n"
    "usable, live-usable: as much as the allocator gave;\n"
    "overhead, live-overhead: given beyond what was asked for;\n"
    "stranded: free beside live objects (run --fragmentation)";

/// The names of the kinds that a verb knows, and what they are.
struct KnownKinds {
  std::vector<std::string> names{"allocated", "live", "peak"};
  std::string help = kWholeKindsHelp;
};

KnownKinds known(Kinds kinds) {
  KnownKinds known;
  const auto add = [&known](std::initializer_list<const char*> names, const char* help) {
    known.names.insert(known.names.end(), names.begin(), names.end());
    known.help += help;
  };
  if (kinds == Kinds::kAll) {
    add({"resident", "swapped", "untouched", "usable", "live-usable", "overhead", "live-overhead",
         "stranded"},
        kPartKindsHelp);
  }
  if (kinds != Kinds::kOfWholeObjects) {
    add({"mapped", "mapped-peak", "mapped-total", "mapped-files", "reserved"}, kMappingKindsHelp);
  }
  return known;
}

bool is_of_snapshot(Kind kind) {
  return profile::is_measured(kind) && !profile::is_of_blocks(kind);
}

/// The same of kinds that are about mappings, not samples.
std::string contradiction_of_mappings(const SelectionOptions& options, Kind kind) {
  const bool has_filter =
      !options.heap.empty() || !options.thread.empty() || !options.label.empty() ||
      !options.type.empty() || !options.size.empty() || !options.function.empty() ||
      !options.focus.empty() || !options.ignore.empty() || !options.pids.empty();
  if (has_filter) return "filters are of what was allocated, not of what was mapped";
  const bool is_of_instant = profile::is_of_mappings_at_instant(kind);
  if (options.at == "peak") return "most was mapped when --kind mapped-peak says";
  if (is_of_instant && !(options.from.empty() && options.to.empty())) {
    return "what was mapped in a window: --kind mapped-total";
  }
  if (!is_of_instant && !options.at.empty()) return "what was mapped at an instant: --kind mapped";
  return "";
}

/// Why the options cannot go together; empty if they can.
std::string contradiction(const SelectionOptions& options) {
  const bool has_window = !options.from.empty() || !options.to.empty();
  const bool has_at = !options.at.empty();
  const Kind kind = options.kind.value_or(Kind::kLiveAtEnd);
  if (has_at && has_window) return "--at is an instant, --from and --to are a window: not both";
  if (profile::is_of_mappings(kind)) return contradiction_of_mappings(options, kind);
  if (has_at && is_of_snapshot(kind)) {
    const bool is_known = options.at == "maximum" || options.at == "last";
    return is_known ? "" : "--at of what is read from snapshots: maximum or last";
  }
  if (has_at && kind != Kind::kLiveAtEnd) return "--at says when it was live: --kind live";
  const bool is_of_instant =
      is_of_snapshot(kind) || (options.kind && *options.kind == Kind::kLiveAtEnd);
  if (has_window && is_of_instant) {
    return "--from and --to are of what was allocated; --at WHEN is for --kind live";
  }
  return "";
}

/// "live at mark:warm" of kinds that are otherwise of the end.
std::string text_at(Kind kind, const std::string& instant) {
  constexpr std::string_view kTheEnd = "the end";
  std::string text(report::kind_text(kind));
  text.resize(text.size() - kTheEnd.size());
  return text + instant;
}

/// Instants of one option, resolved.
class Instants {
 public:
  Instants(const profile::Recording& recording, Subject& subject)
      : recording_(recording), subject_(subject) {}

  /// Empty, or why not.
  [[nodiscard]] std::string apply(const SelectionOptions& options) {
    subject_.selection.kind = kind_of(options);
    const bool is_default = !options.kind && options.at.empty();
    if (is_default && profile::tells_live_only(recording_)) {
      subject_.selection.kind = Kind::kLiveAtEnd;
    }
    if (is_of_snapshot(subject_.selection.kind)) {
      const bool is_last = options.at == "last";
      subject_.selection.moment = is_last ? profile::Moment::kLast : profile::Moment::kMaximum;
      subject_.scope.asked =
          report::asked_inside(recording_, subject_.selection.kind, subject_.selection.moment);
      subject_.scope.read = report::read_at(recording_, subject_.selection.moment);
      return "";
    }
    if (!options.at.empty()) return apply_at(options.at);
    std::optional<Instant> from, to;
    for (const auto& [name, text, instant] :
         {std::tuple{"--from", &options.from, &from}, std::tuple{"--to", &options.to, &to}}) {
      if (text->empty()) continue;
      const auto found = instant_of(*text, recording_, subject_.selection.heap);
      if (!found.has_value()) return fmt::format("{}: {}", name, found.reason());
      *instant = found.value();
    }
    return apply_window(from, to);
  }

 private:
  [[nodiscard]] Nanoseconds after_start(const Instant& instant) const {
    return instant.time - std::min(instant.time, profile::start_of(recording_));
  }

  std::string apply_at(const std::string& text) {
    const auto found = instant_of(text, recording_, subject_.selection.heap);
    if (!found.has_value()) return "--at: " + found.reason();
    const Instant& at = found.value();
    if (at.kind == Instant::Kind::kEnd) return "";
    if (at.kind == Instant::Kind::kPeak) {
      return "";  // A kind of its own.
    }
    subject_.selection.at = at.time;
    subject_.scope.at = after_start(at);
    subject_.scope.when = text_at(subject_.selection.kind, at.text);
    return "";
  }

  std::string apply_window(const std::optional<Instant>& from, const std::optional<Instant>& to) {
    const bool has_from = from && from->kind != Instant::Kind::kStart;
    const bool has_to = to && to->kind != Instant::Kind::kEnd;
    const Nanoseconds start = profile::start_of(recording_);
    const Nanoseconds end = start + profile::duration_of(recording_);
    const Nanoseconds first = from ? from->time : start;
    const Nanoseconds last = to ? to->time : end;
    if ((has_from || has_to) && first >= last) {
      const std::string left = from ? from->text : "the start";
      const std::string right = to ? to->text : "the end";
      return fmt::format("the window is empty: it begins at {} and ends at {}", left, right);
    }
    if (has_from) {
      subject_.selection.from = from->time;
      subject_.scope.from = after_start(*from);
    }
    if (has_to) {
      subject_.selection.to = to->time;
      subject_.scope.to = after_start(*to);
    }
    const auto is_peak = [](const auto& one) { return one && one->kind == Instant::Kind::kPeak; };
    subject_.scope.is_split = is_peak(from) || is_peak(to);
    subject_.selection.is_chosen_by_samples = subject_.scope.is_split;
    if (has_from || has_to) subject_.scope.when = window_text(from, to, has_from, has_to);
    return "";
  }

  [[nodiscard]] std::string window_text(const std::optional<Instant>& from,
                                        const std::optional<Instant>& to, bool has_from,
                                        bool has_to) const {
    const std::string_view what = report::kind_text(subject_.selection.kind);
    if (!has_to) return fmt::format("{} from {} on", what, from->text);
    return fmt::format("{} from {} to {}", what, has_from ? from->text : "the start", to->text);
  }

  const profile::Recording& recording_;
  Subject& subject_;
};

void describe_filters(const SelectionOptions& options, report::Scope& scope) {
  const std::pair<const char*, const std::string&> given[] = {
      {"heap", options.heap},   {"thread", options.thread}, {"label", options.label},
      {"type", options.type},   {"size", options.size},     {"function", options.function},
      {"focus", options.focus}, {"ignore", options.ignore}};
  for (const auto& [what, which] : given) {
    if (!which.empty()) scope.only.emplace_back(what, which);
  }
  for (const std::uint32_t pid : options.pids) scope.only.emplace_back("pid", std::to_string(pid));
}

/// Why a recording that only counted its samples cannot answer; empty if it can.
std::string untold_by_tallies(const profile::Recording& recording,
                              const profile::Selection& selection) {
  if (!is_aggregated(recording)) return "";
  if (selection.from || selection.to || selection.at) {
    return fmt::format("no windows and no instants: {}", profile::kAggregated);
  }
  const bool is_sampled = !profile::is_of_mappings(selection.kind);
  if (!is_sampled) return "";
  const auto why = profile::unavailable(recording, selection.kind, selection.moment);
  if (!why || *why != profile::kAggregated) return "";
  return fmt::format("{} is not available: {}", profile::name_of(selection.kind), *why);
}

}  // namespace

bool is_aggregated(const profile::Recording& recording) {
  return std::ranges::any_of(recording.processes, &profile::Process::is_aggregated);
}

void refuse_aggregated(const profile::Recording& recording, const std::string& verb) {
  if (!is_aggregated(recording)) return;
  throw CLI::ValidationError(fmt::format("{}: {}", verb, profile::kAggregated));
}

void add_window_options(CLI::App& verb, SelectionOptions& options) {
  verb.add_option("--from", options.from,
                  std::string("What was allocated from WHEN on:\n") + kWhenForms)
      ->type_name("WHEN");
  verb.add_option("--to", options.to, "What was allocated before WHEN")->type_name("WHEN");
}

void add_filter_options(CLI::App& verb, SelectionOptions& options) {
  verb.add_option("--thread", options.thread, "Only threads of this name (* and ? as in a shell)")
      ->type_name("NAME");
  verb.add_option("--label", options.label, "Only within this label")->type_name("TEXT");
  verb.add_option("--type", options.type, "Only objects of this type")->type_name("NAME");
  verb.add_option("--size", options.size, "Only objects of so many bytes: 1KiB..4KiB")
      ->type_name("MIN..MAX");
  verb.add_option("--pid", options.pids, "Only this process; may be repeated")
      ->type_name("PID")
      ->allow_extra_args(false);
  verb.add_option("--function", options.function, "Only stacks through this function: '*Cache::*'")
      ->type_name("NAME");
  add_expression_options(verb, options);
}

void add_expression_options(CLI::App& verb, SelectionOptions& options) {
  verb.add_option("--focus", options.focus,
                  "Only stacks with a frame whose function, module or file matches")
      ->type_name("REGEX");
  verb.add_option("--ignore", options.ignore, "Only stacks without such a frame")
      ->type_name("REGEX");
}

void add_heap_option(CLI::App& verb, SelectionOptions& options) {
  verb.add_option("--heap", options.heap, "Instead of the process's heap one that it reported")
      ->type_name("NAME");
}

void add_selection_options(CLI::App& verb, SelectionOptions& options, Kinds kinds) {
  const bool has_all = kinds == Kinds::kAll;
  const KnownKinds kinds_of_verb = known(kinds);
  verb.add_option_function<std::string>(
          "--kind",
          [&options](const std::string& name) { options.kind = profile::kind_named(name); },
          kinds_of_verb.help)
      ->check(one_of(kinds_of_verb.names))
      ->type_name("KIND");
  verb.add_option("--at", options.at,
                  has_all ? "What was live at WHEN; of what is read from snapshots:\n"
                            "maximum (default) or last"
                          : "What was live at WHEN")
      ->type_name("WHEN");
  add_window_options(verb, options);
  add_filter_options(verb, options);
  add_heap_option(verb, options);
}

SubjectResult subject_of(const SelectionOptions& options, const profile::Recording& recording) {
  if (const std::string why = contradiction(options); !why.empty())
    return SubjectResult::failure(why);
  Subject subject;
  if (!options.heap.empty()) {
    const auto heap = heap_named(options.heap, recording);
    if (!heap.has_value()) return SubjectResult::failure(heap.reason());
    subject.selection.heap = heap.value();
  }
  if (const std::string why = Instants(recording, subject).apply(options); !why.empty()) {
    return SubjectResult::failure(why);
  }
  if (const std::string why = untold_by_tallies(recording, subject.selection); !why.empty()) {
    return SubjectResult::failure(why);
  }
  std::vector<std::string> remarks;
  auto filter = filter_of(options, recording, remarks);
  if (!filter.has_value()) return SubjectResult::failure(filter.reason());
  subject.selection.keeps = std::move(filter.value());
  describe_filters(options, subject.scope);
  for (const std::string& remark : remarks) complain(remark);
  return subject;
}

Kind kind_of(const SelectionOptions& options) {
  // Of each process its own peak, measured without the bias of having been chosen.
  if (options.at == "peak") return Kind::kLiveAtPeak;
  return options.kind.value_or(options.at.empty() ? Kind::kAllocated : Kind::kLiveAtEnd);
}

report::Scope scope_as_typed(const SelectionOptions& options) {
  report::Scope scope;
  describe_filters(options, scope);
  const Kind kind = kind_of(options);
  const bool is_of_instant = kind == Kind::kLiveAtEnd || profile::is_of_mappings_at_instant(kind);
  if (is_of_instant && !options.at.empty() && options.at != "end") {
    scope.when = text_at(kind, options.at);
  }
  const bool has_window = !options.from.empty() || !options.to.empty();
  if (!has_window) return scope;
  scope.when = fmt::format("{} from {} to {}", report::kind_text(kind),
                           options.from.empty() ? "start" : options.from,
                           options.to.empty() ? "end" : options.to);
  return scope;
}

Subject subject_or_refuse(const SelectionOptions& options, const profile::Recording& recording) {
  auto subject = subject_of(options, recording);
  if (!subject.has_value()) throw CLI::ValidationError(subject.reason());
  return std::move(subject.value());
}

}  // namespace geiger::cli
