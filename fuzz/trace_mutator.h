// Damaged traces made of sound ones, and what of them must still be read.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "analysis/ingest/ingest.h"
#include "base/units.h"

namespace geiger::fuzz {

/// A sound trace file, taken apart.
class SoundTrace {
 public:
  explicit SoundTrace(std::string bytes);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

  struct Image {
    std::uint64_t start = 0, records_end = 0, end = 0;  ///< In the file.
  };
  [[nodiscard]] const std::vector<Image>& images() const { return images_; }
  /// Where records start, in the file, ascending.
  [[nodiscard]] const std::vector<std::uint64_t>& boundaries() const { return boundaries_; }

  /// Whether `read` holds all samples whose records end before byte `intact`, image by
  /// image, up to and without the first image whose header is not whole before it.
  [[nodiscard]] bool keeps_promise(const ingest::Ingested& read, std::uint64_t intact) const;

 private:
  struct KnownSample {
    std::uint32_t image = 0;
    std::uint64_t end = 0;  ///< Of its record, in the file.
    Nanoseconds time = 0;
    Address address = 0;
    Bytes requested = 0;
    bool is_of_heap = false;
  };

  void take_apart(const Image& image);

  std::string bytes_;
  std::vector<Image> images_;
  std::vector<std::uint64_t> boundaries_;
  std::vector<KnownSample> samples_;
};

/// One way to damage: flips of bits, cuts, wrong sizes, hostile numbers, blocks that are
/// moved, doubled or cleared, hostile headers, damaged chunks with a right checksum, and
/// images one after another. The same `random`, the same mutant.
[[nodiscard]] std::string mutate(const SoundTrace& sound, std::mt19937_64& random);

/// The first byte in which they differ; the shorter length if there is none.
[[nodiscard]] std::uint64_t first_difference(const std::string& a, const std::string& b);

}  // namespace geiger::fuzz
