#include "analysis/symbolize/types/fresh_pointer.h"

#include <gtest/gtest.h>

#include <vector>

namespace geiger::symbolize {
namespace {

constexpr Address kStart = 0x1000;

PointerTrail follow(const std::vector<std::uint8_t>& code) {
  return follow_pointer(kStart, [&](Address address) {
    const bool is_inside = address >= kStart && address - kStart < code.size();
    return is_inside ? std::span(code).subspan(address - kStart) : std::span<const std::uint8_t>();
  });
}

TEST(FreshPointer, IsFoundInTheFirstArgument) {
  const PointerTrail trail = follow({0x48, 0x89, 0xc3,              // mov %rax,%rbx
                                     0x48, 0x89, 0xc7,              // mov %rax,%rdi
                                     0xe8, 0x00, 0x01, 0x00, 0x00,  // call
                                     0x48, 0x8d, 0x7b, 0x08,        // lea 0x8(%rbx),%rdi
                                     0xe8, 0x00, 0x02, 0x00, 0x00,  // call
                                     0xc3});
  ASSERT_EQ(trail.calls.size(), 2U);
  EXPECT_EQ(trail.calls[0].at, kStart + 6);
  EXPECT_EQ(trail.calls[0].target, kStart + 11 + 0x100);
  EXPECT_EQ(trail.calls[0].offset, 0);
  EXPECT_EQ(trail.calls[1].offset, 8);
  EXPECT_EQ(trail.places.front().registers[kRax], 0);
  EXPECT_FALSE(trail.places.front().registers[kRdi].has_value());
}

TEST(FreshPointer, LivesOnTheStack) {
  // The 4 bytes stored below it leave it alone.
  const PointerTrail trail = follow({0x48, 0x89, 0x45, 0xd8,        // mov %rax,-0x28(%rbp)
                                     0x31, 0xc0,                    // xor %eax,%eax
                                     0x89, 0x45, 0xd4,              // mov %eax,-0x2c(%rbp)
                                     0x48, 0x8b, 0x7d, 0xd8,        // mov -0x28(%rbp),%rdi
                                     0xe8, 0x00, 0x00, 0x00, 0x00,  // call
                                     0xc3});
  EXPECT_EQ(trail.calls.size(), 1U);
  const PointerTrail overwritten = follow({0x48, 0x89, 0x45, 0xd8,        // mov %rax,-0x28(%rbp)
                                           0x31, 0xc0,                    // xor %eax,%eax
                                           0x89, 0x45, 0xdc,              // mov %eax,-0x24(%rbp)
                                           0x48, 0x8b, 0x7d, 0xd8,        // mov -0x28(%rbp),%rdi
                                           0xe8, 0x00, 0x00, 0x00, 0x00,  // call
                                           0xc3});
  EXPECT_TRUE(overwritten.calls.empty());
}

TEST(FreshPointer, StaysWhereTheStackMoves) {
  const PointerTrail trail = follow({0x50,                          // push %rax
                                     0x48, 0x83, 0xec, 0x10,        // sub $0x10,%rsp
                                     0x48, 0x8b, 0x7c, 0x24, 0x10,  // mov 0x10(%rsp),%rdi
                                     0xe8, 0x00, 0x00, 0x00, 0x00,  // call
                                     0x48, 0x83, 0xc4, 0x10,        // add $0x10,%rsp
                                     0x5f,                          // pop %rdi
                                     0xe8, 0x00, 0x00, 0x00, 0x00,  // call
                                     0xc3});
  EXPECT_EQ(trail.calls.size(), 2U);
}

TEST(FreshPointer, DoesNotSurviveACallInARegisterThatCallsUse) {
  const PointerTrail trail = follow({0x48, 0x89, 0xc7,              // mov %rax,%rdi
                                     0xff, 0xd1,                    // call *%rcx
                                     0xe8, 0x00, 0x00, 0x00, 0x00,  // call
                                     0xc3});
  EXPECT_TRUE(trail.calls.empty());
  EXPECT_EQ(trail.places.size(), 2U);
}

TEST(FreshPointer, GoesBothWaysAndEnds) {
  const PointerTrail trail = follow({0x85, 0xc9,                    // test %ecx,%ecx
                                     0x74, 0x05,                    // je over the call
                                     0xe8, 0x00, 0x00, 0x00, 0x00,  // call, which takes rax
                                     0x48, 0x89, 0xc7,              // mov %rax,%rdi
                                     0xe8, 0x00, 0x00, 0x00, 0x00,  // call
                                     0xeb, 0xee});                  // back to the test
  EXPECT_EQ(trail.calls.size(), 1U);
  EXPECT_TRUE(follow({}).places.empty());
}

}  // namespace
}  // namespace geiger::symbolize
