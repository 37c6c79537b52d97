// The slots through which loaded modules call the functions that we shadow: entries of the global
// offset table and function pointers in data. A preloaded library does not need this; a library
// loaded into a running process has no other way.
//
// A slot is changed only if it contains the function that we call as the original: a module that is
// bound to an allocator of its own (another namespace, RTLD_DEEPBIND) keeps it.
//
// Threads: one at a time, with the loader's list locked; slots change atomically while threads call
// through them. Allocates: never.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace geiger::interpose {

/// One function that we shadow. Ignored if `original` is null.
struct Shadow {
  const char* name;
  void (*entry)();  ///< Not of its real type, like `original`, but a constant.
  void* original;
};

struct Shadows {
  const Shadow* begin;
  std::size_t count;
  /// Whether a slot that the loader has not bound yet would get our original: no module except the
  /// allocator and libc defines malloc.
  bool may_bind;
};

enum class Lead : std::uint8_t { kToEntries, kToOriginals };

/// Changes the slots of one module. Returns the number of changed slots.
std::uint32_t turn_slots(const dl_phdr_info& module, const Shadows& shadows, Lead lead);

}  // namespace geiger::interpose
