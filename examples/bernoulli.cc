// Counts the bytes of log lines by level from one line in a few hundred.
//
// A line is an event of as many trials as it has bytes: long lines, which cost more, are
// sampled more often, and a sampled line of z bytes stands for z / (1 - (1-p)^z) of them.
#include <geiger/bernoulli_trial.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>

namespace {

constexpr double kProbability = 1.0 / 20000;  // of a byte
constexpr int kLines = 500'000;

struct Level {
  const char* name;
  double truth = 0, estimate = 0, variance = 0;
  int samples = 0;
};

void add_sample(Level& level, double bytes) {
  const double inclusion = -std::expm1(bytes * std::log1p(-kProbability));
  level.estimate += bytes / inclusion;
  level.variance += bytes * bytes * (1 - inclusion) / (inclusion * inclusion);
  ++level.samples;
}

}  // namespace

int main() {
  Level levels[] = {{"debug"}, {"info"}, {"error"}};
  geiger::sampling::BernoulliTrial trial(kProbability, 2024);  // A fixed seed: fixed output.
  std::mt19937_64 random(1);
  for (int i = 0; i < kLines; ++i) {
    Level& level = levels[random() % 10 < 6 ? 0 : random() % 10 < 9 ? 1 : 2];
    const std::size_t bytes = 20 + random() % (level.name[0] == 'e' ? 2000 : 150);
    level.truth += static_cast<double>(bytes);
    if (trial.trial(bytes)) add_sample(level, static_cast<double>(bytes));
  }
  bool is_near = true;
  for (const Level& level : levels) {
    const double error = 1.96 * std::sqrt(level.variance);
    std::printf("%-5s %6.1f MB +- %4.1f from %4d of %d lines; in truth %6.1f MB\n", level.name,
                level.estimate / 1e6, error / 1e6, level.samples, kLines, level.truth / 1e6);
    is_near = is_near && std::abs(level.estimate - level.truth) < 2.5 * error;
  }
  return is_near ? 0 : 1;
}
