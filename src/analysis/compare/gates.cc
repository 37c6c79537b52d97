#include "analysis/compare/gates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "analysis/compare/comparison.h"
#include "analysis/compare/limits.h"
#include "analysis/compare/site_runs.h"
#include "estimation/power.h"

namespace geiger::compare {
namespace {

using estimation::Interval;

/// The part of the whole by which a site's growth is ignored unless told otherwise.
constexpr double kIgnoredPart = 0.01;
/// With this probability the effort that is advised decides.
constexpr double kPower = 0.8;

/// A gate on its way to a result.
struct Task {
  GateResult result;
  Subject subject;
  double ignore_below = 0;  ///< Bytes by which growth may exceed its limit.
  bool is_testable = true;  ///< Its samples could show something.
};

void name(Task& task, const std::string& name, const std::string& detail) {
  task.result.name = name;
  task.result.detail = detail;
}

double factor_of(const Limit& limit) {
  return limit.measured == Measured::kGrowth ? 1 + limit.most : 0;
}

/// What after - factor * before is held against.
double bound_of(const Limit& limit) { return limit.measured == Measured::kGrowth ? 0 : limit.most; }

/// The counted bytes of a side as a site that was recorded with certainty.
SiteSide counted_side(const SideFacts& facts) {
  SiteSide side;
  for (std::uint32_t run = 0; run < facts.runs.size(); ++run) {
    const auto bytes = static_cast<double>(facts.runs[run].exact_bytes);
    side.values.push_back({run, bytes, 0, 0});
    side.sums.certain_bytes += bytes;
  }
  return side;
}

double mean_unsettled(const SideFacts& facts) {
  double sum = 0;
  for (const RunFacts& run : facts.runs) sum += static_cast<double>(run.unsettled_bound);
  return facts.runs.empty() ? 0 : sum / static_cast<double>(facts.runs.size());
}

bool has_growth_limit(const Gates& gates) {
  const auto is_growth = [](const auto& gate) { return gate.limit.measured == Measured::kGrowth; };
  return std::ranges::any_of(gates.specs, is_growth) ||
         std::ranges::any_of(gates.per_site, is_growth);
}

/// Answers gates from limits: `strict` ones, at which no gate of all fails wrongly,
/// and `plain` ones, at which one does not pass wrongly.
class Checker {
 public:
  Checker(const Collected& collected, const Gates& gates)
      : collected_(collected),
        gates_(gates),
        finder_(collected),
        counted_before_(counted_side(collected.before)),
        counted_after_(counted_side(collected.after)) {}

  Verdicts run() {
    for (std::size_t i = 0; i < gates_.specs.size(); ++i) add_spec(i);
    const std::size_t named = tasks_.size();
    for (const SiteGates& gates : gates_.per_site) add_sites(gates);
    answer_all();
    measure_all(named);
    return verdicts(named);
  }

 private:
  void add_spec(std::size_t index) {
    const GateSpec& spec = gates_.specs[index];
    const Site& site = collected_.budgeted[index];
    Task task;
    name(task, spec.pattern.function, "");
    task.result.source = spec.source;
    task.result.limit = spec.limit;
    if (spec.pattern.module != "*") task.result.detail = spec.pattern.module;
    task.subject = {.before = &site.before, .after = &site.after};
    if (spec.limit.measured == Measured::kGrowth) task.ignore_below = ignored_bytes();
    if (spec.pattern.matches_everything()) make_whole(task);
    tasks_.push_back(std::move(task));
  }

  void make_whole(Task& task) {
    task.result.name = "total";
    task.subject.is_whole = true;
    task.ignore_below = 0;
    if (collected_.kind != profile::Kind::kAllocated) return;
    task.result.is_exact = true;
    task.subject = {.before = &counted_before_,
                    .after = &counted_after_,
                    .is_counted = true,
                    .is_whole = true,
                    .unsettled_before = mean_unsettled(collected_.before),
                    .unsettled_after = mean_unsettled(collected_.after)};
  }

  void add_sites(const SiteGates& gates) {
    const bool is_growth = gates.limit.measured == Measured::kGrowth;
    for (const Site& site : collected_.sites) {
      Task task;
      name(task, site.name, site.detail);
      task.result.source = gates.source;
      task.result.limit = gates.limit;
      task.subject = {.before = &site.before, .after = &site.after};
      if (is_growth) task.ignore_below = ignored_bytes();
      task.is_testable = !is_growth || is_testable(site);
      tasks_.push_back(std::move(task));
    }
  }

  double ignored_bytes() const {
    const auto runs = static_cast<double>(std::max<std::size_t>(collected_.before.runs.size(), 1));
    const double whole = estimation::estimate_bytes(collected_.before.total.sums, 0.5).value;
    return gates_.ignore_below.value_or(kIgnoredPart * whole / runs);
  }

  bool is_testable(const Site& site) const {
    const auto before = as_side(site.before, collected_.before);
    const auto after = as_side(site.after, collected_.after);
    return before.sums.certain_bytes != after.sums.certain_bytes ||
           estimation::smallest_attainable_p(before, after) <= 1 - gates_.level;
  }

  /// Of the limits at which fails are decided: divided among all gates that rest on
  /// samples, so that none of them fails wrongly more often than one would.
  double strict_level() const {
    const auto tests = std::ranges::count_if(tasks_, [this](const Task& task) {
      return task.is_testable && !(task.subject.is_counted && !has_several_runs(collected_));
    });
    return 1 - (1 - gates_.level) / static_cast<double>(std::max<std::ptrdiff_t>(tests, 1));
  }

  void answer_all() {
    std::vector<Query> queries;
    for (const Task& task : tasks_) queries.push_back({task.subject, factor_of(task.result.limit)});
    const auto strict = finder_.limits(queries, strict_level());
    const auto plain = finder_.limits(queries, gates_.level);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      Task& task = tasks_[i];
      const double bound = bound_of(task.result.limit) + task.ignore_below;
      if (strict[i].interval.lo > bound && task.is_testable) task.result.answer = Answer::kFail;
      if (plain[i].interval.hi <= bound) task.result.answer = Answer::kPass;
      task.result.dispersion = plain[i].dispersion;
    }
  }

  /// Measures the named gates and the sites that are to be listed.
  void measure_all(std::size_t named) {
    std::vector<std::size_t> growing;
    std::vector<Subject> subjects;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (i >= named && tasks_[i].result.answer == Answer::kPass) continue;
      count_samples(tasks_[i]);
      if (tasks_[i].result.limit.measured == Measured::kBytes) {
        measure_bytes(tasks_[i]);
        continue;
      }
      growing.push_back(i);
      subjects.push_back(tasks_[i].subject);
    }
    const std::vector<double> lowest = finder_.lowest_growths(subjects, strict_level());
    const std::vector<double> highest = finder_.highest_growths(subjects, gates_.level);
    for (std::size_t i = 0; i < growing.size(); ++i) {
      measure_growth(tasks_[growing[i]], {lowest[i], highest[i]});
    }
  }

  /// Samples that the result rests on.
  static void count_samples(Task& task) {
    const auto samples = [](const SiteSide& side) {
      return side.sums.samples + side.sums.certain_samples;
    };
    task.result.samples_before = samples(*task.subject.before);
    task.result.samples_after = samples(*task.subject.after);
  }

  void measure_bytes(Task& task) {
    const Query query{task.subject, 0};
    const Limits limits = finder_.limits(std::span(&query, 1), gates_.level).front();
    const Limits strict = finder_.limits(std::span(&query, 1), strict_level()).front();
    GateResult& result = task.result;
    result.value = limits.value;
    result.lo = std::max(0.0, strict.interval.lo);
    result.hi = limits.interval.hi;
    if (result.limit.most > 0) {
      const double most = result.limit.most;
      set_effort(task, {limits.value / most - 1, result.lo / most - 1, *result.hi / most - 1}, 0);
    }
  }

  void measure_growth(Task& task, const Interval& growth) {
    GateResult& result = task.result;
    result.lo = growth.lo;
    if (std::isfinite(growth.hi)) result.hi = growth.hi;
    const Query nothing{task.subject, 0};
    const Query same{task.subject, 1};
    const double after = finder_.limits(std::span(&nothing, 1), gates_.level).front().value;
    const double before = after - finder_.limits(std::span(&same, 1), gates_.level).front().value;
    if (before > 0) result.value = after / before - 1;
    if (result.value) {
      result.lo = std::min(result.lo, *result.value);
      set_effort(task, {result.value, result.lo, result.hi},
                 result.limit.most + task.ignore_below / before);
    }
  }

  void set_effort(Task& task, const estimation::Growth& growth, double limit) const {
    const bool is_counted_once = task.subject.is_counted && !has_several_runs(collected_);
    if (task.result.answer != Answer::kUndecided || is_counted_once) return;
    task.result.effort = estimation::effort_to_decide(growth, limit, 2 * gates_.level - 1, kPower);
  }

  Verdicts verdicts(std::size_t named) {
    Verdicts out;
    out.site_gates = tasks_.size() - named;
    for (const Task& task : tasks_) {
      out.ignored_bytes = std::max(out.ignored_bytes, task.ignore_below);
    }
    for (Task& task : tasks_) {
      const Answer answer = task.result.answer;
      ++(answer == Answer::kPass   ? out.passed
         : answer == Answer::kFail ? out.failed
                                   : out.undecided);
    }
    out.answer = out.failed > 0      ? Answer::kFail
                 : out.undecided > 0 ? Answer::kUndecided
                                     : Answer::kPass;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (i >= named && tasks_[i].result.answer == Answer::kPass) continue;
      out.results.push_back(std::move(tasks_[i].result));
    }
    const auto sites = out.results.begin() + static_cast<std::ptrdiff_t>(named);
    std::stable_sort(sites, out.results.end(),
                     [](const GateResult& a, const GateResult& b) { return a.answer > b.answer; });
    return out;
  }

  const Collected& collected_;
  const Gates& gates_;
  const LimitFinder finder_;
  const SiteSide counted_before_, counted_after_;
  std::vector<Task> tasks_;
};

}  // namespace

std::string_view name_of(Answer answer) {
  switch (answer) {
    case Answer::kPass:
      return "pass";
    case Answer::kUndecided:
      return "undecided";
    case Answer::kFail:
      return "fail";
  }
  return "";
}

std::optional<Error> problem_with(const Collected& collected, const Gates& gates) {
  if (!(gates.level > 0.5 && gates.level < 1)) return Error::kBadGateLevel;
  if (collected.after.runs.empty()) return Error::kEmptySide;
  return has_growth_limit(gates) ? problem_with_sides(collected) : std::nullopt;
}

Verdicts check(const Collected& collected, const Gates& gates) {
  return Checker(collected, gates).run();
}

}  // namespace geiger::compare
