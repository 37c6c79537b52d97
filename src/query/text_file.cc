#include "query/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "analysis/present/format.h"

namespace geiger::query {

base::Outcome<std::string> read_text_file(const std::string& path) {
  const auto failure = [&](const char* reason) {
    return base::Failure{fmt::format("{}: {}", path, reason)};
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  if (!file) return failure(std::strerror(errno));
  std::string text(kMostTextBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return failure(std::strerror(errno));
  if (text.size() > kMostTextBytes) {
    return failure(
        fmt::format("too large (at most {})", present::exact_bytes(kMostTextBytes)).c_str());
  }
  return text;
}

}  // namespace geiger::query
