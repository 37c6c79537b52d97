// Symbols in transit, and as frames of a recording: equal ones once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "base/outcome.h"
#include "base/units.h"

namespace geiger::symbolize {

// Symbols in transit: the answer of the symbolizing process, and the form in which a trace stores
// them. Strings and frames are stored once and named by index.

/// A frame; all but `line` index SymbolSet::strings.
struct NamedFrame {
  std::uint32_t function = 0;
  std::uint32_t system_name = 0;
  std::uint32_t file = 0;
  std::uint32_t line = 0;  ///< 0 = unknown.

  bool operator==(const NamedFrame&) const = default;
};

/// A return address with its frames (indexes into SymbolSet::frames), inlined
/// callee first.
struct NamedAddress {
  Address address = 0;
  std::vector<std::uint32_t> frames;

  bool operator==(const NamedAddress&) const = default;
};

/// The addresses (ELF vaddrs) of one module.
struct ModuleNames {
  std::string path;
  std::string build_id;
  std::vector<NamedAddress> addresses;  ///< Ascending.

  bool operator==(const ModuleNames&) const = default;
};

struct SymbolSet {
  std::vector<std::string> strings;
  std::vector<NamedFrame> frames;
  std::vector<ModuleNames> modules;
  std::vector<NamedAddress> outside;  ///< Run-time addresses outside modules, ascending.

  bool operator==(const SymbolSet&) const = default;
};

/// Adds to a SymbolSet, storing equal strings and equal frames once.
class SymbolSetBuilder {
 public:
  [[nodiscard]] std::uint32_t string(std::string_view text);
  [[nodiscard]] std::uint32_t frame(const NamedFrame& frame);

  [[nodiscard]] SymbolSet& set() { return set_; }
  [[nodiscard]] SymbolSet take() && { return std::move(set_); }

 private:
  struct FrameHash {
    std::size_t operator()(const NamedFrame& frame) const;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  SymbolSet set_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> strings_;
  std::unordered_map<NamedFrame, std::uint32_t, FrameHash> frames_;
};

/// The entry for `address`, or nullptr. `addresses` ascend.
[[nodiscard]] const NamedAddress* find_address(const std::vector<NamedAddress>& addresses,
                                               Address address);

[[nodiscard]] std::string encode(const SymbolSet& set);

/// The inverse of encode(). Safe on any bytes: what it allocates is bounded by
/// a constant times the payload's size, and every index of the result is valid.
[[nodiscard]] base::Outcome<SymbolSet> decode(std::string_view payload);

// Adds frames to a recording, equal ones once.

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
