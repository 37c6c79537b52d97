// What the numbers in recordings mean: entry points, losses, faults, states of an interpreter,
// kinds of mappings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace geiger::vocabulary {

// Which function of the allocator the program called.

enum class EntryPoint : std::uint8_t {
  kMalloc = 0,
  kCalloc = 1,
  kRealloc = 2,
  kReallocarray = 3,
  kPosixMemalign = 4,
  kAlignedAlloc = 5,
  kMemalign = 6,
  kValloc = 7,
  kPvalloc = 8,
  kNew = 9,
  kNewArray = 10,
  kNewAligned = 11,
  kNewArrayAligned = 12,
  kReported = 13,  ///< The program said so, of a heap that it manages itself.
  // CPython's domains, whose small blocks come from pools of its own: objects, and memory.
  kPyObjectMalloc = 14,
  kPyObjectCalloc = 15,
  kPyObjectRealloc = 16,
  kPyMemMalloc = 17,
  kPyMemCalloc = 18,
  kPyMemRealloc = 19,
};

/// "malloc", "operator new[]", ...; "" where unknown.
[[nodiscard]] constexpr std::string_view name_of(EntryPoint entry_point) {
  switch (entry_point) {
    case EntryPoint::kMalloc:
      return "malloc";
    case EntryPoint::kCalloc:
      return "calloc";
    case EntryPoint::kRealloc:
      return "realloc";
    case EntryPoint::kReallocarray:
      return "reallocarray";
    case EntryPoint::kPosixMemalign:
      return "posix_memalign";
    case EntryPoint::kAlignedAlloc:
      return "aligned_alloc";
    case EntryPoint::kMemalign:
      return "memalign";
    case EntryPoint::kValloc:
      return "valloc";
    case EntryPoint::kPvalloc:
      return "pvalloc";
    case EntryPoint::kNew:
      return "operator new";
    case EntryPoint::kNewArray:
      return "operator new[]";
    case EntryPoint::kNewAligned:
      return "operator new (aligned)";
    case EntryPoint::kNewArrayAligned:
      return "operator new[] (aligned)";
    case EntryPoint::kReported:
      return "custom heap";
    case EntryPoint::kPyObjectMalloc:
      return "PyObject_Malloc";
    case EntryPoint::kPyObjectCalloc:
      return "PyObject_Calloc";
    case EntryPoint::kPyObjectRealloc:
      return "PyObject_Realloc";
    case EntryPoint::kPyMemMalloc:
      return "PyMem_Malloc";
    case EntryPoint::kPyMemCalloc:
      return "PyMem_Calloc";
    case EntryPoint::kPyMemRealloc:
      return "PyMem_Realloc";
  }
  return "";
}

/// Whether it gives memory for objects of Python.
[[nodiscard]] constexpr bool is_python_object(EntryPoint entry_point) {
  return entry_point >= EntryPoint::kPyObjectMalloc && entry_point <= EntryPoint::kPyObjectRealloc;
}
/// Whether it gives a block of the pools that Python's small blocks come from.
[[nodiscard]] constexpr bool is_python_block(EntryPoint entry_point) {
  return entry_point >= EntryPoint::kPyObjectMalloc && entry_point <= EntryPoint::kPyMemRealloc;
}
/// Whether it is an operator new[].
[[nodiscard]] constexpr bool is_array_new(EntryPoint entry_point) {
  return entry_point == EntryPoint::kNewArray || entry_point == EntryPoint::kNewArrayAligned;
}
/// Whether it is any operator new.
[[nodiscard]] constexpr bool is_new(EntryPoint entry_point) {
  return entry_point == EntryPoint::kNew || entry_point == EntryPoint::kNewAligned ||
         is_array_new(entry_point);
}

// Why a recording lacks samples or frees: single records that were dropped, and recordings that
// stopped early.

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
  kConfined = 5,     ///< The program restricted its system calls or its clock.
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
    case StopReason::kConfined:
      return {"confined", "the program restricted its system calls or its clock"};
  }
  return {};
}

// Wrong uses of memory that guard mode saw.

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

// What is recorded of an interpreter in the process.

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

// Kinds of system calls by which a program changes its address space.

enum class MappingKind : std::uint32_t {
  kMap = 1,
  kUnmap = 2,
  kRemap = 3,
  kBreak = 4,
  kProtect = 5,
};

// How many frames of a stack are followed.

/// By default; with an interpreter's frames 1,023.
inline constexpr std::uint64_t kUsualFrames = 255;
/// The largest setting.
inline constexpr std::uint64_t kMostFrames = 262'144;

}  // namespace geiger::vocabulary
