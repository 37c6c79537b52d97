// The slots through which loaded modules call the functions that we shadow: entries of
// the global offset table and function pointers in data. A preloaded library needs none
// of this; one that comes into a running process has no other way.
//
// A slot is changed only while it holds the very function that we call on: a module that
// is bound to an allocator of its own (another namespace, RTLD_DEEPBIND) keeps it.
//
// Threads: one at a time, with the loader's list held still; slots change atomically
// under threads that call through them. Allocates: never.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace geiger::interpose {

/// One function that we shadow. A null original is left alone.
struct Shadow {
  const char* name;
  void (*entry)();  ///< Of its own type no more than `original`, but a constant.
  void* original;
};

struct Shadows {
  const Shadow* begin;
  std::size_t count;
  /// A slot that the loader has not bound yet would get our original: true where no
  /// module but the allocator and libc defines malloc.
  bool may_bind;
};

enum class Lead : std::uint8_t { kToEntries, kToOriginals };

/// Changes the slots of one module. Returns how many now lead where they should and did
/// not before.
std::uint32_t turn_slots(const dl_phdr_info& module, const Shadows& shadows, Lead lead);

}  // namespace geiger::interpose
