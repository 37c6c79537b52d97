// For tests only: pages read back, and recordings that are large or hostile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "analysis/page/page_data.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::page {

/// Sums of cells, by the rules in data.ts.
struct CellSums {
  double certain = 0, weighted = 0, variance = 0, objects = 0;
  double smallest_interval = 0;  ///< E_least.
  std::uint64_t samples = 0;
  std::uint64_t open_samples = 0;  ///< With the two below: what is not known.
  double open_bytes = 0, open_variance = 0;
};

inline bool is_counted(const Cell& cell, Counts counts, std::int32_t first, std::int32_t last) {
  if (counts == Counts::kAll) return true;
  if (counts == Counts::kBorn) return cell.born >= first && cell.born <= last;
  if (cell.born > last) return false;
  return cell.died < 0 || cell.died > last;
}

/// Of the window from the bucket `first` to the bucket `last`.
inline CellSums add_up(const PageData& data, const PageProfile& page, std::int32_t first,
                       std::int32_t last) {
  CellSums sums;
  const Cells& table = data.cells[static_cast<std::size_t>(page.cells)];
  for (const Cell& cell : table.cells) {
    if (!is_counted(cell, page.counts, first, last)) continue;
    const Stratum& stratum = table.strata[cell.stratum];
    const auto count = static_cast<double>(cell.count);
    if (stratum.is_open) {
      sums.open_samples += cell.count;
      sums.open_bytes += count * (stratum.is_certain ? stratum.bytes : stratum.weighted);
      sums.open_variance += count * stratum.variance;
      continue;
    }
    if (stratum.is_certain) {
      sums.certain += count * stratum.bytes;
      sums.objects += count;
      continue;
    }
    sums.samples += cell.count;
    sums.weighted += count * stratum.weighted;
    sums.variance += count * stratum.variance;
    sums.objects += count * stratum.objects;
    const bool is_least = sums.smallest_interval == 0 || stratum.interval < sums.smallest_interval;
    if (is_least) sums.smallest_interval = stratum.interval;
  }
  return sums;
}

inline std::size_t frame_of(const PageData& data, const std::string& name) {
  const auto at = std::ranges::find_if(data.frames.name, [&](NameIndex index) {
    return data.names[static_cast<std::size_t>(index)] == name;
  });
  return static_cast<std::size_t>(at - data.frames.name.begin());
}

/// Names from the root to the first node with this frame.
inline std::vector<std::string> path_to(const PageData& data, const std::string& name) {
  std::vector<std::string> path;
  const auto at = std::ranges::find(data.nodes.frame, frame_of(data, name));
  auto node = static_cast<std::size_t>(at - data.nodes.frame.begin());
  for (; node != 0; node -= data.nodes.up[node]) {
    const NameIndex index = data.frames.name[data.nodes.frame[node]];
    path.insert(path.begin(), data.names[static_cast<std::size_t>(index)]);
  }
  return path;
}

struct LargeOptions {
  std::size_t stacks = 0, nodes = 0;
  std::size_t samples_per_stack = 5;
};

/// A tree of about `nodes` nodes under random parents, with names like those of C++ programs;
/// `stacks` of them are leaves of samples of many sizes, threads, types and times.
inline profile::Recording large_recording(const LargeOptions& options) {
  std::mt19937_64 generator(7);
  const auto draw = [&](std::uint64_t below) { return generator() % below; };
  profile::TestRecording test(512 * kKiB);
  test.recording.processes[0].end = 60'000'000'000;
  for (int i = 0; i < 16; ++i)
    test.recording.threads.push_back({.name = "worker-" + std::to_string(i)});
  for (int i = 0; i < 50; ++i) test.recording.types.push_back({"app::Type" + std::to_string(i)});
  const std::size_t functions = options.nodes / 10;
  for (std::size_t i = 0; i < functions; ++i) {
    test.location({"app::module" + std::to_string(i % 97) + "::Class" + std::to_string(i % 1009) +
                   "::method" + std::to_string(i) + "(std::vector<int> const&, unsigned long)"});
  }
  // Parents of the nodes after them: deep and wide, as call trees are.
  std::vector<std::uint32_t> parent{0};
  std::vector<std::uint32_t> location{0};
  std::vector<bool> has_child{true};
  while (parent.size() <= options.nodes) {
    const std::size_t back =
        1 + draw(draw(4) == 0 ? parent.size() : std::min<std::size_t>(parent.size(), 3));
    const auto above = static_cast<std::uint32_t>(parent.size() - back);
    has_child[above] = true;
    parent.push_back(above);
    has_child.push_back(false);
    location.push_back(static_cast<std::uint32_t>(draw(functions)));
  }
  std::vector<std::uint32_t> leaves;
  for (std::uint32_t i = 1; i < parent.size(); ++i) {
    if (!has_child[i]) leaves.push_back(i);
  }
  for (std::uint32_t i = 1; leaves.size() < options.stacks; ++i) leaves.push_back(i);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    std::vector<std::uint32_t> path;
    for (std::uint32_t node = leaves[i]; node != 0; node = parent[node]) {
      path.push_back(location[node]);
    }
    const std::uint32_t stack = test.stack(std::move(path));
    const std::size_t samples = i < options.stacks ? options.samples_per_stack : 1;
    for (std::size_t k = 0; k < samples; ++k) {
      const Nanoseconds born = 2000 + draw(59'000'000'000);
      profile::Sample& sample = test.sample(stack, 16 * (1 + draw(std::uint64_t{1} << draw(12))),
                                            born, draw(3) == 0 ? 0 : born + draw(1'000'000'000));
      sample.thread = static_cast<std::uint32_t>(draw(16));
      sample.type = static_cast<std::uint32_t>(draw(50));
    }
  }
  return std::move(test.recording);
}

inline std::vector<std::string> hostile_names() {
  return {"</script><script>alert(1)</script>",
          "<!--<script>",
          "\"><img src=x onerror=alert(1)>",
          "' onload='alert(1)",
          "\x1b]0;owned\x07",
          "\x1b[2J\x1b[31m",
          "a\nb\r\nc",
          std::string("nul\0byte", 8),
          "\xff\xfe\xc0\x80\xed\xa0\x80",
          "\u202etxt.exe",
          "=cmd|'/c calc'!A1",
          "../../../../etc/passwd",
          "${alert(1)}{{7*7}}",
          "\u2028\u2029",
          "",
          std::string(100'000, '\\')};
}

}  // namespace geiger::page
