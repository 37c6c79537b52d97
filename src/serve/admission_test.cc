#include "serve/admission.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <string>
#include <utility>

namespace geiger::serve {
namespace {

constexpr Peer kOne = 1000, kOther = 1001;

class AdmissionTest : public testing::Test {
 protected:
  void add(Peer peer, int times = 1) {
    for (int i = 0; i < times; ++i) {
      admission_.add({base::UniqueFd(eventfd(0, EFD_CLOEXEC)), peer});
    }
  }
  /// As a thread does; nothing if it would wait.
  std::optional<Peer> take() {
    if (!has_one()) return std::nullopt;
    return admission_.next()->peer;
  }
  bool is_signalled() {
    pollfd event{admission_.needed_descriptor(), POLLIN, 0};
    return poll(&event, 1, 0) == 1;
  }

  Admission admission_{4};

 private:
  /// Without a thread in next() every waiting connection is one too many.
  bool has_one() { return is_signalled(); }
};

TEST_F(AdmissionTest, ThreadsGoToThePeerThatHasFewest) {
  add(kOne, 3);
  add(kOther);
  EXPECT_EQ(take(), kOne) << "none has any: the first of them";
  EXPECT_EQ(take(), kOther) << "it came last, and has no thread yet";
  EXPECT_EQ(take(), kOne);
  EXPECT_EQ(take(), kOne);
  EXPECT_EQ(take(), std::nullopt);
}

TEST_F(AdmissionTest, NoneGivesWayUntilAThreadIsNeeded) {
  add(kOne);
  ASSERT_EQ(take(), kOne);
  const Admission::Waiting slow(admission_);
  EXPECT_FALSE(is_signalled());
  EXPECT_FALSE(admission_.gives_way(kOne));
}

TEST_F(AdmissionTest, OneGivesWayForEachThatWaits) {
  add(kOne, 3);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(take(), kOne);
  const Admission::Waiting first(admission_), second(admission_);
  add(kOther);
  EXPECT_TRUE(is_signalled());
  EXPECT_TRUE(admission_.gives_way(kOne));
  EXPECT_FALSE(is_signalled()) << "one is enough";
  EXPECT_FALSE(admission_.gives_way(kOne));
  admission_.leave(kOne, true);
  EXPECT_EQ(take(), kOther);
}

TEST_F(AdmissionTest, ThePeerWithMostThreadsGivesWayAlsoIfTheyAreBusyJustNow) {
  add(kOne, 2);
  add(kOther);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(take());
  const Admission::Waiting other(admission_);
  add(kOne);
  EXPECT_FALSE(admission_.gives_way(kOther));
  EXPECT_TRUE(admission_.gives_way(kOne));
}

TEST_F(AdmissionTest, TheOldestOfThePeerWithMostIsClosedWhereTooManyWait) {
  add(kOther);
  add(kOne, 100);
  int one = 0, other = 0;
  while (const auto peer = take()) ++(*peer == kOne ? one : other);
  EXPECT_EQ(one, 3);
  EXPECT_EQ(other, 1);
  EXPECT_FALSE(admission_.drop_one());
}

TEST_F(AdmissionTest, MemoryIsNeededToo) {
  add(kOne);
  ASSERT_EQ(take(), kOne);
  EXPECT_FALSE(admission_.wait_for_leave(std::chrono::milliseconds(0))) << "none is slow";
  const Admission::Waiting slow(admission_);
  {
    const Admission::Need need(admission_);
    EXPECT_TRUE(is_signalled());
    EXPECT_TRUE(admission_.wait_for_leave(std::chrono::milliseconds(0)));
    EXPECT_TRUE(admission_.gives_way(kOne));
  }
  admission_.leave(kOne, true);
  EXPECT_FALSE(is_signalled());
}

TEST_F(AdmissionTest, AtTheEndAllGiveWayAndWhoWaitsIsServed) {
  add(kOne, 2);
  ASSERT_EQ(take(), kOne);
  const Admission::Waiting slow(admission_);
  admission_.end();
  EXPECT_TRUE(admission_.gives_way(kOne));
  admission_.leave(kOne, true);
  EXPECT_EQ(admission_.next()->peer, kOne);
  EXPECT_FALSE(admission_.next());
}

}  // namespace
}  // namespace geiger::serve
