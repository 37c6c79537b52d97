#include "analysis/symbolize/file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "foreign/elf_facts.h"

namespace geiger::symbolize {

std::optional<std::string> read_all(const base::UniqueFd& file, std::size_t max_bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string bytes;
  while (bytes.size() <= max_bytes) {
    const std::size_t had = bytes.size();
    bytes.resize(had + kPiece);
    const ssize_t got = ::read(file.get(), bytes.data() + had, kPiece);
    bytes.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return bytes;
    if (got < 0 && errno != EINTR) return std::nullopt;
  }
  return std::nullopt;
}

bool write_all(const base::UniqueFd& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

void add_files(const std::string& directory, FilesById& files) {
  constexpr int kMost = 1'000'000;
  constexpr auto kSkips = std::filesystem::directory_options::skip_permission_denied;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(directory, kSkips, error), end;
  for (int i = 0; !error && entry != end && i < kMost; entry.increment(error), ++i) {
    std::error_code unknown;
    if (!entry->is_regular_file(unknown)) continue;
    std::string id = foreign::read_elf_facts(entry->path().string(), {}).build_id;
    if (!id.empty()) files.emplace(std::move(id), entry->path().string());
  }
}

}  // namespace geiger::symbolize
