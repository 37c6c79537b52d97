// Rows of code, for functions of musl as gcc 12 compiled them, and for what looks like code.
#include "runtime/unwind/code.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/unwind/test_memory.h"

namespace geiger::unwind {
namespace {

using Bytes = std::vector<std::uint8_t>;

const Bytes kStrdup = {0x41, 0x54, 0x55, 0x48, 0x89, 0xfd, 0x48, 0x83, 0xec, 0x08, 0xe8,
                       0x31, 0x02, 0x00, 0x00, 0x4c, 0x8d, 0x60, 0x01, 0x4c, 0x89, 0xe7,
                       0xe8, 0xc5, 0xf1, 0xfa, 0xff, 0x48, 0x85, 0xc0, 0x74, 0x18, 0x48,
                       0x83, 0xc4, 0x08, 0x4c, 0x89, 0xe2, 0x48, 0x89, 0xee, 0x48, 0x89,
                       0xc7, 0x5d, 0x41, 0x5c, 0xe9, 0xe5, 0x17, 0x01, 0x00, 0x0f, 0x1f,
                       0x00, 0x48, 0x83, 0xc4, 0x08, 0x31, 0xc0, 0x5d, 0x41, 0x5c, 0xc3};
constexpr std::uint64_t kAfterMalloc = 0x1b;

const Bytes kOpendir = {0x53, 0xbe, 0x00, 0x00, 0x09, 0x00, 0x31, 0xc0, 0xe8, 0xe3, 0x12, 0x00,
                        0x00, 0x45, 0x31, 0xc0, 0x85, 0xc0, 0x78, 0x1c, 0xbe, 0x18, 0x08, 0x00,
                        0x00, 0xbf, 0x01, 0x00, 0x00, 0x00, 0x89, 0xc3, 0xe8, 0x7b, 0xa9, 0xff,
                        0xff, 0x49, 0x89, 0xc0, 0x48, 0x85, 0xc0, 0x74, 0x0b, 0x89, 0x58, 0x08,
                        0x4c, 0x89, 0xc0, 0x5b, 0xc3, 0x0f, 0x1f, 0x00, 0x48, 0x63, 0xfb, 0xb8,
                        0x03, 0x00, 0x00, 0x00, 0x0f, 0x05, 0xeb, 0xec};
constexpr std::uint64_t kAfterCalloc = 0x25;

/// Code at the end of readable memory.
class Code {
 public:
  explicit Code(const Bytes& bytes) : copy_(bytes.data(), bytes.size()) {}

  [[nodiscard]] bool find(std::uint64_t offset, bool is_after_call, FoundRow& found) const {
    return find_row_in_code(copy_.range(), address_of(copy_.begin()) + offset, is_after_call,
                            found);
  }
  [[nodiscard]] bool has_row(std::uint64_t offset, bool is_after_call = true) const {
    FoundRow found;
    return find(offset, is_after_call, found);
  }
  [[nodiscard]] bool ends_with_call() const {
    return machine::is_behind_call(copy_.range(), address_of(copy_.range().end));
  }

 private:
  FencedCopy copy_;
};

void expect_saved(const Row& row, Slot slot, std::int32_t offset) {
  EXPECT_EQ(row[slot].kind, Place::Kind::kAt);
  EXPECT_EQ(row[slot].base, dwarf::kCfa);
  EXPECT_EQ(row[slot].offset, offset);
}

TEST(CodeRow, OfStrdupAfterItsCall) {
  FoundRow found;
  ASSERT_TRUE(Code(kStrdup).find(kAfterMalloc, true, found));
  EXPECT_EQ(found.row.cfa.base, dwarf::kStackPointer);
  EXPECT_EQ(found.row.cfa.offset, 32);
  expect_saved(found.row, Slot::kReturnAddress, -8);
  expect_saved(found.row, Slot::kR12, -16);
  expect_saved(found.row, Slot::kFramePointer, -24);
  EXPECT_EQ(found.row[Slot::kRbx].kind, Place::Kind::kSame);
}

TEST(CodeRow, OfOpendirAfterItsCall) {
  FoundRow found;
  ASSERT_TRUE(Code(kOpendir).find(kAfterCalloc, true, found));
  EXPECT_EQ(found.row.cfa.offset, 16);
  expect_saved(found.row, Slot::kRbx, -16);
  EXPECT_EQ(found.row[Slot::kFramePointer].kind, Place::Kind::kSame);
}

// A signal may interrupt any instruction. What is pushed and popped again is as in this frame.
TEST(CodeRow, OfEveryInstructionOfAPrologue) {
  for (const auto& [offset, cfa] : {std::pair{0U, 8}, {2U, 16}, {3U, 24}, {10U, 32}}) {
    FoundRow found;
    ASSERT_TRUE(Code(kStrdup).find(offset, false, found)) << offset;
    EXPECT_EQ(found.row.cfa.offset, cfa);
    EXPECT_EQ(found.row[Slot::kFramePointer].kind,
              cfa < 24 ? Place::Kind::kSame : Place::Kind::kAt);
  }
}

// mov -8(%rbp), %rbx; leave; ret
TEST(CodeRow, OfAFrameWithAFramePointer) {
  FoundRow found;
  ASSERT_TRUE(Code({0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0xc3}).find(0, true, found));
  EXPECT_EQ(found.row.cfa.base, dwarf::kFramePointer);
  EXPECT_EQ(found.row.cfa.offset, 16);
  expect_saved(found.row, Slot::kFramePointer, -16);
  expect_saved(found.row, Slot::kRbx, -24);
}

// push $1; pop %rbp; pop %rbp; pop %rbx; add $8, %rsp; ret
TEST(CodeRow, IgnoresConstantsThatArePushedAndPopped) {
  FoundRow found;
  ASSERT_TRUE(
      Code({0x6a, 0x01, 0x5d, 0x5d, 0x5b, 0x48, 0x83, 0xc4, 0x08, 0xc3}).find(0, true, found));
  EXPECT_EQ(found.row.cfa.offset, 32);
  expect_saved(found.row, Slot::kFramePointer, -32);
}

TEST(CodeRow, IsNotThatOfTheFunctionAfterACallThatDoesNotReturn) {
  EXPECT_FALSE(Code(kOpendir).has_row(0));
  EXPECT_TRUE(Code(kOpendir).has_row(0, false));
  // push %rbp; mov %rsp, %rbp; leave; ret
  EXPECT_FALSE(Code({0x55, 0x48, 0x89, 0xe5, 0xc9, 0xc3}).has_row(0));
}

// je over the first of: add $8, %rsp; ret; add $N, %rsp; ret
TEST(CodeRow, NeedsReturnsThatAgree) {
  const auto code = [](std::uint8_t bytes) {
    return Code({0x74, 0x05, 0x48, 0x83, 0xc4, 0x08, 0xc3, 0x48, 0x83, 0xc4, bytes, 0xc3});
  };
  EXPECT_TRUE(code(0x08).has_row(0));
  EXPECT_FALSE(code(0x18).has_row(0));
}

TEST(CodeRow, IsNotFoundPastWhatIsNotUnderstood) {
  EXPECT_FALSE(Code({0xf4}).has_row(0, false));                    // hlt
  EXPECT_FALSE(Code({0xeb, 0xfe}).has_row(0, false));              // jmp to itself
  EXPECT_FALSE(Code({0xff, 0xe0}).has_row(0, false));              // jmp *%rax
  EXPECT_FALSE(Code({0xc5, 0xf8, 0x77, 0xc3}).has_row(0, false));  // vzeroupper
  EXPECT_FALSE(Code({0x48, 0x29, 0xc4, 0xc3}).has_row(0, false));  // sub %rax, %rsp
  EXPECT_FALSE(Code({0x50, 0xc3}).has_row(0, false));              // push %rax; ret
  EXPECT_FALSE(Code({0x66, 0x66, 0x66, 0x66, 0x66, 0xc3}).has_row(0, false));
  EXPECT_FALSE(Code({0x48, 0x83, 0xc4}).has_row(0, false));              // Cut off.
  EXPECT_FALSE(Code({0xe9, 0x00, 0x00, 0x00, 0x70}).has_row(0, false));  // jmp out of the code
}

TEST(CodeRow, NeverReadsPastTheCode) {
  for (const Bytes& whole : {kStrdup, kOpendir}) {
    for (std::size_t size = 1; size < whole.size(); ++size) {
      const Code code(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
      for (std::uint64_t at = 0; at <= size; ++at) (void)code.has_row(at, false);
      (void)code.ends_with_call();
    }
  }
}

TEST(Calls, AreKnownByTheirInstructions) {
  EXPECT_TRUE(Code({0xe8, 0x31, 0x02, 0x00, 0x00}).ends_with_call());
  EXPECT_TRUE(Code({0xff, 0xd0}).ends_with_call());                          // *%rax
  EXPECT_TRUE(Code({0x41, 0xff, 0xd4}).ends_with_call());                    // *%r12
  EXPECT_TRUE(Code({0xff, 0x50, 0x18}).ends_with_call());                    // *0x18(%rax)
  EXPECT_TRUE(Code({0xff, 0x54, 0x24, 0x08}).ends_with_call());              // *8(%rsp)
  EXPECT_TRUE(Code({0xff, 0x15, 0x00, 0x10, 0x00, 0x00}).ends_with_call());  // *0x1000(%rip)
  EXPECT_TRUE(Code({0xff, 0x94, 0xc4, 0x00, 0x10, 0x00, 0x00}).ends_with_call());
  EXPECT_FALSE(Code({0xff, 0xe0}).ends_with_call());                    // jmp *%rax
  EXPECT_FALSE(Code({0xe9, 0x31, 0x02, 0x00, 0x00}).ends_with_call());  // jmp
  EXPECT_FALSE(Code({0xe8, 0x31, 0x02, 0x00, 0x00, 0x90}).ends_with_call());
  EXPECT_FALSE(Code({0xc3}).ends_with_call());
}

}  // namespace
}  // namespace geiger::unwind
