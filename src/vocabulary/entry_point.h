// Which function of the allocator the program called.
#pragma once

#include <cstdint>
#include <string_view>

namespace geiger::vocabulary {

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

}  // namespace geiger::vocabulary
