// A server's workers: each thread has one arena, each request begins with an empty one.
//
// No lock is shared and nothing is freed singly. Samples tell which types requests are made
// of, though a request allocates far less than T: pending trials outlive the reset.
#include <geiger/arena.h>
#include <geiger/estimator.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace {

struct Header {
  char name[16];
  char value[48];
  Header* next;
};

struct Row {
  long id;
  double amounts[28];
};

// What a thread saw of one type; threads add up at the end.
struct Seen {
  const char* type;
  geiger::sampling::Estimator estimator = {};
  double truth = 0;
  long frees = 0;
};

struct Worker {
  Seen headers{geiger::type_name<Header>()};
  Seen rows{geiger::type_name<Row>()};
  geiger::ArenaTotals totals;

  Seen& of(const geiger::ArenaSample& sample) { return sample.type == rows.type ? rows : headers; }
};

void on_sample(void* context, const geiger::ArenaSample& sample) noexcept {
  static_cast<Worker*>(context)->of(sample).estimator.add(sample.size, sample.lambda);
}

void on_free(void* context, const geiger::ArenaSample& sample) noexcept {
  ++static_cast<Worker*>(context)->of(sample).frees;
}

void serve(geiger::Arena& arena, Worker& worker, int request) {
  Header* headers = nullptr;
  for (int i = 0; i < 8 + request % 5; ++i) {
    auto* header = arena.make<Header>();
    std::strcpy(header->name, "x-name");
    header->next = headers;
    headers = header;
    worker.headers.truth += sizeof(Header);
  }
  for (int i = 0; i < request % 40; ++i) {
    arena.make<Row>()->id = i;
    worker.rows.truth += sizeof(Row);
  }
}

void work(Worker& worker, std::uint64_t seed) {
  geiger::ArenaOptions options;
  options.interval = 64 << 10;
  options.seed = seed;
  options.sink = {&worker, on_sample, on_free, nullptr};
  geiger::Arena arena(options);
  for (int request = 0; request < 5000; ++request) {
    serve(arena, worker, request);
    arena.reset();
  }
  worker.totals = arena.totals();
}

bool print(const char* name, const std::vector<Worker>& workers, Seen Worker::*of) {
  Seen sum{name};
  for (const Worker& worker : workers) {
    sum.estimator.merge((worker.*of).estimator);
    sum.truth += (worker.*of).truth;
    sum.frees += (worker.*of).frees;
  }
  const auto [bytes, lowest, highest, samples] = sum.estimator.bytes(0.999);
  std::printf("%-7s %6.2f MB [%.2f, %.2f] from %4ld samples, %ld freed; in truth %6.2f MB\n", name,
              bytes / 1e6, lowest / 1e6, highest / 1e6, static_cast<long>(samples), sum.frees,
              sum.truth / 1e6);
  return lowest <= sum.truth && sum.truth <= highest && static_cast<long>(samples) == sum.frees;
}

}  // namespace

int main() {
  std::vector<Worker> workers(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    threads.emplace_back(work, std::ref(workers[i]), i + 1);
  }
  for (std::thread& thread : threads) thread.join();
  bool is_right = print("headers", workers, &Worker::headers);
  is_right = print("rows", workers, &Worker::rows) && is_right;
  for (const Worker& worker : workers) is_right = is_right && std::abs(worker.totals.z()) < 5;
  return is_right ? 0 : 1;
}
