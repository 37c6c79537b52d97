// System calls without libc around them.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstddef>

#include "base/units.h"

namespace geiger::base {

// System calls without libc around them: no errno, no cancellation point, no
// lazy binding, no interposition. The result is the kernel's: -errno on failure.
//
// A program that confines itself (seccomp) may be killed for a call it never makes on its
// own. So it is never made: raw_syscall() then answers -EPERM without asking the kernel,
// which every caller has to be able to take anyway.
//
// Threads / Signals / Fork: safe everywhere. Allocates: never.

/// Which system calls the process allows itself.
enum class Confinement : int {
  kNone = 0,
  kToAllocators = 1,  ///< Calls that an allocator makes too: mmap and munmap.
  kTotal = 2,         ///< None.
};

/// Applies to this library's copy of the calls, for the whole process.
inline constinit std::atomic<Confinement> confinement{Confinement::kNone};

/// Refuses, as the kernel might.
inline constexpr long kRefused = -1;  // -EPERM

inline bool may_call(long number) {
  const Confinement now = confinement.load(std::memory_order_relaxed);
  if (now == Confinement::kNone) [[likely]]
    return true;
  return now == Confinement::kToAllocators && (number == SYS_mmap || number == SYS_munmap);
}

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  if (!may_call(number)) return kRefused;
#if defined(__x86_64__)
  long result = 0;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#else
#error "geiger's runtime knows x86-64 and aarch64"
#endif
}

/// True for the kernel's failure range [-4095, -1].
inline bool is_error(long result) { return result < 0 && result >= -4095; }

/// Processor time of all threads of the process so far; 0 in one that confined itself.
inline Nanoseconds processor_time() {
  timespec used{};
  const long result =
      raw_syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, reinterpret_cast<long>(&used));
  if (is_error(result)) return 0;
  return static_cast<Nanoseconds>(used.tv_sec) * 1'000'000'000 +
         static_cast<Nanoseconds>(used.tv_nsec);
}

}  // namespace geiger::base

// Takes pages from the kernel before they are written.
//
// Each page that is written first by a store costs a fault of its own. In a program that keeps
// the processor's caches for itself that is 9 us, of the page of a file as of memory; all pages
// of a range at once cost .3 us (memory) and 1.3 us (ext4) each, and a full disk is an error
// instead of SIGBUS.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace geiger::base {

/// Takes the pages of [start, start + bytes); `start` begins one. What lies there stays as it is.
/// 0 or -errno, then perhaps some of them: -EFAULT where a file has no room for them, -EINVAL of
/// kernels that cannot (< 5.14), -EINTR and -EAGAIN to try again.
/// Threads / Signals / Fork: safe everywhere. Allocates: never.
inline long populate(void* start, std::size_t bytes) {
  return raw_syscall(SYS_madvise, reinterpret_cast<long>(start), static_cast<long>(bytes),
                     MADV_POPULATE_WRITE);
}

}  // namespace geiger::base
