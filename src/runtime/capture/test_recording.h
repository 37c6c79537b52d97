// For tests only: a separate process that begins to record by attaching, and allocations at
// unmapped addresses, with the steps of runtime/interpose.
#pragma once

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/test_refusal.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/control/attach.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/tables/filter.h"

/// In a child: gives up, and prints the condition that failed.
#define GEIGER_OR_FAIL(condition)                                                    \
  do {                                                                               \
    if (!(condition)) {                                                              \
      dprintf(STDERR_FILENO, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      return geiger::capture::test::kCheckFailed;                                    \
    }                                                                                \
  } while (false)

namespace geiger::capture::test {
using base::in_child;

/// Not an errno, because bodies may return those.
inline constexpr int kCheckFailed = 255;

/// A directory for traces, removed with its contents.
class Directory {
 public:
  Directory() {
    char name[] = "/tmp/geiger-capture-XXXXXX";
    path_ = mkdtemp(name);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Settings of a recording in which every allocation of 64 bytes is a certain sample.
  [[nodiscard]] std::string settings(const std::string& more = "") const {
    return "GEIGER_DIR=" + path_ + "\nGEIGER_INTERVAL=64\nGEIGER_SEED=1\n" + more;
  }
  [[nodiscard]] int attach(const std::string& more = "") const {
    return capture::attach(settings(more).c_str());
  }
  [[nodiscard]] int traces() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      count += entry.file_size() > 0 ? 1 : 0;
    }
    return count;
  }

 private:
  std::string path_;
};

inline const void* address_of(std::uint64_t number) {
  return reinterpret_cast<const void*>(number << 8);
}

/// Makes allocation `number`.
[[gnu::noinline]] inline void allocate(std::uint64_t number, std::uint64_t size = 64) {
  if (!exhausts(size)) return;
  const Decision decision = decide(size);
  record(decision, {address_of(number), size, size, trace::EntryPoint::kMalloc, 16},
         unwind::caller_registers());
}

[[gnu::noinline]] inline void free_again(std::uint64_t number) {
  if (filter.maybe_holds(address_of(number))) {
    release(address_of(number), unwind::caller_registers());
  }
}

inline const trace::FileHeader& header() { return *current_segment().writer.header(); }

inline std::uint64_t drops(trace::DropCause cause) {
  return header().drops[static_cast<std::size_t>(cause)].load();
}

/// The control page, as the supervisor writes to it.
inline trace::ControlPage& control() {
  return *const_cast<trace::ControlPage*>(current_segment().writer.control());
}

/// Fills the trace until `room` bytes are left, a multiple of 8.
inline void leave_room(Bytes room) {
  trace::Writer& writer = current_segment().writer;
  for (;;) {
    const Bytes words = (header().capacity - writer.tail() - room) / 8;
    if (words == 0) return;
    // Never 1 word: no record is so small.
    const auto taken = static_cast<std::uint16_t>(words <= 4000 ? words : 3000);
    const trace::RecordHeader filler{trace::RecordType::kNone, 0, taken, 0, 0};
    const trace::Slot slot = writer.reserve(filler);
    if (slot) trace::Writer::commit(slot, filler);
  }
}

/// An address above every frame, so that all other code looks as if it had interrupted it.
inline const void* const kOutermostFrame = reinterpret_cast<const void*>(~std::uintptr_t{0});

class Recorded : public testing::Test {
 protected:
  /// The result of `body` in a recording process.
  template <typename Body>
  int recorded(const std::string& more, const Body& body) {
    return in_child([&] {
      GEIGER_OR_FAIL(directory_.attach(more) == 0);
      allocate(1);
      return body();
    });
  }
  Directory directory_;
};

}  // namespace geiger::capture::test
