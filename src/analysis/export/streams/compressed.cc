#include "analysis/export/streams/compressed.h"

#include <zstd.h>

#include <new>
#include <string>
#include <utility>

#include "analysis/export/streams/gzip.h"

namespace geiger::exports {
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
