// Writes a gzip stream into a sink.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "analysis/export/streams/sink.h"

struct z_stream_s;

namespace geiger::exports {

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

}  // namespace geiger::exports
