// Compresses output: a gzip stream, or what the ending of the file's name says.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "analysis/export/streams/sink.h"

struct z_stream_s;

namespace geiger::exports {

// Writes a gzip stream into a sink.

/// How hard to compress: fast for streams that are written at once, small for those that are kept
/// or sent.
enum class Effort : std::uint8_t { kFast, kSmall };

/// Compresses what it is given; finish() ends the stream. The output carries no
/// name and no time, so equal input gives equal bytes.
class GzipStream {
 public:
  /// Throws std::bad_alloc when zlib finds no memory.
  explicit GzipStream(Sink sink, Effort effort = Effort::kFast);
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  void write(std::string_view bytes);
  void finish();

 private:
  void pump(int flush);

  Sink sink_;
  std::unique_ptr<z_stream_s> stream_;
};

// Compresses output according to the ending of the file's name, as users of other tools expect.

/// A sink that has an end.
class EndingSink {
 public:
  EndingSink() = default;
  virtual ~EndingSink() = default;
  EndingSink(const EndingSink&) = delete;
  EndingSink& operator=(const EndingSink&) = delete;
  virtual void write(std::string_view bytes) = 0;
  virtual void finish() = 0;  ///< Call it once, after the last byte.
};

/// Into `sink`: gzip for names that end in ".gz", zstd for ".zst", else the bytes as they are.
/// Throws std::bad_alloc where a compressor finds no memory.
[[nodiscard]] std::unique_ptr<EndingSink> compressed_by_name(std::string_view file_name, Sink sink);

}  // namespace geiger::exports
