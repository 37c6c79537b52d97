// Adds frames to a recording, equal ones once.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "analysis/profile/recording.h"
#include "analysis/symbolize/symbol_set.h"

namespace geiger::symbolize {

class FrameTable {
 public:
  /// Frames that `recording` has already are found again.
  explicit FrameTable(profile::Recording& recording);
  FrameTable(const FrameTable&) = delete;
  FrameTable& operator=(const FrameTable&) = delete;

  /// The index of a frame equal to `frame`.
  std::uint32_t add(profile::Frame frame);

 private:
  /// Indexes compare as the frames they stand for.
  struct Hash {
    const std::vector<profile::Frame>* frames;
    std::size_t operator()(std::uint32_t index) const;
  };
  struct Equal {
    const std::vector<profile::Frame>* frames;
    bool operator()(std::uint32_t a, std::uint32_t b) const;
  };

  std::vector<profile::Frame>& frames_;
  std::unordered_set<std::uint32_t, Hash, Equal> indexes_;
};

/// Adds those frames of a SymbolSet that locations ask for.
class FrameImport {
 public:
  FrameImport(const SymbolSet& set, FrameTable& table);

  /// The indexes, in the recording, of the frames of `named`.
  [[nodiscard]] std::vector<std::uint32_t> import(const NamedAddress& named);

 private:
  const SymbolSet& set_;
  FrameTable& table_;
  std::vector<std::uint32_t> imported_;  ///< By frame of the set; kNone = not yet.
};

}  // namespace geiger::symbolize
