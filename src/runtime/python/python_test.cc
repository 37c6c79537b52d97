// A fake interpreter in this process's memory: its frames are followed, merged and named, and
// implausible data is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/python/walk.h"
#include "runtime/unwind/modules.h"

namespace geiger::python {
namespace {

using testing::ElementsAre;

Address address_of(const void* object) { return reinterpret_cast<Address>(object); }

template <typename Value>
void put(std::vector<std::byte>& bytes, std::size_t at, Value value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// ------------------------------------------------------------------- layout ---

/// What 3.13 publishes, with these offsets by index of word.
std::vector<std::uint64_t> runtime_of(std::uint64_t version) {
  std::vector<std::uint64_t> words(128, 16);
  std::memcpy(words.data(), "xdebugpy", 8);
  words[1] = version;
  words[2] = 0;
  words[23] = 72;
  words[29] = 8;
  words[30] = 0;
  words[31] = 56;
  words[33] = 70;
  words[35] = 112;
  words[43] = 200;
  words[70] = 40;
  return words;
}

TEST(Layout, IsReadFromWhatTheInterpreterPublishes) {
  const auto words = runtime_of(0x030d00f0);
  Layout layout{};
  ASSERT_EQ(find_layout(0x030d00f0, 0, address_of(words.data()), layout), Known::kYes);
  EXPECT_EQ(layout.runs, Runs::kShim);
  EXPECT_EQ(layout.frame, 72);
  EXPECT_EQ(layout.instruction, 56);
  EXPECT_EQ(layout.file, 112);
  EXPECT_EQ(layout.bytecode, 200);
  EXPECT_EQ(layout.other_data, 56);
}

TEST(Layout, RefusesWhatItDoesNotKnow) {
  Layout layout{};
  auto words = runtime_of(0x030d00f0);
  const auto ask = [&](std::uint32_t version) {
    return find_layout(version, 0, address_of(words.data()), layout);
  };
  EXPECT_EQ(ask(0x030700f0), Known::kUnknownVersion);
  EXPECT_EQ(ask(0x030f00f0), Known::kUnknownVersion);
  EXPECT_EQ(ask(0), Known::kUnknownVersion);
  EXPECT_EQ(ask(0x030d01f0), Known::kImplausible) << "another version than it says itself";
  words[2] = 1;
  EXPECT_EQ(ask(0x030d00f0), Known::kFreeThreaded);
  words[2] = 0;
  words[35] = 1 << 20;
  EXPECT_EQ(ask(0x030d00f0), Known::kImplausible) << "no member lies there";
  words[0] = 0;
  EXPECT_EQ(ask(0x030d00f0), Known::kImplausible) << "no cookie";
}

TEST(Layout, AsksTheTypeOfCodeBefore313) {
  struct Member {
    const char* name;
    std::uint64_t type, offset, flags;
    const char* text;
  };
  const std::array<Member, 5> members{{{"co_firstlineno", 1, 72, 1, nullptr},
                                       {"co_filename", 6, 112, 1, nullptr},
                                       {"co_qualname", 6, 128, 1, nullptr},
                                       {"co_linetable", 6, 136, 1, nullptr},
                                       {nullptr, 0, 0, 0, nullptr}}};
  std::vector<std::byte> type(408);
  put(type, 32, std::uint64_t{184});
  put(type, 240, members.data());
  Layout layout{};
  ASSERT_EQ(find_layout(0x030b02f0, address_of(type.data()), 0, layout), Known::kYes);
  EXPECT_EQ(layout.first_line, 72);
  EXPECT_EQ(layout.name, 128);
  EXPECT_EQ(layout.bytecode, 184);
  EXPECT_EQ(find_layout(0x030a0df0, address_of(type.data()), 0, layout), Known::kImplausible)
      << "co_name is missing";
}

// --------------------------------------------------------------------- code ---

class Strings : public testing::Test {
 protected:
  /// A compact string: characters of `kind` bytes.
  Address text(unsigned kind, bool is_ascii, const std::vector<std::uint32_t>& characters,
               bool is_compact = true) {
    std::vector<std::byte>& bytes = objects_.emplace_back(80 + 4 * characters.size());
    put(bytes, 16, std::uint64_t{characters.size()});
    put(bytes, 32,
        std::uint32_t{kind << 2 | (is_compact ? 1U : 0U) << 5 | (is_ascii ? 1U : 0U) << 6});
    for (std::size_t i = 0; i < characters.size(); ++i) {
      std::memcpy(bytes.data() + (is_ascii ? 48 : 72) + i * kind, &characters[i], kind);
    }
    return address_of(bytes.data());
  }

  std::string copy(Address object, std::size_t room = 100) {
    std::string to(room, '?');
    is_cut_ = false;
    to.resize(copy_text(layout_, Memory(Trust::kDirect), object, to.data(), room, is_cut_));
    return to;
  }

  Layout layout_ = [] {
    Layout layout{};
    layout.ascii_data = 48;
    layout.other_data = 72;
    return layout;
  }();
  std::vector<std::vector<std::byte>> objects_ = [] {
    std::vector<std::vector<std::byte>> objects;
    objects.reserve(16);
    return objects;
  }();
  bool is_cut_ = false;
};

TEST_F(Strings, BecomeUtf8) {
  EXPECT_EQ(copy(text(1, true, {'a', '.', 'b'})), "a.b");
  EXPECT_EQ(copy(text(1, false, {'g', 0xf6, 0xdf})),
            "gö"
            "ß");
  EXPECT_EQ(copy(text(2, false, {0x43a, 0x20ac})), "к€");
  EXPECT_EQ(copy(text(4, false, {'x', 0x1f600})), "x\U0001f600");
  EXPECT_EQ(copy(text(1, true, {})), "");
}

TEST_F(Strings, AreCutAtACharacter) {
  const Address object = text(2, false, {0x20ac, 0x20ac, 0x20ac});
  EXPECT_EQ(copy(object, 8), "€€");
  EXPECT_TRUE(is_cut_);
  EXPECT_EQ(copy(object, 9), "€€€");
  EXPECT_FALSE(is_cut_);
}

TEST_F(Strings, OfOtherKindsHaveNoText) {
  EXPECT_EQ(copy(text(1, true, {'a'}, false)), "");
  EXPECT_EQ(copy(text(3, false, {'a'})), "");
  EXPECT_EQ(copy(8), "") << "no address";
}

TEST(Code, IsAnotherOneWhereAnyPartIs) {
  const Code code{.address = 4096, .first_line = 3, .file = 5000, .name = 6000, .lines = 7000};
  for (const Code& other : {Code{4096, 4, 5000, 6000, 7000}, Code{4096, 3, 5001, 6000, 7000},
                            Code{4096, 3, 5000, 6001, 7000}, Code{4096, 3, 5000, 6000, 7001},
                            Code{8192, 3, 5000, 6000, 7000}}) {
    EXPECT_NE(code.key(), other.key());
  }
  EXPECT_EQ(code.key(), Code(code).key());
}

// --------------------------------------------------------------------- walk ---

void* own = nullptr;
void* attached = nullptr;
int finalizing = 0;

/// Frames as in 3.12: code at 0, previous at 8, instruction at 56, owner at 70. The native stack is
/// `stack_`, which contains the shims.
class Walk : public testing::Test {
 protected:
  static constexpr std::size_t kFrameBytes = 80;
  static constexpr std::uint16_t kBytecode = 192;

  void SetUp() override {
    unwind::init();
    unwind::FoundModule found;
    ASSERT_TRUE(unwind::find_module(address_of(reinterpret_cast<void*>(&address_of)), found));
    interpreter_.module = found.id;
    interpreter_.start = address_of(reinterpret_cast<void*>(&address_of));
    interpreter_.version = 0x030c01f0;
    interpreter_.code_type = address_of(&code_type_);
    interpreter_.layout.runs = Runs::kShim;
    interpreter_.layout.frame = 72;
    interpreter_.layout.previous = 8;
    interpreter_.layout.instruction = 56;
    interpreter_.layout.owner = 70;
    interpreter_.layout.bytecode = kBytecode;
    interpreter_.own_state = [] { return own; };
    interpreter_.attached_state = [] { return attached; };
    interpreter_.is_finalizing = [] { return finalizing; };
    interpreter_.tried = 1000;
    own = attached = state_.data();
    finalizing = 0;
    frames_.reserve(16);
    codes_.reserve(16);
  }

  Address code() {
    std::vector<std::byte>& bytes = codes_.emplace_back(512);
    put(bytes, 8, address_of(&code_type_));
    return address_of(bytes.data());
  }

  /// Called by the frames that are made before it.
  Address frame(Address code, std::uint64_t instruction) {
    std::vector<std::byte>& bytes = frames_.emplace_back(kFrameBytes);
    put(bytes, 0, code);
    put(bytes, 56, code + kBytecode + 2 * instruction);
    return chain(address_of(bytes.data()));
  }

  Address shim(std::size_t word) {
    auto* bytes = reinterpret_cast<std::byte*>(&stack_[word]);
    bytes[70] = std::byte{3};
    return chain(address_of(bytes));
  }

  Address chain(Address frame) {
    std::memcpy(reinterpret_cast<void*>(frame + 8), &innermost_, sizeof innermost_);
    innermost_ = frame;
    put(state_, 72, frame);
    return frame;
  }

  Walked collect_all() {
    frames = {.frames = room_.data(), .capacity = room_.size()};
    return collect(interpreter_, native_, frames, trust_);
  }

  /// Native frames as their index, others as 100 + their instruction.
  std::vector<int> merged() {
    std::vector<int> all;
    merge(
        interpreter_, native_, frames, [&](std::size_t i) { all.push_back(static_cast<int>(i)); },
        [&](const Frame& frame) { all.push_back(100 + static_cast<int>(frame.offset)); });
    return all;
  }

  std::uint64_t code_type_ = 0;
  std::vector<std::byte> state_ = std::vector<std::byte>(256);
  std::array<std::uint64_t, 200> stack_{};
  std::array<std::uint64_t, 5> ips_{1, 2, 3, 4, 5};
  std::array<std::uint64_t, 5> sps_{address_of(&stack_[0]), address_of(&stack_[40]),
                                    address_of(&stack_[80]), address_of(&stack_[120]),
                                    address_of(&stack_[160])};
  unwind::Trace native_{
      .frames = ips_.data(), .capacity = 5, .count = 5, .stack_pointers = sps_.data()};
  std::vector<std::vector<std::byte>> frames_, codes_;
  Address innermost_ = 0;
  std::array<Frame, 8> room_{};
  Interpreter interpreter_{};
  Frames frames{};
  Trust trust_{};
};

TEST_F(Walk, PutsEachRunBehindTheNativeFrameThatRunsIt) {
  shim(130);
  frame(code(), 7);
  frame(code(), 6);
  shim(50);
  frame(code(), 5);
  ASSERT_EQ(collect_all(), Walked::kFrames);
  EXPECT_THAT(merged(), ElementsAre(0, 1, 105, 2, 3, 106, 107, 4));
}

TEST_F(Walk, GoesOnBehindFramesWithoutCode) {
  shim(50);
  frame(code(), 2);
  frames_.emplace_back(kFrameBytes);
  std::uint64_t none[64] = {};
  put(frames_.back(), 0, address_of(none));
  chain(address_of(frames_.back().data()));
  ASSERT_EQ(collect_all(), Walked::kFrames);
  EXPECT_THAT(merged(), ElementsAre(0, 1, 102, 2, 3, 4));
}

TEST_F(Walk, LeavesHandlersBeforeTheFirstRun) {
  shim(130);
  frame(code(), 1);
  native_.handler_frames = 2;
  ASSERT_EQ(collect_all(), Walked::kFrames);
  EXPECT_FALSE(frames.is_own);
  EXPECT_THAT(merged(), ElementsAre(0, 1, 2, 3, 101, 4));
}

TEST_F(Walk, EndsInACircle) {
  const Address first = frame(code(), 1);
  frame(code(), 2);
  std::memcpy(reinterpret_cast<void*>(first + 8), &innermost_, sizeof innermost_);
  EXPECT_EQ(collect_all(), Walked::kFrames);
  EXPECT_TRUE(frames.is_cut);
  EXPECT_EQ(frames.count, room_.size());
}

TEST_F(Walk, EndsInACircleOfFramesWithoutCode) {
  const Address first = shim(50);
  shim(90);
  std::memcpy(reinterpret_cast<void*>(first + 8), &innermost_, sizeof innermost_);
  EXPECT_EQ(collect_all(), Walked::kUnreadable);
}

TEST_F(Walk, CannotReadWhatIsNotMapped) {
  own = attached = nullptr;
  EXPECT_EQ(collect_all(), Walked::kFrames) << "the interpreter does not know the thread";
  EXPECT_EQ(frames.count, 0U);
  own = state_.data();
  put(state_, 72, Address{1} << 46);
  EXPECT_EQ(collect_all(), Walked::kUnreadable) << "not attached: the kernel is asked";
  finalizing = 1;
  EXPECT_EQ(collect_all(), Walked::kFrames) << "none at the interpreter's end";
}

TEST_F(Walk, RunsMustLieOnTheStackInOrder) {
  shim(50);
  frame(code(), 1);
  shim(130);
  frame(code(), 2);
  attached = nullptr;
  EXPECT_EQ(collect_all(), Walked::kUnreadable);
}

TEST_F(Walk, AnInterpreterWhoseFramesMakeNoSenseGetsNoMore) {
  interpreter_.tried = 0;
  put(state_, 72, Address{1} << 46);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(collect_all(), Walked::kUnreadable) << i;
  EXPECT_EQ(interpreter_.frames.load(), InterpretedFrames::kImplausible);
  EXPECT_EQ(collect_all(), Walked::kFrames);
  EXPECT_EQ(frames.count, 0U);
}

TEST_F(Walk, NeitherDoesOneWhoseFramesHaveNoCode) {
  interpreter_.tried = 0;
  shim(50);
  frame(code(), 1);
  interpreter_.layout.code = 16;
  for (int i = 0; i < 9; ++i) EXPECT_EQ(collect_all(), Walked::kUnreadable) << i;
  EXPECT_EQ(interpreter_.frames.load(), InterpretedFrames::kImplausible);
}

TEST_F(Walk, TheFirstWalksAreChecked) {
  interpreter_.tried = 0;
  shim(130);
  frame(code(), 1);
  frame(code(), 2);
  for (int i = 0; i < 40; ++i) ASSERT_EQ(collect_all(), Walked::kFrames);
  EXPECT_EQ(interpreter_.tried.load(), 0U) << "of one run: not every link was followed";
  EXPECT_EQ(interpreter_.tried_in_runs.load(), 32U);
  EXPECT_EQ(trust_, Trust::kDirect) << "within one run those that are needed were";
  EXPECT_EQ(frames.count, 2U);
  shim(50);
  frame(code(), 3);
  ASSERT_EQ(collect_all(), Walked::kFrames);
  EXPECT_EQ(trust_, Trust::kChecked) << "a second run";
  EXPECT_THAT(merged(), ElementsAre(0, 1, 103, 2, 3, 102, 101, 4));
  for (int i = 0; i < 40; ++i) ASSERT_EQ(collect_all(), Walked::kFrames);
  EXPECT_EQ(trust_, Trust::kDirect);
  EXPECT_EQ(interpreter_.tried.load(), 32U);
  EXPECT_EQ(interpreter_.failed.load(), 0U);
}

TEST_F(Walk, OneFrameAloneFollowsNoLink) {
  interpreter_.tried = 0;
  shim(130);
  frame(code(), 1);
  for (int i = 0; i < 40; ++i) ASSERT_EQ(collect_all(), Walked::kFrames);
  EXPECT_EQ(trust_, Trust::kChecked);
}

}  // namespace
}  // namespace geiger::python
