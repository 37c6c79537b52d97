#include "analysis/profile/select/gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/profile/select/selfcheck.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/select/totals.h"

namespace geiger::profile {

namespace {

using Lacks = Gap::Lacks;

/// Hits that left no sample are usual up to this share: allocations that failed for want of
/// memory are counted and leave none.
constexpr double kUsuallyMissing = 0.001;

std::string counted(std::uint64_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

class Finder {
 public:
  explicit Finder(const Recording& recording) : recording_(recording) {}

  std::vector<Gap> find() {
    find_parts();
    add_losses();
    add_if(Lacks::kFates, processes_if(&Process::lacks_frees), "profile lacks live memory",
           "profiles lack live memory");
    const std::uint64_t attached = processes_if(&Process::is_attached);
    add_if(Lacks::kFates, attached,
           "process was not recorded from its start: its earlier objects are missing",
           "processes were not recorded from their start: their earlier objects are missing");
    return std::move(gaps_);
  }

  /// The gaps that are known without the samples.
  const std::vector<Gap>& find_parts() {
    if (recording_.is_damaged) add(Lacks::kAll, "a file is damaged or truncated");
    add_if(Lacks::kAll, recording_.unrecorded_processes, "process was not recorded",
           "processes were not recorded");
    add_if(Lacks::kAll, processes_if(&Process::calls_privately),
           "process may allocate by functions that are not recorded",
           "processes may allocate by functions that are not recorded");
    add_if(Lacks::kErrors, processes_if(lacks_errors), "profile does not contain its errors",
           "profiles do not contain their errors");
    add_segments();
    const std::uint64_t full =
        processes_if([](const Process& process) { return process.ending == Ending::kSwitchedOff; });
    add_if(Lacks::kAll, full, "process outlived its recording", "processes outlived the recording");
    return gaps_;
  }

 private:
  void add(Lacks lacks, std::string why) { gaps_.push_back({lacks, std::move(why)}); }
  void add_if(Lacks lacks, std::uint64_t count, const char* one, const char* several) {
    if (count > 0) add(lacks, counted(count, one, several));
  }

  template <typename Is>
  [[nodiscard]] std::uint64_t processes_if(const Is& is) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(recording_.processes, is));
  }

  void add_segments() {
    const auto lacks_later = [](const Process& process) {
      return process.has_gap() || process.ending == Ending::kContinued;
    };
    add_if(Lacks::kAll, processes_if(lacks_later), "process lacks segments of its recording",
           "processes lack segments of their recordings");
    const std::uint64_t beginnings = processes_if([&](const Process& process) {
      return process.misses_beginning() && !lacks_later(process);
    });
    add_if(Lacks::kBeginning, beginnings, "process lacks the first segments of its recording",
           "processes lack the first segments of their recordings");
  }

  void add_losses() {
    std::uint64_t samples = 0, fates = 0, uncommitted = 0, hits = 0, missing = 0;
    for (std::uint32_t i = 0; i < recording_.processes.size(); ++i) {
      const Process& process = recording_.processes[i];
      const std::uint64_t lost = vocabulary::lost_samples(process.drops);
      samples += lost;
      fates += std::reduce(process.drops.begin(), process.drops.end()) - lost;
      uncommitted += process.uncommitted;
      // Threads of a rotated recording count what segments that are gone held.
      if (process.misses_beginning() || process.has_gap()) continue;
      const Accounting accounting = account(recording_, i);
      hits += accounting.counted;
      missing += accounting.missing();
    }
    const bool is_much = static_cast<double>(missing) > kUsuallyMissing * static_cast<double>(hits);
    if (is_much)
      add(Lacks::kSamples, fmt::format("{} of {} counted samples are missing", missing, hits));
    add_if(Lacks::kSamples, samples, "sample was dropped", "samples were dropped");
    add_if(Lacks::kSamples, uncommitted, "record was never finished",
           "records were never finished");
    add_if(Lacks::kFates, fates, "free was not recorded", "frees were not recorded");
  }

  const Recording& recording_;
  std::vector<Gap> gaps_;
};

}  // namespace

bool Gap::concerns(Kind kind, bool is_counted) const {
  const bool concerns_all =
      lacks == Lacks::kAll || lacks == Lacks::kBeginning || lacks == Lacks::kErrors;
  if (concerns_all) return true;
  if (is_counted || is_of_mappings(kind)) return false;
  if (lacks == Lacks::kSamples) return true;
  Selection selection;
  selection.kind = kind;
  return depends_on_fates(selection);
}

std::vector<Gap> gaps_of(const Recording& recording) { return Finder(recording).find(); }

std::string missing_part(const std::vector<Gap>& gaps) {
  const auto is_of_parts = [](const Gap& gap) {
    return gap.lacks == Lacks::kAll || gap.lacks == Lacks::kBeginning;
  };
  const auto gap = std::ranges::find_if(gaps, is_of_parts);
  return gap == gaps.end() ? "" : gap->why;
}

std::string missing_part(const Recording& recording) {
  return missing_part(Finder(recording).find_parts());
}

bool is_any_without_errors(const Recording& recording) {
  return std::ranges::any_of(recording.processes, lacks_errors);
}

bool is_counted(const Recording& recording) {
  return !recording.threads.empty() &&
         std::ranges::none_of(recording.processes, &Process::is_imported);
}

}  // namespace geiger::profile
