#include "analysis/export/streams/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

namespace geiger::exports {
namespace {

constexpr int kGzipWindow = 15 + 16;  // The largest window, with a gzip header.
/// Level 6 takes 2.3 times as long and saves 6 % (a profile of a million samples).
constexpr int kFastLevel = 2;
/// Level 9 takes 6 times as long and saves 1 % (columns of numbers).
constexpr int kSmallLevel = 6;
constexpr int kMemoryLevel = 8;  // zlib's default.
constexpr std::size_t kChunk = 1 << 16;

}  // namespace

GzipStream::GzipStream(Sink sink, Effort effort)
    : sink_(std::move(sink)), stream_(std::make_unique<z_stream_s>()) {
  const int level = effort == Effort::kFast ? kFastLevel : kSmallLevel;
  const int result =
      deflateInit2(stream_.get(), level, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY);
  if (result != Z_OK) throw std::bad_alloc();
}

GzipStream::~GzipStream() { deflateEnd(stream_.get()); }

void GzipStream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t now = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    // zlib reads through a pointer to non-const but does not write.
    stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_->avail_in = static_cast<uInt>(now);
    pump(Z_NO_FLUSH);
    bytes.remove_prefix(now);
  }
}

void GzipStream::finish() { pump(Z_FINISH); }

void GzipStream::pump(int flush) {
  std::array<Bytef, kChunk> out;
  do {
    stream_->next_out = out.data();
    stream_->avail_out = kChunk;
    deflate(stream_.get(), flush);
    sink_({reinterpret_cast<const char*>(out.data()), kChunk - stream_->avail_out});
  } while (stream_->avail_out == 0);
}

}  // namespace geiger::exports
