// The functions that our entry points shadow.
//
// Every pointer initially points to a trampoline that resolves the whole family and calls the
// original, so any function may be called first (malloc(0), free, new), before any constructor. C
// and C++ resolve separately: libstdc++ may be loaded later.
//
// operator new has three kinds of provider:
//   the allocator itself (jemalloc, tcmalloc, mimalloc)  -> theirs, we count
//   libstdc++ / libc++, which only call malloc            -> malloc directly, we
//       count; theirs is called only when malloc fails, for new_handler and throw
//   some other library's own                              -> passed through; the
//       malloc inside counts
// so that each allocation is counted exactly once.
//
// Threads: resolving is idempotent, plain stores of the same values. Allocates: never.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>
#include <threads.h>

#include <cstddef>
#include <cstdint>

namespace geiger::interpose {

struct Originals {
  void* (*malloc)(std::size_t);
  void (*free)(void*);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void* (*realloc_for_array)(void*, std::size_t);  ///< realloc, for reallocarray.
  void* (*memalign)(std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  void (*free_sized)(void*, std::size_t);
  void (*free_aligned_sized)(void*, std::size_t, std::size_t);
  std::size_t (*usable_size)(void*);       ///< The allocator's own, or 0.
  std::size_t (*next_usable_size)(void*);  ///< The one that the program would call.
  int (*pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  int (*thrd_create)(thrd_t*, thrd_start_t, void*);
  /// Install and remove a handler for the thread's end. Looked up, because pthread_cleanup_push
  /// needs a symbol whose version changed in glibc 2.34.
  void (*cleanup_push)(_pthread_cleanup_buffer*, void (*)(void*), void*);
  void (*cleanup_pop)(_pthread_cleanup_buffer*, int);
};
[[gnu::visibility("hidden")]] extern constinit Originals originals;

/// Functions that change the address space. Null until resolve_mappings().
struct MappingOriginals {
  void* (*mmap)(void*, std::size_t, int, int, int, off_t);
  int (*munmap)(void*, std::size_t);
  void* (*mremap)(void*, std::size_t, std::size_t, int, ...);
  int (*mprotect)(void*, std::size_t, int);
  void* (*sbrk)(std::intptr_t);
  int (*brk)(void*);
};
[[gnu::visibility("hidden")]] extern constinit MappingOriginals mapping_originals;

/// Functions for system calls, processes and signals. Null until resolve_system().
struct SystemOriginals {
  int (*prctl)(int, ...);
  long (*syscall)(long, ...);
  int (*clone)(int (*)(void*), void*, int, void*, ...);
  pid_t (*fork_bare)();  ///< _Fork; null before glibc 2.34.
  int (*sigaction)(int, const struct sigaction*, struct sigaction*);
  sighandler_t (*signal)(int, sighandler_t);
};
[[gnu::visibility("hidden")]] extern constinit SystemOriginals system_originals;

/// `nothrow` arguments are references to an empty struct: plain pointers here.
struct CxxOriginals {
  void* (*new_plain)(std::size_t);
  void* (*new_array)(std::size_t);
  void* (*new_nothrow)(std::size_t, const void*);
  void* (*new_array_nothrow)(std::size_t, const void*);
  void* (*new_aligned)(std::size_t, std::size_t);
  void* (*new_array_aligned)(std::size_t, std::size_t);
  void* (*new_aligned_nothrow)(std::size_t, std::size_t, const void*);
  void* (*new_array_aligned_nothrow)(std::size_t, std::size_t, const void*);
  void (*delete_plain)(void*);
  void (*delete_array)(void*);
  void (*delete_sized)(void*, std::size_t);
  void (*delete_array_sized)(void*, std::size_t);
  void (*delete_nothrow)(void*, const void*);
  void (*delete_array_nothrow)(void*, const void*);
  void (*delete_aligned)(void*, std::size_t);
  void (*delete_array_aligned)(void*, std::size_t);
  void (*delete_sized_aligned)(void*, std::size_t, std::size_t);
  void (*delete_array_sized_aligned)(void*, std::size_t, std::size_t);
  void (*delete_aligned_nothrow)(void*, std::size_t, const void*);
  void (*delete_array_aligned_nothrow)(void*, std::size_t, const void*);
};
[[gnu::visibility("hidden")]] extern constinit CxxOriginals cxx_originals;

/// True once an operator new was found that calls malloc itself, so that malloc counts.
[[gnu::visibility("hidden")]] extern constinit bool passes_new_through;

/// Resolves the C family once. Cheap afterwards.
void resolve();

/// Resolves the functions that change the address space, and sets whose calls are ignored. Cheap
/// afterwards.
void resolve_mappings();

/// Resolves SystemOriginals. Cheap afterwards.
void resolve_system();

/// The usable size of an allocation of `requested` bytes; at least those. For an allocation that
/// the allocator makes during this call, returns `requested`.
std::size_t usable_size_of(void* pointer, std::size_t requested);

/// True if the plain operators new are ours, which call malloc, so that `try_new` may be called
/// before them; the aligned ones always are.
[[gnu::visibility("hidden")]] extern constinit bool new_is_malloc;

/// The result of operator new, or null if it would call the new handler or throw: an exception
/// would bypass the code that must retract the sample.
void* try_new(std::size_t size);
void* try_new(std::size_t size, const void* nothrow);
void* try_new(std::size_t size, std::size_t alignment);
void* try_new(std::size_t size, std::size_t alignment, const void* nothrow);

/// Resolves the C++ family. Cheap afterwards.
void resolve_cxx();

/// Resolves the C++ functions, again if no C++ library was loaded before.
void resolve_cxx_again();

}  // namespace geiger::interpose
