#include "run/malloc_pairs.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "modules/module.h"
#include "run/allocator_library.h"
#include "run/environment.h"
#include "run/launch.h"

namespace geiger::run {

namespace {

constexpr Bytes kSizes[] = {16,        64,        256,        1 * kKiB, 4 * kKiB,
                            16 * kKiB, 64 * kKiB, 256 * kKiB, 1 * kMiB, 4 * kMiB};

/// So many blocks are live at a time, as in a program that does not free at once what it allocates.
constexpr std::size_t kLive = 64;

/// Seconds of processor time for a pair, over `pairs` of them.
double time_round(Bytes bytes, std::size_t pairs) {
  std::array<void*, kLive> blocks{};
  const Nanoseconds from = base::clock_now(CLOCK_THREAD_CPUTIME_ID);
  for (std::size_t i = 0; i < pairs; ++i) {
    void*& block = blocks[i % kLive];
    std::free(block);
    block = std::malloc(bytes);
    asm volatile("" : : "r"(block) : "memory");
  }
  const Nanoseconds took = base::clock_now(CLOCK_THREAD_CPUTIME_ID) - from;
  for (void* block : blocks) std::free(block);
  return 1e-9 * static_cast<double>(took) / static_cast<double>(pairs);
}

advice::PairTime time_size(Bytes bytes) {
  constexpr std::size_t kRounds = 5;
  const std::size_t pairs = bytes <= 4 * kKiB ? 20'000 : 1000;
  static_cast<void>(time_round(bytes, pairs));  // Finds its memory.
  std::array<double, kRounds> rounds{};
  for (double& round : rounds) round = time_round(bytes, pairs);
  std::ranges::sort(rounds);
  return {bytes, rounds[kRounds / 2], {rounds.front(), rounds.back()}};
}

/// The file of times, deleted at the end.
class TimesFile {
 public:
  TimesFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "geiger-pairs-XXXXXX";
    const int file = mkstemp(pattern.data());
    if (file >= 0) close(file), path_ = pattern;
  }
  ~TimesFile() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove(path_, error);
  }
  TimesFile(const TimesFile&) = delete;
  TimesFile& operator=(const TimesFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

base::Outcome<std::vector<advice::PairTime>> times_under(const std::string& allocator) {
  Environment environment = without_runtime(own_environment());
  if (!std::filesystem::path(allocator).filename().string().starts_with("libc.so")) {
    const AllocatorLibrary library = GEIGER_TRY(find_allocator(allocator));
    environment = with_preload(std::move(environment), library.preload_word());
  }
  const TimesFile file;
  const auto trial = GEIGER_TRY(run_trial(
      {modules::own_program(), "advise", "--time-pairs", file.path()}, environment, false));
  if (trial.status != 0) return base::Failure{"the process that timed it failed"};
  std::vector<advice::PairTime> times;
  std::ifstream in(file.path());
  advice::PairTime time;
  while (in >> time.bytes >> time.usual >> time.interval.lo >> time.interval.hi) {
    times.push_back(time);
  }
  return times;
}

}  // namespace

base::Outcome<void> write_pair_times(const std::string& file) {
  std::ofstream out(file);
  for (const Bytes bytes : kSizes) {
    const advice::PairTime time = time_size(bytes);
    out << fmt::format("{} {} {} {}\n", time.bytes, time.usual, time.interval.lo, time.interval.hi);
  }
  if (!out.flush()) return base::Failure{"cannot write " + file};
  return {};
}

advice::PairTimes time_pairs(const std::string& allocator) {
  if (allocator.empty()) return {.fault = "its allocator is not known"};
  auto times = times_under(allocator);
  if (!times.has_value()) return {.fault = times.reason()};
  return {.allocator = allocator, .times = std::move(times.value())};
}

}  // namespace geiger::run
