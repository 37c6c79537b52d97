// Bytes as assemblers make them.
#include <gtest/gtest.h>

#include <vector>

#include "analysis/symbolize/types/fresh_pointer.h"

namespace geiger::symbolize {
namespace {

using Kind = Instruction::Kind;
using Bytes8 = std::vector<std::uint8_t>;

Instruction decoded(const Bytes8& code) {
  const auto instruction = decode_x86(code, 0x1000);
  EXPECT_TRUE(instruction.has_value());
  return instruction.value_or(Instruction{});
}

std::uint16_t bit(std::uint8_t reg) { return static_cast<std::uint16_t>(1U << reg); }

TEST(X86Code, FollowsPointers) {
  const Instruction move = decoded({0x48, 0x89, 0xc3});  // mov %rax,%rbx
  EXPECT_EQ(move.kind, Kind::kMove);
  EXPECT_EQ(move.to, 3);
  EXPECT_EQ(move.from, kRax);
  const Instruction store = decoded({0x48, 0x89, 0x45, 0xd8});  // mov %rax,-0x28(%rbp)
  EXPECT_EQ(store.kind, Kind::kStore);
  EXPECT_EQ(store.memory.base, kRbp);
  EXPECT_EQ(store.memory.displacement, -0x28);
  EXPECT_TRUE(store.memory.is_plain);
  const Instruction load = decoded({0x48, 0x8b, 0x7c, 0x24, 0x08});  // mov 0x8(%rsp),%rdi
  EXPECT_EQ(load.kind, Kind::kLoad);
  EXPECT_EQ(load.to, kRdi);
  EXPECT_EQ(load.memory.base, kRsp);
  const Instruction lea = decoded({0x49, 0x8d, 0x7e, 0x08});  // lea 0x8(%r14),%rdi
  EXPECT_EQ(lea.kind, Kind::kLea);
  EXPECT_EQ(lea.memory.base, 14);
  const Instruction add = decoded({0x48, 0x83, 0xec, 0x28});  // sub $0x28,%rsp
  EXPECT_EQ(add.kind, Kind::kAdd);
  EXPECT_EQ(add.value, -0x28);
  EXPECT_EQ(decoded({0x41, 0x56}).from, 14);  // push %r14
  EXPECT_EQ(decoded({0x5b}).to, 3);           // pop %rbx
}

TEST(X86Code, KnowsWhereCodeGoesOn) {
  const Instruction call = decoded({0xe8, 0x10, 0x00, 0x00, 0x00});
  EXPECT_EQ(call.kind, Kind::kCall);
  EXPECT_EQ(call.target, 0x1015U);
  EXPECT_EQ(decoded({0xff, 0xd0}).target, 0U);       // call *%rax
  EXPECT_EQ(decoded({0xeb, 0xfe}).target, 0x1000U);  // jmp to itself
  EXPECT_EQ(decoded({0x0f, 0x84, 0x02, 0x00, 0x00, 0x00}).kind, Kind::kBranch);
  EXPECT_EQ(decoded({0xc3}).kind, Kind::kEnd);
}

TEST(X86Code, SeesWhatIsLost) {
  EXPECT_EQ(decoded({0x89, 0xc3}).changed, bit(3));        // mov %eax,%ebx: 32 bits are no copy
  EXPECT_EQ(decoded({0x31, 0xc0}).changed, bit(kRax));     // xor %eax,%eax
  EXPECT_EQ(decoded({0x0f, 0x44, 0xc1}).changed, bit(0));  // cmove %ecx,%eax
  EXPECT_EQ(decoded({0xf7, 0xf9}).changed, bit(kRax) | bit(kRdx));        // idiv %ecx
  EXPECT_EQ(decoded({0x66, 0x0f, 0xef, 0xc0}).changed, 0);                // pxor
  EXPECT_EQ(decoded({0xf2, 0x48, 0x0f, 0x2c, 0xc0}).changed, bit(kRax));  // cvttsd2si
  EXPECT_EQ(decoded({0x48, 0x39, 0xc3}).changed, 0);                      // cmp %rax,%rbx
  EXPECT_EQ(decoded({0x89, 0x45, 0xd4}).stored, 4);                       // mov %eax,-0x2c(%rbp)
  EXPECT_EQ(decoded({0x0f, 0x29, 0x04, 0x24}).stored, 16);                // movaps %xmm0,(%rsp)
  // push, an index, a segment: no plain operand.
  EXPECT_FALSE(decoded({0x48, 0x8b, 0x04, 0xc8}).memory.is_plain);        // mov (%rax,%rcx,8),%rax
  EXPECT_FALSE(decoded({0x64, 0x48, 0x8b, 0x45, 0x00}).memory.is_plain);  // mov %fs:0x0(%rbp),%rax
}

TEST(X86Code, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(decode_x86({}, 0).has_value());
  for (const Bytes8& code :
       {Bytes8{0x48}, Bytes8{0xe8, 0x10}, Bytes8{0xf3, 0x48, 0xab}, Bytes8{0x0f, 0x05},
        Bytes8{0x0f, 0xae, 0x20}, Bytes8{0xc9}, Bytes8(16, 0x66)}) {
    EXPECT_FALSE(decode_x86(code, 0).has_value()) << code.size();
  }
  // Every sequence of three bytes and zeros ends somewhere.
  for (unsigned i = 0; i < 1U << 24; i += 7) {
    const Bytes8 code{static_cast<std::uint8_t>(i),
                      static_cast<std::uint8_t>(i >> 8),
                      static_cast<std::uint8_t>(i >> 16),
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0};
    if (const auto one = decode_x86(code, 0)) {
      ASSERT_GT(one->length, 0);
      ASSERT_LE(one->length, 15);
    }
  }
}

}  // namespace
}  // namespace geiger::symbolize
