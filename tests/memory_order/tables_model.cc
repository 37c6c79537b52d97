// Filter and live table (runtime/capture/tables), as the threads of a program use them at once.
#include <cstdio>

#include "explorer.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/capture/tables/filter.h"
#include "runtime/capture/tables/live_table.h"

using geiger::capture::Filter;
using geiger::capture::LiveTable;
using geiger::model::require;
using geiger::model::Scenario;

namespace geiger::capture {

void* arena_allocate(std::size_t bytes) { return model::allocate(bytes); }
void* map_table(std::size_t bytes) { return model::allocate(bytes); }
// The kernel interrupts every thread before it returns: none goes on with an older page.
void give_back_pages(void* start, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(static_cast<char*>(start) + at))
        .store(0, std::memory_order_release);
  }
}

}  // namespace geiger::capture

namespace {

// One block of 256 bytes, and so one slot of every filter, another one of each size; the same
// bucket of every table.
constexpr std::uint64_t kOld = 0x510010;
constexpr std::uint64_t kNew = 0x510020;
constexpr std::uint64_t kOther = 0x510030;
constexpr std::uint64_t kFar = 0x20010;  // Of another block.
constexpr std::uint64_t kOldValue = 7;
constexpr std::uint64_t kNewValue = 8;
constexpr std::uint64_t kOtherValue = 9;
constexpr std::uint64_t kCarriedValue = 10;  // The old sample's in the next segment.

struct State {
  LiveTable table;
  std::atomic<std::uint64_t> handed{0};
  int ended = 0;  ///< Of the old sample: by its owner, and by remove_if().
};
State* state = nullptr;
Filter filter;

const void* pointer(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

void begin() {
  state = new (geiger::model::allocate(sizeof(State))) State;
  require(state->table.insert(kOld, kOldValue), "inserts");
  filter.start();
  filter.add(pointer(kOld));
}

/// With an entry that stays, so that the table is not given back.
void begin_with_other() {
  begin();
  require(state->table.insert(kOther, kOtherValue), "inserts");
}

/// Nothing but what is far away marks the new sample's slot.
void begin_far() {
  state = new (geiger::model::allocate(sizeof(State))) State;
  require(state->table.insert(kFar, kOldValue), "inserts");
  filter.start();
  filter.add(pointer(kFar));
}

void take_old() { state->ended += state->table.take(kOld) == kOldValue; }
void insert_new() { require(state->table.insert(kNew, kNewValue), "inserts"); }
void remove_old() {
  state->table.remove_if([](std::uint64_t address, std::uint64_t) { return address == kOld; },
                         [](std::uint64_t, std::uint64_t) { ++state->ended; });
}
void visit_all() {
  state->table.for_each([](std::uint64_t address, std::uint64_t value) {
    const std::uint64_t own = address == kOld   ? kOldValue
                              : address == kNew ? kNewValue
                                                : kOtherValue;
    require(value == own || value == 0, "a visit finds an address with another's value");
  });
}
void grow() {
  filter.grow([](const auto& visit) { state->table.for_each(visit); });
}

/// The new sample is there, and the old one has ended `ends` times.
void expect_new_alone(int ends) {
  require(state->ended == ends, "a sample ends twice, or never");
  require(state->table.take(kNew) == kNewValue, "a live sample is lost");
  state->table.take(kOther);
  require(state->table.take(kOld) == 0 && state->table.size() == 0, "the table is not empty");
}

const Scenario kScenarios[] = {
    {"visits while a slot changes hands",
     begin_with_other,
     {[] {
        take_old();
        insert_new();
      },
      visit_all},
     [] { expect_new_alone(1); }},
    {"visits while an entry is removed",
     begin_with_other,
     {remove_old, insert_new, visit_all},
     [] { expect_new_alone(1); },
     2},
    {"two ends of one sample, and another in its place",
     begin_with_other,
     {take_old, remove_old, insert_new},
     [] { expect_new_alone(1); },
     2},
    {"a free while the sample is carried",
     begin_with_other,
     {[] {
        const std::uint64_t taken = state->table.take(kOld);
        state->ended += taken == kOldValue || taken == kCarriedValue;
      },
      [] { state->table.exchange(kOld, kOldValue, kCarriedValue); }, insert_new},
     [] { expect_new_alone(1); },
     2},
    {"an insertion while the table is given back",
     begin,
     {take_old, insert_new},
     [] { expect_new_alone(1); }},
    {"a free while the filter grows",
     begin_far,
     {[] {
        insert_new();
        filter.add(pointer(kNew));
        state->handed.store(kNew, std::memory_order_release);
      },
      grow,
      [] {
        const std::uint64_t address = state->handed.load(std::memory_order_acquire);
        require(address == 0 || filter.maybe_holds(pointer(address)), "the filter misses a sample");
      }},
     [] { require(filter.maybe_holds(pointer(kNew)), "the filter misses a sample"); },
     2},
    {"a neighbour is freed while the filter grows",
     [] {
       begin_with_other();
       insert_new();
       filter.add(pointer(kNew));
     },
     {[] {
        const std::size_t mask = filter.mask();
        take_old();
        filter.remove(pointer(kOld), mask);
        require(filter.maybe_holds(pointer(kNew)), "the filter misses a sample");
      },
      grow},
     [] { require(filter.maybe_holds(pointer(kNew)), "the filter misses a sample"); }},
};

}  // namespace

int main() {
  for (const Scenario& scenario : kScenarios) geiger::model::explore(scenario);
}
