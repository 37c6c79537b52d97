// A program of a user of geiger: every public header, and the sampler and the arena at work.
#include <geiger/arena.h>
#include <geiger/arena_resource.h>
#include <geiger/bernoulli_trial.h>
#include <geiger/sampling/counter_sampler.h>
#include <geiger/sampling/list_sampler.h>
#include <geiger/type_name.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main() {
  geiger::sampling::BernoulliTrial trial(1.0, 1);
  geiger::Arena arena;
  geiger::ArenaResource resource(arena);
  std::pmr::string text("kept in the arena, as it is too long for the string", &resource);
  void* block = std::malloc(4 << 20);  // For a recording of this program.
  std::printf("%d %s %zu\n", trial.trial() ? 1 : 0, geiger::type_name<float>(), text.size());
  std::free(block);
  return 0;
}
