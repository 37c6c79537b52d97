#include "base/check.h"

#include <stdlib.h>

#include "base/raw_syscall.h"
#include "base/text_builder.h"

namespace geiger::base {

constinit std::atomic<FailedCheck> on_failed_check{nullptr};

bool fail_check(const char* file, int line) {
  const FailedCheck failed = on_failed_check.load(std::memory_order_acquire);
  if (failed != nullptr) failed(file, line);
  return false;
}

void fail_assertion(const char* file, int line, const char* text) {
  char sentence[1024] = {};
  TextBuilder(sentence, sizeof sentence)
      .append("geiger: ")
      .append(file)
      .append(':')
      .append(static_cast<std::uint64_t>(line))
      .append(": ")
      .append(text)
      .append('\n');
  raw_syscall(SYS_write, 2, reinterpret_cast<long>(sentence),
              static_cast<long>(__builtin_strlen(sentence)));
  abort();
}

}  // namespace geiger::base
