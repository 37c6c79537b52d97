// Damaged and crafted files: they may cost names, never the caller.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <random>

#include "analysis/symbolize/elf/test_programs.h"
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

/// A debug link to a FIFO without a writer: opening it never ends.
TEST_F(HostileElf, SymbolsOutliveADebugFileThatHangs) {
  ASSERT_TRUE(run("cd " + directory_.path("") + " && mkdir .debug && cp program .debug/p.debug" +
                  " && strip -g program && objcopy --add-gnu-debuglink=.debug/p.debug program" +
                  " && rm .debug/p.debug && mkfifo .debug/p.debug"));
  options_.patience = std::chrono::seconds(2);
  const Outcome outcome = symbolize_with(read_file(program_));
  EXPECT_EQ(outcome.unresolved, 0U);
  EXPECT_THAT(outcome.hints,
              testing::ElementsAre(testing::StartsWith("debug info of " + program_ +
                                                       " could not be read (the process that "
                                                       "reads it stopped answering)")));
}

Worker::Work work_that(const std::function<void()>& act) {
  return [act](const ModuleJob& job, const std::function<void(std::size_t)>& progress) {
    progress(1);
    if (job.path == "bad") act();
    return ModuleAnswer{FileState::kSymbolsOnly, "abcd", {}, {}};
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

/// Why the worker ended while it worked on the second job with these limits.
std::string cause(const std::function<void()>& act, const JobLimits& limits) {
  const auto list = jobs();
  WorkerLimits all{kGiB, std::chrono::seconds(60)};
  all.of_job = [&](const ModuleJob&) { return limits; };
  Worker worker(list, work_that(act), all);
  EXPECT_EQ(answers_until_the_end(worker), 1U);
  return worker.end(list[1]);
}

constexpr JobLimits kGenerous{kGiB, std::chrono::seconds(60), std::chrono::seconds(60)};

TEST(WorkerTest, SaysWhyItEnded) {
  EXPECT_EQ(cause([] { std::raise(SIGSEGV); }, kGenerous),
            "the process that reads it crashed: Segmentation fault");
  EXPECT_EQ(cause([] { std::abort(); }, kGenerous), "the process that reads it crashed: Aborted");
  EXPECT_EQ(cause([] { ::_exit(1); }, kGenerous), "the process that reads it gave up");
  JobLimits tight = kGenerous;
  tight.processor = std::chrono::milliseconds(200);
  const auto spin = [] {
    for (volatile bool goes_on = true; goes_on;) continue;
  };
  EXPECT_EQ(cause(spin, tight), "it took more than 0.2 s of processor time");
  tight = kGenerous;
  tight.patience = std::chrono::milliseconds(200);
  EXPECT_EQ(cause([] { ::pause(); }, tight), "it took longer than 0.2 s");
}

TEST(WorkerTest, MemoryIsLimitedPerJob) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP();  // Its address space is the sanitizer's.
#endif
  JobLimits tight = kGenerous;
  tight.memory = 32 * kMiB;
  std::vector<std::string> pieces;
  const auto grow = [&] {
    for (;;) pieces.emplace_back(kMiB, 'x');
  };
  EXPECT_EQ(cause(grow, tight), "it took more than 32 MiB of memory");
}

/// What the reader of a file could do if the file took it over; each must be refused.
TEST(WorkerTest, MayOnlyRead) {
  const ScratchDirectory directory;
  const std::string kept = directory.path("kept");
  write_file(kept, "as it was");
  const std::string made = directory.path("made");
  const auto attack = [&] {
    const bool is_refused =
        ::socket(AF_INET, SOCK_STREAM, 0) < 0 && ::socket(AF_UNIX, SOCK_STREAM, 0) < 0 &&
        ::open(kept.c_str(), O_WRONLY) < 0 && ::open(made.c_str(), O_CREAT | O_RDWR, 0600) < 0 &&
        ::unlink(kept.c_str()) < 0 && ::rename(kept.c_str(), made.c_str()) < 0 &&
        ::truncate(kept.c_str(), 0) < 0 && ::symlink("/", made.c_str()) < 0 && ::fork() < 0 &&
        ::execl("/bin/true", "true", nullptr) < 0 && ::kill(::getppid(), SIGKILL) < 0 &&
        ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
            MAP_FAILED;
    const int readable = ::open(kept.c_str(), O_RDONLY);
    ::_exit(is_refused && readable >= 0 ? kOutOfMemory : 1);
  };
  // Its exit status shows it: if anything were allowed, it would differ.
  EXPECT_EQ(cause(attack, kGenerous), "it took more than 1024 MiB of memory");
  EXPECT_EQ(read_file(kept), "as it was");
}

TEST(WorkerTest, KeepsNoDescriptors) {
  const int kept = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto write = [kept] { ::_exit(::write(kept, "x", 1) < 0 ? kOutOfMemory : 1); };
  EXPECT_EQ(cause(write, {32 * kMiB, std::chrono::seconds(60), std::chrono::seconds(60)}),
            "it took more than 32 MiB of memory");
  ::close(kept);
}

TEST(JobLimits, FollowWhatThereIsToRead) {
  const JobLimits small = job_limits(kMiB, 100, true);
  const JobLimits again = job_limits(kMiB, 100, false);
  EXPECT_LT(small.memory, 512 * kMiB);
  EXPECT_LT((small.processor + again.processor).count(), 5000);
  EXPECT_EQ(job_limits(~Bytes{0}, ~std::size_t{0}, true),
            (JobLimits{4 * kGiB, std::chrono::minutes(5), std::chrono::minutes(5)}));
}

}  // namespace
}  // namespace geiger::symbolize
