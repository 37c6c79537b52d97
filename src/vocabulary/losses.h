// Why a recording lacks samples or frees: single records that were dropped, and recordings that
// stopped early.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace geiger::vocabulary {

/// Samples and frees that happened but could not be recorded, by cause.
enum class DropCause : std::uint32_t {
  kTraceFull = 0,      ///< No room for the record.
  kReentered = 1,      ///< A signal handler allocated inside the slow path.
  kLiveTableFull = 2,  ///< The sample is recorded, its free will not be.
  kUnseenFree = 3,     ///< An address came back while its sample still lived.
  kUncarried = 4,      ///< A live sample that the checkpoint had no room for.
};
/// Counts that a trace has room for; the last ones have no cause yet.
inline constexpr std::size_t kDropSlots = 16;
/// How much was dropped, by cause.
using Drops = std::array<std::uint64_t, kDropSlots>;
[[nodiscard]] constexpr std::uint64_t count_of(const Drops& drops, DropCause cause) {
  return drops[static_cast<std::size_t>(cause)];
}

/// Why a runtime stopped recording before the program ended.
enum class StopReason : std::uint32_t {
  kNone = 0,
  kTraceFull = 1,    ///< The capacity was used up.
  kNoSpace = 2,      ///< The file system refused to allocate the next extent.
  kMapFailed = 3,    ///< A mapping was refused (address space, memory).
  kFailedCheck = 4,  ///< A mistake of geiger's own; a mark says where.
};

/// An identifier for machines and a clause for people; both empty where the value is unknown.
struct Words {
  std::string_view key, text;
};

[[nodiscard]] constexpr Words words_of(DropCause cause) {
  switch (cause) {
    case DropCause::kTraceFull:
      return {"trace_full", "the trace was full"};
    case DropCause::kReentered:
      return {"reentered", "a signal handler allocated while a sample was being taken"};
    case DropCause::kLiveTableFull:
      return {"live_table_full", "too many samples lived at once; their frees are missing"};
    case DropCause::kUnseenFree:
      return {"unseen_free", "an address came back while its sample still lived"};
    case DropCause::kUncarried:
      return {"uncarried", "a new segment had no room for live samples; their fates are missing"};
  }
  return {};
}

/// Whether it loses samples. Every other cause loses only what became of them.
[[nodiscard]] constexpr bool loses_samples(DropCause cause) {
  return cause == DropCause::kTraceFull || cause == DropCause::kReentered;
}

/// The samples among `drops`.
[[nodiscard]] constexpr std::uint64_t lost_samples(const Drops& drops) {
  std::uint64_t lost = 0;
  for (std::size_t i = 0; i < drops.size(); ++i) {
    if (loses_samples(static_cast<DropCause>(i))) lost += drops[i];
  }
  return lost;
}

/// Both are empty for kNone too.
[[nodiscard]] constexpr Words words_of(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return {};
    case StopReason::kTraceFull:
      return {"trace_full", "the trace reached its largest size"};
    case StopReason::kNoSpace:
      return {"no_space", "the file system had no space left"};
    case StopReason::kMapFailed:
      return {"map_failed", "memory for the trace could not be mapped"};
    case StopReason::kFailedCheck:
      return {"failed_check", "an internal check of geiger failed; a mark says where"};
  }
  return {};
}

}  // namespace geiger::vocabulary
