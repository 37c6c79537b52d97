// `geiger doctor`: what a recording says about itself.

#include "analysis/report/overview/doctor.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ingest/ingest.h"
#include "base/outcome.h"
#include "base/unique_fd.h"
#include "cli/machine/machine.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/scratch.h"
#include "cli/verbs/commands.h"
#include "run/environment.h"
#include "run/launch.h"
#include "terminal/terminal.h"

namespace geiger::cli {

// `geiger doctor --machine`: whether geiger works on this machine, as one report to send back.

/// Records this executable in loads of its own, and prints what came of it. The exit code is 1 if a
/// check failed.
[[nodiscard]] base::Outcome<int> report_machine();

namespace {

constexpr const char* kSelf = "/proc/self/exe";
constexpr std::uint64_t kPairs = 10'000'000;

/// Counts the instructions of this process and those that it starts, outside of the kernel.
class Instructions {
 public:
  Instructions() {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof attributes;
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.inherit = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    const long fd = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0) counter_ = base::UniqueFd(static_cast<int>(fd));
  }

  /// Nothing where the kernel or the machine has no such counter.
  [[nodiscard]] std::optional<std::uint64_t> now() const {
    std::uint64_t count = 0;
    if (!counter_.is_open() || read(counter_.get(), &count, sizeof count) != sizeof count)
      return {};
    return count;
  }

 private:
  base::UniqueFd counter_;
};

struct Cost {
  double nanoseconds = 0;
  std::optional<double> instructions;
};

std::vector<std::string> load_words(const std::string& load) {
  return {kSelf, "doctor", "--machine-load=" + load};
}

std::vector<std::string> recorded(const std::string& file, const std::string& interval,
                                  const std::string& load) {
  std::vector<std::string> words{kSelf,        "run",    "-q", "-f", "--no-symbolize",
                                 "--interval", interval, "-o", file, "--"};
  for (std::string& word : load_words(load)) words.push_back(std::move(word));
  return words;
}

class MachineReport {
 public:
  base::Outcome<int> make();

 private:
  base::Outcome<void> check_order();
  base::Outcome<void> check_sampler();
  base::Outcome<void> measure_costs();
  base::Outcome<void> record(const std::string& interval, const std::string& load,
                             ingest::Ingested& read);
  base::Outcome<Cost> cost_of(const std::vector<std::string>& program);
  base::Outcome<Cost> pair_cost(bool is_recorded);
  void add(const std::string& name, const std::string& text) {
    text_ += fmt::format("{:<15} {}\n", name, text);
  }

  Scratch scratch_;
  run::Environment environment_ = run::without_runtime(run::own_environment());
  Instructions instructions_;
  std::string text_;
  bool is_good_ = true;
};

base::Outcome<void> MachineReport::record(const std::string& interval, const std::string& load,
                                          ingest::Ingested& read) {
  const std::string file = scratch_.path() / "load.geiger";
  const auto trial =
      GEIGER_TRY(run::run_trial(recorded(file, interval, load), environment_, false));
  const std::string files[] = {file};
  if (trial.status == 0) read = ingest::read_recording(files);
  if (read.recording.processes.empty()) {
    return base::Failure{fmt::format("the load cannot be recorded: status {}", trial.status)};
  }
  return {};
}

/// Every object is a sample, and freed by another thread than allocated it: a free that the filter
/// or the table of live samples misses leaves it alive, or its free unseen.
base::Outcome<void> MachineReport::check_order() {
  ingest::Ingested read;
  GEIGER_TRY(record("1", "handover", read));
  std::uint64_t objects = 0;
  std::uint64_t missed = 0;
  for (const profile::Sample& sample : read.recording.samples) {
    if (sample.requested != kHandedBytes) continue;
    ++objects;
    missed += sample.free_time == 0 || sample.free_unseen || sample.free_thread == sample.thread;
  }
  const std::uint64_t lost = kHandedObjects - std::min(objects, kHandedObjects);
  is_good_ = is_good_ && missed == 0 && lost == 0;
  add("order", fmt::format("{} objects freed by other threads: {} not recorded, {} frees missed",
                           kHandedObjects, lost, missed));
  return {};
}

base::Outcome<void> MachineReport::check_sampler() {
  ingest::Ingested read;
  GEIGER_TRY(record("4KiB", "handover", read));
  const report::DoctorReport report = report::doctor_report(read.recording, {});
  is_good_ = is_good_ && report.is_healthy();
  add("sampler", report.is_healthy() ? "healthy" : "defects:");
  for (const report::Diagnosis& diagnosis : report.diagnoses) {
    if (diagnosis.severity == report::Severity::kDefect) add("", diagnosis.what);
  }
  return {};
}

base::Outcome<Cost> MachineReport::cost_of(const std::vector<std::string>& program) {
  const auto before = instructions_.now();
  const auto trial = GEIGER_TRY(run::run_trial(program, environment_, false));
  if (trial.status != 0) {
    return base::Failure{fmt::format("the load ends with status {}", trial.status)};
  }
  const auto after = instructions_.now();
  Cost cost{trial.cpu * 1e9, {}};
  if (before && after) cost.instructions = static_cast<double>(*after - *before);
  return cost;
}

/// Of a malloc and its free, beyond what starting and ending costs.
base::Outcome<Cost> MachineReport::pair_cost(bool is_recorded) {
  std::vector<Cost> costs;
  for (const std::uint64_t pairs : {std::uint64_t{0}, kPairs}) {
    const std::string load = std::to_string(pairs);
    const std::string file = scratch_.path() / "cost.geiger";
    costs.push_back(
        GEIGER_TRY(cost_of(is_recorded ? recorded(file, "512KiB", load) : load_words(load))));
  }
  Cost pair{(costs[1].nanoseconds - costs[0].nanoseconds) / kPairs, {}};
  if (costs[0].instructions && costs[1].instructions) {
    pair.instructions = (*costs[1].instructions - *costs[0].instructions) / kPairs;
  }
  return pair;
}

base::Outcome<void> MachineReport::measure_costs() {
  const auto bare = GEIGER_TRY(pair_cost(false));
  const auto with = GEIGER_TRY(pair_cost(true));
  std::string text =
      fmt::format("{:.1f} ns alone, {:.1f} ns recorded", bare.nanoseconds, with.nanoseconds);
  if (bare.instructions && with.instructions) {
    text += fmt::format("; {:.1f} and {:.1f} instructions", *bare.instructions, *with.instructions);
  } else {
    text += "; instructions cannot be counted here";
  }
  add("malloc + free", text);
  return {};
}

base::Outcome<int> MachineReport::make() {
  if (scratch_.path().empty()) return base::Failure{"no folder for recordings can be made"};
  add("geiger", GEIGER_VERSION);
  for (const MachineFact& fact : machine_facts()) add(fact.name, fact.text);
  for (const auto step : {&MachineReport::check_order, &MachineReport::check_sampler,
                          &MachineReport::measure_costs}) {
    GEIGER_TRY((this->*step)());
  }
  const bool is_printed = terminal::print_report(text_, terminal::output_style(0.95));
  return is_printed && is_good_ ? kExitOk : kExitFailed;
}

}  // namespace

base::Outcome<int> report_machine() { return MachineReport().make(); }

namespace {

struct DoctorArguments : ReadOptions {
  bool examines_machine = false;
  std::string load;  ///< Of this process, which a report of the machine records.
};

base::Outcome<int> examine(const DoctorArguments& options) {
  if (!options.load.empty()) return carry_load(options.load);
  if (options.examines_machine) return report_machine();
  const auto input = GEIGER_TRY(only_own(read_input(options), "doctor"));
  report::DoctorOptions doctor;
  doctor.level = options.level;
  doctor.run = input.shown;
  doctor.is_damaged = input.ingested.damaged;
  const report::DoctorReport report = report::doctor_report(input.recording(), doctor);
  const bool is_printed = print(report, options, input.recording());
  return is_printed && report.is_healthy() ? kExitOk : kExitFailed;
}

}  // namespace

void register_doctor(CLI::App& app, Work& work) {
  auto options = std::make_shared<DoctorArguments>();
  CLI::App* verb = app.add_subcommand("doctor", "Check a recording for defects and missing data");
  add_read_options(*verb, *options);
  const std::vector<CLI::Option*> of_recordings =
      verb->get_options([verb](const CLI::Option* each) { return each != verb->get_help_ptr(); });
  CLI::Option* machine =
      verb->add_flag("--machine", options->examines_machine,
                     "Examine this machine instead: record loads of geiger's own,\n"
                     "and print a report to send with questions (a minute)");
  for (CLI::Option* each : of_recordings) machine->excludes(each);
  verb->add_option("--machine-load", options->load)->group("");
  verb->footer(
      "\nTests the sampler against its own counts (hits against trials, positions of\n"
      "sampled bytes, agreement of threads) and the samples against the exact totals.\n"
      "Reports what is missing, how it affects the numbers and what to do about it.\n"
      "\nExit code: 0 healthy, 1 defect found or damaged input, 2 usage error.\n"
      "\nExamples:\n"
      "  geiger doctor                    the newest run here\n"
      "  geiger doctor a.geiger b.geiger  can these two be merged?\n"
      "  geiger doctor --machine          does geiger work on this machine?");
  verb->callback([options, &work] { work = [options] { return examine(*options); }; });
}

}  // namespace geiger::cli
