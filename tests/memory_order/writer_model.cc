// The trace's writer (trace/writer): records are filled before they are seen, and lie in front of
// the end that the trace is cut at.
#include <cstdint>

#include "explorer.h"
#include "trace/writer.h"

using geiger::Bytes;
using geiger::model::require;
using geiger::model::Scenario;
using geiger::trace::RecordHeader;
using geiger::trace::Slot;
using geiger::trace::Writer;

namespace {

constexpr Bytes kCapacity = 64 << 10;
constexpr std::uint64_t kBody = 0x1122334455667788;
constexpr RecordHeader kHeader{.type = geiger::trace::RecordType::kEpoch, .words = 2};

struct State {
  Writer writer;
  Slot slot;
};
State* state = nullptr;

void begin() {
  state = new (geiger::model::allocate(sizeof(State))) State;
  state->writer.open_memory(geiger::model::allocate(kCapacity), kCapacity,
                            {.executable = "", .allocator = "", .runtime_version = ""});
}

std::atomic_ref<std::uint64_t> word_at(std::size_t record, std::size_t word) {
  char* base = reinterpret_cast<char*>(state->writer.header());
  auto* words = reinterpret_cast<std::uint64_t*>(base + geiger::trace::kRecordsOffset);
  return std::atomic_ref(words[record * kHeader.words + word]);
}

void write_one() {
  const Slot slot = state->writer.reserve(kHeader);
  require(static_cast<bool>(slot), "there is room");
  std::atomic_ref(slot.words[1]).store(kBody, std::memory_order_relaxed);
  Writer::commit(slot, kHeader);
}

/// As trace/reader.cc loads a header.
void read_all() {
  for (std::size_t record = 0; record < 2; ++record) {
    const std::uint64_t header = word_at(record, 0).load(std::memory_order_acquire);
    const bool is_committed = header == kHeader.pack();
    require(!is_committed || word_at(record, 1).load(std::memory_order_relaxed) == kBody,
            "a committed record is not filled");
  }
}

const Scenario kScenarios[] = {
    {"two writers and a reader", begin, {write_one, write_one, read_all}, read_all, 2},
    {"a reservation while the trace is cut",
     begin,
     {[] { state->slot = state->writer.reserve(kHeader); }, [] { state->writer.shrink("/"); }},
     [] {
       const Bytes end = Bytes{state->slot.ref} * 8 + kHeader.words * 8;
       require(!state->slot || end <= state->writer.header()->capacity,
               "a reserved record lies behind the cut");
     },
     4},
};

}  // namespace

int main() {
  for (const Scenario& scenario : kScenarios) geiger::model::explore(scenario);
}
