#include "control/trace_front.h"

#include <sys/mman.h>
#include <sys/stat.h>

namespace geiger::control {

std::optional<Bytes> size_of_trace(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<Bytes>(status.st_size);
  if (size < trace::kRecordsOffset) return std::nullopt;
  return size;
}

std::optional<TraceFront> TraceFront::map(int fd) {
  void* const base =
      mmap(nullptr, trace::kRecordsOffset, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return std::nullopt;
  TraceFront front;
  front.base_ = static_cast<char*>(base);
  return front;
}

TraceFront::~TraceFront() {
  if (base_ != nullptr) munmap(base_, trace::kRecordsOffset);
}

}  // namespace geiger::control
