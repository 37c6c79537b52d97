#include "cli/selection.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "analysis/profile/totals.h"
#include "cli/filters.h"
#include "cli/terminal.h"
#include "cli/when.h"

namespace geiger::cli {
namespace {

using profile::Kind;
using Result = Outcome<Subject>;

std::optional<Kind> kind_named(const std::string& name) {
  for (const auto kind : {Kind::kAllocated, Kind::kLiveAtEnd, Kind::kLiveAtPeak}) {
    if (profile::name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

/// Why the options cannot go together; empty if they can.
std::string contradiction(const SelectionOptions& options) {
  const bool has_window = !options.from.empty() || !options.to.empty();
  const bool has_at = !options.at.empty();
  if (has_at && options.kind.value_or(Kind::kLiveAtEnd) != Kind::kLiveAtEnd) {
    return "--at says when it was live: --kind live";
  }
  if (has_at && has_window) return "--at is an instant, --from and --to are a window: not both";
  if (has_window && options.kind == Kind::kLiveAtEnd) {
    return "--from and --to are of what was allocated; --at WHEN is for --kind live";
  }
  return "";
}

/// Instants of one option, resolved.
class Instants {
 public:
  Instants(const profile::Recording& recording, Subject& subject)
      : recording_(recording), subject_(subject) {}

  /// Empty, or why not.
  [[nodiscard]] std::string apply(const SelectionOptions& options) {
    subject_.selection.kind = kind_of(options);
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
    subject_.scope.when = "live at " + at.text;
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
    subject_.scope.is_halved = is_peak(from) || is_peak(to);
    subject_.selection.is_chosen_by_half = subject_.scope.is_halved;
    if (has_from || has_to) subject_.scope.when = window_text(from, to, has_from, has_to);
    return "";
  }

  [[nodiscard]] std::string window_text(const std::optional<Instant>& from,
                                        const std::optional<Instant>& to, bool has_from,
                                        bool has_to) const {
    const bool is_peak = subject_.selection.kind == Kind::kLiveAtPeak;
    const std::string what = is_peak ? "live at the peak" : "allocated";
    if (!has_to) return fmt::format("{} from {} on", what, from->text);
    return fmt::format("{} from {} to {}", what, has_from ? from->text : "the start", to->text);
  }

  const profile::Recording& recording_;
  Subject& subject_;
};

void describe_filters(const SelectionOptions& options, report::Scope& scope) {
  const std::pair<const char*, const std::string&> given[] = {
      {"heap", options.heap}, {"thread", options.thread}, {"label", options.label},
      {"type", options.type}, {"size", options.size},     {"function", options.function}};
  for (const auto& [what, which] : given) {
    if (!which.empty()) scope.only.emplace_back(what, which);
  }
  for (const std::uint32_t pid : options.pids) scope.only.emplace_back("pid", std::to_string(pid));
}

}  // namespace

void add_kind_options(CLI::App& verb, SelectionOptions& options) {
  verb.add_option_function<std::string>(
          "--kind", [&options](const std::string& name) { options.kind = kind_named(name); },
          "allocated: everything (default); live: not freed at the end, or --at;\n"
          "peak: live when most was")
      ->check(CLI::IsMember({"allocated", "live", "peak"}))
      ->type_name("KIND");
  verb.add_option("--at", options.at, std::string("What was live at that instant: ") + kWhenForms)
      ->type_name("WHEN");
}

void add_window_options(CLI::App& verb, SelectionOptions& options) {
  verb.add_option("--from", options.from,
                  "What was allocated from then on (WHEN as of --at: 2s, 50%)")
      ->type_name("WHEN");
  verb.add_option("--to", options.to, "What was allocated before then")->type_name("WHEN");
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
  verb.add_option("--heap", options.heap, "Instead of the process's heap one that it reported")
      ->type_name("NAME");
}

void add_selection_options(CLI::App& verb, SelectionOptions& options) {
  add_kind_options(verb, options);
  add_window_options(verb, options);
  add_filter_options(verb, options);
}

Result subject_of(const SelectionOptions& options, const profile::Recording& recording) {
  if (const std::string why = contradiction(options); !why.empty()) return Result::failure(why);
  Subject subject;
  if (!options.heap.empty()) {
    const auto heap = heap_named(options.heap, recording);
    if (!heap.has_value()) return Result::failure(heap.reason());
    subject.selection.heap = heap.value();
  }
  if (const std::string why = Instants(recording, subject).apply(options); !why.empty()) {
    return Result::failure(why);
  }
  std::vector<std::string> remarks;
  auto filter = filter_of(options, recording, remarks);
  if (!filter.has_value()) return Result::failure(filter.reason());
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
  if (kind == Kind::kLiveAtEnd && !options.at.empty() && options.at != "end") {
    scope.when = "live at " + options.at;
  }
  const bool has_window = !options.from.empty() || !options.to.empty();
  if (!has_window) return scope;
  scope.when = fmt::format(
      "{} from {} to {}", kind == Kind::kLiveAtPeak ? "live at the peak" : "allocated",
      options.from.empty() ? "start" : options.from, options.to.empty() ? "end" : options.to);
  return scope;
}

Subject subject_or_refuse(const SelectionOptions& options, const profile::Recording& recording) {
  auto subject = subject_of(options, recording);
  if (!subject.has_value()) throw CLI::ValidationError(subject.reason());
  return std::move(subject.value());
}

}  // namespace geiger::cli
