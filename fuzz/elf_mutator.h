// Damaged programs and libraries made of sound ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/units.h"

namespace geiger::fuzz {

struct FileRange {
  std::uint64_t start = 0, end = 0;
};

/// A sound ELF file for x86-64, taken apart.
class SoundElf {
 public:
  /// A file of another kind has no sections, and is damaged blindly.
  explicit SoundElf(std::string bytes);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  /// Of sections whose contents readers parse: unwind tables, debug info, symbols,
  /// notes, strings, links to other files, compressed ones.
  [[nodiscard]] const std::vector<FileRange>& parsed() const { return parsed_; }
  /// The file's header, section headers and program headers.
  [[nodiscard]] const std::vector<FileRange>& headers() const { return headers_; }
  /// From .eh_frame_hdr to the end of .eh_frame behind it; empty if they do not lie so.
  [[nodiscard]] FileRange unwind_tables() const { return unwind_; }
  /// Addresses in its code.
  [[nodiscard]] std::vector<Address> code_addresses(std::size_t count) const;

 private:
  void take_section(const std::string& name, std::uint32_t type, const FileRange& range);

  std::string bytes_;
  std::vector<FileRange> parsed_, headers_;
  FileRange unwind_;
  FileRange code_;  ///< Addresses.
};

/// One way to damage, mostly in what readers parse. The same `random`, the same mutant.
[[nodiscard]] std::string mutate(const SoundElf& sound, std::mt19937_64& random);

}  // namespace geiger::fuzz
