// Counts the bytes of log lines by level from one line in a few hundred.
//
// A line is an event of as many trials as it has bytes: long lines, which cost more, are
// sampled more often, and a sampled line of z bytes stands for z / (1 - (1-p)^z) of them.
#include <geiger/bernoulli_trial.h>
#include <geiger/estimator.h>

#include <cstdio>
#include <random>
#include <string>

namespace {

constexpr double kProbability = 1.0 / 20000;  // of a byte
constexpr int kLines = 500'000;

struct Level {
  const char* name;
  double truth = 0;
  geiger::sampling::Estimator estimator = {};
};

}  // namespace

int main() {
  Level levels[] = {{"debug"}, {"info"}, {"error"}};
  const double rate = geiger::sampling::rate_of_probability(kProbability);
  for (Level& level : levels) level.estimator.could_have_sampled(rate);
  geiger::sampling::BernoulliTrial trial(kProbability, 2024);  // A fixed seed: fixed output.
  std::mt19937_64 random(1);
  for (int i = 0; i < kLines; ++i) {
    Level& level = levels[random() % 10 < 6 ? 0 : random() % 10 < 9 ? 1 : 2];
    const std::size_t bytes = 20 + random() % (level.name[0] == 'e' ? 2000 : 150);
    level.truth += static_cast<double>(bytes);
    if (trial.trial(bytes)) level.estimator.add(bytes, rate);
  }
  bool is_near = true;
  for (const Level& level : levels) {
    const auto [bytes, lowest, highest, samples] = level.estimator.bytes();
    std::printf("%-5s %6.1f MB [%.1f, %.1f] from %4d of %d lines; in truth %6.1f MB\n", level.name,
                bytes / 1e6, lowest / 1e6, highest / 1e6, static_cast<int>(samples), kLines,
                level.truth / 1e6);
    is_near = is_near && lowest <= level.truth && level.truth <= highest;
  }
  return is_near ? 0 : 1;
}
