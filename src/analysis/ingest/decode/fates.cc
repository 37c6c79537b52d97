#include "analysis/ingest/decode/fates.h"

#include <fmt/format.h>

#include <algorithm>

#include "trace/survivors.h"

namespace geiger::ingest {
namespace {

static_assert(trace::Thinning::kMost == profile::kMostThinning);

void mark(std::vector<profile::Sample>& samples, const profile::Process& process,
          std::uint32_t index) {
  const trace::Thinning thinning{process.seed, process.thinning};
  for (profile::Sample& sample :
       std::ranges::equal_range(samples, index, {}, &profile::Sample::process)) {
    sample.is_thinned_out = !thinning.keeps(sample.time, sample.address);
  }
}

/// "segment 4", "segments 4 to 6".
std::string numbers_between(std::uint32_t before, std::uint32_t after) {
  if (after - before == 2) return fmt::format("segment {}", before + 1);
  return fmt::format("segments {} to {}", before + 1, after - 1);
}

}  // namespace

void mark_thinned_out(profile::Recording& recording, std::uint32_t process) {
  const profile::Process& thinned = recording.processes[process];
  if (thinned.thinning == 0) return;
  mark(recording.samples, thinned, process);
  mark(recording.heap_samples, thinned, process);
}

std::vector<std::string> faults_of(const profile::Process& process) {
  std::vector<std::string> faults;
  const auto add = [&](const std::string& what) {
    faults.push_back(fmt::format("pid {}: {}", process.pid, what));
  };
  for (std::size_t i = 0; i < process.segments.size(); ++i) {
    const profile::Segment& segment = process.segments[i];
    const bool follows_gap = i > 0 && segment.number != process.segments[i - 1].number + 1;
    if (follows_gap) {
      add(numbers_between(process.segments[i - 1].number, segment.number) +
          " missing: allocations in them are not counted, and objects freed in them count "
          "as freed at their start");
    }
    if (!segment.is_complete) {
      add(fmt::format("the checkpoint of segment {} was cut off: some live objects are missing",
                      segment.number));
    }
    if (segment.lost > 0) {
      add(fmt::format("segment {} had no room for {} samples that were live when it began",
                      segment.number, segment.lost));
    }
  }
  return faults;
}

}  // namespace geiger::ingest
