// Random calls against a model, with every assertion of the allocator on.
//
// GEIGER_MODEL_OPERATIONS sets their number.
#include <cstdlib>

#include "heap/census.h"
#include "heap/test_model.h"

namespace geiger::heap {
namespace {

long operations() {
  const char* const wanted = getenv("GEIGER_MODEL_OPERATIONS");
  return wanted != nullptr ? atol(wanted) : 1'000'000;
}

// Compares the objects' bytes as the program sees them with the live bytes of the census. This
// program's own containers use libc's malloc.
TEST(HeapModel, RandomCallsAndTheCensus) {
  Model model(1, 2000);
  const std::size_t before = take_census().live;
  for (long i = 0; i < operations(); ++i) {
    model.step();
    if (::testing::Test::HasFatalFailure()) return;
    if (model.next() % 20'000 == 0) model.free_half();
    if (i % 5000 != 0) continue;
    const Census census = take_census();
    ASSERT_EQ(census.sum(), census.mapped);
    ASSERT_EQ(census.live - before, model.block_bytes());
    if (i % 200'000 == 0) trim();
  }
  model.free_all();
  const Census census = take_census();
  EXPECT_EQ(census.live, before);
  EXPECT_EQ(census.large + census.huge, 0U);
}

// Everything freed and given back: only the segments with heaps stay mapped.
TEST(HeapModel, NothingStaysMapped) {
  Model model(2, 5000);
  for (int i = 0; i < 20'000; ++i) model.step();
  model.free_all();
  EXPECT_TRUE(trim());
  const Census census = take_census();
  EXPECT_EQ(census.listed + census.free + census.empty_dirty + census.cached, 0U);
  EXPECT_EQ(census.mapped, kSegmentBytes);
}

}  // namespace
}  // namespace geiger::heap
