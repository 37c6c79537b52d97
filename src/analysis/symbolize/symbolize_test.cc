// The whole way, on programs built here, against binutils.
#include "analysis/symbolize/symbolize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>

#include "analysis/symbolize/elf/test_programs.h"

namespace geiger::symbolize {
namespace {

using profile::Frame;
using profile::Recording;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string text_of(const Frames& frames) {
  std::string text;
  for (const Frame& frame : frames) {
    text += frame.function + " " + frame.file + ":" + std::to_string(frame.line) + "\n";
  }
  return text;
}

/// "run::{lambda#1}::operator()" of "run::{lambda(int)#1}::operator()(int) const".
std::string without_signature_of_lambda(const std::string& name) {
  static const std::regex kSignature(R"(\{lambda\([^)]*\)(#\d+\}::operator\(\)).*)");
  return std::regex_replace(name, kSignature, "{lambda$1");
}

/// Functions that DWARF has no linkage name for binutils gives without scope and
/// parameters; lambdas among them we give without those of the symbol table.
bool is_same_function(const std::string& ours, const std::string& theirs) {
  return ours.find(theirs) != std::string::npos || ours == without_signature_of_lambda(theirs);
}

/// With -flto binutils shows the unit's "<artificial>" for files in the table;
/// without a line it takes the file from the symbol table.
bool is_same_position(const Frame& ours, const Frame& theirs) {
  const bool has_file = theirs.line != 0 && !theirs.file.ends_with("<artificial>");
  return ours.line == theirs.line && (!has_file || ours.file == theirs.file);
}

/// For the first byte of an inlined call binutils may give the innermost frame the
/// name of the outermost one, though with the position of the inlined function.
bool has_outermost_name(const Frames& theirs, const Frames& ours) {
  const std::string& name = theirs.front().function;
  return is_same_function(ours.back().function, name.substr(0, name.find(" [clone")));
}

bool is_same(const Frames& ours, const Frames& theirs) {
  if (ours.size() != theirs.size()) return false;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!is_same_position(ours[i], theirs[i])) return false;
    if (is_same_function(ours[i].function, theirs[i].function)) continue;
    if (i != 0 || !has_outermost_name(theirs, ours)) return false;
  }
  return true;
}

/// Addresses whose frames binutils sees differently, with both readings.
std::vector<std::string> differences(const std::map<Address, Frames>& ours,
                                     const std::map<Address, Frames>& theirs) {
  std::vector<std::string> lines;
  for (const auto& [address, frames] : theirs) {
    if (frames.front().function == "??" || frames.front().file.empty()) continue;
    const Frames& own = ours.at(address);
    if (is_same(own, frames)) continue;
    lines.push_back(std::to_string(address) + "\nours\n" + text_of(own) + "binutils\n" +
                    text_of(frames));
  }
  return lines;
}

std::size_t count_inlined(const std::map<Address, Frames>& all) {
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const auto& entry) { return entry.second.size() > 1; }));
}

bool names(const Recording& recording, const std::string& function) {
  return std::any_of(recording.frames.begin(), recording.frames.end(),
                     [&](const Frame& frame) { return frame.function == function; });
}

class CompilerFlags : public testing::TestWithParam<const char*> {};

TEST_P(CompilerFlags, FramesAreThoseOfBinutils) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  ASSERT_TRUE(build_program(program, GetParam()));
  const std::vector<Address> addresses = code_addresses(program, 800);
  ASSERT_GT(addresses.size(), 300U);
  Recording recording = recording_of(program, addresses);
  const Outcome outcome = symbolize(recording, {});
  const auto ours = frames_by_address(recording);
  EXPECT_THAT(differences(ours, addr2line(program, addresses)), IsEmpty());
  EXPECT_EQ(outcome.resolved, addresses.size());
  EXPECT_THAT(outcome.hints, IsEmpty());
  const bool is_optimized = std::string(GetParam()).find("-O0") == std::string::npos;
  EXPECT_GE(count_inlined(ours), is_optimized ? 50U : 0U);
  EXPECT_TRUE(names(recording, "zoo::weigh(zoo::Cage const&)"));
}

INSTANTIATE_TEST_SUITE_P(Gcc, CompilerFlags,
                         testing::Values("-g -O2 -gdwarf-5", "-g -O2 -gdwarf-4", "-g -O2 -gdwarf-3",
                                         "-g -O0", "-g1 -O2", "-g -O3 -no-pie", "-g -O2 -gz",
                                         "-g -O2 -ffunction-sections -Wl,--gc-sections",
                                         "-g -O2 -flto"));

TEST(Symbolize, InlinedCallsShowTheirCallers) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  ASSERT_TRUE(build_program(program, "-g -O2"));
  Recording recording = recording_of(program, code_addresses(program, 2000));
  symbolize(recording, {});
  std::set<std::string> chains;
  for (const auto& [address, frames] : frames_by_address(recording)) {
    std::string chain;
    for (const Frame& frame : frames) {
      chain += frame.function.substr(0, frame.function.find('(')) + "<";
    }
    chains.insert(chain);
  }
  EXPECT_TRUE(chains.contains("zoo::Cage::twice<zoo::Cage::sum<zoo::weigh<"));
}

/// C libraries give functions private symbols by labels; readers know the others.
TEST(Symbolize, SourceNamesOfLabelledFunctionsAreShown) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  write_file(program + ".c",
             "int shown(int) __asm__(\"__GI_shown\");\n"
             "__attribute__((noinline)) int shown(int n) { return n + 1; }\n"
             "int main(int argc, char** argv) { return shown(argc) + !argv; }\n");
  ASSERT_TRUE(run("gcc -g -O1 -o " + program + " " + program + ".c"));
  Recording recording = recording_of(program, code_addresses(program, 1000));
  symbolize(recording, {});
  EXPECT_FALSE(names(recording, "__GI_shown"));
  const auto& frames = recording.frames;
  const auto shown = std::find_if(frames.begin(), frames.end(),
                                  [](const Frame& frame) { return frame.function == "shown"; });
  ASSERT_NE(shown, frames.end());
  EXPECT_EQ(shown->system_name, "__GI_shown");
}

/// binutils sees no inlined calls in .dwo files, but the code is the same.
TEST(Symbolize, SplitDwarfYieldsWhatPlainDwarfDoes) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  ASSERT_TRUE(build_program(program, "-g -O2"));
  const std::vector<Address> addresses = code_addresses(program, 800);
  Recording plain = recording_of(program, addresses);
  symbolize(plain, {});
  ASSERT_TRUE(build_program(program, "-g -O2 -gsplit-dwarf"));
  Recording split = recording_of(program, addresses);
  symbolize(split, {});
  const auto expected = frames_by_address(plain);
  for (const auto& [address, frames] : frames_by_address(split)) {
    EXPECT_EQ(text_of(frames), text_of(expected.at(address)));
  }
}

TEST(Symbolize, SplitDebugFileIsFoundByDebugLink) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  ASSERT_TRUE(build_program(program, "-g -O2 -Wl,--build-id=none"));
  const std::vector<Address> addresses = code_addresses(program, 400);
  const auto expected = addr2line(program, addresses);
  ASSERT_TRUE(run("cd " + directory.path("") + " && objcopy --only-keep-debug program p.debug" +
                  " && strip program && objcopy --add-gnu-debuglink=p.debug program"));
  Recording recording = recording_of(program, addresses);
  const Outcome outcome = symbolize(recording, {});
  EXPECT_THAT(differences(frames_by_address(recording), expected), IsEmpty());
  EXPECT_EQ(outcome.modules_without_debug_info, 0U);
}

// Only the time of the file says then that it may not be the one that ran.
TEST(Symbolize, WithoutABuildIdOnlyFilesThatDidNotChangeHaveNames) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  ASSERT_TRUE(build_program(program, "-g -O2 -Wl,--build-id=none"));
  Recording recording = recording_of(program, code_addresses(program, 400));
  ASSERT_EQ(recording.modules[0].build_id, "");
  recording.processes[0].start_realtime = 1;  // Long before.
  const Outcome refused = symbolize(recording, {});
  EXPECT_EQ(refused.resolved, 0U);
  EXPECT_THAT(refused.hints, ElementsAre(HasSubstr("no build id and was changed after")));
  recording.processes[0].start_realtime = ~Nanoseconds{0};
  Options again;
  again.refresh = true;
  EXPECT_GT(symbolize(recording, again).resolved, 0U);
}

/// A stripped program and its debug file as distributions install it.
class SplitProgram : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(build_program(program_, "-g -O2"));
    addresses_ = code_addresses(program_, 400);
    expected_ = addr2line(program_, addresses_);
    const std::string debug = build_id_path(directory_.path("debug"), build_id_of(program_));
    std::filesystem::create_directories(std::filesystem::path(debug).parent_path());
    ASSERT_TRUE(run("objcopy --only-keep-debug " + program_ + " " + debug));
    ASSERT_TRUE(run("strip " + program_));
    recording_ = recording_of(program_, addresses_);
    options_.debug_dirs = {directory_.path("debug")};
  }

  static std::string build_id_path(const std::string& root, const std::string& id) {
    return root + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
  }

  const ScratchDirectory directory_;
  const std::string program_ = directory_.path("program");
  std::vector<Address> addresses_;
  std::map<Address, Frames> expected_;
  Recording recording_;
  Options options_;
};

// As a debug file for a build that is gone: the name in the directory is not enough.
TEST_F(SplitProgram, ADebugFileOfAnotherBuildIsRefused) {
  const std::string other = directory_.path("other");
  ASSERT_TRUE(build_program(other, "-g -O1"));
  ASSERT_TRUE(run("objcopy --only-keep-debug " + other + " " +
                  build_id_path(directory_.path("debug"), build_id_of(program_))));
  std::filesystem::remove(program_);
  EXPECT_EQ(symbolize(recording_, options_).resolved, 0U);
}

TEST_F(SplitProgram, DebugFileIsFoundByBuildId) {
  const Outcome outcome = symbolize(recording_, options_);
  EXPECT_THAT(differences(frames_by_address(recording_), expected_), IsEmpty());
  EXPECT_THAT(outcome.hints, IsEmpty());
}

TEST_F(SplitProgram, DebugFileStandsInForALostProgram) {
  std::filesystem::remove(program_);
  const Outcome outcome = symbolize(recording_, options_);
  EXPECT_THAT(differences(frames_by_address(recording_), expected_), IsEmpty());
  EXPECT_EQ(outcome.unresolved, 0U);
}

TEST_F(SplitProgram, AnyFileWithItsBuildIdStandsIn) {
  const std::string kept = directory_.path("kept/deep");
  std::filesystem::create_directories(kept);
  std::filesystem::rename(
      build_id_path(directory_.path("debug"), build_id_of(recording_.modules[0].path)),
      kept + "/libcodec-1.2.so");
  write_file(kept + "/notes", "not an ELF file");
  options_ = {};
  add_files(directory_.path("kept"), options_.kept_files);
  Recording beside_it = recording_;
  EXPECT_THAT(symbolize(beside_it, options_).hints, IsEmpty());
  EXPECT_THAT(differences(frames_by_address(beside_it), expected_), IsEmpty());
  std::filesystem::remove(program_);
  EXPECT_THAT(symbolize(recording_, options_).hints, IsEmpty());
  EXPECT_THAT(differences(frames_by_address(recording_), expected_), IsEmpty());
}

TEST_F(SplitProgram, NothingLeftGivesModuleAndOffset) {
  std::filesystem::remove(program_);
  const Outcome outcome = symbolize(recording_, {});
  EXPECT_EQ(outcome.resolved, 0U);
  EXPECT_EQ(outcome.unresolved, addresses_.size());
  EXPECT_EQ(outcome.modules_without_debug_info, 1U);
  EXPECT_THAT(outcome.hints,
              ElementsAre(AllOf(HasSubstr("was not found"), HasSubstr("takes a kept copy"))));
  EXPECT_THAT(recording_.frames.front().function, testing::StartsWith("program+0x"));
  EXPECT_TRUE(recording_.is_symbolized);
}

TEST_F(SplitProgram, StrippedProgramHintsAtItsDebugInfo) {
  const Outcome outcome = symbolize(recording_, {});
  EXPECT_THAT(outcome.hints, ElementsAre(HasSubstr("no debug info for program (build id ")));
}

TEST_F(SplitProgram, AnotherBuildIsNotTaken) {
  ASSERT_TRUE(build_program(program_, "-g -O1"));
  const Outcome outcome = symbolize(recording_, {});
  EXPECT_EQ(outcome.resolved, 0U);
  EXPECT_THAT(outcome.hints, ElementsAre(AllOf(HasSubstr("changed since the run"),
                                               HasSubstr("takes a kept copy"))));
}

TEST_F(SplitProgram, DebuginfodIsAskedOnlyOnRequest) {
  const std::string id = build_id_of(program_);
  const std::string served = directory_.path("served/buildid/" + id);
  std::filesystem::create_directories(served);
  std::filesystem::copy_file(build_id_path(directory_.path("debug"), id), served + "/debuginfo");
  ::setenv("DEBUGINFOD_URLS", ("file://" + directory_.path("served/")).c_str(), 1);
  ::setenv("DEBUGINFOD_CACHE_PATH", directory_.path("cache").c_str(), 1);
  Recording silent = recording_;
  EXPECT_EQ(symbolize(silent, {}).modules_without_debug_info, 1U);
  Options asking;
  asking.use_debuginfod = true;
  EXPECT_EQ(symbolize(recording_, asking).modules_without_debug_info, 0U);
  EXPECT_THAT(differences(frames_by_address(recording_), expected_), IsEmpty());
  std::filesystem::remove(program_);
  Recording lost = recording_;
  for (profile::Location& location : lost.locations) location.frames.clear();
  EXPECT_EQ(symbolize(lost, asking).unresolved, 0U);
  ::unsetenv("DEBUGINFOD_URLS");
  ::unsetenv("DEBUGINFOD_CACHE_PATH");
}

TEST_F(SplitProgram, RefreshKeepsNamesThatAreNotFoundAgain) {
  symbolize(recording_, options_);
  const auto before = frames_by_address(recording_);
  std::filesystem::remove(program_);
  Options refresh;
  refresh.refresh = true;
  EXPECT_EQ(symbolize(recording_, refresh).resolved, 0U);
  EXPECT_EQ(text_of(frames_by_address(recording_).begin()->second),
            text_of(before.begin()->second));
}

TEST(Symbolize, SharedDwarfOfDwzIsFollowed) {
  const ScratchDirectory directory;
  const std::string a = directory.path("a");
  const std::string b = directory.path("b");
  ASSERT_TRUE(build_program(a, "-g -O2 -gdwarf-4"));
  ASSERT_TRUE(build_program(b, "-g -O2 -gdwarf-4 -no-pie"));
  const std::vector<Address> addresses = code_addresses(a, 400);
  const auto expected = addr2line(a, addresses);
  if (!run("dwz -m " + directory.path("shared") + " " + a + " " + b + " 2>/dev/null")) {
    GTEST_SKIP() << "no dwz on this machine";
  }
  Recording recording = recording_of(a, addresses);
  symbolize(recording, {});
  EXPECT_THAT(differences(frames_by_address(recording), expected), IsEmpty());
}

TEST(Symbolize, MiniDebugInfoNamesLocalFunctions) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  ASSERT_TRUE(build_program(program, "-O2"));
  const std::vector<Address> addresses = code_addresses(program, 400);
  Recording recording = recording_of(program, addresses);
  ASSERT_TRUE(run("cd " + directory.path("") +
                  " && cp program mini && strip -g mini && xz -k mini" +
                  " && strip program && objcopy --add-section .gnu_debugdata=mini.xz program"));
  const Outcome outcome = symbolize(recording, {});
  EXPECT_EQ(outcome.modules_without_debug_info, 1U);
  EXPECT_TRUE(names(recording, "zoo::weigh(zoo::Cage const&)"));
  EXPECT_TRUE(names(recording, "twice_again(int)"));
}

TEST(Symbolize, LibraryWithDynamicSymbolsOnly) {
  const std::string library = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "no " << library;
  const std::vector<Address> addresses = code_addresses(library, 2000);
  Recording recording = recording_of(library, addresses);
  Options options;
  options.debug_dirs = {};
  const Outcome outcome = symbolize(recording, options);
  EXPECT_EQ(outcome.resolved, addresses.size());
  EXPECT_TRUE(names(recording, "sqlite3_exec"));
}

TEST(Symbolize, SectionsThatZstdCompressedAreRead) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  ASSERT_TRUE(build_program(program, "-g -O2"));
  const std::vector<Address> addresses = code_addresses(program, 400);
  const auto expected = addr2line(program, addresses);
  if (!run("objcopy --compress-debug-sections=zstd " + program)) GTEST_SKIP() << "old binutils";
  Recording recording = recording_of(program, addresses);
  EXPECT_THAT(symbolize(recording, {}).hints, IsEmpty());
  EXPECT_THAT(differences(frames_by_address(recording), expected), IsEmpty());
}

/// Inlined calls have no names then, and are told by the function that they are in.
TEST(Symbolize, MissingSharedDebugInfoIsNamed) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  ASSERT_TRUE(build_program(program, "-g -O2"));
  const std::string dwz =
      "cd " + directory.path("") + " && cp program copy && dwz -m common.dbg program copy";
  if (!run(dwz)) GTEST_SKIP() << "no dwz";
  Recording recording = recording_of(program, code_addresses(program, 400));
  std::filesystem::remove(directory.path("common.dbg"));
  const Outcome outcome = symbolize(recording, {});
  EXPECT_EQ(outcome.unresolved, 0U);
  EXPECT_THAT(outcome.hints,
              ElementsAre(AllOf(HasSubstr("common.dbg was not found"), HasSubstr("dwz"))));
  EXPECT_FALSE(names(recording, "(nameless)"));
}

TEST(Symbolize, MissingSplitUnitsAreNamed) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  write_file(program + ".c",
             "int twice(int n) { return 2 * n; }\n"
             "int main(int c, char** v) { return twice(c); }\n");
  ASSERT_TRUE(run("cd " + directory.path("") +
                  " && gcc -g -O0 -gsplit-dwarf program.c -o program && rm *.dwo"));
  Recording recording = recording_of(program, code_addresses(program, 10));
  EXPECT_THAT(symbolize(recording, {}).hints,
              ElementsAre(AllOf(HasSubstr(".dwo was not found"), HasSubstr("-gsplit-dwarf"))));
  EXPECT_TRUE(names(recording, "twice"));
  write_file(program + ".dwp", "package");
  recording = recording_of(program, code_addresses(program, 10));
  EXPECT_THAT(symbolize(recording, {}).hints, ElementsAre(HasSubstr("program.dwp is not read")));
}

TEST(Symbolize, ResultIsRepeatable) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  ASSERT_TRUE(build_program(program, "-g -O2"));
  Recording first = recording_of(program, code_addresses(program, 300));
  Recording second = first;
  symbolize(first, {});
  symbolize(second, {});
  ASSERT_EQ(first.frames.size(), second.frames.size());
  EXPECT_EQ(encode_symbols(first, 0), encode_symbols(second, 0));
  for (std::size_t i = 0; i < first.locations.size(); ++i) {
    EXPECT_EQ(first.locations[i].frames, second.locations[i].frames);
  }
}

TEST(Symbolize, ProgressEndsAtTheTotal) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  ASSERT_TRUE(build_program(program, "-g -O2"));
  Recording recording = recording_of(program, code_addresses(program, 300));
  std::size_t last = 0;
  Options options;
  options.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_LE(last, done);
    EXPECT_EQ(total, recording.locations.size());
    last = done;
  };
  symbolize(recording, options);
  EXPECT_EQ(last, recording.locations.size());
}

TEST(Symbolize, OddModulesAreNamedByOffset) {
  const ScratchDirectory directory;
  ASSERT_TRUE(run("mkfifo " + directory.path("fifo")));
  write_file(directory.path("text"), "not an ELF file");
  write_file(directory.path("empty"), "");
  Recording recording;
  recording.processes.emplace_back();
  for (const std::string& path :
       {directory.path("fifo"), directory.path("text"), directory.path("empty"),
        std::string("/dev/zero"), std::string("[vdso]"), std::string(), std::string("/")}) {
    recording.modules.push_back({path, "", 0, 0, 0});
  }
  for (std::uint32_t i = 0; i < recording.modules.size(); ++i) {
    recording.locations.push_back({i, 0x1234, 0, {}});
  }
  recording.locations.push_back({profile::kNone, 0xabc, 0, {}});
  recording.locations.push_back({0, 0, 0, {}});
  const Outcome outcome = symbolize(recording, {});
  EXPECT_EQ(outcome.resolved, 0U);
  EXPECT_EQ(outcome.unresolved, recording.locations.size());
  EXPECT_EQ(frames_by_address(recording).at(0xabb).front().function, "0xabc");
  EXPECT_EQ(recording.frames[recording.locations[4].frames[0]].function, "[vdso]+0x1234");
}

TEST(Symbolize, JitFramesComeFromThePerfMap) {
  const ScratchDirectory directory;
  write_file(directory.path("perf-77.map"), "1000 20 py::run:/app/main.py\n");
  Recording recording;
  recording.processes.emplace_back();
  recording.processes[0].pid = 77;
  recording.locations.push_back({profile::kNone, 0x1010, 0, {}});
  recording.locations.push_back({profile::kNone, 0x2010, 0, {}});
  Options options;
  options.perf_map_dir = directory.path("");
  EXPECT_EQ(symbolize(recording, options).resolved, 1U);
  EXPECT_EQ(recording.frames[recording.locations[0].frames[0]].function, "py::run:/app/main.py");
}

TEST(Symbolize, ForkChildrenShareTheMapOfTheirParent) {
  const ScratchDirectory directory;
  write_file(directory.path("perf-77.map"), "1000 20 before\n2000 20 replaced\n");
  write_file(directory.path("perf-78.map"), "2000 20 after\n");
  Recording recording;
  recording.processes.emplace_back();
  recording.processes[0].pid = 78;
  recording.processes[0].parent_pid = 77;
  recording.processes[0].is_fork_child = true;
  recording.locations.push_back({profile::kNone, 0x1010, 0, {}});
  recording.locations.push_back({profile::kNone, 0x2010, 0, {}});
  Options options;
  options.perf_map_dir = directory.path("");
  EXPECT_EQ(symbolize(recording, options).resolved, 2U);
  EXPECT_EQ(recording.frames[recording.locations[0].frames[0]].function, "before");
  EXPECT_EQ(recording.frames[recording.locations[1].frames[0]].function, "after");
}

}  // namespace
}  // namespace geiger::symbolize
