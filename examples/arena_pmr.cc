// Standard containers in an arena, and what of it the samples tell.
//
// A std::pmr container asks its resource for bytes; one with ArenaAllocator says for what.
#include <geiger/arena.h>
#include <geiger/arena_resource.h>
#include <geiger/estimator.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

namespace {

using geiger::sampling::Estimate;
using geiger::sampling::Estimator;
using Profile = std::map<std::string, Estimator>;

void add(void* context, const geiger::ArenaSample& sample) noexcept {
  auto& profile = *static_cast<Profile*>(context);
  Estimator& sum = profile[sample.type == nullptr ? "(bytes)" : sample.type];
  if (sample.is_certain) {
    sum.add_certain(sample.size);
  } else {
    sum.add(sample.size, sample.lambda);
  }
}

}  // namespace

int main() {
  Profile profile;
  geiger::ArenaOptions options;
  options.interval = 16 << 10;
  options.seed = 7;  // Without it every run draws other bytes.
  options.sink = {&profile, add, nullptr, nullptr};
  geiger::Arena arena(options);

  geiger::ArenaResource resource(arena);
  std::pmr::vector<std::pmr::string> words(&resource);
  for (int i = 0; i < 20000; ++i) {
    words.emplace_back("a word too long to be kept inside the string, number " + std::to_string(i));
  }

  using Entry = std::pair<const int, double>;
  std::map<int, double, std::less<>, geiger::ArenaAllocator<Entry>> squares{
      geiger::ArenaAllocator<Entry>(arena)};
  for (int i = 0; i < 20000; ++i) squares.emplace(i, static_cast<double>(i) * i);

  Estimator total;
  for (const auto& [type, sum] : profile) {
    const Estimate bytes = sum.bytes();
    std::printf("%8.1f KB [%.1f, %.1f] from %3d samples  %s\n", bytes.value / 1e3,
                bytes.lowest / 1e3, bytes.highest / 1e3, static_cast<int>(bytes.samples),
                type.c_str());
    total.merge(sum);
  }
  const Estimate all = total.bytes();
  const geiger::ArenaTotals totals = arena.totals();
  const auto truth = static_cast<double>(totals.bytes);
  std::printf("%8.1f KB [%.1f, %.1f] in all; exactly %.1f KB, self-check z = %.2f\n",
              all.value / 1e3, all.lowest / 1e3, all.highest / 1e3, truth / 1e3, totals.z());
  const bool is_near = all.lowest <= truth && truth <= all.highest;
  return is_near && std::abs(totals.z()) < 5 ? 0 : 1;
}
