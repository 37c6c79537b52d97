// Names are defined for the whole process, so tests see those of earlier tests; the suite that uses
// up all ids must be last.
#include "runtime/capture/program/names.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/capture/image/image.h"

namespace geiger::capture {
namespace {

using trace::NameKind;

NameId define(NameKind kind, std::string_view text, std::uint32_t owner = 0) {
  return define_name(kind, owner, text.data(), text.size());
}

std::string text_of(NameId name) {
  const NamedThing thing = name_at(name);
  return thing.text == nullptr ? "" : std::string(thing.text, thing.bytes);
}

TEST(Names, AreDefinedOnce) {
  const NameId request = define(NameKind::kLabel, "request");
  ASSERT_NE(request, 0U);
  EXPECT_EQ(define(NameKind::kLabel, "request"), request);
  EXPECT_EQ(text_of(request), "request");
  EXPECT_EQ(name_at(request).kind, NameKind::kLabel);
}

TEST(Names, AreTheSameOnlyInKindAndOwner) {
  const NameId label = define(NameKind::kLabel, "Order");
  const NameId type = define(NameKind::kType, "Order");
  const NameId first = define(NameKind::kHeap, "Order", 1);
  const NameId second = define(NameKind::kHeap, "Order", 2);
  const NameId inner = define(NameKind::kLabel, "Order", label);
  const std::vector<NameId> all = {label, type, first, second, inner};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NE(all[i], 0U);
    EXPECT_EQ(text_of(all[i]), "Order");
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]);
  }
  EXPECT_EQ(name_at(second).owner, 2U);
  EXPECT_EQ(name_at(inner).owner, label);
  EXPECT_EQ(define(NameKind::kLabel, "Order", label), inner);
}

TEST(Names, KeepEveryByteOfATextOfAnyLength) {
  const std::string longest(kMaxNameBytes, 'x');
  EXPECT_EQ(text_of(define(NameKind::kType, longest)), longest);
  EXPECT_EQ(define(NameKind::kType, longest + "x"), 0U);
  EXPECT_EQ(define(NameKind::kType, ""), 0U);
  EXPECT_EQ(define_name(NameKind::kType, 0, nullptr, 3), 0U);
  const std::string with_nul("a\0b", 3);
  EXPECT_EQ(text_of(define(NameKind::kType, with_nul)), with_nul);
}

TEST(Names, NestSixteenDeep) {
  NameId label = 0;
  for (std::uint32_t i = 0; i < kMaxNesting; ++i) {
    label = define(NameKind::kLabel, "level " + std::to_string(i), label);
    ASSERT_NE(label, 0U) << i;
  }
  EXPECT_EQ(define(NameKind::kLabel, "one too deep", label), 0U);
}

TEST(Names, LieOnlyWithinLabels) {
  EXPECT_EQ(define(NameKind::kLabel, "in a type", define(NameKind::kType, "Order")), 0U);
  EXPECT_EQ(define(NameKind::kLabel, "in nothing", kMaxNames), 0U);
  EXPECT_EQ(define(NameKind::kLabel, "beyond all ids", 0xffffffff), 0U);
}

TEST(Names, OfUnknownIdsAreNone) {
  for (const NameId name : {NameId{0}, kMaxNames, kMaxNames + 1, NameId{0xffffffff}}) {
    EXPECT_EQ(name_at(name).text, nullptr);
  }
}

/// Writes the names into a trace in memory.
class Recorded : public ::testing::Test {
 protected:
  Recorded() : memory_(kBytes / 8) {
    image.segments.current.store(&image.segments.places[0], std::memory_order_relaxed);
    segment().writer.open_memory(memory_.data(), kBytes,
                                 {.seed = 1,
                                  .interval = 1024,
                                  .mode = 0,
                                  .start_monotonic = 1,
                                  .start_realtime = 1,
                                  .executable = "",
                                  .allocator = "",
                                  .runtime_version = "",
                                  .is_paused = false});
    segment().number = ++numbers_;
  }

  [[nodiscard]] static Segment& segment() { return current_segment(); }

  [[nodiscard]] const trace::NameRecord& at(trace::Ref ref) const {
    return *reinterpret_cast<const trace::NameRecord*>(&memory_[ref]);
  }
  [[nodiscard]] std::string text_at(trace::Ref ref) const {
    return {reinterpret_cast<const char*>(&at(ref) + 1), at(ref).text_bytes};
  }

 private:
  static constexpr Bytes kBytes = 1 << 16;
  static inline std::uint32_t numbers_ = 100;
  std::vector<std::uint64_t> memory_;
};

TEST_F(Recorded, AreWrittenOnceWithTheLabelsAroundThemBefore) {
  const NameId outer = define(NameKind::kLabel, "outer");
  const NameId inner = define(NameKind::kLabel, "inner", outer);
  const trace::Ref ref = ref_of_name(segment(), inner);
  ASSERT_NE(ref, 0U);
  EXPECT_EQ(text_at(ref), "inner");
  const trace::Ref around = at(ref).owner;
  EXPECT_LT(around, ref);
  EXPECT_EQ(text_at(around), "outer");
  EXPECT_EQ(at(around).owner, 0U);
  EXPECT_EQ(ref_of_name(segment(), inner), ref);
  EXPECT_EQ(ref_of_name(segment(), outer), around);
}

// A fork's child writes its own trace: the ids stay valid, the records are new.
TEST_F(Recorded, AreWrittenAnewInEverySegment) {
  const NameId name = define(NameKind::kHeap, "pool", 5);
  const trace::Ref first = ref_of_name(segment(), name);
  ++segment().number;
  const trace::Ref second = ref_of_name(segment(), name);
  EXPECT_GT(second, first);
  EXPECT_EQ(at(second).owner, 5U) << "the number of the heap";
  EXPECT_EQ(text_at(second), "pool");
}

TEST_F(Recorded, WithoutRoomThereIsNoReference) {
  const std::string longest(kMaxNameBytes, 'r');
  trace::Ref ref = 1;
  for (int i = 0; ref != 0 && i < 100; ++i) {
    const NameId name = define(NameKind::kType, longest.substr(0, 1000) + std::to_string(i));
    ASSERT_NE(name, 0U);
    ref = ref_of_name(segment(), name);
  }
  EXPECT_EQ(ref, 0U);
}

TEST_F(Recorded, NoMarkIsWrittenWhereNothingRecords) {
  EXPECT_FALSE(write_mark("warm", 4));
  EXPECT_FALSE(write_mark(nullptr, 0));
}

TEST(NamesUsedUp, AreRefusedAndStayKnown) {
  NameId last = 0;
  NameId name = 1;
  for (NameId i = 0; name != 0 && i <= kMaxNames; ++i) {
    name = define(NameKind::kType, "type " + std::to_string(i));
    if (name != 0) last = name;
  }
  EXPECT_EQ(name, 0U);
  EXPECT_EQ(last, kMaxNames);
  EXPECT_NE(define(NameKind::kType, "type 0"), 0U);
  EXPECT_EQ(define(NameKind::kType, "yet another"), 0U);
  EXPECT_EQ(text_of(kMaxNames).substr(0, 5), "type ");
}

}  // namespace
}  // namespace geiger::capture
