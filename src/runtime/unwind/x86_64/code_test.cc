// Rows of code, for functions of musl as gcc 12 compiled them, and for what looks like code; and
// where functions start.
#include "runtime/unwind/code.h"

#include <gtest/gtest.h>
#include <ucontext.h>

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

// push %r12; push %rbp; sub $8, %rsp; two calls, of which the second does not return. Behind it,
// another function: push %rbx; call; pop %rbx; ret.
const Bytes kNeverReturns = {0x41, 0x54, 0x55, 0x48, 0x83, 0xec, 0x08, 0xe8, 0x01,
                             0x02, 0x00, 0x00, 0xe8, 0x01, 0x03, 0x00, 0x00, 0x53,
                             0xe8, 0x01, 0x04, 0x00, 0x00, 0x5b, 0xc3};
constexpr std::uint64_t kAfterFirstCall = 0x0c;
constexpr std::uint64_t kAfterLastCall = 0x11;
constexpr std::uint64_t kAfterCallOfOther = 0x17;

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
  [[nodiscard]] bool find_from(std::uint64_t start, std::uint64_t offset, FoundRow& found) const {
    const std::uint64_t begin = address_of(copy_.begin());
    return find_row_from_start(copy_.range(), begin + start, begin + offset, found);
  }
  [[nodiscard]] bool has_row_from(std::uint64_t start, std::uint64_t offset) const {
    FoundRow found;
    return find_from(start, offset, found);
  }
  /// The function that the last instruction calls, from the beginning of the code.
  [[nodiscard]] std::uint64_t called() const {
    const std::uint64_t end = address_of(copy_.range().end);
    return machine::called_before(copy_.range(), end) - address_of(copy_.begin());
  }
  [[nodiscard]] std::uint64_t last_address_taken(std::uint64_t low, std::uint64_t limit) const {
    return machine::last_address_taken(copy_.range(), low, limit);
  }
  [[nodiscard]] std::uint64_t begin() const { return address_of(copy_.begin()); }
  [[nodiscard]] ByteRange range() const { return copy_.range(); }
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

TEST(CodeRow, OfAFunctionThatNeverReturns) {
  const Code code(kNeverReturns);
  EXPECT_FALSE(code.has_row(kAfterFirstCall));
  for (const std::uint64_t at : {kAfterFirstCall, kAfterLastCall}) {
    FoundRow found;
    ASSERT_TRUE(code.find_from(0, at, found));
    EXPECT_EQ(found.row.cfa.base, dwarf::kStackPointer);
    EXPECT_EQ(found.row.cfa.offset, 32);
    expect_saved(found.row, Slot::kReturnAddress, -8);
    expect_saved(found.row, Slot::kR12, -16);
    expect_saved(found.row, Slot::kFramePointer, -24);
    EXPECT_EQ(found.row[Slot::kRbx].kind, Place::Kind::kSame);
  }
}

TEST(CodeRow, IsNotThatFromTheFunctionBefore) {
  const Code code(kNeverReturns);
  EXPECT_TRUE(code.has_row_from(kAfterLastCall, kAfterCallOfOther));
  EXPECT_FALSE(code.has_row_from(0, kAfterCallOfOther));
}

// sub $24, %rsp; mov %rbx, 8(%rsp); call
TEST(CodeRow, KnowsRegistersThatAreStored) {
  FoundRow found;
  ASSERT_TRUE(Code({0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x5c, 0x24, 0x08, 0xe8, 0, 0, 0, 0, 0xf4})
                  .find_from(0, 14, found));
  EXPECT_EQ(found.row.cfa.offset, 32);
  expect_saved(found.row, Slot::kRbx, -24);
}

// push %rbx; push %rbx, as an argument; sub $8, %rsp; call
TEST(CodeRow, HasTheFirstPlaceOfARegister) {
  FoundRow found;
  ASSERT_TRUE(
      Code({0x53, 0x53, 0x48, 0x83, 0xec, 0x08, 0xe8, 0, 0, 0, 0, 0xf4}).find_from(0, 11, found));
  expect_saved(found.row, Slot::kRbx, -16);
}

// push %rax; jmp behind the call; call
TEST(CodeRow, FromAStartIsOfTheCall) {
  EXPECT_FALSE(Code({0x50, 0xeb, 0x05, 0xe8, 0, 0, 0, 0, 0xf4}).has_row_from(0, 8));
  EXPECT_TRUE(Code({0x50, 0x75, 0x05, 0xe8, 0, 0, 0, 0, 0xf4}).has_row_from(0, 8));
}

TEST(CodeRow, NeverReadsPastTheCode) {
  for (const Bytes& whole : {kStrdup, kOpendir, kNeverReturns}) {
    for (std::size_t size = 1; size < whole.size(); ++size) {
      const Code code(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
      for (std::uint64_t at = 0; at <= size; ++at) (void)code.has_row(at, false);
      (void)code.has_row_from(0, size);
      (void)code.ends_with_call();
      (void)code.called();
      (void)code.last_address_taken(1, ~std::uint64_t{0});
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

TEST(Calls, HaveTheirFunctions) {
  EXPECT_EQ(Code({0x90, 0xe8, 0xfa, 0xff, 0xff, 0xff}).called(), 0U);
  const Code outside({0xe8, 0x31, 0x02, 0x00, 0x00});
  EXPECT_EQ(outside.called() + outside.begin(), 0U);
  const Code by_register({0x90, 0x90, 0x90, 0xff, 0xd0});
  EXPECT_EQ(by_register.called() + by_register.begin(), 0U);
}

TEST(Addresses, AreTaken) {
  // lea 0x10(%rip), %rdi
  const Code relative({0x48, 0x8d, 0x3d, 0x10, 0x00, 0x00, 0x00});
  const std::uint64_t target = relative.begin() + 0x17;
  EXPECT_EQ(relative.last_address_taken(1, target + 1), target);
  EXPECT_EQ(relative.last_address_taken(1, target), 1U);
  EXPECT_EQ(relative.last_address_taken(target + 1, ~std::uint64_t{0}), target + 1);
  EXPECT_EQ(Code({0x90, 0xbf, 0x45, 0x23, 0x41, 0}).last_address_taken(1, 0x500000), 0x412345U);
  EXPECT_EQ(Code({0xc7, 0xc7, 0x45, 0x23, 0x41, 0}).last_address_taken(1, 0x500000), 0x412345U);
  EXPECT_EQ(Code({0x90, 0x3d, 0x45, 0x23, 0x41, 0}).last_address_taken(1, 0x500000), 1U);  // cmp
}

TEST(CalledFunctions, AreThoseOfReturnAddressesOnce) {
  const Code code({0x90, 0xe8, 0xfa, 0xff, 0xff, 0xff, 0xe8, 0xf6, 0xff, 0xff, 0xff, 0xff, 0xd0});
  const std::uint64_t begin = code.begin();
  const std::uint64_t stack[] = {begin + 13, 0, begin + 6, begin + 5, begin + 11, begin + 6};
  const std::uint64_t sp = address_of(stack);
  StackMemory memory({sp, sp + sizeof stack}, 0);
  memory.enter(sp);
  CalledFunctions called(code.range(), sp, memory);
  std::uint64_t function = 0;
  ASSERT_TRUE(called.next(function));
  EXPECT_EQ(function, begin);
  ASSERT_TRUE(called.next(function));
  EXPECT_EQ(function, begin + 1);
  EXPECT_FALSE(called.next(function));
}

int of_pointer_in_data() { return 1; }
int (*volatile pointer_in_data)() = of_pointer_in_data;
[[gnu::noinline]] int of_pointer_in_code() { return 2; }

TEST(LastAddressTaken, IsOfDataAndOfCode) {
  int (*volatile in_code)() = of_pointer_in_code;
  for (int (*const function)() : {pointer_in_data, in_code}) {
    const auto start = reinterpret_cast<std::uint64_t>(function);
    FoundModule module;
    ASSERT_TRUE(find_module(start, module));
    EXPECT_EQ(last_address_taken(module, start + 1), start);
  }
}

// mov $15, %rax; syscall
const Bytes kReturnFromSignal = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0, 0, 0, 0, 0, 0, 0};

TEST(SignalReturn, IsKnownByItsInstructions) {
  const Code code(kReturnFromSignal);
  FoundRow found;
  EXPECT_FALSE(machine::find_signal_return(code.begin() - 1, false, found));
  EXPECT_FALSE(machine::find_signal_return(code.begin(), true, found));
  EXPECT_FALSE(machine::find_signal_return(address_of(code.range().end) - 3, true, found));
  ASSERT_TRUE(machine::find_signal_return(code.begin() - 1, true, found));
  EXPECT_TRUE(found.is_signal_frame);
  ucontext_t context{};
  const auto at = [&](const Place& place) {
    return reinterpret_cast<const char*>(&context) + place.offset;
  };
  const auto of = [&](int number) {
    return reinterpret_cast<const char*>(&context.uc_mcontext.gregs[number]);
  };
  EXPECT_EQ(reinterpret_cast<const char*>(&context) + found.row.cfa.offset, of(REG_RSP));
  EXPECT_EQ(at(found.row[Slot::kReturnAddress]), of(REG_RIP));
  EXPECT_EQ(at(found.row[Slot::kFramePointer]), of(REG_RBP));
  EXPECT_EQ(at(found.row[Slot::kRbx]), of(REG_RBX));
  EXPECT_EQ(at(found.row[Slot::kR12]), of(REG_R12));
  EXPECT_EQ(at(found.row[Slot::kR15]), of(REG_R15));
}

}  // namespace
}  // namespace geiger::unwind
