// mmap and related functions, as the program calls them: call the original, then record the change.
// The C library's and the loader's own calls do not go through the symbol table.
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/capture/program/mappings.h"
#include "runtime/interpose/conclude.h"
#include "runtime/interpose/originals.h"

using namespace geiger;             // NOLINT: the C names below live outside.
using namespace geiger::interpose;  // NOLINT

namespace {

const void* const kNoBreak = reinterpret_cast<void*>(-1);

}  // namespace

GEIGER_EXPORT void* mmap(void* wanted, std::size_t bytes, int protection, int flags, int file,
                         off_t offset) noexcept {
  resolve_mappings();
  void* address = mapping_originals.mmap(wanted, bytes, protection, flags, file, offset);
  if (address != MAP_FAILED) {
    capture::record_map(address, bytes, protection, flags, unwind::caller_registers());
  }
  return address;
}

/// off_t has 64 bits in both.
extern "C" [[gnu::visibility("default"), gnu::alias("mmap")]] void* mmap64(void*, std::size_t, int,
                                                                           int, int,
                                                                           off64_t) noexcept;

GEIGER_EXPORT int munmap(void* address, std::size_t bytes) noexcept {
  resolve_mappings();
  const Nanoseconds begun = capture::mapping_time();
  const int result = mapping_originals.munmap(address, bytes);
  if (result == 0) capture::record_unmap(address, bytes, begun, unwind::caller_registers());
  return result;
}

/// The fifth argument is passed on whether it was given or not; the kernel reads it only if the
/// flags require it.
GEIGER_EXPORT void* mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags,
                           ...) noexcept {
  resolve_mappings();
  va_list arguments;
  va_start(arguments, flags);
  void* wanted = va_arg(arguments, void*);
  va_end(arguments);
  const Nanoseconds begun = capture::mapping_time();
  void* address = mapping_originals.mremap(old, old_bytes, bytes, flags, wanted);
  if (address != MAP_FAILED) {
    capture::record_remap({old, old_bytes, address, bytes, flags}, begun,
                          unwind::caller_registers());
  }
  return address;
}

GEIGER_EXPORT int mprotect(void* address, std::size_t bytes, int protection) noexcept {
  resolve_mappings();
  const int result = mapping_originals.mprotect(address, bytes, protection);
  if (result == 0) {
    capture::record_protect(address, bytes, protection, unwind::caller_registers());
  }
  return result;
}

GEIGER_EXPORT void* sbrk(std::intptr_t increment) noexcept {
  resolve_mappings();
  void* old_end = mapping_originals.sbrk(increment);
  if (old_end != kNoBreak && increment != 0) {
    const auto* end = static_cast<const char*>(old_end) + increment;
    capture::record_break(old_end, end, unwind::caller_registers());
  }
  return old_end;
}

GEIGER_EXPORT int brk(void* end) noexcept {
  resolve_mappings();
  const void* old_end = mapping_originals.sbrk(0);
  const int result = mapping_originals.brk(end);
  if (result == 0 && old_end != kNoBreak && old_end != end) {
    capture::record_break(old_end, end, unwind::caller_registers());
  }
  return result;
}
