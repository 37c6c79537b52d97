#include "run/target_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/unique_fd.h"
#include "foreign/elf_facts.h"

namespace geiger::run {
namespace {

struct Sanitizer {
  std::string_view name;
  std::string_view soname;  // DT_NEEDED starts with it (gcc)
  std::string_view symbol;  // defined where it is linked statically (clang)
};
constexpr std::array kSanitizers{
    Sanitizer{"AddressSanitizer", "libasan.so", "__asan_init"},
    Sanitizer{"ThreadSanitizer", "libtsan.so", "__tsan_init"},
    Sanitizer{"MemorySanitizer", "libmsan.so", "__msan_init"},
    Sanitizer{"LeakSanitizer", "liblsan.so", "__lsan_init"},
};

struct Found {
  std::string path;
  int error = 0;  // errno of the search, 0 if it can be executed
};

Found probe(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {path, errno};
  if (!S_ISREG(status.st_mode)) return {path, EACCES};
  return {path, eaccess(path.c_str(), X_OK) == 0 ? 0 : errno};
}

// As execvp searches: the first executable file wins; a file that is there but
// may not be executed is remembered.
Found find_program(const std::string& program) {
  if (program.empty()) return {program, ENOENT};
  if (program.find('/') != std::string::npos) return probe(program);
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  Found best{program, ENOENT};
  while (true) {
    const auto colon = rest.find(':');
    const std::string directory(rest.substr(0, colon));
    Found here = probe(directory.empty() ? program : fmt::format("{}/{}", directory, program));
    if (here.error == 0) return here;
    if (here.error == EACCES) best = here;
    if (colon == std::string_view::npos) return best;
    rest.remove_prefix(colon + 1);
  }
}

// Endings of files that a compiler makes programs of.
constexpr std::array<std::string_view, 14> kSources{".c",   ".cc", ".cpp", ".cxx", ".h",
                                                    ".hpp", ".rs", ".go",  ".zig", ".f90",
                                                    ".d",   ".m",  ".s",   ".java"};

bool is_source(const std::string& path) {
  return std::ranges::any_of(kSources, [&](std::string_view end) { return path.ends_with(end); });
}

// The first bytes of a file.
std::string start_of(const std::string& path) {
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string start(256, '\0');
  const auto got = fd.is_open() ? read(fd.get(), start.data(), start.size()) : -1;
  start.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return start;
}

// The words of a "#!" line; empty if the file does not start with one.
std::vector<std::string> shebang(const std::string& path) {
  const std::string start = start_of(path);
  std::string_view line = start;
  if (!line.starts_with("#!")) return {};
  line = line.substr(2, line.find('\n') - 2);
  std::vector<std::string> words;
  while (true) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const auto end = std::min(line.find_first_of(" \t"), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::string reason_of(int error) {
  return fmt::format("{}", fmt::string_view(strerrordesc_np(error)));
}

// Why a file that is there cannot be executed, and what to do about it.
std::string refusal_of(const Found& found) {
  struct stat status {};
  if (stat(found.path.c_str(), &status) != 0) return reason_of(found.error);
  if (S_ISDIR(status.st_mode)) return "it is a directory";
  if (is_source(found.path)) return "it is source code: compile it, and run the program";
  if ((status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0) return reason_of(found.error);
  const auto words = shebang(found.path);
  if (!words.empty()) {
    return fmt::format("it is not executable: chmod +x, or run {} {}", fmt::join(words, " "),
                       found.path);
  }
  if (found.path.ends_with(".py")) {
    return fmt::format("it is not executable: run python3 {}", found.path);
  }
  return "it is not executable";
}

// Why no program of this name was found.
std::string absence_of(const std::string& program, int error) {
  if (program.empty() || program.find('/') != std::string::npos) return reason_of(error);
  const Found here = probe("./" + program);
  if (here.error == ENOENT) return reason_of(error);
  return fmt::format("not in PATH; in this directory: ./{}{}", program,
                     here.error == 0 ? "" : ", but " + refusal_of(here));
}

// The file whose allocations will be made: the program, or the interpreter of a
// script; after `env`, the program that env will look up.
std::string image_of(const std::string& path) {
  const auto words = shebang(path);
  if (words.empty()) return path;
  if (base::file_name_of(words[0]) != "env") return words[0];
  const auto program = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
    return !word.starts_with('-') && word.find('=') == std::string::npos;
  });
  return program == words.end() ? words[0] : find_program(*program).path;
}

// Which bit makes the loader distrust the environment, if one does. The kernel
// sets AT_SECURE when ids or capabilities are gained, so not for our own ids.
std::optional<std::string> privilege(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) return "setuid";
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid()) return "setgid";
  const bool has_capabilities = getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  if (has_capabilities && getuid() != 0) return "file capabilities";
  return std::nullopt;
}

std::optional<std::string> sanitizer_of(const foreign::ElfFacts& facts) {
  for (const auto& sanitizer : kSanitizers) {
    const bool is_needed =
        std::any_of(facts.needed.begin(), facts.needed.end(),
                    [&](const std::string& name) { return name.starts_with(sanitizer.soname); });
    const bool is_linked = std::find(facts.defined.begin(), facts.defined.end(),
                                     sanitizer.symbol) != facts.defined.end();
    if (is_needed || is_linked) return std::string(sanitizer.name);
  }
  return std::nullopt;
}

bool defines_malloc(const foreign::ElfFacts& facts) {
  return std::find(facts.defined.begin(), facts.defined.end(), "malloc") != facts.defined.end();
}

// A loader started by name ("ld.so PROGRAM") has no interpreter, yet preloads.
bool is_loader(const std::string& path) {
  const auto name = base::file_name_of(path);
  return name.starts_with("ld-linux") || name.starts_with("ld.so") || name.starts_with("ld-2.");
}

Obstacle obstacle_of_image(const foreign::ElfFacts& facts, const std::string& path,
                           std::string& detail) {
  if (!facts.is_elf) return Obstacle::kNone;  // a script without "#!": a shell runs it
  if (facts.machine != foreign::kOwnMachine && facts.machine != foreign::kNarrowMachine)
    return Obstacle::kForeign;
  if (!facts.is_64_bit) return Obstacle::k32Bit;
  if (const auto sanitizer = sanitizer_of(facts)) {
    detail = *sanitizer;
    return Obstacle::kSanitizer;
  }
  if (facts.interpreter.empty() && !is_loader(path)) {
    return facts.has_runtime ? Obstacle::kNone : Obstacle::kStatic;
  }
  if (defines_malloc(facts)) return Obstacle::kOwnMalloc;
  return Obstacle::kNone;
}

}  // namespace

bool TargetCheck::is_fatal() const {
  return obstacle == Obstacle::kNotFound || obstacle == Obstacle::kNotExecutable;
}

std::string TargetCheck::sentence() const {
  const auto& file = examined;
  switch (obstacle) {
    case Obstacle::kNone:
      return {};
    case Obstacle::kNotFound:
    case Obstacle::kNotExecutable:
      return fmt::format("cannot run '{}': {}", path, detail);
    case Obstacle::kStatic:
      return fmt::format("{} is statically linked, without the runtime: it runs unprofiled", file);
    case Obstacle::kPrivileged:
      return fmt::format("{} gains privileges ({}): the loader ignores LD_PRELOAD", file, detail);
    case Obstacle::kOwnMalloc:
      return fmt::format("{} contains its own malloc: its allocations are not visible", file);
    case Obstacle::kSanitizer:
      return fmt::format("{} is built with {}, which replaces malloc: it runs unprofiled", file,
                         detail);
    case Obstacle::k32Bit:
      return fmt::format("{} is a 32-bit program: it runs unprofiled", file);
    case Obstacle::kForeign:
      return fmt::format("{} is built for another processor: it runs unprofiled", file);
  }
  return {};
}

std::vector<std::string> TargetCheck::advice() const {
  if (obstacle != Obstacle::kStatic) return {};
  if (is_go) {
    return {
        "Go's runtime allocates by itself, without malloc: its own profiler (runtime/pprof) "
        "covers that; geiger records the C code of programs that are built with cgo"};
  }
  return {
      "to record it, add two lines to its CMakeLists.txt, or link it with what "
      "`pkg-config --libs geiger-static` prints:",
      "  find_package(geiger REQUIRED)",
      fmt::format("  target_link_libraries({} PRIVATE geiger::static)",
                  base::file_name_of(examined))};
}

std::string binary_of(const std::string& program) {
  const Found found = find_program(program);
  return found.error == 0 && start_of(found.path)
                                 .starts_with(
                                     "\x7f"
                                     "ELF")
             ? found.path
             : "";
}

TargetCheck check_target(const std::string& program) {
  TargetCheck check;
  const Found found = find_program(program);
  check.path = found.path;
  check.examined = found.path;
  if (found.error != 0) {
    const bool is_missing = found.error == ENOENT || found.error == ENOTDIR;
    check.obstacle = is_missing ? Obstacle::kNotFound : Obstacle::kNotExecutable;
    check.detail = is_missing ? absence_of(program, found.error) : refusal_of(found);
    return check;
  }
  const auto words = shebang(found.path);
  if (!words.empty() && probe(words[0]).error == ENOENT) {
    check.obstacle = Obstacle::kNotFound;
    check.detail = fmt::format("its interpreter '{}' does not exist", words[0]);
    return check;
  }
  check.examined = image_of(found.path);
  if (const auto gained = privilege(check.examined)) {
    check.obstacle = Obstacle::kPrivileged;
    check.detail = *gained;
    return check;
  }
  const auto facts = foreign::read_elf_facts(
      check.examined, {"malloc", "__asan_init", "__tsan_init", "__msan_init", "__lsan_init"});
  check.obstacle = obstacle_of_image(facts, check.examined, check.detail);
  check.is_go = facts.is_go;
  return check;
}

}  // namespace geiger::run
