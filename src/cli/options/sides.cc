#include "cli/options/sides.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "analysis/compare/common_samples.h"
#include "analysis/ingest/ingest.h"
#include "analysis/profile/frames/wrappers.h"
#include "analysis/profile/memory/measured.h"
#include "cli/help/command_line.h"
#include "cli/help/help_formatter.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

base::Outcome<Input> read_run(const std::string& run, const query::SelectionOptions& selection,
                              bool infers_types, bool& is_damaged) {
  ReadOptions options;
  options.runs = {run};
  options.infers_types = infers_types;
  options.frames = selection.frames;
  auto input = read_input(options, selection);
  is_damaged = is_damaged || (input.has_value() && input->ingested.damaged);
  return input;
}

/// What is selected of a run.
struct Part {
  query::Subject subject;
  profile::Profile profile;
};

base::Outcome<Part> part_of(const std::string& run, const profile::Recording& recording,
                            const query::SelectionOptions& selection, profile::Kind kind) {
  query::SelectionOptions never_freed = selection;
  never_freed.at_own_ends = true;
  if (kind != query::kind_of(selection)) never_freed.kind = kind;
  auto subject = GEIGER_TRY(
      query::subject_of(never_freed, recording).failing_as(base::Fault::kUsage, run + ": "));
  profile::Profile profile = profile::select(recording, subject.selection);
  return Part{std::move(subject), std::move(profile)};
}

/// Adds runs to every collector.
class Runs {
 public:
  Runs(const query::SelectionOptions& selection, std::vector<compare::Collector> collectors)
      : selection_(selection), collectors_(std::move(collectors)) {
    for (const compare::Collector& collector : collectors_) {
      infers_types_ |= collector.by() == profile::GroupBy::kType;
      if (std::ranges::find(kinds_, collector.kind()) == kinds_.end()) {
        kinds_.push_back(collector.kind());
      }
    }
  }

  base::Outcome<void> add_all(const Sides& sides) {
    terminal::Progress progress("reading runs");
    const std::size_t count = sides.before.size() + sides.after.size();
    std::size_t done = 0;
    const auto rules = GEIGER_TRY(common_rules(sides));
    for (const compare::Which which : compare::kBoth) {
      const auto& runs = which == compare::Which::kBefore ? sides.before : sides.after;
      std::set<ingest::ImageIdentity> of_side;
      for (const std::string& run : runs) {
        auto input = GEIGER_TRY(read(run));
        input.ingested.recording.frame_rules = rules;
        std::set<ingest::ImageIdentity> of_run;
        for (const profile::Process& process : input.recording().processes) {
          if (auto identity = ingest::identity_of(process)) of_run.insert(std::move(*identity));
        }
        of_side.merge(of_run);
        if (!of_run.empty()) {  // They were there already.
          return base::Failure{run +
                               ": another run of its side is a recording of the same process; "
                               "runs of a side must be independent: leave one out"};
        }
        const auto add_kind = [&](profile::Kind kind) -> base::Outcome<void> {
          const auto part = GEIGER_TRY(part_of(run, input.recording(), selection_, kind));
          say(part);
          return add(run, which, input.recording(), part.profile, nullptr);
        };
        GEIGER_TRY(for_each_kind(add_kind));
        progress.update(++done, count);
      }
    }
    return {};
  }

  /// Adds two runs, which may be recordings of one process.
  base::Outcome<void> add_pair(const std::string& before, const std::string& after,
                               const TakePair& take) {
    terminal::Progress progress("reading runs");
    auto a = GEIGER_TRY(read(before));
    progress.update(1, 2);
    auto b = GEIGER_TRY(read(after));
    profile::find_wrappers(std::array{&a.ingested.recording, &b.ingested.recording});
    if (take) take(a.recording(), b.recording());
    const auto images = ingest::match_images(a.ingested.recording, b.ingested.recording);
    return for_each_kind([&](profile::Kind kind) -> base::Outcome<void> {
      const auto part_a = GEIGER_TRY(part_of(before, a.recording(), selection_, kind));
      const auto part_b = GEIGER_TRY(part_of(after, b.recording(), selection_, kind));
      say(part_a);
      say(part_b);
      const auto moved =
          compare::moved_between({a.recording(), part_a.subject.selection, part_a.profile},
                                 {b.recording(), part_b.subject.selection, part_b.profile}, images);
      GEIGER_TRY(add(before, compare::Which::kBefore, a.recording(), part_a.profile,
                     moved ? &moved->before : nullptr));
      return add(after, compare::Which::kAfter, b.recording(), part_b.profile,
                 moved ? &moved->after : nullptr);
    });
  }

  [[nodiscard]] Collections finish() {
    Collections all;
    all.is_damaged = is_damaged_;
    for (compare::Collector& collector : collectors_) all.collected.push_back(collector.finish());
    return all;
  }

 private:
  base::Outcome<Input> read(const std::string& run) {
    auto input = GEIGER_TRY(read_run(run, selection_, infers_types_, is_damaged_));
    for (const compare::Collector& collector : collectors_) {
      const auto checked = check_holders(input.recording(), collector.by());
      if (!checked.has_value()) return base::Failure{run + ": " + checked.reason()};
    }
    return input;
  }

  /// Gives up kinds that fail, but for the last one that is left.
  template <typename Add>
  base::Outcome<void> for_each_kind(const Add& add_kind) {
    for (std::size_t i = 0; i < kinds_.size();) {
      const profile::Kind kind = kinds_[i];
      if (const base::Outcome<void> added = add_kind(kind); added.has_value()) {
        ++i;
      } else if (kinds_.size() == 1) {
        return added.failure();
      } else {
        kinds_.erase(kinds_.begin() + static_cast<std::ptrdiff_t>(i));
        std::erase_if(collectors_, [&](const auto& each) { return each.kind() == kind; });
      }
    }
    return {};
  }

  /// What filters match nothing is so for every kind.
  void say(const Part& part) {
    for (const std::string& remark : part.subject.remarks) {
      if (said_.insert(remark).second) terminal::complain(remark);
    }
  }

  /// With the wrappers that the first run of each side shows.
  base::Outcome<std::shared_ptr<const profile::FrameRules>> common_rules(const Sides& sides) {
    std::vector<Input> inputs;
    std::vector<profile::Recording*> recordings;
    for (const auto* runs : {&sides.before, &sides.after}) {
      if (!runs->empty()) inputs.push_back(GEIGER_TRY(read(runs->front())));
    }
    for (Input& input : inputs) recordings.push_back(&input.ingested.recording);
    profile::find_wrappers(recordings);
    return recordings.front()->frame_rules;
  }

  base::Outcome<void> add(const std::string& run, compare::Which which,
                          const profile::Recording& recording, const profile::Profile& profile,
                          const profile::Profile* moved) {
    for (compare::Collector& collector : collectors_) {
      if (collector.kind() != profile.kind) continue;
      const auto added = collector.add(which, recording, profile, 1, moved);
      if (added.has_value()) continue;
      return base::Failure{fmt::format("{}: {}{}", run, added.reason(),
                                       profile::has_live_only(recording)
                                           ? "; it contains only live memory: use --kind live"
                                           : "")};
    }
    return {};
  }

  const query::SelectionOptions& selection_;
  std::vector<compare::Collector> collectors_;
  std::vector<profile::Kind> kinds_;  ///< Of the collectors.
  std::set<std::string> said_;
  bool infers_types_ = false, is_damaged_ = false;
};

}  // namespace

void add_side_options(CLI::App& verb, std::vector<std::string>& words, const std::string& usage) {
  verb.formatter(std::make_shared<UsageFormatter>(usage));
  verb.add_option("RUN", words, "Run directories or trace files; -- separates the two sides")
      ->type_name("");
}

CLI::Option* add_grouping_options(CLI::App& verb, compare::Grouping& grouping, bool has_all) {
  Choices<profile::GroupBy> groups{{"function", profile::GroupBy::kFunction},
                                   {"stack", profile::GroupBy::kStack},
                                   {"module", profile::GroupBy::kModule},
                                   {"label", profile::GroupBy::kLabel}};
  if (has_all) {
    groups.insert(groups.begin() + 1, {"line", profile::GroupBy::kLine});
    groups.push_back({"type", profile::GroupBy::kType});
    groups.push_back({"holder", profile::GroupBy::kHolder});
  }
  CLI::Option* by =
      add_choice(verb, "--by", "GROUP",
                 has_all ? "function (default), line, stack, module, label, type or holder"
                         : "function (default), stack, module or label",
                 groups, [&grouping](profile::GroupBy group) { grouping.by = group; });
  verb.add_flag(
      "--inclusive", grouping.is_inclusive,
      "Include the functions that a function or module calls, and the\nlabels inside a label");
  return by;
}

std::vector<std::string> words_of(const Sides& sides) {
  std::vector<std::string> words = sides.before;
  const bool needs_divider = sides.before.size() != 1 || sides.after.size() != 1;
  if (needs_divider) words.emplace_back("--");
  words.insert(words.end(), sides.after.begin(), sides.after.end());
  return words;
}

base::Outcome<Sides> sides_of(const std::vector<std::string>& words, bool needs_before) {
  const auto divider = std::ranges::find(words, kDivider);
  if (divider != words.end()) {
    Sides sides{{words.begin(), divider}, {divider + 1, words.end()}};
    if (std::ranges::find(sides.after, kDivider) != sides.after.end()) {
      return base::Failure{"more than one --: there are only two sides"};
    }
    if (sides.after.empty()) return base::Failure{"no run after --"};
    if (sides.before.empty() && needs_before) return base::Failure{"no run before --"};
    return sides;
  }
  if (words.size() == 2) return Sides{{words[0]}, {words[1]}};
  if (words.size() == 1 && !needs_before) return Sides{{}, words};
  if (words.size() < 2) return base::Failure{"give two runs: one before, one after"};
  return base::Failure{"more than two runs: put -- between the sides"};
}

base::Outcome<Collections> collect_all(const Sides& sides,
                                       std::vector<compare::Collector> collectors,
                                       const query::SelectionOptions& selection,
                                       const TakePair& take) {
  Runs runs(selection, std::move(collectors));
  const bool is_pair = sides.before.size() == 1 && sides.after.size() == 1;
  GEIGER_TRY(is_pair ? runs.add_pair(sides.before.front(), sides.after.front(), take)
                     : runs.add_all(sides));
  return runs.finish();
}

base::Outcome<Collection> collect(const Sides& sides, compare::Collector collector,
                                  const query::SelectionOptions& selection) {
  std::vector<compare::Collector> one;
  one.push_back(std::move(collector));
  auto all = GEIGER_TRY(collect_all(sides, std::move(one), selection));
  return Collection{std::move(all.collected.front()), all.is_damaged};
}

}  // namespace geiger::cli
