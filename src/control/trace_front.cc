#include "control/trace_front.h"

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
  auto pages = SharedPages::map(fd, trace::kRecordsOffset);
  if (!pages) return std::nullopt;
  TraceFront front;
  front.pages_ = std::move(*pages);
  return front;
}

}  // namespace geiger::control
