// Damaged and crafted files: they may cost names, never the caller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <random>

#include "analysis/symbolize/elf_fixture.h"
#include "analysis/symbolize/symbolize.h"
#include "analysis/symbolize/worker.h"

namespace geiger::symbolize {
namespace {

using profile::Recording;

class HostileElf : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(build_program(program_, "-g -O1"));
    bytes_ = read_file(program_);
    recording_ = recording_of(program_, code_addresses(program_, 100));
    recording_.modules[0].build_id.clear();
    options_.patience = std::chrono::seconds(20);
  }

  /// Symbolizes with `bytes` as the program; every location must get a frame.
  Outcome symbolize_with(const std::string& bytes) {
    write_file(program_, bytes);
    Recording recording = recording_;
    Outcome outcome = symbolize(recording, options_);
    EXPECT_EQ(outcome.resolved + outcome.unresolved, recording.locations.size());
    for (const profile::Location& location : recording.locations) {
      EXPECT_FALSE(location.frames.empty());
    }
    return outcome;
  }

  const ScratchDirectory directory_;
  const std::string program_ = directory_.path("program");
  std::string bytes_;
  Recording recording_;
  Options options_;
};

TEST_F(HostileElf, CutFiles) {
  for (std::size_t part = 0; part < 60; ++part) {
    symbolize_with(bytes_.substr(0, bytes_.size() * part / 60));
  }
}

TEST_F(HostileElf, MutatedAnywhere) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string mutant = bytes_;
    for (int change = 0; change < 1 << round % 9; ++change) {
      mutant[random() % mutant.size()] = static_cast<char>(random());
    }
    symbolize_with(mutant);
  }
}

/// The tables that libraries trust most: the ELF header and the section headers
/// at the end, and runs of 0xff, which become huge counts and offsets.
TEST_F(HostileElf, MutatedHeaders) {
  std::mt19937 random(2);
  for (int round = 0; round < 150; ++round) {
    std::string mutant = bytes_;
    const std::size_t section_headers = mutant.size() - 64 * 30;
    const bool is_front = round % 2 == 0;
    const std::size_t at = is_front ? 16 + random() % 600 : section_headers + random() % (64 * 30);
    const std::size_t length = 1 + random() % 8;
    const char value = round % 3 == 0 ? '\xff' : static_cast<char>(random());
    for (std::size_t i = 0; i < length && at + i < mutant.size(); ++i) mutant[at + i] = value;
    symbolize_with(mutant);
  }
}

/// DWARF only: past the code, before the symbol table.
TEST_F(HostileElf, MutatedDebugSections) {
  std::mt19937 random(3);
  const std::size_t first = bytes_.find("GCC: (");
  ASSERT_NE(first, std::string::npos);
  for (int round = 0; round < 300; ++round) {
    std::string mutant = bytes_;
    for (int change = 0; change < 1 + round % 40; ++change) {
      mutant[first + random() % (mutant.size() - first - 64 * 30)] = static_cast<char>(random());
    }
    symbolize_with(mutant);
  }
}

/// A debug link to a FIFO that nobody writes: opening it never ends.
TEST_F(HostileElf, SymbolsOutliveADebugFileThatHangs) {
  ASSERT_TRUE(run("cd " + directory_.path("") + " && mkdir .debug && cp program .debug/p.debug" +
                  " && strip -g program && objcopy --add-gnu-debuglink=.debug/p.debug program" +
                  " && rm .debug/p.debug && mkfifo .debug/p.debug"));
  options_.patience = std::chrono::seconds(2);
  const Outcome outcome = symbolize_with(read_file(program_));
  EXPECT_EQ(outcome.unresolved, 0U);
  EXPECT_THAT(outcome.hints, testing::ElementsAre(testing::HasSubstr("debug info cannot be read")));
}

Worker::Work work_that(const std::function<void()>& act) {
  return [act](const ModuleJob& job, const std::function<void(std::size_t)>& progress) {
    progress(1);
    if (job.path == "bad") act();
    return ModuleAnswer{Finding::kSymbolsOnly, "abcd", {}};
  };
}

std::vector<ModuleJob> jobs() { return {{"good", "", {}}, {"bad", "", {}}}; }

/// What the worker said in full before it ended.
std::size_t answers_until_the_end(Worker& worker) {
  std::size_t answers = 0;
  while (const auto message = worker.receive()) answers += message->answer.has_value();
  return answers;
}

TEST(WorkerTest, AnswersInOrder) {
  const auto list = jobs();
  Worker worker(list, work_that([] {}), {kGiB, std::chrono::seconds(60)});
  EXPECT_EQ(answers_until_the_end(worker), 2U);
}

TEST(WorkerTest, ACrashEndsOnlyTheWorker) {
  const auto list = jobs();
  Worker worker(list, work_that([] { std::raise(SIGSEGV); }), {kGiB, std::chrono::seconds(60)});
  EXPECT_EQ(answers_until_the_end(worker), 1U);
}

TEST(WorkerTest, AnExceptionEndsOnlyTheWorker) {
  const auto list = jobs();
  Worker worker(list, work_that([] { throw 1; }), {kGiB, std::chrono::seconds(60)});
  EXPECT_EQ(answers_until_the_end(worker), 1U);
}

TEST(WorkerTest, SilenceIsNotWaitedFor) {
  const auto list = jobs();
  Worker worker(list, work_that([] { ::pause(); }), {kGiB, std::chrono::milliseconds(200)});
  EXPECT_EQ(answers_until_the_end(worker), 1U);
}

TEST(WorkerTest, MemoryIsLimited) {
  const auto list = jobs();
  const auto grow = [] {
    for (;;) {
      // Touched, so that it counts, and in the end refused.
      char* const piece = static_cast<char*>(std::malloc(kMiB));
      if (piece == nullptr) std::abort();
      for (Bytes i = 0; i < kMiB; i += 4096) const_cast<volatile char*>(piece)[i] = 1;
    }
  };
  Worker worker(list, work_that(grow), {64 * kMiB, std::chrono::seconds(60)});
  EXPECT_EQ(answers_until_the_end(worker), 1U);
}

}  // namespace
}  // namespace geiger::symbolize
