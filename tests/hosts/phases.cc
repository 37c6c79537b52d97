// A program that says what it does: phases with marks, threads with names, labels, types
// and a pool, every byte of which it knows.
//
//   phases
//
// load:   the main thread keeps 400 blocks of 3,000 bytes of type Record, label "load".
// serve:  two rounds, each ended by a mark "step". In each the threads io-1 and io-2
//         allocate and free, within "request" and "tenant=acme" (io-1) or "tenant=zeta"
//         (io-2), 300 blocks of 200 bytes and 20 vectors of 100 orders of 64 bytes.
// pool:   200 blocks of 5,000 bytes of a heap of its own, half of them freed.
//
// Prints one JSON object with the exact bytes. Without the runtime it runs all the same and reports
// nothing to it.
#include <dlfcn.h>
#include <pthread.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/capture/interface.h"
#include "scenario.h"

namespace {

using geiger::capture::NameId;
using geiger::trace::NameKind;

constexpr int kRecords = 400, kRecordBytes = 3000;
constexpr int kRounds = 2, kBlocks = 300, kBlockBytes = 200;
constexpr int kVectors = 20, kOrders = 100;
constexpr int kPooled = 200, kPooledBytes = 5000;

struct Order {
  char bytes[64];
};

const geiger::capture::Interface* capture() {
  static const auto* found =
      static_cast<const geiger::capture::Interface*>(dlsym(RTLD_DEFAULT, "geiger_capture_v1"));
  return found;
}

NameId name(NameKind kind, const char* text, std::uint32_t owner = 0) {
  return capture() == nullptr ? 0 : capture()->define_name(kind, owner, text, std::strlen(text));
}

void mark(const char* text) {
  if (capture() != nullptr) capture()->write_mark(text, std::strlen(text));
}

/// Sets what is in force in this thread, and what was before at its end.
class Named {
 public:
  Named(NameId label, NameId type) {
    if (capture() == nullptr) return;
    before_ = *capture()->naming();
    *capture()->naming() = {label, type};
  }
  Named(const Named&) = delete;
  Named& operator=(const Named&) = delete;
  ~Named() {
    if (capture() != nullptr) *capture()->naming() = before_;
  }

 private:
  geiger::capture::Naming before_{};
};

void load() {
  const Named named(name(NameKind::kLabel, "load"), name(NameKind::kType, "Record"));
  for (int i = 0; i < kRecords; ++i) opaque(malloc(kRecordBytes));
}

__attribute__((noinline)) void serve_orders() {
  for (int i = 0; i < kVectors; ++i) {
    std::vector<Order> orders(kOrders);
    opaque(orders.data());
  }
}

void serve(const char* thread, const char* tenant) {
  pthread_setname_np(pthread_self(), thread);
  const NameId request = name(NameKind::kLabel, "request");
  const Named named(name(NameKind::kLabel, tenant, request), 0);
  for (int i = 0; i < kBlocks; ++i) free(opaque(malloc(kBlockBytes)));
  serve_orders();
}

/// What a sampler of our own draws of the pool.
void pool() {
  if (capture() == nullptr) return;
  const NameId heap = name(NameKind::kHeap, "pool", 1);
  const auto rate = capture()->current_rate();
  std::mt19937_64 random(9);
  for (int i = 0; i < kPooled; ++i) {
    const double u = static_cast<double>((random() >> 11) + 1) * 0x1p-53;
    const double offset = std::isinf(rate.lambda) ? 0 : std::floor(-std::log(u) / rate.lambda);
    const bool is_certain = kPooledBytes >= static_cast<long>(rate.interval);
    if (!is_certain && offset >= kPooledBytes) continue;
    geiger::capture::Report report;
    report.heap = heap;
    report.address = 0x10000 + static_cast<std::uint64_t>(i) * 8192;
    report.requested = report.usable = kPooledBytes;
    report.offset = is_certain ? 0 : static_cast<std::uint64_t>(offset);
    report.rate = rate;
    report.is_certain = is_certain;
    EXPECT(capture()->report_sample(report) == geiger::capture::Reported::kYes);
    if (i % 2 == 0)
      capture()->report_free(heap, report.address, geiger::unwind::caller_registers());
  }
}

}  // namespace

int main() {
  mark("begin");
  load();
  mark("loaded");
  for (int round = 0; round < kRounds; ++round) {
    std::thread first(serve, "io-1", "tenant=acme");
    first.join();
    std::thread second(serve, "io-2", "tenant=zeta");
    second.join();
    mark("step");
  }
  pool();
  mark("pooled");
  constexpr int kOrderBytes = kVectors * kOrders * static_cast<int>(sizeof(Order));
  std::printf("{\"load\": %d, \"tenant\": %d, \"blocks\": %d, \"orders\": %d, \"pool\": %d}\n",
              kRecords * kRecordBytes, kRounds * (kBlocks * kBlockBytes + kOrderBytes),
              2 * kRounds * kBlocks * kBlockBytes, 2 * kRounds * kOrderBytes,
              kPooled * kPooledBytes);
  return 0;
}
