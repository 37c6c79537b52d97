#include "run/allocator_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "base/unique_fd.h"
#include "foreign/elf_facts.h"
#include "run/environment.h"

namespace geiger::run {
namespace {

namespace fs = std::filesystem;

struct Known {
  std::string_view name;
  std::array<std::string_view, 2> files;  ///< Up to the version; the first is preferred.
  std::string_view package;               ///< Of Debian.
};
constexpr std::array kKnown{
    Known{"mimalloc", {"libmimalloc.so"}, "libmimalloc2.0"},
    Known{"jemalloc", {"libjemalloc.so"}, "libjemalloc2"},
    Known{"tcmalloc", {"libtcmalloc_minimal.so", "libtcmalloc.so"}, "libtcmalloc-minimal4"},
};

/// geiger's own, and by which name the runtime finds its interface (heap/listener.h).
constexpr const char* kOwn = "geiger";
constexpr const char* kListen = "geiger_heap_listen_v1";

/// Where a loader of this processor searches, what was installed by hand first.
std::vector<fs::path> library_folders() {
  std::vector<fs::path> folders;
  const char* given = getenv("LD_LIBRARY_PATH");
  for (std::string_view rest = given != nullptr ? given : ""; !rest.empty();) {
    const std::string_view folder = base::take_part(rest, ':');
    if (!folder.empty()) folders.emplace_back(folder);
  }
  for (const char* prefix : {"/usr/local/", "/usr/", "/"}) {
    folders.push_back(fs::path(prefix) / GEIGER_LIB_TOKEN);
    folders.push_back(fs::path(prefix) / "lib64");
    folders.push_back(fs::path(prefix) / "lib");
  }
  return folders;
}

/// "libjemalloc.so" and "libjemalloc.so.2" of "libjemalloc.so".
bool is_version_of(std::string_view file, std::string_view name) {
  return file.starts_with(name) && (file.size() == name.size() || file[name.size()] == '.');
}

/// Fails if the file is not an allocator.
base::Outcome<void> check_allocator(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) {
    return base::Failure{
        fmt::format("cannot read {}: {}", path, std::generic_category().message(errno))};
  }
  const foreign::ElfFacts facts = foreign::read_elf_facts(path, {"malloc", "free"});
  if (!facts.is_elf) return base::Failure{path + " is not a shared library"};
  if (!facts.is_64_bit || facts.machine != foreign::kOwnMachine) {
    return base::Failure{path + " is a library for another kind of processor"};
  }
  if (facts.defined.size() < 2) return base::Failure{path + " does not define malloc and free"};
  return {};
}

/// The latest version of a library in a folder.
std::optional<std::string> latest_in(const fs::path& folder, std::string_view name) {
  std::error_code error;
  std::optional<std::string> latest;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename();
    if (!is_version_of(file, name) || !check_allocator(entry.path()).has_value()) continue;
    if (!latest || strverscmp(latest->c_str(), entry.path().c_str()) < 0) latest = entry.path();
  }
  return latest;
}

std::string mimalloc_version(int number) {
  // 209 is 2.0.9, 2112 is 2.1.12.
  const std::string digits = fmt::format("{}", number);
  if (digits.size() < 3) return digits;
  return fmt::format("{}.{}.{}", digits[0], digits[1], digits.substr(2));
}

/// Asks a library of this process.
std::string version_of(void* library) {
  if (const auto ask = reinterpret_cast<int (*)()>(dlsym(library, "mi_version"))) {
    return mimalloc_version(ask());
  }
  using TellVersion = const char* (*)(int*, int*, const char**);
  if (const auto tell = reinterpret_cast<TellVersion>(dlsym(library, "tc_version"))) {
    int major = 0;
    int minor = 0;
    const char* patch = nullptr;
    tell(&major, &minor, &patch);
    return fmt::format("{}.{}{}", major, minor, patch != nullptr ? patch : "");
  }
  return {};
}

constexpr std::string_view kDigits = "0123456789";

/// Where the number that ends at `end` begins; `end` if there is none.
std::size_t number_before(std::string_view text, std::size_t end) {
  return text.substr(0, end).find_last_not_of(kDigits) + 1;  // 0 where all are digits.
}

/// "5.3.0" of "5.3.0-0" at the end of `text`; empty if there is none.
std::string_view version_at_end(std::string_view text) {
  const std::size_t count = number_before(text, text.size());
  if (count == text.size() || count == 0 || text[count - 1] != '-') return {};
  const std::size_t end = count - 1;
  std::size_t begin = number_before(text, end);
  std::size_t after = end;
  for (int dots = 0; dots < 2; ++dots) {
    if (begin == after || begin == 0 || text[begin - 1] != '.') return {};
    after = begin - 1;
    begin = number_before(text, after);
  }
  return begin == after ? std::string_view() : text.substr(begin, end - begin);
}

/// jemalloc cannot be loaded into a running process, but has its version as text:
/// "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c". Not std::regex: it recurses with the length
/// of what it matches, and the file may hold anything.
std::string version_in(const std::string& path) {
  constexpr std::string_view kCommit = "-g";
  constexpr std::size_t kCommitDigits = 40;
  constexpr std::size_t kMostVersion = 40;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const std::string_view text(bytes);
  for (std::size_t at = text.find(kCommit); at != std::string_view::npos;
       at = text.find(kCommit, at + 1)) {
    const std::string_view commit = text.substr(at + kCommit.size(), kCommitDigits);
    const bool is_commit = commit.size() == kCommitDigits &&
                           commit.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (!is_commit) continue;
    const std::string_view version = version_at_end(text.substr(0, at));
    if (!version.empty() && version.size() <= kMostVersion) return std::string(version);
  }
  return {};
}

/// Loads the library in a process of its own, which may die of it.
std::string ask_version(const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const base::UniqueFd read_end(ends[0]);
  base::UniqueFd write_end(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    alarm(5);
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    const std::string version = library != nullptr ? version_of(library) : "";
    const auto written = write(write_end.get(), version.data(), version.size());
    _exit(written < 0 ? 1 : 0);
  }
  write_end.reset();
  char text[64];
  const auto got = child > 0 ? read(read_end.get(), text, sizeof text) : -1;
  if (child > 0) waitpid(child, nullptr, 0);
  const std::string version(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  const auto is_plain = [](unsigned char c) { return isalnum(c) != 0 || c == '.'; };
  return std::ranges::all_of(version, is_plain) ? version : "";
}

std::string version_of_file(const std::string& path) {
  const std::string said = ask_version(path);
  return said.empty() ? version_in(path) : said;
}

std::optional<AllocatorLibrary> find_known(const Known& known) {
  for (const std::string_view file : known.files) {
    if (file.empty()) continue;
    for (const fs::path& folder : library_folders()) {
      if (const auto path = latest_in(folder, file)) {
        return AllocatorLibrary{std::string(known.name), *path, version_of_file(*path)};
      }
    }
  }
  return std::nullopt;
}

base::Outcome<void> check_file(const std::string& path) {
  GEIGER_TRY(check_allocator(path));
  if (path.find_first_of(" :$") == std::string::npos) return {};
  return base::Failure{
      fmt::format("'{}' has a space, colon or $, which LD_PRELOAD cannot hold", path)};
}

base::Outcome<AllocatorLibrary> given_file(const std::string& wanted) {
  std::error_code error;
  const std::string path = fs::absolute(wanted, error);
  GEIGER_TRY(check_file(path));
  return AllocatorLibrary{fs::path(path).filename(), path, version_of_file(path)};
}

/// Only a library of this version reports its samples to the runtime.
base::Outcome<AllocatorLibrary> own_allocator() {
  constexpr long kPage = 4096;  // That geiger's allocator is made for.
  if (const long page = sysconf(_SC_PAGESIZE); page != kPage) {
    return base::Failure{fmt::format(
        "geiger's allocator needs pages of 4 KiB; this kernel's have {} KiB", page >> 10)};
  }
  const std::string path = PreloadPath::allocator();
  if (const auto usable = check_file(path); !usable.has_value()) {
    return base::Failure{usable.reason() + ": install it (Debian: geiger-malloc)"};
  }
  if (foreign::read_elf_facts(path, {kListen}).defined.empty()) {
    return base::Failure{path + " is of another version of geiger: install both from one"};
  }
  return AllocatorLibrary{kOwn, path, {}};
}

}  // namespace

std::string AllocatorLibrary::text() const {
  return fmt::format("{}{}{} ({})", name, version.empty() ? "" : " ", version, path);
}

std::string AllocatorLibrary::preload_word() const {
  constexpr std::string_view kFolder = "/" GEIGER_LIB_TOKEN "/";
  const auto at = path.find(kFolder);
  return at == std::string::npos ? path : std::string(path).replace(at, kFolder.size(), "/$LIB/");
}

base::Outcome<AllocatorLibrary> find_allocator(const std::string& wanted) {
  if (wanted.find('/') != std::string::npos) return given_file(wanted);
  if (wanted == kOwn) return own_allocator();
  const auto* const known = std::ranges::find(kKnown, wanted, &Known::name);
  if (known == kKnown.end()) {
    return base::Failure{fmt::format(
        "unknown allocator '{}': geiger, mimalloc, jemalloc, tcmalloc, or the path of a library",
        wanted)};
  }
  if (auto found = find_known(*known)) return *std::move(found);
  return base::Failure{
      fmt::format("{} is not installed: install it (Debian: {}), or give the path of its library",
                  known->name, known->package)};
}

std::vector<AllocatorLibrary> installed_allocators() {
  std::vector<AllocatorLibrary> found;
  for (const Known& known : kKnown) {
    if (auto library = find_known(known)) found.push_back(*std::move(library));
  }
  return found;
}

}  // namespace geiger::run
