// What is recorded of an interpreter in the process.
#pragma once

#include <cstdint>

#include "vocabulary/losses.h"

namespace geiger::vocabulary {

/// Whether stacks have the frames of the program that it runs.
enum class InterpretedFrames : std::uint32_t {
  kRecorded = 0,
  kUnknownVersion = 1,  ///< Where its frames lie is not known.
  kFreeThreaded = 2,    ///< A build without the global lock.
  kImplausible = 3,     ///< What was read did not look like frames.
  kOff = 4,             ///< As asked.
};

/// Whether allocations that it serves from its own pools are sampled.
enum class SmallObjects : std::uint32_t {
  kNotKnown = 0,    ///< Not looked at.
  kSampled = 1,     ///< Each is counted where it is made.
  kByMalloc = 2,    ///< It asks malloc for each, which counts them.
  kOtherPools = 3,  ///< Of an allocator that is not counted: samples are of its arenas.
  kOff = 4,         ///< As asked: samples are of its arenas.
};

[[nodiscard]] constexpr Words words_of(InterpretedFrames frames) {
  switch (frames) {
    case InterpretedFrames::kRecorded:
      return {"recorded", "stacks have its frames"};
    case InterpretedFrames::kUnknownVersion:
      return {"unknown_version", "stacks lack its frames: this version of it is not known"};
    case InterpretedFrames::kFreeThreaded:
      return {"free_threaded", "stacks lack its frames: a build without the global lock"};
    case InterpretedFrames::kImplausible:
      return {"implausible", "stacks lack its frames: they do not lie where this version has them"};
    case InterpretedFrames::kOff:
      return {"off", "stacks lack its frames, as asked"};
  }
  return {};
}

[[nodiscard]] constexpr Words words_of(SmallObjects objects) {
  switch (objects) {
    case SmallObjects::kNotKnown:
      return {"not_known", "whether its small objects are sampled is not known"};
    case SmallObjects::kSampled:
      return {"sampled", "its small objects are sampled"};
    case SmallObjects::kByMalloc:
      return {"by_malloc", "its small objects come from malloc, and are sampled there"};
    case SmallObjects::kOtherPools:
      return {"other_pools", "its small objects are not sampled: an allocator of their own"};
    case SmallObjects::kOff:
      return {"off", "its small objects are not sampled, as asked"};
  }
  return {};
}

}  // namespace geiger::vocabulary
