// Files that the system does not let us read, write, lock or name: one line says what and
// where, and a trace that was there stays readable.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "analysis/ingest/ingest.h"
#include "analysis/ingest/seal.h"
#include "analysis/ingest/test_files.h"
#include "base/test_refusal.h"

namespace geiger::ingest {
namespace {

using base::Refusal;
using base::where_refused;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::ChunkType;
using trace::FileHeader;

constexpr int kSamples = 3;
/// Where the records of those end.
constexpr Bytes kEnd = trace::kRecordsOffset + 32 + kSamples * sizeof(trace::SampleRecord);
constexpr std::uint32_t kReadFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
constexpr std::uint32_t kListFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

struct RefusedFiles : ::testing::Test {
  TestFiles files;
  std::string path = files.write_killed("run/a.geiger", kSamples);
  std::string output = files.path("all.geiger");

  static Ingested read(const std::string& path, const Options& options = {}) {
    const std::string paths[] = {path};
    return read_recording(paths, options);
  }
  static FileOutcome store(const std::string& path, const std::string& names,
                           std::uint32_t image = 0) {
    const ImageChunks chunks[] = {{image, {{ChunkType::kSymbols, names}}}};
    return store_chunks(path, chunks);
  }
  FileOutcome pack(bool replaces = false) const {
    const std::string inputs[] = {path, path};
    return pack_images(inputs, output, replaces);
  }
  /// How `what` fails where a call is refused: "" where it does not.
  template <typename What>
  static std::string failure(std::initializer_list<Refusal> refusals, const What& what) {
    std::string text;
    const bool has_run = where_refused(refusals, [&] {
      if (const FileOutcome outcome = what(); !outcome.has_value()) text = outcome.failure().text();
    });
    EXPECT_TRUE(has_run);
    return text;
  }
  [[nodiscard]] std::vector<std::string> names_there() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(files.path(""))) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(RefusedFiles, PackingThatFailsLeavesNothingBehind) {
  const auto expect = [&](const Refusal& refusal, const char* text) {
    EXPECT_THAT(failure({refusal}, [&] { return pack(); }), HasSubstr(text));
    EXPECT_THAT(names_there(), ElementsAre("run"));
  };
  expect({SYS_fchmod, EPERM}, "its mode cannot be set: Operation not permitted");
  expect({SYS_write, ENOSPC, 2, trace::kControlOffset},
         "all.geiger: cannot be written: No space left on device");
  expect({SYS_write, EIO, 2, kEnd - trace::kControlOffset}, "all.geiger: cannot be written");
  expect({SYS_close, EDQUOT}, "all.geiger: cannot be written");
  expect({SYS_renameat2, EACCES}, "all.geiger: cannot be renamed: Permission denied");
  expect({SYS_pread64, EIO, 3, trace::kControlOffset},
         "a.geiger: offset 4096: cannot be read to its end");
  const std::string part = "all.geiger." + std::to_string(::getpid()) + ".part";
  files.write(part, {});
  EXPECT_THAT(pack().failure().text(), HasSubstr(part + ": cannot be created: File exists"));
  EXPECT_THAT(pack_images({}, output + "2", false).failure().text(), HasSubstr("nothing to pack"));
}

TEST_F(RefusedFiles, AChunkThatCannotBeCopiedFailsThePacking) {
  ASSERT_TRUE(store(path, "names").has_value());
  const auto chunk = static_cast<std::uint32_t>(std::filesystem::file_size(path) - kEnd);
  EXPECT_THAT(failure({{SYS_write, ENOSPC, 2, chunk}}, [&] { return pack(); }),
              HasSubstr("all.geiger: cannot be written"));
  ASSERT_TRUE(pack().has_value());
  // Replacing the symbols of a packed image fails in the same way.
  EXPECT_THAT(failure({{SYS_write, ENOSPC, 2, 40}}, [&] { return store(output, "other", 1); }),
              HasSubstr("all.geiger: cannot be written"));
  EXPECT_THAT(failure({{SYS_fchmod, EPERM}}, [&] { return store(output, "other", 1); }),
              HasSubstr("its mode cannot be set"));
  const Ingested result = read(output);
  EXPECT_FALSE(result.damaged);
  ASSERT_EQ(result.symbols.size(), 2U);
  EXPECT_EQ(result.symbols[1].bytes, "names");
}

TEST_F(RefusedFiles, AFileSystemThatCannotRenameSoIsGivenALink) {
  constexpr Refusal kNoSuchFlag{SYS_renameat2, EINVAL};
  EXPECT_EQ(failure({kNoSuchFlag}, [&] { return pack(); }), "");
  EXPECT_EQ(read(output).recording.samples.size(), 2U * kSamples);
  EXPECT_THAT(names_there(), ElementsAre("all.geiger", "run"));
  EXPECT_THAT(failure({kNoSuchFlag}, [&] { return pack(); }),
              HasSubstr("cannot be renamed: File exists"));
  EXPECT_THAT(failure({kNoSuchFlag, {SYS_renameat, EINVAL}}, [&] { return pack(true); }),
              HasSubstr("cannot be renamed: Invalid argument"));
  EXPECT_THAT(names_there(), ElementsAre("all.geiger", "run"));
}

TEST_F(RefusedFiles, SealingThatFailsLeavesTheTraceReadable) {
  const auto expect = [&](const Refusal& refusal, const char* text) {
    EXPECT_THAT(failure({refusal}, [&] { return store(path, "names"); }),
                AllOf(HasSubstr("a.geiger"), HasSubstr(text)));
    const Ingested result = read(path);
    EXPECT_FALSE(result.damaged) << text;
    EXPECT_EQ(result.recording.samples.size(), std::size_t{kSamples});
    EXPECT_THAT(result.symbols, IsEmpty());
  };
  constexpr std::uint32_t kChunk = sizeof(trace::ChunkHeader);
  expect({SYS_newfstatat, EIO, 3, AT_EMPTY_PATH}, "cannot be opened: Input/output error");
  expect({SYS_flock, EWOULDBLOCK}, "is being changed by another geiger");
  expect({SYS_pwrite64, EIO, 3, offsetof(FileHeader, image_bytes)}, "cannot be written");
  expect({SYS_pwrite64, EIO, 3, offsetof(FileHeader, sealed_end)}, "cannot be written");
  expect({SYS_ftruncate, EIO}, "cannot be cut to size");
  expect({SYS_pwrite64, ENOSPC, 3, kEnd + kChunk}, "cannot be written: No space left");
  expect({SYS_pwrite64, ENOSPC, 3, kEnd}, "cannot be written");
  ASSERT_TRUE(store(path, "names").has_value());
  // Further chunks are appended.
  const ImageChunks more[] = {{0, {{ChunkType::kObservations, "more"}}}};
  const auto add = [&] { return store_chunks(path, more); };
  EXPECT_THAT(failure({{SYS_pwrite64, EIO, 3, offsetof(FileHeader, image_bytes)}}, add),
              HasSubstr("cannot be written"));
  EXPECT_EQ(read(path).symbols.size(), 1U);
}

TEST_F(RefusedFiles, WhoChangesAFileKeepsOthersFromIt) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  EXPECT_THAT(seal_trace(path).failure().text(), HasSubstr("is being changed by another geiger"));
  ::close(descriptor);
  EXPECT_TRUE(seal_trace(path).has_value());
}

/// Runs `body` in a thread that may not do more than the owner of its files, also as root.
template <typename Body>
void as_owner(const Body& body) {
  std::thread([&] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    ASSERT_EQ(syscall(SYS_capget, &header, data), 0);
    data[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH | 1U << CAP_FOWNER);
    ASSERT_EQ(syscall(SYS_capset, &header, data), 0);
    body();
  }).join();
}

TEST_F(RefusedFiles, AModeThatAKilledSupervisorLeftIsTakenBack) {
  const auto mode_of = [](const std::string& name) {
    struct stat status {};
    EXPECT_EQ(::stat(name.c_str(), &status), 0);
    return status.st_mode & 0777;
  };
  ASSERT_EQ(::chmod(path.c_str(), trace::kGuardedFileMode), 0);
  as_owner([&] { EXPECT_TRUE(seal_trace(path).has_value()); });
  EXPECT_EQ(mode_of(path), trace::kFileMode);
  EXPECT_EQ(std::filesystem::file_size(path), kEnd);
  // A mode other than the trace's was set by the owner and is kept.
  const std::string other = files.write_killed("run/b.geiger", kSamples);
  for (const mode_t mode : {0440, 0000}) {
    ASSERT_EQ(::chmod(other.c_str(), mode), 0);
    as_owner(
        [&] { EXPECT_THAT(seal_trace(other).failure().text(), HasSubstr("Permission denied")); });
    EXPECT_EQ(mode_of(other), mode);
  }
}

TEST_F(RefusedFiles, ADirectoryThatCannotBeListedIsDamage) {
  const auto expect = [&](const Refusal& refusal, const char* text) {
    Ingested result;
    ASSERT_TRUE(where_refused({refusal}, [&] { result = read(files.path("run")); }));
    EXPECT_TRUE(result.damaged);
    EXPECT_THAT(result.recording.warnings, ElementsAre(AllOf(HasSubstr("run"), HasSubstr(text))));
  };
  expect({SYS_openat, EACCES, 2, kListFlags}, "cannot be read: Permission denied");
  expect({SYS_getdents64, EIO}, "cannot be read: Input/output error");
  // A file that is gone each time it is listed is not waited for without end.
  expect({SYS_openat, ENOENT, 2, kReadFlags}, "a.geiger: cannot be opened");
  expect({SYS_openat, EACCES, 2, kReadFlags}, "a.geiger: cannot be opened: Permission denied");
}

TEST_F(RefusedFiles, ADiskThatRefusesInTheMiddleIsACut) {
  Ingested result;
  ASSERT_TRUE(
      where_refused({{SYS_pread64, EIO, 3, trace::kRecordsOffset}}, [&] { result = read(path); }));
  EXPECT_TRUE(result.damaged);
  EXPECT_THAT(result.recording.warnings, ElementsAre(HasSubstr("offset 8192: the file is cut")));
  EXPECT_THAT(result.recording.samples, IsEmpty());
}

TEST_F(RefusedFiles, ProgressDoesNotNeedTheFilesSizes) {
  std::uint64_t done = 0, total = 0;
  Options options;
  options.progress = [&](std::uint64_t now, std::uint64_t all) { done = now, total = all; };
  ASSERT_TRUE(where_refused({{SYS_newfstatat, EACCES, 3, 0}}, [&] { read(path, options); }));
  EXPECT_EQ(done, kEnd - trace::kRecordsOffset);
  EXPECT_EQ(total, done);
  read(path, options);
  EXPECT_EQ(total, kMiB);
}

}  // namespace
}  // namespace geiger::ingest
