// Profiles of the program's own mmap calls, from the address space that they made.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::profile {

// Rebuilds the address space of one process, as far as the program's own calls made it.
//
// Replays mapping events in the order of time. A range belongs to the stack that made it what it
// is: reserved bytes to the stack that mapped them, accessible bytes to the stack that made them
// accessible (the mmap itself, or the mprotect or fixed mmap that committed a part of a
// reservation). mremap moves bytes with their stacks; only what it adds is its own. What is unknown
// (mapped by the allocator, the loader, or before the recording) stays unknown, whatever happens to
// it.

/// What mapped bytes are.
enum class MappedAs : std::uint8_t {
  kMemory,    ///< Accessible, not of a file: what the program took for its data.
  kReserved,  ///< Not accessible (PROT_NONE): addresses, but no memory yet.
  kFile,      ///< Accessible, of a file or a device.
};

class AddressSpace {
 public:
  /// Pages have `page_bytes` bytes; ranges consist of whole ones.
  explicit AddressSpace(Bytes page_bytes);

  /// Applies what happens when an event begins (kUnmap; kRemap gives its old range up)
  /// and when it is done (all else). Returns the bytes that became kMemory.
  void begin(const MappingEvent& event);
  Bytes finish(const MappingEvent& event);

  /// Mapped now.
  [[nodiscard]] Bytes bytes(MappedAs as) const { return bytes_[static_cast<std::size_t>(as)]; }

  /// A range alike in all that is known of it.
  struct Range {
    Address end = 0;
    std::uint32_t stack = kNone;   ///< Whom it belongs to.
    std::uint32_t thread = kNone;  ///< The thread of that call.
    std::uint32_t mapper = kNone;  ///< The stack that mapped it.
    MappedAs as = MappedAs::kMemory;
    bool is_of_file = false;
    bool operator==(const Range&) const = default;
  };

  /// Calls visit(start, range) in the order of addresses; ranges that touch and are alike
  /// are one.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (auto at = ranges_.begin(); at != ranges_.end();) {
      const Address start = at->first;
      Range range = at->second;
      for (++at; at != ranges_.end() && at->first == range.end; ++at) {
        Range next = at->second;
        next.end = range.end;
        if (!(next == range)) break;
        range.end = at->second.end;
      }
      visit(start, range);
    }
  }

 private:
  using Ranges = std::map<Address, Range>;
  struct Span {
    Address start, end;
  };

  [[nodiscard]] Span span_of(Address address, Bytes bytes) const;
  [[nodiscard]] static Span span_of(Address address, Bytes bytes, Bytes page_bytes);
  void split(Address at);
  void put(Address start, const Range& range);
  Ranges::iterator remove(Ranges::iterator place);
  void erase(Span span);
  Bytes map(const MappingEvent& event);
  Bytes protect(const MappingEvent& event);
  Bytes move_break(const MappingEvent& event);
  void give_up(const MappingEvent& event);
  Bytes take_up(const MappingEvent& event);

  Bytes page_bytes_;
  Ranges ranges_;  ///< By start; they do not overlap and none is empty.
  std::array<Bytes, 3> bytes_{};
  /// What remaps under way have taken out, starts relative to their old range.
  std::unordered_map<const MappingEvent*, std::vector<std::pair<Address, Range>>> moving_;
};

// Profiles of the program's own mmap calls: exact, as every call is recorded.

/// The ranges that the kind asks for, one certain entry each, with the bytes of whole
/// pages. Processes of which a part of the mappings is not known (measured.h,
/// unavailable) are left out. Requires is_of_mappings(selection.kind).
///
///   kMapped, kReserved, kMappedFiles   at the instant `at`; nothing: at the end
///   kMappedAtPeak    at the instant of each process at which most was accessible,
///                    within [from, to)
///   kMappedTotal     all that became accessible at from <= time < to
///
/// `heap` and `keeps`, which are about samples, have no say.
[[nodiscard]] Profile select_mappings(const Recording& recording, const Selection& selection);

/// Mapped by the program itself at an instant, whole pages.
struct MappedBytes {
  Bytes memory = 0;    ///< Accessible, not of files.
  Bytes reserved = 0;  ///< Not accessible.
  Bytes files = 0;     ///< Of files, accessible.
};

/// What `process` (an index) had mapped right after `instant` (CLOCK_MONOTONIC; nothing:
/// at the end). Not the allocator's own maps, nor what a child by fork had from its
/// parent.
[[nodiscard]] MappedBytes mapped_bytes_at(const Recording& recording, std::uint32_t process,
                                          std::optional<Nanoseconds> instant = std::nullopt);

/// What `process` (an index) had accessible of its own mappings after each change, in the order of
/// time (CLOCK_MONOTONIC); empty of a process of which a part of the mappings is not known.
[[nodiscard]] std::vector<std::pair<Nanoseconds, Bytes>> mapped_over_time(
    const Recording& recording, std::uint32_t process);

}  // namespace geiger::profile
