#include "analysis/compare/gates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "analysis/compare/comparison.h"
#include "analysis/compare/site_runs.h"
#include "analysis/profile/groups/groupings.h"
#include "base/check.h"
#include "estimation/difference.h"
#include "estimation/planning.h"

namespace geiger::compare {

namespace {

using estimation::NodeSums;
using estimation::SiteRuns;

/// Sites that lend each gate what is known of how much runs differ.
constexpr std::size_t kLenders = 200;
/// No growth is looked for beyond this; it counts as infinite.
constexpr double kMostGrowth = 1e9;

/// The level of intervals whose ends are each missed with a probability of 1 - level.
double two_sided(double level) { return 2 * level - 1; }

Limits limits_of(const estimation::RunDifference& d) { return {d.value, d.interval, d.dispersion}; }

}  // namespace

LimitFinder::LimitFinder(const Collected& collected) : collected_(collected) {
  if (!has_several_runs(collected)) return;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_samples;
  for (std::uint32_t i = 0; i < collected.sites.size(); ++i) {
    const Site& site = collected.sites[i];
    by_samples.emplace_back(site.before.sums.samples + site.after.sums.samples, i);
  }
  std::ranges::sort(by_samples, std::greater<>());
  for (std::size_t i = 0; i < std::min(kLenders, by_samples.size()); ++i) {
    const Site& site = collected.sites[by_samples[i].second];
    lenders_.push_back(as_runs(site.before, site.after, collected));
  }
}

std::vector<Limits> LimitFinder::limits(std::span<const Query> queries, double level) const {
  std::vector<Limits> limits =
      has_several_runs(collected_) ? of_runs(queries, level) : of_sampling(queries, level);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const Subject& subject = queries[i].subject;
    limits[i].interval.lo -= queries[i].factor * subject.more_before + subject.less_after;
    limits[i].interval.hi += queries[i].factor * subject.less_before + subject.more_after;
  }
  return limits;
}

std::vector<Limits> LimitFinder::of_sampling(std::span<const Query> queries, double level) const {
  std::vector<Limits> limits;
  for (const Query& query : queries) {
    Sides sides = sides_of(*query.subject.before, *query.subject.after, collected_, query.factor);
    if (query.factor == 0) sides.before = {};
    const auto d = estimation::difference(sides.before, sides.after, two_sided(level));
    limits.push_back({d.value, d.interval, 1});
  }
  return limits;
}

SiteRuns LimitFinder::runs_of(const Query& query) const {
  SiteRuns runs = as_runs(*query.subject.before, *query.subject.after, collected_);
  // A side without limits shows nothing about how the other one varies.
  if (query.factor == 0) {
    runs.before.clear();
    runs.before_exposures.clear();
  }
  for (NodeSums& run : runs.before) scale(run, query.factor);
  if (query.subject.is_counted) miss_nothing(runs);
  return runs;
}

std::vector<Limits> LimitFinder::of_runs(std::span<const Query> queries, double level) const {
  std::vector<SiteRuns> together;
  std::vector<Limits> limits(queries.size());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    SiteRuns runs = runs_of(queries[i]);
    if (queries[i].subject.is_whole) {
      limits[i] =
          limits_of(estimation::compare_runs(std::span(&runs, 1), two_sided(level)).sites.front());
      continue;
    }
    together.push_back(std::move(runs));
    places.push_back(i);
  }
  if (places.empty()) return limits;
  together.insert(together.end(), lenders_.begin(), lenders_.end());
  const auto compared = estimation::compare_runs(together, two_sided(level));
  for (std::size_t i = 0; i < places.size(); ++i) {
    limits[places[i]] = limits_of(compared.sites[i]);
  }
  return limits;
}

std::vector<double> LimitFinder::growth_limits(std::span<const Subject> subjects, double level,
                                               bool is_upper) const {
  std::vector<double> low(subjects.size(), 0);
  std::vector<double> high(subjects.size(), kMostGrowth);
  constexpr int kHalvings = 44;  // Of the logarithm: ratios range over many powers of ten.
  constexpr double kLeastRatio = 1e-12;
  for (int i = 0; i < kHalvings; ++i) {
    std::vector<Query> queries;
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      queries.push_back({subjects[s], std::sqrt((low[s] + kLeastRatio) * (high[s] + kLeastRatio))});
    }
    const std::vector<Limits> found = limits(queries, level);
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      const double end = is_upper ? found[s].interval.hi : found[s].interval.lo;
      (end > 0 ? low[s] : high[s]) = queries[s].factor;
    }
  }
  for (double& ratio : low) {
    ratio = ratio > kMostGrowth / 2 ? std::numeric_limits<double>::infinity() : ratio - 1;
  }
  return low;
}

std::vector<double> LimitFinder::lowest_growths(std::span<const Subject> subjects,
                                                double level) const {
  return growth_limits(subjects, level, false);
}

std::vector<double> LimitFinder::highest_growths(std::span<const Subject> subjects,
                                                 double level) const {
  return growth_limits(subjects, level, true);
}

namespace {

using estimation::Interval;

/// The part of the whole by which a site's growth is ignored by default.
constexpr double kIgnoredPart = 0.01;
/// Sites listed at most; more would not be read, and each costs some work.
constexpr std::ptrdiff_t kMostListed = 1000;
/// With this probability the effort that is advised decides.
constexpr double kPower = 0.8;

/// A gate on its way to a result.
struct Task {
  GateResult result;
  Subject subject;
  double ignore_below = 0;  ///< Bytes by which growth may exceed its limit.
  Limits strict, plain;     ///< Of after - factor * before: what fails and passes rest on.
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

/// Bytes per run, certain ones included.
double mean_bytes(const SiteSide& side, const SideFacts& facts) {
  const double sum = side.sums.all_bytes();
  return facts.runs.empty() ? 0 : sum / facts.exposure();
}

/// Open bytes per run.
double open_bytes(const SiteSide& side, const SideFacts& facts) {
  if (facts.runs.empty()) return 0;
  return side.sums.open.all_bytes() / facts.exposure();
}

template <typename Bytes>
double mean_of(const SideFacts& facts, Bytes RunFacts::*bytes) {
  double sum = 0;
  for (const RunFacts& run : facts.runs) sum += static_cast<double>(run.*bytes);
  return facts.runs.empty() ? 0 : sum / facts.exposure();
}

constexpr auto is_about_growth = [](const auto& gate) {
  return gate.limit.measured == Measured::kGrowth;
};

/// Answers gates from limits: `strict` ones, at which no gate of all fails wrongly,
/// and `plain` ones, at which one does not pass wrongly.
class Checker {
 public:
  Checker(const Collected& collected, const Gates& gates)
      : collected_(collected),
        gates_(gates),
        finder_(collected),
        ignored_bytes_(gates.ignore_below.value_or(
            kIgnoredPart * mean_bytes(collected.before.total, collected.before))),
        counted_before_(counted_side(collected.before)),
        counted_after_(counted_side(collected.after)) {}

  Verdicts run() {
    for (std::size_t i = 0; i < gates_.specs.size(); ++i) add_spec(i);
    const std::size_t named = tasks_.size();
    for (const SiteGates& gates : gates_.per_site) add_sites(gates);
    strict_level_ = strict_level();
    answer_all();
    Verdicts out = counts(named);
    keep_listed(named);
    measure_all();
    for (Task& task : tasks_) out.results.push_back(std::move(task.result));
    return out;
  }

 private:
  void add_spec(std::size_t index) {
    const GateSpec& spec = gates_.specs[index];
    const Site& site = collected_.budgeted[index];
    Task task;
    name(task, spec.name(), spec.detail());
    task.result.source = spec.source;
    task.result.is_of_label = spec.pattern.is_of_label();
    task.result.is_of_pattern = !spec.pattern.matches_everything();
    task.result.limit = spec.limit;
    task.subject = {.before = &site.before, .after = &site.after};
    if (spec.limit.measured == Measured::kGrowth) task.ignore_below = ignored_bytes_;
    if (spec.pattern.matches_everything()) make_whole(task);
    tasks_.push_back(std::move(task));
  }

  void make_whole(Task& task) {
    task.subject.is_whole = true;
    task.ignore_below = 0;
    task.subject.more_before = mean_of(collected_.before, &RunFacts::above_instant);
    task.subject.more_after = mean_of(collected_.after, &RunFacts::above_instant);
    task.subject.less_before = mean_of(collected_.before, &RunFacts::below_instant);
    task.subject.less_after = mean_of(collected_.after, &RunFacts::below_instant);
    const bool is_kind_counted =
        collected_.kind == profile::Kind::kAllocated && !collected_.is_part;
    if (!is_kind_counted || !is_counted(task.result.limit)) return;
    task.result.is_exact = true;
    task.subject = {.before = &counted_before_,
                    .after = &counted_after_,
                    .is_counted = true,
                    .is_whole = true,
                    .more_before = mean_of(collected_.before, &RunFacts::unsettled_bound),
                    .more_after = mean_of(collected_.after, &RunFacts::unsettled_bound)};
  }

  void add_sites(const SiteGates& gates) {
    const bool is_growth = gates.limit.measured == Measured::kGrowth;
    for (const Site& site : collected_.sites) {
      if (site.name == profile::kNoLabel) continue;  // Not a label: the rest of the program.
      Task task;
      name(task, site.name, site.detail);
      task.result.source = gates.source;
      task.result.limit = gates.limit;
      task.subject = {.before = &site.before, .after = &site.after};
      if (is_growth) task.ignore_below = ignored_bytes_;
      task.is_testable = !is_growth || is_testable(site);
      tasks_.push_back(std::move(task));
    }
  }

  /// Whether the runs that a limit is about were counted to the byte.
  bool is_counted(const Limit& limit) const {
    const bool is_after = std::ranges::all_of(collected_.after.runs, &RunFacts::is_counted);
    const bool is_before = std::ranges::all_of(collected_.before.runs, &RunFacts::is_counted);
    return is_after && (is_before || limit.measured == Measured::kBytes);
  }

  /// What the runs of a task lack of what it is about.
  struct Lacks {
    std::string why;            ///< Empty: nothing.
    bool is_of_errors = false;  ///< Whether values may also be less than they seem.
  };
  Lacks lacks_of(const Task& task) const {
    Lacks lacks;
    bool has_others = false;
    const auto look_at = [&](const SideFacts& side) {
      for (const RunFacts& run : side.runs) {
        for (const profile::Gap& gap : run.gaps) {
          if (!gap.concerns(collected_.kind, task.subject.is_counted)) continue;
          lacks.is_of_errors |= gap.lacks == profile::Gap::Lacks::kErrors;
          has_others |= !lacks.why.empty() && gap.why != lacks.why;
          if (lacks.why.empty()) lacks.why = gap.why;
        }
      }
    };
    look_at(collected_.after);
    if (task.result.limit.measured == Measured::kGrowth) look_at(collected_.before);
    if (has_others) lacks.why += " (and other gaps)";
    return lacks;
  }

  /// Half a recording may hold half the bytes: it shows that a limit is exceeded, never that it is
  /// kept. Objects whose frees are missing may not even have been live.
  void hold_back(Task& task) const {
    Lacks lacks = lacks_of(task);
    const bool is_unseen = task.result.is_of_pattern && task.subject.after->samples() == 0;
    if (lacks.why.empty() && gates_.is_strict && is_unseen) lacks.why = "nothing of it was sampled";
    const bool shows_more = task.result.limit.measured == Measured::kBytes &&
                            collected_.kind == profile::Kind::kAllocated && !lacks.is_of_errors;
    if (lacks.why.empty() || (task.result.answer == Answer::kFail && shows_more)) return;
    task.result.answer = Answer::kUndecided;
    task.result.lacks = std::move(lacks.why);
  }

  bool is_testable(const Site& site) const {
    const auto [before, after] = sides_of(site.before, site.after, collected_);
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
    const auto strict = finder_.limits(queries, strict_level_);
    const auto plain = finder_.limits(queries, gates_.level);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      Task& task = tasks_[i];
      const double bound = bound_of(task.result.limit) + task.ignore_below;
      if (strict[i].interval.lo > bound && task.is_testable) task.result.answer = Answer::kFail;
      if (plain[i].interval.hi <= bound) task.result.answer = Answer::kPass;
      hold_back(task);
      task.result.dispersion = plain[i].dispersion;
      task.strict = strict[i];
      task.plain = plain[i];
    }
  }

  /// Moves the sites that do not pass, fails first, after the named gates and drops
  /// the others: what is left is listed.
  void keep_listed(std::size_t named) {
    const auto sites = tasks_.begin() + static_cast<std::ptrdiff_t>(named);
    std::stable_sort(sites, tasks_.end(), [](const Task& a, const Task& b) {
      return a.result.answer > b.result.answer;
    });
    const auto end = std::find_if(
        sites, tasks_.end(), [](const Task& task) { return task.result.answer == Answer::kPass; });
    tasks_.erase(std::min(end, sites + std::min(kMostListed, tasks_.end() - sites)), tasks_.end());
  }

  void measure_all() {
    std::vector<Task*> growing;
    std::vector<Subject> subjects;
    for (Task& task : tasks_) {
      count_samples(task);
      task.result.open = open_of(task);
      if (task.result.limit.measured == Measured::kBytes) {
        measure_bytes(task);
        continue;
      }
      growing.push_back(&task);
      subjects.push_back(task.subject);
    }
    const std::vector<double> lowest = finder_.lowest_growths(subjects, strict_level_);
    const std::vector<double> highest = finder_.highest_growths(subjects, gates_.level);
    for (std::size_t i = 0; i < growing.size(); ++i) {
      measure_growth(*growing[i], {lowest[i], highest[i]});
    }
  }

  /// Samples that the result rests on.
  static void count_samples(Task& task) {
    task.result.samples_after = task.subject.after->samples();
  }

  [[nodiscard]] double open_of(const Task& task) const {
    const double after = open_bytes(*task.subject.after, collected_.after);
    if (task.result.limit.measured == Measured::kBytes) return after;
    return std::max(after, open_bytes(*task.subject.before, collected_.before));
  }

  void measure_bytes(Task& task) {
    GateResult& result = task.result;
    result.value = task.plain.value;
    result.lo = std::max(0.0, task.strict.interval.lo);
    result.hi = task.plain.interval.hi;
    const double most = result.limit.most;
    if (!(most > 0)) return;
    set_effort(task, {*result.value / most - 1, result.lo / most - 1, *result.hi / most - 1}, 0);
  }

  void measure_growth(Task& task, const Interval& growth) {
    GateResult& result = task.result;
    result.lo = growth.lo;
    if (std::isfinite(growth.hi)) result.hi = growth.hi;
    const double before = mean_bytes(*task.subject.before, collected_.before);
    if (!(before > 0)) return;
    result.value = mean_bytes(*task.subject.after, collected_.after) / before - 1;
    result.lo = std::min(result.lo, *result.value);
    set_effort(task, {result.value, result.lo, result.hi},
               result.limit.most + task.ignore_below / before);
  }

  void set_effort(Task& task, const estimation::Growth& growth, double limit) const {
    const bool is_counted_once = task.subject.is_counted && !has_several_runs(collected_);
    if (task.result.answer != Answer::kUndecided || is_counted_once) return;
    // More samples would not help.
    if (!task.result.lacks.empty() || task.result.open > 0) return;
    task.result.effort = estimation::effort_to_decide(growth, limit, 2 * gates_.level - 1, kPower);
  }

  /// Of all gates, before some are dropped.
  Verdicts counts(std::size_t named) const {
    Verdicts out;
    out.site_gates = tasks_.size() - named;
    for (const Task& task : tasks_) {
      out.ignored_bytes = std::max(out.ignored_bytes, task.ignore_below);
      switch (task.result.answer) {
        case Answer::kPass:
          ++out.passed;
          break;
        case Answer::kUndecided:
          ++out.undecided;
          break;
        case Answer::kFail:
          ++out.failed;
          break;
      }
    }
    out.answer = out.failed > 0      ? Answer::kFail
                 : out.undecided > 0 ? Answer::kUndecided
                                     : Answer::kPass;
    return out;
  }

  const Collected& collected_;
  const Gates& gates_;
  const LimitFinder finder_;
  const double ignored_bytes_;
  const SiteSide counted_before_, counted_after_;
  std::vector<Task> tasks_;
  double strict_level_ = 0;
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

bool has_growth_limit(const Gates& gates) {
  return std::ranges::any_of(gates.specs, is_about_growth) ||
         std::ranges::any_of(gates.per_site, is_about_growth);
}

std::vector<GateSpec> take_growth_limits(Gates& gates) {
  std::vector<GateSpec> taken;
  std::ranges::copy_if(gates.specs, std::back_inserter(taken), is_about_growth);
  std::erase_if(gates.specs, is_about_growth);
  std::erase_if(gates.per_site, is_about_growth);
  return taken;
}

base::Outcome<void> check_level(const Gates& gates) {
  if (gates.level > 0.5 && gates.level < 1) return {};
  return base::Failure{"the confidence level of a gate must be between 50 % and 100 %"};
}

base::Outcome<void> check_comparable(const Collected& collected, const Gates& gates) {
  GEIGER_TRY(check_level(gates));
  if (has_growth_limit(gates)) return check_sides(collected);
  if (collected.after.runs.empty()) return base::Failure{kEmptySide};
  return {};
}

Verdicts check(const Collected& collected, const Gates& gates) {
  GEIGER_ASSERT(check_comparable(collected, gates).has_value());
  return Checker(collected, gates).run();
}

}  // namespace geiger::compare
