#include "fleet/push/file_ids.h"

#include <fcntl.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/SHA256.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"
#include "base/unique_fd.h"
#include "foreign/elf_facts.h"
#include "foreign/open.h"

namespace geiger::fleet {

std::string file_id_of(const std::string& path, const std::string& build_id) {
  constexpr off_t kEnd = 4096;
  constexpr std::size_t kDigits = 32;
  // Not a device, nor a file that was replaced.
  const base::UniqueFd file = foreign::open_regular(path, O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (build_id.empty() || !file.is_open() || fstat(file.get(), &status) != 0 ||
      foreign::read_elf_facts(path, {}).build_id != build_id) {
    return {};
  }
  llvm::SHA256 hash;
  const off_t length = std::min(kEnd, status.st_size);
  for (const off_t from : {off_t{0}, status.st_size - length}) {
    std::array<std::uint8_t, kEnd> bytes{};
    if (pread(file.get(), bytes.data(), static_cast<std::size_t>(length), from) != length)
      return {};
    hash.update(llvm::ArrayRef<std::uint8_t>(bytes.data(), static_cast<std::size_t>(length)));
  }
  std::array<std::uint8_t, sizeof(std::uint64_t)> size{};
  for (std::size_t i = 0; i < size.size(); ++i) {
    size[size.size() - 1 - i] =
        static_cast<std::uint8_t>(static_cast<std::uint64_t>(status.st_size) >> 8 * i);
  }
  hash.update(llvm::ArrayRef<std::uint8_t>(size.data(), size.size()));
  return base::hex_of(hash.final()).substr(0, kDigits);
}

void add_file_ids(FileIds& ids, const profile::Recording& recording) {
  for (const profile::Module& module : recording.modules) {
    const bool is_file = module.kind != profile::ModuleKind::kSource && !module.build_id.empty();
    if (!is_file || ids.contains(module.build_id)) continue;
    ids.emplace(module.build_id, file_id_of(module.path, module.build_id));
  }
}

}  // namespace geiger::fleet
