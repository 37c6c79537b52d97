#include "run/host_preload.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/unique_fd.h"
#include "run/environment.h"

namespace geiger::run {

namespace {

constexpr std::string_view kFileName = "/libgeiger-preload.so";
constexpr std::string_view kBlanks = ": \t\n";  // What separates words.

/// Cuts the next word off a line, with what separates it from the word after it.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = line.find_first_of(kBlanks);
  const std::size_t next = line.find_first_not_of(kBlanks, end);
  const std::string_view word = line.substr(0, next);
  line.remove_prefix(word.size());
  return word;
}

bool is_runtime(std::string_view word) {
  return !word.starts_with('#') && word.substr(0, word.find_first_of(kBlanks)).ends_with(kFileName);
}

/// Calls visit(word) for each word, with the blanks after it; a comment is one.
template <typename Visit>
void for_each_word(std::string_view line, const Visit& visit) {
  std::string_view words = line.substr(0, line.find('#'));
  const std::string_view comment = line.substr(words.size());
  while (!words.empty()) visit(take_word(words));
  if (!comment.empty()) visit(comment);
}

/// Calls visit(line) for each line, with its end.
template <typename Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == std::string_view::npos ? end : end + 1);
    visit(line);
    text.remove_prefix(line.size());
  }
}

base::Outcome<std::string> output_of_cat(const std::string& preload) {
  int ends[2];
  if (pipe(ends) != 0) return base::Failure{std::generic_category().message(errno)};
  const base::UniqueFd read_end(ends[0]);
  base::UniqueFd write_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) return base::Failure{std::generic_category().message(errno)};
  if (child == 0) {
    constexpr unsigned kSeconds = 10;  // Also for what hangs as it is loaded.
    alarm(kSeconds);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    std::string word = "LD_PRELOAD=" + preload;
    char* const environment[] = {preload.empty() ? nullptr : word.data(), nullptr};
    execle("/bin/cat", "cat", "/proc/self/maps", nullptr, environment);
    _exit(127);
  }
  write_end.reset();
  std::string said;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(read_end.get(), buffer, sizeof buffer)) > 0;) {
    said.append(buffer, static_cast<std::size_t>(got));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) return base::Failure{fmt::format("/bin/cat fails with it: {}", said)};
  return said;
}

}  // namespace

std::vector<std::string> runtime_words_in(std::string_view list) {
  std::vector<std::string> found;
  for_each_line(list, [&](std::string_view line) {
    for_each_word(line, [&](std::string_view word) {
      if (is_runtime(word)) found.emplace_back(word.substr(0, word.find_first_of(kBlanks)));
    });
  });
  return found;
}

std::string with_runtime_word(std::string_view list, const std::string& word) {
  if (runtime_words_in(list) == std::vector<std::string>{word}) return std::string(list);
  std::string text = word.empty() ? "" : word + "\n";
  for_each_line(list, [&](std::string_view line) {
    std::string kept;
    for_each_word(line, [&](std::string_view each) {
      if (!is_runtime(each)) kept += each;
    });
    const bool is_blank = kept.find_first_not_of(kBlanks) == std::string::npos;
    if (kept.size() == line.size() || !is_blank) text += kept;
    if (kept.size() != line.size() && !is_blank && kept.back() != '\n') text += '\n';
  });
  return text;
}

base::Outcome<void> check_only_root_writes() {
  namespace fs = std::filesystem;
  const auto library = GEIGER_TRY(PreloadPath::library());
  std::error_code error;
  for (fs::path at = fs::canonical(library, error); !error; at = at.parent_path()) {
    struct stat status {};
    if (lstat(at.c_str(), &status) != 0) break;
    if (status.st_uid != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
      return base::Failure{fmt::format("other users than root can write to {}", at.string())};
    }
    if (at == at.root_path()) return {};
  }
  return base::Failure{fmt::format("{}: cannot be examined", library)};
}

base::Outcome<void> try_preload(const std::string& word) {
  std::error_code error;
  const auto library = GEIGER_TRY(PreloadPath::library());
  const std::string mapped = std::filesystem::canonical(library, error);
  auto said = GEIGER_TRY(output_of_cat(word));
  if (said.find(mapped + "\n") != std::string::npos) return {};
  said.resize(said.starts_with("ERROR: ") ? said.find('\n') : 0);
  return base::Failure{
      fmt::format("the loader does not load {}{}{}", mapped, said.empty() ? "" : ": ", said)};
}

}  // namespace geiger::run
