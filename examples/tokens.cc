// Profiles from inside: several at once, each at its own interval, none in the way of the
// others; what lives, and what became of what was allocated; files for pprof.
//
//   tokens [DIRECTORY]      where the files go; none are written without
#include <cstdio>
#include <geiger/geiger.hpp>
#include <list>
#include <string>
#include <vector>

namespace {

struct Node {
  char payload[100];
};

std::size_t allocated_bytes = 0;

std::unique_ptr<Node> make_node() {
  allocated_bytes += sizeof(Node);
  return geiger::make_unique<Node>();
}

bool holds(const char* what, const geiger_estimate& estimate, std::size_t truth) {
  std::printf("%-24s %9zu bytes; geiger says %9.0f [%.0f, %.0f], %llu samples\n", what, truth,
              estimate.value, estimate.lowest, estimate.highest,
              static_cast<unsigned long long>(estimate.samples));
  const auto exact = static_cast<double>(truth);
  return estimate.lowest <= exact && exact <= estimate.highest;
}

bool is_node(const geiger_sample& sample) { return geiger::view(sample.type).ends_with("Node"); }

/// Five standard errors: wrong in one of two million runs.
geiger_estimate nodes_in(const geiger::Profile& profile) {
  return profile.total_where(is_node, GEIGER_BYTES, 0.9999994);
}

}  // namespace

int main(int count, char** arguments) {
  bool is_right = true;
  std::vector<std::unique_ptr<Node>> kept;

  geiger::Token whole(GEIGER_LIFETIMES, 8 << 10);
  for (int i = 0; i < 20000; ++i) kept.push_back(make_node());
  const std::size_t before = allocated_bytes;

  geiger::Token second_half(GEIGER_ALLOCATIONS, 512);  // The process draws at 512 from here.
  for (int i = 0; i < 20000; ++i) make_node();         // Gone at once.
  const geiger::Profile half = second_half.stop();
  const std::size_t in_half = allocated_bytes - before;

  const geiger::Profile live = geiger::Profile::snapshot(GEIGER_LIVE);
  const geiger::Profile all = whole.stop();
  is_right &= holds("second half", nodes_in(half), in_half);
  is_right &= holds("both halves", nodes_in(all), allocated_bytes);
  is_right &= holds("live", nodes_in(live), kept.size() * sizeof(Node));
  is_right &=
      holds("freed",
            all.total_where(
                [](const geiger_sample& sample) { return is_node(sample) && sample.is_freed != 0; },
                GEIGER_BYTES, 0.9999994),
            in_half);
  for (const auto& [name, profile] : {std::pair{"half", &half}, {"live", &live}}) {
    if (count < 2) break;
    const std::string path = std::string(arguments[1]) + "/" + name + ".pb";
    const geiger_status status = profile->write_pprof(path.c_str());
    std::printf("%s: %s\n", path.c_str(), geiger_status_message(status));
    is_right &= status == GEIGER_OK;
  }
  return is_right ? 0 : 1;
}
