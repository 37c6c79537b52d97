#include "analysis/ingest/payload.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>
#include <new>

namespace geiger::ingest {

namespace {

bool is_error(std::size_t result) {
  if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return ZSTD_isError(result) != 0;
}

}  // namespace

std::string zstd_frame_of(std::string_view bytes, int level) {
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), level);
  if (is_error(size)) return {};
  frame.resize(size);
  return frame;
}

std::string zstd_frame_of(std::string_view bytes, int level, std::span<const std::size_t> ends) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     &ZSTD_freeCCtx);
  if (context == nullptr) throw std::bad_alloc();
  static_cast<void>(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level));
  static_cast<void>(ZSTD_CCtx_setPledgedSrcSize(context.get(), bytes.size()));
  constexpr std::size_t kMostPerPart = 64;  // A header, and what the bytes of a block add to it.
  std::string frame(ZSTD_compressBound(bytes.size()) + kMostPerPart * ends.size(), '\0');
  ZSTD_outBuffer output{frame.data(), frame.size(), 0};
  ZSTD_inBuffer input{bytes.data(), 0, 0};
  const auto pack_until = [&](std::size_t end, ZSTD_EndDirective directive) {
    input.size = end;
    const std::size_t left = ZSTD_compressStream2(context.get(), &output, &input, directive);
    return !is_error(left) && left == 0;
  };
  const auto is_packed = [&](std::size_t end) { return pack_until(end, ZSTD_e_flush); };
  if (!std::ranges::all_of(ends, is_packed) || !pack_until(bytes.size(), ZSTD_e_end)) return {};
  frame.resize(output.pos);
  return frame;
}

std::optional<std::string> from_zstd_frame(std::string_view stored, std::uint64_t size) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  if (context == nullptr) throw std::bad_alloc();
  // Most frames are small: a block of the usual size takes longer to clear than they to unpack.
  std::string block(std::clamp<std::uint64_t>(size, 1, ZSTD_DStreamOutSize()), '\0');
  std::string payload;
  ZSTD_inBuffer input{stored.data(), stored.size(), 0};
  std::size_t left = 1;
  while (left != 0) {
    ZSTD_outBuffer output{block.data(), block.size(), 0};
    const std::size_t before = input.pos;
    left = ZSTD_decompressStream(context.get(), &output, &input);
    if (is_error(left) || payload.size() + output.pos > size) return std::nullopt;
    if (left != 0 && output.pos == 0 && input.pos == before) return std::nullopt;
    payload.append(block.data(), output.pos);
  }
  if (payload.size() != size || input.pos != input.size) return std::nullopt;
  return payload;
}

}  // namespace geiger::ingest
