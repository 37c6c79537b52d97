// Rules as compilers of this machine write them.
#include "analysis/symbolize/dwarf/caller_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/symbolize/elf/test_programs.h"

namespace geiger::symbolize {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Key;
using testing::Not;

#if defined(__x86_64__)
constexpr int kStack = 7, kReturn = 16, kOnStack = 8, kSavedByCallee = 3;
#else
constexpr int kStack = 31, kReturn = 30, kOnStack = 0, kSavedByCallee = 19;
#endif
constexpr int kResult = 0;

class CallerRulesOf : public testing::Test {
 protected:
  [[nodiscard]] bool build(const std::string& flags) {
    write_file(program_ + ".c", R"(
int getppid(void);
int twice(int a) { return a + getppid() + getppid(); }
int main(void) { return twice(2); }
)");
    return run("cc -O2 -fno-inline -no-pie " + flags + " -o " + program_ + " " + program_ + ".c");
  }
  [[nodiscard]] Address address_of(const std::string& function) const {
    return std::stoull(output_of("nm " + program_ + " | grep ' T " + function + "$'"), nullptr, 16);
  }
  [[nodiscard]] std::map<Address, CallerRules> rules() const {
    return caller_rules(program_, {1, address_of("twice"), address_of("twice") + 12});
  }

  ScratchDirectory directory_;
  std::string program_ = directory_.path("program");
};

TEST_F(CallerRulesOf, AreTheCompilers) {
  ASSERT_TRUE(build("-g0"));
  const auto found = rules();
  ASSERT_THAT(found, Contains(Key(address_of("twice"))));
  const CallerRules& first = found.at(address_of("twice"));
  EXPECT_EQ(first.return_register, kReturn);
  EXPECT_EQ(first.base_register, kStack);
  EXPECT_EQ(first.base_offset, kOnStack);
  EXPECT_EQ(first.is_of_signal, 0);
  EXPECT_EQ(first.registers[kSavedByCallee].kind, RegisterRule::kSame);
  EXPECT_EQ(first.registers[kResult].kind, RegisterRule::kUndefined);
  EXPECT_EQ(first.registers[kStack].kind, RegisterRule::kComputed);
  // It keeps a sum in a register that is its caller's.
  const CallerRules& later = found.at(address_of("twice") + 12);
  EXPECT_EQ(later.registers[kSavedByCallee].kind, RegisterRule::kSaved);
  EXPECT_LT(later.registers[kSavedByCallee].value, 0);
  EXPECT_THAT(found, Not(Contains(Key(1U))));
}

TEST_F(CallerRulesOf, MayBeInDebugInfoAlone) {
  const std::string none = "-fno-asynchronous-unwind-tables -fno-unwind-tables ";
  ASSERT_TRUE(build(none + "-g"));
  EXPECT_THAT(rules(), Contains(Key(address_of("twice"))));
  ASSERT_TRUE(build(none + "-g0"));
  EXPECT_THAT(rules(), IsEmpty());
}

TEST_F(CallerRulesOf, FilesThatCannotBeReadHaveNone) {
  write_file(program_, "no program");
  EXPECT_THAT(caller_rules(program_, {1}), IsEmpty());
  EXPECT_THAT(function_places(directory_.path("missing"), {1}), IsEmpty());
}

TEST_F(CallerRulesOf, FunctionsHaveTheLineOfTheCall) {
  ASSERT_TRUE(build("-g"));
  const auto found = function_places(program_, {address_of("twice") + 1});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.begin()->second.function, "twice");
  EXPECT_EQ(found.begin()->second.file, program_ + ".c");
  EXPECT_EQ(found.begin()->second.line, 3U);
}

}  // namespace
}  // namespace geiger::symbolize
