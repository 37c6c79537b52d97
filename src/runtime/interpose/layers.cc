#include "runtime/interpose/layers.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runtime/interpose/originals.h"

namespace geiger::interpose {
namespace {

/// Sets to zero, without writing to pages that are zero already: they may not be in memory yet.
void clear(void* block, std::size_t bytes) {
  constexpr std::size_t kPiece = 4096;
  auto* piece = static_cast<char*>(block);
  for (; bytes > kPiece; piece += kPiece, bytes -= kPiece) {
    const bool is_clear = piece[0] == 0 && memcmp(piece, piece + 1, kPiece - 1) == 0;
    if (!is_clear) memset(piece, 0, kPiece);
  }
  memset(piece, 0, bytes);
}

void* calloc_over_malloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const block = originals.malloc(bytes);
  if (block != nullptr) clear(block, bytes);
  return block;
}

void* memalign_over_aligned_alloc(std::size_t alignment, std::size_t size) {
  return originals.aligned_alloc(alignment, size);
}

int posix_memalign_over_aligned_alloc(void** out, std::size_t alignment, std::size_t size) {
  if (alignment < sizeof(void*)) return EINVAL;
  void* const block = originals.aligned_alloc(alignment, size);
  if (block == nullptr) return errno;
  *out = block;
  return 0;
}

void* valloc_over_aligned_alloc(std::size_t size) {
  return originals.aligned_alloc(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), size);
}

}  // namespace

void lay_over_malloc(Originals& found) {
  found.calloc = calloc_over_malloc;
  found.memalign = memalign_over_aligned_alloc;
  found.posix_memalign = posix_memalign_over_aligned_alloc;
  found.valloc = valloc_over_aligned_alloc;
}

}  // namespace geiger::interpose
