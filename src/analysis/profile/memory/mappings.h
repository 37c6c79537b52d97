// Profiles of the program's own mmap calls: exact, as every call is recorded.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "analysis/profile/memory/address_space.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"

namespace geiger::profile {

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
