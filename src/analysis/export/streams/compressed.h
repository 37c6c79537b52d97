// Compresses output according to the ending of the file's name, as users of other tools expect.
#pragma once

#include <memory>
#include <string_view>

#include "analysis/export/streams/sink.h"

namespace geiger::exports {

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
