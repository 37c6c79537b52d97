#include "inject/target.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace geiger::inject {
namespace {

constexpr const char* kStatus =
    "Name:\tx\nState:\tS (sleeping)\nTgid:\t77\nTracerPid:\t0\nUid:\t5\t5\t5\t5\n"
    "Gid:\t6\t7\t6\t6\nVmSize:\t 100 kB\nNSpid:\t77\t42\nSeccomp:\t0\n";
constexpr const char* kStat =
    "77 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21\n";

ProcessFacts facts_with(void (*change)(ProcessFacts&)) {
  ProcessFacts facts = *parse_facts(kStatus, kStat);
  facts.uid = geteuid();
  change(facts);
  return facts;
}

TEST(Target, FactsAreRead) {
  const auto facts = parse_facts(kStatus, kStat);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->name, "a) b");
  EXPECT_EQ(facts->state, 'S');
  EXPECT_EQ(facts->group, 77);
  EXPECT_EQ(facts->inner_pid, 42U);
  EXPECT_FALSE(facts->is_zombie());
  EXPECT_EQ(facts->uid, 5U);
  EXPECT_EQ(facts->gid, 7U);
  EXPECT_TRUE(facts->has_memory);
  EXPECT_EQ(facts->start, 4242U);
}

TEST(Target, ConfinementIsRead) {
  const std::string status = kStatus;
  const auto under = [&](const std::string& lines) {
    return parse_facts(status.substr(0, status.find("Seccomp")) + lines, kStat)->confinement;
  };
  EXPECT_EQ(under(""), Confinement());
  EXPECT_EQ(under("Seccomp:\t2\n"), (Confinement{2, 0}));
  EXPECT_EQ(under("Seccomp:\t2\nSeccomp_filters:\t3\n"), (Confinement{2, 3}));
}

TEST(Target, OtherTextsAreRefused) {
  EXPECT_FALSE(parse_facts("", kStat).has_value());
  EXPECT_FALSE(parse_facts(kStatus, "77 (a) S 1 2").has_value());
  EXPECT_FALSE(parse_facts(kStatus, "").has_value());
  EXPECT_FALSE(parse_facts("State:\nTgid:\nUid:\n", kStat).has_value());
  EXPECT_FALSE(parse_facts("State:\tS\nTgid:\t7\nUid:\t1\tx\n", kStat).has_value());
}

TEST(Target, ObstaclesAreSentences) {
  EXPECT_EQ(check_process(77, facts_with([](ProcessFacts&) {}), false).reason(), "");
  EXPECT_NE(check_process(77, std::nullopt, false).reason().find("no process 77"),
            std::string::npos);
  EXPECT_NE(check_process(0, std::nullopt, false).reason(), "");
  EXPECT_NE(check_process(78, facts_with([](ProcessFacts&) {}), false)
                .reason()
                .find("thread of process 77"),
            std::string::npos);
  const auto says = [](void (*change)(ProcessFacts&), const char* word) {
    return check_process(77, facts_with(change), false).reason().find(word) != std::string::npos;
  };
  EXPECT_TRUE(says([](ProcessFacts& facts) { facts.state = 'Z'; }, "zombie"));
  EXPECT_TRUE(says([](ProcessFacts& facts) { facts.has_memory = false; }, "kernel"));
  const auto traced = facts_with([](ProcessFacts& facts) { facts.tracer = 9; });
  EXPECT_NE(check_not_traced(77, traced).reason().find("traced by process 9"), std::string::npos);
  EXPECT_TRUE(says([](ProcessFacts& facts) { facts.confinement.mode = 2; }, "seccomp"));
}

TEST(Target, SeccompCanBeAllowed) {
  EXPECT_EQ(
      check_process(77, facts_with([](ProcessFacts& facts) { facts.confinement.mode = 2; }), true)
          .reason(),
      "");
}

TEST(Target, ThisProcessHasFacts) {
  const auto facts = facts_of(getpid());
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->group, getpid());
  EXPECT_EQ(facts->uid, geteuid());
  EXPECT_NE(check_process(getpid(), facts, false).reason(), "");
}

TEST(Target, HasEndedBeforeItIsWaitedFor) {
  EXPECT_FALSE(has_ended(getpid()));
  EXPECT_FALSE(has_ended(gettid()));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(has_ended(child));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(has_ended(child));
}

}  // namespace
}  // namespace geiger::inject
