// The slots alone: placement of objects, accesses that trap, slots by address, the order of reuse,
// and all of that with threads.
#include "runtime/guard/slots.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace geiger::guard {
namespace {

Slot& placed(std::size_t bytes, Side side, std::size_t alignment = 0) {
  EXPECT_TRUE(open_slots());
  Slot* slot = take_slot();
  EXPECT_NE(slot, nullptr);
  EXPECT_TRUE(fits(bytes, alignment));
  EXPECT_TRUE(prepare(*slot, bytes, alignment, side));
  publish(*slot, nullptr);
  return *slot;
}

void end(Slot& slot) {
  ASSERT_TRUE(claim(slot));
  retire(slot);
}

/// Whether a child that makes the access dies of SIGSEGV.
template <typename Access>
bool traps(const Access& access) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    access();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

volatile char* byte_at(Address address) { return reinterpret_cast<volatile char*>(address); }

TEST(Slots, AccessesNextToTheObjectTrapOnItsSide) {
  for (const std::size_t bytes : {1UL, 16UL, 100UL, 4000UL, 4096UL}) {
    Slot& left = placed(bytes, Side::kLeft);
    EXPECT_TRUE(traps([&] { *byte_at(left.object - 1) = 1; }));
    EXPECT_FALSE(traps([&] { *byte_at(left.object + bytes - 1) = 1; }));
    end(left);
    Slot& right = placed(bytes, Side::kRight);
    const Address behind = (right.object + bytes + kLeastAlignment - 1) & ~(kLeastAlignment - 1);
    EXPECT_TRUE(traps([&] { static_cast<void>(*byte_at(behind)); })) << bytes;
    EXPECT_FALSE(traps([&] { *byte_at(right.object) = 1; }));
    end(right);
  }
}

TEST(Slots, ObjectsAtTheEndTrapAtTheFirstByteBehind) {
  for (const std::size_t bytes : {1UL, 20UL, 4095UL, 4096UL}) {
    Slot& slot = placed(bytes, Side::kEnd);
    EXPECT_TRUE(traps([&] { static_cast<void>(*byte_at(slot.object + bytes)); })) << bytes;
    EXPECT_FALSE(traps([&] { *byte_at(slot.object + bytes - 1) = 1; }));
    end(slot);
  }
  Slot& aligned = placed(40, Side::kEnd, 32);
  EXPECT_EQ(aligned.object % 32, 0U);
  end(aligned);
}

TEST(Slots, FreedObjectsTrap) {
  Slot& slot = placed(64, Side::kLeft);
  EXPECT_FALSE(traps([&] { *byte_at(slot.object) = 1; }));
  end(slot);
  EXPECT_TRUE(traps([&] { *byte_at(slot.object) = 1; }));
  EXPECT_TRUE(traps([&] { static_cast<void>(*byte_at(slot.object + 63)); }));
}

TEST(Slots, ObjectsAreAligned) {
  for (const std::size_t alignment : {1UL, 8UL, 16UL, 32UL, 256UL, 4096UL}) {
    for (const Side side : {Side::kLeft, Side::kRight}) {
      Slot& slot = placed(40, side, alignment);
      EXPECT_EQ(slot.object % std::max(alignment, kLeastAlignment), 0U);
      end(slot);
    }
  }
  EXPECT_FALSE(fits(4097, 0));
  EXPECT_FALSE(fits(8, 8192));
  EXPECT_FALSE(fits(0, 0));
}

TEST(Slots, WritesBesideTheObjectAreFound) {
  for (const Side side : {Side::kLeft, Side::kRight}) {
    for (const int offset : {-16, -1, 20, 25}) {
      Slot& slot = placed(20, side);
      const bool is_in_page = traps([&] { *byte_at(slot.object + offset) = 0; }) == false;
      if (!is_in_page) {
        end(slot);
        continue;
      }
      EXPECT_EQ(damage_of(slot), 0U);
      *byte_at(slot.object + offset) = 0;
      EXPECT_EQ(damage_of(slot), slot.object + offset);
      end(slot);
    }
  }
}

TEST(Slots, TheByteNearestToTheObjectIsTold) {
  Slot& slot = placed(64, Side::kLeft);
  memset(reinterpret_cast<void*>(slot.object + 70), 0, 100);
  EXPECT_EQ(damage_of(slot), slot.object + 70);
  *byte_at(slot.object + 64) = 0;
  EXPECT_EQ(damage_of(slot), slot.object + 64);
  end(slot);
  Slot& right = placed(64, Side::kRight);
  memset(reinterpret_cast<void*>(right.object - 100), 0, 50);
  EXPECT_EQ(damage_of(right), right.object - 51);
  end(right);
}

TEST(Slots, AnAddressBelongsToTheNearestObject) {
  Slot& first = placed(64, Side::kRight);
  Slot& second = placed(64, Side::kLeft);
  EXPECT_EQ(nearest_slot(first.object + 64), &first);
  EXPECT_EQ(nearest_slot(first.object + 64 + 4000), &second);
  EXPECT_EQ(nearest_slot(second.object - 1), &second);
  EXPECT_EQ(nearest_slot(second.object - 4096), &first);
  EXPECT_EQ(nearest_slot(1234), nullptr);
  EXPECT_EQ(slot_of(reinterpret_cast<void*>(first.object)), &first);
  EXPECT_EQ(slot_of(reinterpret_cast<void*>(first.object + 1)), nullptr);
  end(first);
  // Freed, but still remembered.
  EXPECT_EQ(slot_of(reinterpret_cast<void*>(first.object)), &first);
  EXPECT_EQ(nearest_slot(first.object + 64), &first);
  end(second);
}

TEST(Slots, OneThreadEndsAnObject) {
  Slot& slot = placed(64, Side::kLeft);
  EXPECT_TRUE(claim(slot));
  EXPECT_FALSE(claim(slot));
  restore(slot);
  EXPECT_TRUE(claim(slot));
  retire(slot);
  EXPECT_FALSE(claim(slot));
}

TEST(Slots, TheOneFreedFirstIsUsedFirstAgain) {
  std::vector<Slot*> order;
  for (std::size_t i = 0; i < kSlots; ++i) order.push_back(&placed(8, Side::kLeft));
  EXPECT_EQ(take_slot(), nullptr);
  for (Slot* slot : order) end(*slot);
  for (Slot* slot : order) {
    EXPECT_EQ(&placed(8, Side::kLeft), slot);
    end(*slot);
  }
}

TEST(Queue, EveryValueComesOutOnceInOrder) {
  auto queue = std::make_unique<Queue<8>>();
  std::uint32_t value = 0;
  EXPECT_FALSE(queue->pop(value));
  for (std::uint32_t round = 0; round < 100; ++round) {
    for (std::uint32_t i = 0; i < 8; ++i) EXPECT_TRUE(queue->push(round + i));
    EXPECT_FALSE(queue->push(0));
    for (std::uint32_t i = 0; i < 8; ++i) {
      EXPECT_TRUE(queue->pop(value));
      EXPECT_EQ(value, round + i);
    }
    EXPECT_FALSE(queue->pop(value));
  }
}

TEST(Slots, ThreadsNeverShareOne) {
  ASSERT_TRUE(open_slots());
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&failures, t] {
      for (int i = 0; i < 5000; ++i) {
        Slot* slot = take_slot();
        if (slot == nullptr || !prepare(*slot, sizeof(unsigned), 0, Side::kLeft)) {
          ++failures;
          continue;
        }
        publish(*slot, nullptr);
        auto* object = reinterpret_cast<volatile unsigned*>(slot->object);
        *object = t;
        if (i % 16 == 0) std::this_thread::yield();
        if (*object != t || damage_of(*slot) != 0 || !claim(*slot)) ++failures;
        retire(*slot);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace geiger::guard
