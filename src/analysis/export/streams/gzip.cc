#include "analysis/export/streams/gzip.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <string>
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

namespace {

class PlainSink : public EndingSink {
 public:
  explicit PlainSink(Sink sink) : sink_(std::move(sink)) {}
  void write(std::string_view bytes) override { sink_(bytes); }
  void finish() override {}

 private:
  Sink sink_;
};

class GzipSink : public EndingSink {
 public:
  explicit GzipSink(Sink sink) : stream_(std::move(sink)) {}
  void write(std::string_view bytes) override { stream_.write(bytes); }
  void finish() override { stream_.finish(); }

 private:
  GzipStream stream_;
};

class ZstdSink : public EndingSink {
 public:
  explicit ZstdSink(Sink sink) : sink_(std::move(sink)), stream_(ZSTD_createCStream()) {
    if (!stream_) throw std::bad_alloc();
    out_.resize(ZSTD_CStreamOutSize());
  }
  void write(std::string_view bytes) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    while (in.pos < in.size) pump(in, ZSTD_e_continue);
  }
  void finish() override {
    ZSTD_inBuffer in{nullptr, 0, 0};
    while (pump(in, ZSTD_e_end) != 0) {
    }
  }

 private:
  struct Free {
    void operator()(ZSTD_CStream* stream) const { ZSTD_freeCStream(stream); }
  };

  /// Bytes that it still holds; an error can only be one of memory.
  std::size_t pump(ZSTD_inBuffer& in, ZSTD_EndDirective directive) {
    ZSTD_outBuffer out{out_.data(), out_.size(), 0};
    const std::size_t left = ZSTD_compressStream2(stream_.get(), &out, &in, directive);
    if (ZSTD_isError(left) != 0) throw std::bad_alloc();
    sink_({out_.data(), out.pos});
    return left;
  }

  Sink sink_;
  std::unique_ptr<ZSTD_CStream, Free> stream_;
  std::string out_;
};

}  // namespace

std::unique_ptr<EndingSink> compressed_by_name(std::string_view file_name, Sink sink) {
  if (file_name.ends_with(".gz")) return std::make_unique<GzipSink>(std::move(sink));
  if (file_name.ends_with(".zst")) return std::make_unique<ZstdSink>(std::move(sink));
  return std::make_unique<PlainSink>(std::move(sink));
}

}  // namespace geiger::exports
