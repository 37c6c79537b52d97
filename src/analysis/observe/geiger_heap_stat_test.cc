// geiger's own malloc, read as from outside in the processes that use it: what is counted is what
// the allocator counts, and what sites are estimated to answer for has the truth within its
// intervals.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <vector>

#include "analysis/observe/allocator_heaps.h"
#include "heap/allocator.h"
#include "heap/census.h"
#include "heap/listener.h"
#include "vocabulary/heap_layout.h"

namespace geiger::heap {
extern "C" const char geiger_heap_root_v1;
}

namespace geiger::observe {
namespace {

using heap::Sample;
using profile::HeapPart;

GeigerHeap read_own(std::span<const LiveSample> samples) {
  std::ifstream smaps("/proc/self/smaps");
  std::ostringstream text;
  text << smaps.rdbuf();
  const std::vector<Mapping> mappings = parse_smaps(text.str());
  const auto root = reinterpret_cast<Address>(&heap::geiger_heap_root_v1);
  std::string library;
  for (const Mapping& mapping : mappings) {
    if (mapping.holds(root)) library = mapping.path;
  }
  const ReadMemory read = [](Address address, void* into, std::size_t size) {
    std::memcpy(into, reinterpret_cast<const void*>(address), size);
    return true;
  };
  const ResidentIn resident = [](Address, Bytes bytes) { return bytes; };
  auto found = read_geiger_heap(read, resident, mappings, library, samples);
  EXPECT_TRUE(found.has_value()) << found.reason();
  return std::move(found.value());
}

/// Live samples of this process, with the interval that they were drawn at.
std::map<Address, Sample> live_samples;

constexpr heap::Listener kRemember{[](const Sample* sample) -> std::uint64_t {
                                     live_samples[reinterpret_cast<Address>(sample->address)] =
                                         *sample;
                                     return 0;
                                   },
                                   [](std::uint64_t, const void* address) {
                                     live_samples.erase(reinterpret_cast<Address>(address));
                                   }};

constexpr std::size_t kSites = 3;

struct Object {
  void* address = nullptr;
  std::size_t bytes = 0;
  std::size_t site = 0;
};

/// Three sites that free differently, the same in every process.
std::vector<Object> run_program() {
  std::mt19937_64 random(7);
  std::vector<Object> live;
  for (int i = 0; i < 60'000; ++i) {
    const std::size_t site = random() % kSites;
    const std::size_t most = site == 0 ? 200 : site == 1 ? 2000 : 12'000;
    const std::size_t bytes = 1 + random() % most;
    live.push_back({heap::allocate(bytes), bytes, site});
    // Site 0 keeps few of its objects, site 2 most of them.
    if (random() % 4 >= site) {
      const std::size_t victim = random() % live.size();
      heap::release(live[victim].address);
      live[victim] = live.back();
      live.pop_back();
    }
  }
  return live;
}

std::vector<LiveSample> as_samples(const std::vector<Object>& objects) {
  std::vector<LiveSample> samples;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    samples.push_back({static_cast<trace::Ref>(i + 1),
                       reinterpret_cast<Address>(objects[i].address), objects[i].bytes,
                       objects[i].bytes, trace::EntryPoint::kMalloc});
  }
  std::ranges::sort(samples, {}, &LiveSample::address);
  return samples;
}

/// What is found out in a child.
struct Answer {
  std::array<double, kSites> stranded{};
  std::array<double, kSites> variance{};
  std::array<std::uint64_t, kSites> samples{};
  double free = 0;  ///< Counted, on pages that hold live blocks.
  bool is_sound = false;
};

/// Runs `ask` in a child: each has a heap of its own.
Answer in_a_child(const std::function<Answer()>& ask) {
  void* const shared =
      mmap(nullptr, sizeof(Answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const answer = new (shared) Answer{};
  const pid_t child = fork();
  if (child == 0) {
    *answer = ask();
    answer->is_sound = !testing::Test::HasFailure();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  const Answer result = *answer;
  munmap(shared, sizeof(Answer));
  return result;
}

/// Asks about every live object, in a heap without samples.
Answer truth() {
  heap::listen(nullptr, 0, 1);
  const std::vector<Object> objects = run_program();
  const GeigerHeap found = read_own(as_samples(objects));
  Answer answer;
  EXPECT_TRUE(found.unmatched.empty());
  for (const SampleBlock& block : found.blocks) {
    answer.stranded[objects[block.ref - 1].site] +=
        found.occupancy.waste_of(block.start, block.end);
  }
  answer.free = static_cast<double>(found.census.of(HeapPart::kFree).size +
                                    found.census.of(HeapPart::kKept).size);
  return answer;
}

Answer estimate(std::uint64_t interval, std::uint64_t seed) {
  heap::listen(&kRemember, interval, seed);
  const std::vector<Object> objects = run_program();
  std::map<Address, std::size_t> sites;
  for (const Object& object : objects) {
    sites[reinterpret_cast<Address>(object.address)] = object.site;
  }
  std::vector<LiveSample> samples;
  std::vector<Sample> drawn;
  for (const auto& [address, sample] : live_samples) {
    drawn.push_back(sample);
    samples.push_back({static_cast<trace::Ref>(drawn.size()), address, sample.requested,
                       sample.usable, trace::EntryPoint::kMalloc});
  }
  const GeigerHeap found = read_own(samples);
  EXPECT_TRUE(found.unmatched.empty());
  Answer answer;
  for (const SampleBlock& block : found.blocks) {
    const Sample& sample = drawn[block.ref - 1];
    const std::size_t site = sites.at(reinterpret_cast<Address>(sample.address));
    const double waste = found.occupancy.waste_of(block.start, block.end);
    const auto bytes = static_cast<double>(sample.requested);
    const double pi =
        sample.is_certain ? 1 : -std::expm1(bytes * std::log1p(-1 / static_cast<double>(interval)));
    answer.stranded[site] += waste / pi;
    answer.variance[site] += waste * waste * (1 - pi) / (pi * pi);
    ++answer.samples[site];
  }
  return answer;
}

TEST(GeigerHeap, CountsWhatTheAllocatorCounts) {
  const Answer answer = in_a_child([] {
    heap::listen(&kRemember, 4096, 1);
    std::vector<Object> objects = run_program();
    for (const std::size_t bytes : {100'000U, 1'000'000U, 5'000'000U, 40'000'000U}) {
      objects.push_back({heap::allocate(bytes), bytes, 0});
    }
    heap::release(objects.back().address);
    const heap::Census own = heap::take_census();
    const GeigerHeap found = read_own({});
    const auto bytes = [&](HeapPart part) { return found.census.of(part).size; };
    EXPECT_EQ(found.census.mapped, own.mapped);
    EXPECT_EQ(bytes(HeapPart::kUsed), own.live);
    EXPECT_EQ(bytes(HeapPart::kFree) + bytes(HeapPart::kKept) + bytes(HeapPart::kUnused),
              own.free + own.listed + own.inboxes);
    EXPECT_EQ(bytes(HeapPart::kUncarved), own.uncarved + own.tails);
    EXPECT_EQ(bytes(HeapPart::kSamples), own.samples);
    EXPECT_EQ(bytes(HeapPart::kLarge), own.large + own.huge);
    EXPECT_EQ(bytes(HeapPart::kEmpty), own.cached + own.empty_dirty + own.empty_clean);
    EXPECT_EQ(bytes(HeapPart::kHeaders), own.heads + own.huge_around);
    return Answer{};
  });
  EXPECT_TRUE(answer.is_sound);
}

TEST(GeigerHeap, TheSitesAnswerForAllThatIsFreeBesideThem) {
  const Answer answer = in_a_child(truth);
  ASSERT_TRUE(answer.is_sound);
  double sum = 0;
  for (const double site : answer.stranded) sum += site;
  EXPECT_GT(sum, 1e6);
  EXPECT_NEAR(sum, answer.free, 1);
}

// 200 seeds at each of two intervals, for three sites. The mean is within 3.5 standard errors of
// the truth (six means: false alarm .3 %), the mean of the estimated variance within a fifth of the
// variance found (which has a standard error of a tenth), and of 600 intervals of 95 % at each
// interval no fewer than 4 standard errors below that contain the truth; the smallest site has
// hundreds of samples, so the normal law holds.
TEST(GeigerHeap, EstimatesHaveTheTruthWithinTheirIntervals) {
  constexpr std::uint64_t kSeeds = 200;
  const Answer expected = in_a_child(truth);
  ASSERT_TRUE(expected.is_sound);
  for (const std::uint64_t interval : {std::uint64_t{8} << 10, std::uint64_t{32} << 10}) {
    std::array<double, kSites> sum{};
    std::array<double, kSites> squares{};
    std::array<double, kSites> variance{};
    int covered = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Answer one = in_a_child([&] { return estimate(interval, seed); });
      ASSERT_TRUE(one.is_sound);
      for (std::size_t site = 0; site < kSites; ++site) {
        const double error = one.stranded[site] - expected.stranded[site];
        sum[site] += error;
        squares[site] += error * error;
        variance[site] += one.variance[site];
        covered += std::abs(error) <= 1.96 * std::sqrt(one.variance[site]) ? 1 : 0;
      }
    }
    for (std::size_t site = 0; site < kSites; ++site) {
      const double found = squares[site] / kSeeds;
      EXPECT_LT(std::abs(sum[site] / kSeeds), 3.5 * std::sqrt(found / kSeeds))
          << "T " << interval << " site " << site << " truth " << expected.stranded[site];
      EXPECT_NEAR(variance[site] / kSeeds / found, 1, .4) << "T " << interval << " site " << site;
    }
    const double intervals = kSeeds * kSites;
    EXPECT_GT(covered / intervals, .95 - 4 * std::sqrt(.95 * .05 / intervals)) << interval;
  }
}

}  // namespace
}  // namespace geiger::observe
