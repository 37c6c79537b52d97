// Wrong uses of memory that guard mode saw.
#pragma once

#include <cstdint>
#include <string_view>

namespace geiger::vocabulary {

enum class FaultKind : std::uint32_t {
  kUseAfterFree = 1,
  kOverflow = 2,     ///< Behind the end of an object.
  kUnderflow = 3,    ///< Before its begin.
  kDoubleFree = 4,   ///< Of an object that was freed before.
  kInvalidFree = 5,  ///< Of an address where no object begins.
  /// Not the program's: the C library's free was reached past the runtime, and does not know the
  /// object.
  kBypassingFree = 6,
};

/// What the program did at the address.
enum class Access : std::uint32_t {
  kUnknown = 0,  ///< Read or wrote: the processor did not say which.
  kRead = 1,
  kWrite = 2,
  kFree = 3,          ///< Handed it to free, realloc or operator delete.
  kEarlierWrite = 4,  ///< Wrote to it some time before the object was freed.
};

/// Why no sample was guarded from some instant on.
enum class GuardObstacle : std::uint32_t {
  kNone = 0,
  kNoMemory = 1,      ///< The pages could not be mapped.
  kIgnoresTraps = 2,  ///< The program ignores SIGSEGV.
  kConfined = 3,      ///< It restricts its own system calls.
  kPrivateFrees = 4,  ///< It frees by functions of its allocator that are not standard.
  kFaulted = 5,       ///< A fault was reported, and the program dealt with the signal.
};

/// An identifier for machines and the name for people; both empty where the value is unknown.
struct FaultWords {
  std::string_view key, text;
};

[[nodiscard]] constexpr FaultWords words_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kUseAfterFree:
      return {"use_after_free", "use after free"};
    case FaultKind::kOverflow:
      return {"overflow", "buffer overflow"};
    case FaultKind::kUnderflow:
      return {"underflow", "buffer underflow"};
    case FaultKind::kDoubleFree:
      return {"double_free", "double free"};
    case FaultKind::kInvalidFree:
      return {"invalid_free", "invalid free"};
    case FaultKind::kBypassingFree:
      return {"bypassing_free", "free past geiger"};
  }
  return {};
}

[[nodiscard]] constexpr FaultWords words_of(Access access) {
  switch (access) {
    case Access::kUnknown:
      return {"access", "access"};
    case Access::kRead:
      return {"read", "read"};
    case Access::kWrite:
      return {"write", "write"};
    case Access::kFree:
      return {"free", "free"};
    case Access::kEarlierWrite:
      return {"earlier_write", "write, found by the free"};
  }
  return {};
}

/// The text is a clause; both are empty for kNone too.
[[nodiscard]] constexpr FaultWords words_of(GuardObstacle obstacle) {
  switch (obstacle) {
    case GuardObstacle::kNone:
      return {};
    case GuardObstacle::kNoMemory:
      return {"no_memory", "the system refused the memory for guarded samples"};
    case GuardObstacle::kIgnoresTraps:
      return {"ignores_traps", "the program ignores SIGSEGV"};
    case GuardObstacle::kConfined:
      return {"confined", "the program restricts its own system calls"};
    case GuardObstacle::kPrivateFrees:
      return {"private_frees", "the program frees by its allocator's own functions"};
    case GuardObstacle::kFaulted:
      return {"faulted", "a fault was reported, after which the program went on"};
  }
  return {};
}

}  // namespace geiger::vocabulary
