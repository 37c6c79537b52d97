// For tests only: a memory of few words.
#pragma once

#include <cstring>
#include <map>

#include "analysis/holders/memory.h"

namespace geiger::holders {

/// Words at addresses; the rest is 0.
class TestMemory : public Memory {
 public:
  std::map<Address, std::uint64_t> words;

  void read(std::span<const Piece> pieces, std::byte* into) override {
    for (const Piece& piece : pieces) {
      std::memset(into, 0, piece.bytes);
      for (auto at = words.lower_bound(piece.start);
           at != words.end() && at->first + 8 <= piece.start + piece.bytes; ++at) {
        std::memcpy(into + (at->first - piece.start), &at->second, 8);
      }
      into += piece.bytes;
    }
  }
  [[nodiscard]] bool is_absent(Address /*address*/) const override { return false; }
  [[nodiscard]] Bytes page_bytes() const override { return 4096; }
};

}  // namespace geiger::holders
