// Standard containers in an arena, and what of it the samples tell.
//
// A std::pmr container asks its resource for bytes; one with ArenaAllocator says for what.
#include <geiger/arena.h>
#include <geiger/arena_resource.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

namespace {

struct Sum {
  double bytes = 0, variance = 0;
  int samples = 0;
};
using Profile = std::map<std::string, Sum>;

// One sample stands for 1/pi objects; those that are certain for themselves.
void add(void* context, const geiger::ArenaSample& sample) noexcept {
  auto& profile = *static_cast<Profile*>(context);
  Sum& sum = profile[sample.type == nullptr ? "(bytes)" : sample.type];
  const auto size = static_cast<double>(sample.size);
  const double inclusion = sample.is_certain ? 1 : -std::expm1(-sample.lambda * size);
  sum.bytes += size / inclusion;
  sum.variance += size * size * (1 - inclusion) / (inclusion * inclusion);
  ++sum.samples;
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

  Sum total;
  for (const auto& [type, sum] : profile) {
    std::printf("%8.1f KB +- %5.1f from %3d samples  %s\n", sum.bytes / 1e3,
                1.96 * std::sqrt(sum.variance) / 1e3, sum.samples, type.c_str());
    total.bytes += sum.bytes;
    total.variance += sum.variance;
  }
  const geiger::ArenaTotals totals = arena.totals();
  std::printf("%8.1f KB +- %5.1f in all; exactly %.1f KB, self-check z = %.2f\n", total.bytes / 1e3,
              1.96 * std::sqrt(total.variance) / 1e3, static_cast<double>(totals.bytes) / 1e3,
              totals.z());
  const double error = total.bytes - static_cast<double>(totals.bytes);
  return std::abs(error) < 5 * std::sqrt(total.variance) && std::abs(totals.z()) < 5 ? 0 : 1;
}
