// A gzip stream into a sink.
#pragma once

#include <memory>
#include <string_view>

#include "analysis/export/sink.h"

struct z_stream_s;

namespace geiger::exports {

/// Compresses what it is given; finish() ends the stream. The output carries no
/// name and no time, so equal input gives equal bytes.
class GzipStream {
 public:
  /// Throws std::bad_alloc when zlib finds no memory.
  explicit GzipStream(Sink sink);
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
