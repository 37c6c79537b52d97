#include "inject/remote_memory.h"

#include <sys/uio.h>

#include <algorithm>

namespace geiger::inject {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLongestText = 4096;

}  // namespace

std::size_t RemoteMemory::read_some(Address from, void* to, std::size_t bytes) const {
  const iovec here{to, bytes};
  const iovec there{reinterpret_cast<void*>(from), bytes};
  const auto got = process_vm_readv(pid_, &here, 1, &there, 1, 0);
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

bool RemoteMemory::read(Address from, void* to, std::size_t bytes) const {
  return read_some(from, to, bytes) == bytes;
}

bool RemoteMemory::write(Address to, const void* from, std::size_t bytes) const {
  const iovec here{const_cast<void*>(from), bytes};
  const iovec there{reinterpret_cast<void*>(to), bytes};
  return process_vm_writev(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

std::string RemoteMemory::text(Address from) const {
  std::string text;
  char page[kPage];
  while (text.size() < kLongestText) {
    const std::size_t got = read_some(from, page, kPage - from % kPage);
    char* const end = std::find(page, page + got, '\0');
    text.append(page, static_cast<std::size_t>(end - page));
    if (got == 0 || end != page + got) break;
    from += got;
  }
  return text;
}

}  // namespace geiger::inject
