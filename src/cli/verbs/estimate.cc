// `geiger estimate`: what samples stand for, by the estimators of every report, so that a number
// can be checked by hand and samples of other programs have an interval.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/measure.h"
#include "base/unique_fd.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/verbs/commands.h"
#include "estimation/distributions/negative_binomial.h"
#include "query/samples.h"
#include "query/text_file.h"
#include "query/words.h"

namespace geiger::cli {

/// By the offsets: the failed trials before every drawn byte.
struct FailedTrials {
  estimation::Estimate bytes;
  std::optional<estimation::Interval> up_to_sample;  ///< Nothing without a sample.
  double untried = 0;                                ///< u, the sum of size - offset.
  Bytes interval = 0;                                ///< T, of all samples.
};

/// Failed trials before a number of samples.
struct FailuresRow {
  std::uint64_t samples = 0;
  estimation::Interval failures, camp_paulson;
  double camp_paulson_error = 0;  ///< The largest of its probability.
};

/// What a fixed stride sees of an object that a program allocates once in a loop.
struct LoopRow {
  Bytes size = 0;
  double share = 0;        ///< Of the loop's bytes.
  double least = 0;        ///< The share that the stride's samples give it, by where they begin ...
  double most = 0;         ///< ... in the loop.
  double chance_none = 0;  ///< That it is never sampled.
};

struct EstimateReport {
  double level = 0.95;
  bool is_listed = false, is_poisson = false;
  Bytes interval = 512 * kKiB;  ///< Where a sample names none.
  std::optional<estimation::NodeSums> sums;
  std::optional<FailedTrials> failed_trials;
  std::vector<FailuresRow> table;
  std::vector<LoopRow> loop;
};

/// A sum that the estimates come from. Its meaning opens with its letter in
/// docs/internals/estimators.md.
struct Sum {
  std::string_view name, meaning;
  double (*value)(const estimation::NodeSums&);
};

template <auto kMember>
static double sum_of(const estimation::NodeSums& sums) {
  return static_cast<double>(sums.*kMember);
}

using estimation::NodeSums;
static constexpr Sum kSums[] = {
    {"samples", "s: samples drawn by chance", sum_of<&NodeSums::samples>},
    {"bytes_seen", "B: their bytes", sum_of<&NodeSums::bytes_seen>},
    {"weighted_bytes", "Y: bytes they stand for", sum_of<&NodeSums::weighted_bytes>},
    {"bytes_variance", "V: estimated variance of Y", sum_of<&NodeSums::bytes_variance>},
    {"objects", "C: objects they stand for", sum_of<&NodeSums::objects>},
    {"objects_variance", "VC: estimated variance of C", sum_of<&NodeSums::objects_variance>},
    {"largest_object_weight", "c: most objects that a sample stands for",
     sum_of<&NodeSums::largest_object_weight>},
    {"largest_interval", "E: largest 1/lambda in force", sum_of<&NodeSums::largest_interval>},
    {"certain_bytes", "X: bytes recorded for certain", sum_of<&NodeSums::certain_bytes>},
    {"certain_samples", "XC: objects recorded for certain", sum_of<&NodeSums::certain_samples>},
};

static std::optional<present::Measure> measure_of(const EstimateReport& report) {
  if (!report.sums) return std::nullopt;
  return report.is_listed ? present::measure_row(*report.sums, report.level)
                          : present::measure_total(*report.sums, report.level);
}

}  // namespace geiger::cli

namespace geiger::present {

static const Fields<estimation::Interval>& fields_of(Of<estimation::Interval> /*type*/) {
  static const auto kFields = Fields<estimation::Interval>("limits")
                                  .field("lo", "", &estimation::Interval::lo)
                                  .field("hi", "", &estimation::Interval::hi);
  return kFields;
}

static const Fields<estimation::NodeSums>& fields_of(Of<estimation::NodeSums> /*type*/) {
  static const auto kFields = [] {
    Fields<estimation::NodeSums> fields;
    for (const cli::Sum& sum : cli::kSums) {
      Fields<estimation::NodeSums> more = std::move(fields).field(sum.name, sum.meaning, sum.value);
      fields = std::move(more);
    }
    return fields;
  }();
  return kFields;
}

}  // namespace geiger::present

namespace geiger::cli {

using present::Cells, present::kStays;

static const present::Fields<FailedTrials>& fields_of(present::Of<FailedTrials> /*type*/) {
  static const auto kFields =
      present::Fields<FailedTrials>()
          .field("bytes", "s (T - 1) + u, with limits from (s, s + 1)", &FailedTrials::bytes)
          .field("up_to_sample", "from (s, s): if the recording ended at a sample",
                 &FailedTrials::up_to_sample)
          .field("untried", "u: the sum of size - offset", &FailedTrials::untried)
          .field("interval", "T", &FailedTrials::interval);
  return kFields;
}

static const present::Fields<FailuresRow>& fields_of(present::Of<FailuresRow> /*type*/) {
  const auto limits = [](auto interval) {
    return [interval](const FailuresRow& it) {
      return fmt::format("{:.0f} to {:.0f}", (it.*interval).lo, (it.*interval).hi);
    };
  };
  static const auto kFields =
      present::Fields<FailuresRow>()
          .field("samples", "", &FailuresRow::samples)
          .column(Cells::kNumber, "samples", kStays,
                  [](const FailuresRow& it) { return fmt::format("{}", it.samples); })
          .field("failures", "quantiles of the bytes that fail before so many samples",
                 &FailuresRow::failures)
          .column(Cells::kNumber, "failed bytes", kStays, limits(&FailuresRow::failures))
          .field("camp_paulson", "as Camp and Paulson approximate them", &FailuresRow::camp_paulson)
          .column(Cells::kNumber, "by Camp and Paulson", kStays, limits(&FailuresRow::camp_paulson))
          .field("camp_paulson_error", "the largest of the probability of a number of failures",
                 &FailuresRow::camp_paulson_error)
          .column(Cells::kNumber, "their largest error", kStays, [](const FailuresRow& it) {
            return fmt::format("{:.2g}", it.camp_paulson_error);
          });
  return kFields;
}

static const present::Fields<LoopRow>& fields_of(present::Of<LoopRow> /*type*/) {
  const auto percent = [](auto share) {
    return [share](const LoopRow& it) { return fmt::format("{:.3g} %", 100 * it.*share); };
  };
  static const auto kFields =
      present::Fields<LoopRow>()
          .field("size", "", &LoopRow::size)
          .column(Cells::kNumber, "size", kStays,
                  [](const LoopRow& it) { return present::exact_bytes(it.size); })
          .field("share", "of the bytes of the loop", &LoopRow::share)
          .column(Cells::kNumber, "its share", kStays, percent(&LoopRow::share))
          .field("least", "share of the samples of a fixed stride, by where they begin",
                 &LoopRow::least)
          .column(Cells::kNumber, "of the samples: from", kStays, percent(&LoopRow::least))
          .field("most", "by the same", &LoopRow::most)
          .column(Cells::kNumber, "to", kStays, percent(&LoopRow::most))
          .field("chance_none", "that the stride never samples it", &LoopRow::chance_none)
          .column(Cells::kNumber, "chance of none", kStays, percent(&LoopRow::chance_none));
  return kFields;
}

static const present::Fields<EstimateReport>& fields_of(present::Of<EstimateReport> /*type*/) {
  static const auto kFields =
      present::Fields<EstimateReport>("estimate")
          .field("level", "", &EstimateReport::level)
          .field("form", "",
                 [](const EstimateReport& it) { return it.is_listed ? "listed" : "total"; })
          .one_of({"total", "listed"})
          .field("rate", "lambda: -ln(1 - 1/T), or 1/T",
                 [](const EstimateReport& it) { return it.is_poisson ? "poisson" : "bernoulli"; })
          .one_of({"bernoulli", "poisson"})
          .field("interval", "of the table, the loop and samples that name none",
                 &EstimateReport::interval)
          .inlined(measure_of)
          .field("sums", "behind the estimates (estimators.md)", &EstimateReport::sums)
          .field("failed_trials", "where samples have offsets", &EstimateReport::failed_trials)
          .field("table", "for growing numbers of samples", &EstimateReport::table)
          .field("loop", "each object of it", &EstimateReport::loop);
  return kFields;
}

namespace {

using estimation::NegativeBinomial;

struct EstimateArguments {
  std::vector<std::string> samples;
  std::vector<Bytes> loop;
  bool has_interval = false, has_table = false, is_json = false;
  double level = 0.95;
  EstimateReport report;
};

base::Failure refusal(std::string_view reason) {
  return usage_failure("estimate: " + std::string(reason));
}

base::Outcome<std::vector<query::SampleGroup>> groups_of(const EstimateArguments& options) {
  std::vector<query::SampleGroup> groups;
  for (std::string text : options.samples) {
    if (text == "-") {
      auto input = query::read_text(base::UniqueFd(::dup(STDIN_FILENO)), "standard input");
      if (!input.has_value()) return input.failure();
      text = std::move(input.value());
    }
    const auto parsed = query::parse_samples(text, options.report.interval);
    if (!parsed.has_value()) return refusal(parsed.reason());
    groups.insert(groups.end(), parsed->begin(), parsed->end());
  }
  return groups;
}

/// At an interval of 1 nothing is left to chance.
base::Outcome<void> add_groups(EstimateReport& report, const EstimateArguments& options,
                               const std::vector<query::SampleGroup>& groups) {
  constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 53;
  estimation::NodeSums& sums = report.sums.emplace();
  const auto rate = [&](Bytes interval) {
    const auto t = static_cast<double>(interval);
    return report.is_poisson && interval > 1 ? 1 / t : estimation::rate_of_interval(t);
  };
  if (options.has_interval) sums.could_have_sampled(1 / rate(report.interval));
  for (const query::SampleGroup& group : groups) {
    sums.could_have_sampled(1 / rate(group.interval));
    sums.add(group.size, rate(group.interval), group.count);
    if (sums.samples + sums.certain_samples > kMostSamples)
      return refusal("more than 2^53 samples");
  }
  return {};
}

/// Where samples have offsets: all of them, or the failed trials are not known, and at one
/// interval, or they have no law.
base::Outcome<void> add_failed_trials(EstimateReport& report, bool has_interval,
                                      const std::vector<query::SampleGroup>& groups) {
  FailedTrials trials;
  const auto has_offset = [](const query::SampleGroup& group) { return group.offset.has_value(); };
  const auto first = std::ranges::find_if(groups, has_offset);
  if (first == groups.end()) return {};
  if (report.is_poisson) return refusal("--poisson: samples have no offset in that model");
  trials.interval = first->interval;
  if (trials.interval == 1) return refusal("at an interval of 1 samples have no offsets");
  for (const query::SampleGroup& group : groups) {
    if (group.interval == 1 && !has_offset(group)) continue;
    if (!has_offset(group)) return refusal("give offsets for all samples or for none");
    if (group.interval != trials.interval || (has_interval && report.interval != trials.interval)) {
      return refusal("samples with offsets must share one interval; leave the offsets out");
    }
    trials.untried +=
        static_cast<double>(group.count) * static_cast<double>(group.size - *group.offset);
  }
  const auto t = static_cast<double>(trials.interval);
  const std::uint64_t samples = report.sums->samples;
  const auto bytes = estimation::estimate_failed_trials(samples, trials.untried, t, report.level);
  if (!bytes.has_value()) return refusal(clause(bytes.error()));
  const auto up_to = estimation::failed_trials_interval(samples, trials.untried, t, report.level,
                                                        estimation::Window::kUpToSample);
  const double certain = report.sums->certain_bytes;
  const auto shifted = [certain](const estimation::Interval& limits) {
    return estimation::Interval{limits.lo + certain, limits.hi + certain};
  };
  trials.bytes = bytes.value();
  trials.bytes.value += certain;
  trials.bytes.exact = certain;
  trials.bytes.interval = shifted(trials.bytes.interval);
  if (up_to.has_value()) trials.up_to_sample = shifted(up_to.value());
  report.failed_trials = trials;
  return {};
}

/// The rows of the .NET design's table.
std::vector<FailuresRow> table_of(Bytes interval, double level) {
  std::vector<FailuresRow> rows;
  for (const std::uint64_t s : {1,  2,   3,   4,   5,   6,   7,    8,    9,    10,   20,   30,   40,
                                50, 100, 200, 300, 400, 500, 1000, 2000, 3000, 4000, 5000, 10000}) {
    const auto law = NegativeBinomial::of_interval(s, static_cast<double>(interval));
    if (!law.has_value()) return {};
    const double tail = (1 - level) / 2;
    const auto at = [](const estimation::Checked<double>& limit) {
      return std::max(0.0, limit.value());
    };
    const NegativeBinomial& failed = law.value();
    const double upper = std::min(1 - tail, 1 - 0x1p-53);
    rows.push_back({s,
                    {at(failed.failures_at(tail)), at(failed.failures_at_upper(tail))},
                    {at(failed.camp_paulson_root(tail)), at(failed.camp_paulson_root(upper))},
                    failed.camp_paulson_error()});
  }
  return rows;
}

/// A stride of T visits, of a loop of P bytes, every byte that lies a multiple of g = gcd(T, P)
/// from the first, equally often: of an object of z bytes floor(z/g) or ceil(z/g) of P/g.
std::vector<LoopRow> loop_of(const std::vector<Bytes>& sizes, Bytes interval) {
  const Bytes period = std::accumulate(sizes.begin(), sizes.end(), Bytes{0});
  const Bytes step = std::gcd(interval, period);
  const auto visited = static_cast<double>(period / step);
  std::vector<LoopRow> rows;
  for (const Bytes size : sizes) {
    const Bytes least = size / step;
    const Bytes most = least + (size % step != 0 ? 1 : 0);
    rows.push_back(
        {size, static_cast<double>(size) / static_cast<double>(period),
         static_cast<double>(least) / visited, static_cast<double>(most) / visited,
         size < step ? static_cast<double>(step - size) / static_cast<double>(step) : 0});
  }
  return rows;
}

std::string letter(std::string_view symbol, double value, std::string_view meaning) {
  return fmt::format("  {:<3} {:<24} {}\n", symbol, value, meaning);
}

/// As reports show it, then to the last digit.
std::string result(const char* name, const estimation::Estimate& estimate,
                   const std::string& shown) {
  return fmt::format("{:<8} {}\n         {} [{}, {}]\n", name, shown, estimate.value,
                     estimate.interval.lo, estimate.interval.hi);
}

std::string sums_text(const EstimateReport& report) {
  const present::Measure measure = *measure_of(report);
  std::string out = result("bytes", measure.bytes,
                           present::figure(measure.bytes, present::Quantity::kBytes).text()) +
                    result("objects", measure.objects, present::objects_figure(measure).text()) +
                    "\n";
  for (const Sum& sum : kSums) {
    const std::size_t colon = sum.meaning.find(": ");
    out += letter(sum.meaning.substr(0, colon), sum.value(*report.sums),
                  sum.meaning.substr(colon + 2));
  }
  return out;
}

std::string trials_text(const FailedTrials& trials) {
  std::string out = result("bytes", trials.bytes,
                           present::figure(trials.bytes, present::Quantity::kBytes).text());
  if (trials.up_to_sample) {
    out += fmt::format("         [{}, {}] if recording ended at a sample\n",
                       trials.up_to_sample->lo, trials.up_to_sample->hi);
  }
  return out + "\n" + letter("u", trials.untried, "sum of SIZE - OFFSET: bytes not tried") +
         letter("VW", trials.bytes.variance, "estimated variance, s T (T - 1)");
}

template <typename Row>
std::string table_text(const std::vector<Row>& rows, const present::Style& style) {
  const auto add = [](present::Grid& grid, std::vector<std::string> cells, const Row& /*row*/) {
    grid.add(std::move(cells));
  };
  return present::grid_of(rows, present::columns_of({kStays}, rows.front()), add).text(style);
}

}  // namespace

static std::string to_json(const EstimateReport& report) {
  return present::document("estimate", report);
}

static std::string to_text(const EstimateReport& report, const present::Style& style) {
  std::string out;
  const auto part = [&](const std::string& heading, const std::string& text) {
    out += (out.empty() ? "" : "\n") + present::paint(style, present::Role::kHeading, heading) +
           "\n\n" + text;
  };
  const std::string level = present::level_text(report.level) + " interval";
  const std::string interval = present::exact_bytes(report.interval);
  if (report.sums) {
    part(level + (report.is_listed ? " of a row that is listed because it has samples" : ""),
         sums_text(report));
  }
  if (report.failed_trials)
    part("by the offsets (failed trials)", trials_text(*report.failed_trials));
  if (!report.table.empty()) {
    part("Bytes that fail before so many samples, " + level + ", interval " + interval,
         table_text(report.table, style));
  }
  if (!report.loop.empty()) {
    part("Objects in a loop, sampled every " + interval,
         table_text(report.loop, style) +
             "\nBy where the stride begins. Chosen by chance, bytes give each its share on "
             "average.\n");
  }
  return out;
}

namespace {

base::Outcome<int> print_estimate(EstimateArguments& options) {
  EstimateReport& report = options.report;
  report.level = options.level;
  const auto groups = groups_of(options);
  if (!groups.has_value()) return groups.failure();
  const bool has_part = options.has_table || !options.loop.empty();
  if (!groups->empty() || (options.has_interval && !has_part)) {
    const auto added = add_groups(report, options, groups.value());
    if (!added.has_value()) return added.failure();
    const auto trials = add_failed_trials(report, options.has_interval, groups.value());
    if (!trials.has_value()) return trials.failure();
  } else if (!has_part) {
    return refusal("no samples: give them as SIZE[+OFFSET][@INTERVAL][:COUNT]");
  }
  if (options.has_table) report.table = table_of(report.interval, report.level);
  if (!options.loop.empty()) report.loop = loop_of(options.loop, report.interval);
  return print(report, options) ? kExitOk : kExitFailed;
}

base::Outcome<Bytes> parse_part(std::string_view text) {
  constexpr Bytes kMost = kKiB * kGiB;  // As of recordings; and sums of many are a Bytes.
  auto size = query::parse_size(text);
  if (size.has_value() && (size.value() == 0 || size.value() > kMost)) {
    return base::Failure{"must be from 1 byte to 1 TiB"};
  }
  return size;
}

void add_inputs(CLI::App& verb, EstimateArguments& options) {
  verb.add_option("SAMPLES", options.samples,
                  "Samples: SIZE, then any of +OFFSET, @INTERVAL and :COUNT, without blanks:\n"
                  "16@64KiB:3 are three of 16 bytes. OFFSET is the number of bytes before\n"
                  "the sampled one. An interval of 1 is of objects recorded for certain;\n"
                  "a COUNT of 0 says that the interval was in force. - reads them from\n"
                  "standard input")
      ->type_name("");
  add_parsed(verb, "--interval", "SIZE", "Sampling interval (default 512KiB)", parse_part,
             [&options](Bytes interval) {
               options.report.interval = interval;
               options.has_interval = true;
             });
  verb.add_flag("--table", options.has_table,
                "How many bytes fail before 1 to 10,000 samples, exactly and by Camp and\n"
                "Paulson's approximation");
  verb.add_option_function<std::vector<std::string>>(
          "--loop",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              options.loop.push_back(value_or_throw("--loop", parse_part(text)));
            }
          },
          "Sizes that a program allocates in turn, and what it would look like\n"
          "sampled every --interval bytes instead of by chance")
      ->type_name("SIZE,...")
      ->delimiter(',')
      ->allow_extra_args(false);
}

}  // namespace

present::DocumentSchema estimate_schema() {
  return present::document_schema<EstimateReport>("estimate");
}

void register_estimate(CLI::App& app, Work& work) {
  auto options = std::make_shared<EstimateArguments>();
  CLI::App* verb = app.add_subcommand("estimate", "What samples stand for, by hand");
  add_inputs(*verb, *options);
  verb->add_flag("--listed", options->report.is_listed,
                 "Allow for rows being shown only because they have samples, as in\n"
                 "tables");
  verb->add_flag("--poisson", options->report.is_poisson,
                 "Probability of no sample: e^(-SIZE/INTERVAL), as in Go and jemalloc,\n"
                 "instead of (1 - 1/INTERVAL)^SIZE");
  add_report_options(*verb, options->level, options->is_json);
  verb->footer(
      "\nPrints bytes and objects with their interval, and the sums that they come from.\n"
      "Samples with an offset, all at one interval, also give the bytes by their failed\n"
      "trials, with a negative binomial interval. docs/internals/estimators.md has the formulas.\n"
      "\nExamples:\n"
      "  geiger estimate 16:3 100:2 8MiB@1   five samples; 8 MiB for certain\n"
      "  geiger estimate --interval 102400 2000+636:4 2000+637:4\n"
      "  geiger estimate --interval 102400 --table\n"
      "  geiger estimate --interval 100 --loop 20,80");
  verb->callback([options, &work] { work = [options] { return print_estimate(*options); }; });
}

}  // namespace geiger::cli
