// Each walker finds and names an invariant that was broken on purpose.
#include "runtime/capture/invariants.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/tables/filter.h"
#include "runtime/capture/test_recording.h"
#include "trace/writer.h"

namespace geiger::capture {
namespace {

using test::allocate;
using test::free_again;

class Invariants : public test::Recorded {
 protected:
  /// The invariant that the walkers report after `damage` in a recording process, "" if none.
  template <typename Damage>
  static bool finds(const std::string& wanted, const Damage& damage) {
    for (std::uint64_t number = 2; number < 40; ++number) allocate(number);
    for (std::uint64_t number = 2; number < 20; ++number) free_again(number);
    if (broken_invariant() != nullptr) return false;
    damage();
    const char* broken = broken_invariant();
    return wanted == (broken == nullptr ? "" : broken);
  }

  template <typename Damage>
  void expect(const std::string& wanted, const Damage& damage) {
    EXPECT_EQ(recorded("", [&] { return finds(wanted, damage) ? 0 : 1; }), 0) << wanted;
  }

  static trace::Ref ref_of_newest() {
    return static_cast<trace::Ref>(image.live.table.take(std::uint64_t{39} << 8));
  }
};

TEST_F(Invariants, Hold) {
  expect("", [] {});
}

TEST_F(Invariants, AreWalkedEverySoOften) {
  EXPECT_EQ(recorded("",
                     [] {
                       const std::uint64_t before = walks;
                       for (std::uint64_t i = 2; i < 2 + 2 * walk_every; ++i) allocate(i);
                       return walks == before + 2 ? 0 : 1;
                     }),
            0);
}

TEST_F(Invariants, OfTheFilter) {
  expect("filter: a slot counts other than its live samples and guarded objects",
         [] { filter.add(test::address_of(77)); });
  expect("filter: it does not hold a live sample",
         [] { filter.remove(test::address_of(39), filter.mask()); });
}

TEST_F(Invariants, OfTheLiveTable) {
  expect("live table: an entry refers to the sample of another address", [] {
    image.live.table.insert(std::uint64_t{77} << 8, live_value(current_segment(), ref_of_newest()));
  });
  expect("live table: an entry refers to no sample", [] {
    image.live.table.insert(std::uint64_t{77} << 8,
                            live_value(current_segment(), trace::kRecordsOffset / 8));
  });
}

TEST_F(Invariants, OfTheStackTable) {
  expect("stack table: a number refers to no stack",
         [] { current_segment().stacks.insert(77, trace::kRecordsOffset / 8); });
}

TEST_F(Invariants, OfTheTrace) {
  expect("trace: a record is not committed",
         [] { (void)trace::begin_record<trace::EpochRecord>(current_segment().writer, {}); });
  expect("trace: a free refers to no earlier sample", [] {
    trace::append<trace::FreeRecord>(current_segment().writer, {},
                                     [](trace::FreeRecord& record) { record.sample = 1024; });
  });
}

TEST_F(Invariants, OfTheCounter) {
  expect("counter: more is left than it was armed with", [] { exchange_countdown(kMiB); });
}

TEST_F(Invariants, EndTheProcessWithTheirName) {
  EXPECT_DEATH(
      {
        (void)directory_.attach();
        allocate(1);
        walk_every = 1;
        filter.add(test::address_of(77));
        allocate(2);
      },
      "filter: a slot counts other than its live samples and guarded objects");
}

}  // namespace
}  // namespace geiger::capture
