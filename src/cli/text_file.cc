#include "cli/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace geiger::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

}  // namespace

Outcome<std::string> read_text_file(const std::string& path) {
  const auto failure = [&](const char* reason) {
    return Outcome<std::string>::failure(fmt::format("{}: {}", path, reason));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  if (!file) return failure(std::strerror(errno));
  std::string text(kMostBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return failure(std::strerror(errno));
  if (text.size() > kMostBytes) return failure("too large, 1 MiB is the most");
  return text;
}

}  // namespace geiger::cli
