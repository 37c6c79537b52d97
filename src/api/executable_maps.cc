#include "api/executable_maps.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>

#include "base/parts.h"

namespace geiger::api {
namespace {

std::string contents_of(const char* path) {
  std::string text;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(descriptor, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(descriptor);
  return text;
}

/// Takes a hexadecimal number and the character after it.
bool take_number(std::string_view& line, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  if (error != std::errc() || end == line.data() + line.size()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  return true;
}

/// "5602d7d2a000-5602d7d2c000 r-xp 00001000 fe:00 1234 /path"
bool parse(std::string_view line, ExecutableMap& map) {
  if (!take_number(line, map.start) || !take_number(line, map.end)) return false;
  constexpr std::size_t kModeBytes = 5;
  if (line.size() < kModeBytes || line[2] != 'x') return false;
  line.remove_prefix(kModeBytes);
  return take_number(line, map.offset);
}

}  // namespace

std::vector<ExecutableMap> executable_maps() {
  std::vector<ExecutableMap> maps;
  const std::string text = contents_of("/proc/self/maps");
  for (std::string_view rest = text; !rest.empty();) {
    ExecutableMap map{};
    if (parse(base::take_part(rest), map)) maps.push_back(map);
  }
  return maps;
}

}  // namespace geiger::api
