#include "cli/machine/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>
#include <vector>

#include "base/text.h"

namespace geiger::cli {

namespace {

/// The lines "name : text" of the first processor.
std::map<std::string, std::string> first_processor() {
  std::map<std::string, std::string> lines;
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t end = line.find_last_not_of(" \t", colon - 1);
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (begin != std::string::npos) lines[line.substr(0, end + 1)] = line.substr(begin);
  }
  return lines;
}

#if defined(__aarch64__)
struct Feature {
  unsigned long area;
  unsigned long bit;
  const char* name;
};
constexpr Feature kFeatures[] = {
    {AT_HWCAP, 1UL << 8, "atomics"}, {AT_HWCAP, 1UL << 22, "sve"},  {AT_HWCAP, 1UL << 30, "paca"},
    {AT_HWCAP2, 1UL << 17, "bti"},   {AT_HWCAP2, 1UL << 18, "mte"}, {AT_HWCAP2, 1UL << 23, "sme"},
};

std::vector<std::string> features() {
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) {
    if ((getauxval(feature.area) & feature.bit) != 0) names.emplace_back(feature.name);
  }
  constexpr int kGetVectorLength = 51;  // PR_SVE_GET_VL
  const int length = prctl(kGetVectorLength);
  if (length > 0) names.push_back(fmt::format("vectors of {} bits", (length & 0xffff) * 8));
  return names;
}

std::string model(const std::map<std::string, std::string>& lines) {
  const auto text = [&lines](const char* name) {
    const auto found = lines.find(name);
    return found == lines.end() ? std::string("?") : found->second;
  };
  return fmt::format("implementer {}, part {}, variant {}, revision {}", text("CPU implementer"),
                     text("CPU part"), text("CPU variant"), text("CPU revision"));
}
#else
std::vector<std::string> features() { return {}; }

std::string model(const std::map<std::string, std::string>& lines) {
  const auto found = lines.find("model name");
  return found == lines.end() ? "of an unknown model" : found->second;
}
#endif

}  // namespace

std::vector<MachineFact> machine_facts() {
  utsname system{};
  uname(&system);
  std::vector<std::string> processor{system.machine, model(first_processor())};
  processor.push_back(fmt::format("{} online", sysconf(_SC_NPROCESSORS_ONLN)));
  for (std::string& name : features()) processor.push_back(std::move(name));
  return {{"processor", fmt::format("{}", fmt::join(processor, ", "))},
          {"kernel", fmt::format("{} {}, pages of {} bytes", system.sysname, system.release,
                                 sysconf(_SC_PAGESIZE))},
          {"C library", fmt::format("glibc {}", gnu_get_libc_version())}};
}

namespace {

constexpr std::size_t kPairsOfThreads = 4;
constexpr std::size_t kPlaces = 64;

/// Objects on their way from the thread that allocates them to the one that frees them: the store
/// of the pointer is all that orders the two, as in a program.
using Places = std::array<std::atomic<void*>, kPlaces>;

void allocate(Places& places, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::atomic<void*>& place = places[i % kPlaces];
    while (place.load(std::memory_order_relaxed) != nullptr) std::this_thread::yield();
    place.store(std::malloc(kHandedBytes), std::memory_order_release);
  }
}

void release(Places& places, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::atomic<void*>& place = places[i % kPlaces];
    void* object = nullptr;
    while ((object = place.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
    std::free(object);
    place.store(nullptr, std::memory_order_release);
  }
}

void hand_over() {
  static std::array<Places, kPairsOfThreads> all{};
  std::vector<std::thread> threads;
  for (Places& places : all) {
    threads.emplace_back([&places] { allocate(places, kHandedObjects / kPairsOfThreads); });
    threads.emplace_back([&places] { release(places, kHandedObjects / kPairsOfThreads); });
  }
  for (std::thread& thread : threads) thread.join();
}

void loop(std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; ++i) {
    void* object = std::malloc(64);
    asm volatile("" : : "r"(object) : "memory");  // The pair is not folded away.
    std::free(object);
  }
}

}  // namespace

base::Outcome<int> carry_load(const std::string& load) {
  if (load == "handover") {
    hand_over();
    return 0;
  }
  const auto pairs = base::number_in<std::uint64_t>(load);
  if (!pairs) return base::Failure{"no such load: " + load};
  loop(*pairs);
  return 0;
}

}  // namespace geiger::cli
