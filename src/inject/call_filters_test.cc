#include "inject/call_filters.h"

#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cstddef>
#include <vector>

namespace geiger::inject {
namespace {

constexpr sock_filter kLoadNumber = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
constexpr sock_filter kLoadArgument =
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args));
constexpr sock_filter kAllow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
constexpr sock_filter kFail = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1);
constexpr sock_filter kTrap = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
constexpr sock_filter kKill = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD);
constexpr sock_filter equals(std::uint32_t value) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
}

FilterEffect effect(const std::vector<sock_filter>& filter) { return effect_of(filter, SYS_mmap); }

TEST(CallFilters, KillByNumber) {
  EXPECT_EQ(effect({kAllow}), FilterEffect::kAllows);
  EXPECT_EQ(effect({kFail}), FilterEffect::kAllows);
  EXPECT_EQ(effect({kKill}), FilterEffect::kEnds);
  EXPECT_EQ(effect({kTrap}), FilterEffect::kEnds);
  EXPECT_EQ(effect({kLoadNumber, equals(SYS_mmap), kAllow, kKill}), FilterEffect::kAllows);
  EXPECT_EQ(effect({kLoadNumber, equals(SYS_read), kAllow, kKill}), FilterEffect::kEnds);
}

TEST(CallFilters, ArgumentsAreNotKnown) {
  EXPECT_EQ(effect({kLoadArgument, equals(0), kAllow, kKill}), FilterEffect::kMayEnd);
  EXPECT_EQ(effect({kLoadArgument, equals(0), kTrap, kKill}), FilterEffect::kEnds);
  EXPECT_EQ(effect({kLoadArgument, equals(0), kAllow, kFail}), FilterEffect::kAllows);
  EXPECT_EQ(effect({kLoadArgument, BPF_STMT(BPF_ST, 3), kLoadNumber,
                    BPF_STMT(BPF_MISC | BPF_TAX, 0), BPF_STMT(BPF_LD | BPF_MEM, 3),
                    BPF_STMT(BPF_ALU | BPF_OR | BPF_X, 0), equals(SYS_mmap), kAllow, kKill}),
            FilterEffect::kMayEnd);
}

TEST(CallFilters, ComputesAndKeepsWords) {
  EXPECT_EQ(effect({kLoadNumber, BPF_STMT(BPF_ST, 3), kLoadArgument, BPF_STMT(BPF_LD | BPF_MEM, 3),
                    BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 5), equals(SYS_mmap + 5), kAllow, kKill}),
            FilterEffect::kAllows);
}

TEST(CallFilters, ManyArgumentsEnd) {
  std::vector<sock_filter> filter;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    filter.push_back(kLoadArgument);
    filter.push_back(equals(i));
    filter.push_back(kLoadNumber);
  }
  EXPECT_EQ(effect(filter), FilterEffect::kUnknown);  // Without an end.
  filter.push_back(kAllow);
  EXPECT_EQ(effect(filter), FilterEffect::kAllows);
}

}  // namespace
}  // namespace geiger::inject
