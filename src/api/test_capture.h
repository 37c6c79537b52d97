// For tests only: a capture whose answers the test chooses, and whose trace it writes. It takes
// the place of the real one in the program, so that a call can be refused what a real capture
// refuses once in a million years.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "geiger/geiger.h"
#include "runtime/capture/program/interface.h"
#include "trace/test_trace.h"

namespace geiger::api::test {

inline constexpr std::uint64_t kInterval = 1024;  ///< Of the traces' first epoch.

struct Capture {
  /// Makes the trace what the program finds, as image `number`; what was found before stays
  /// valid, as mapped traces do.
  void show(trace::TestTrace& trace, std::uint32_t number = 1) {
    const auto bytes = trace.bytes();
    static std::deque<std::vector<std::uint64_t>> traces;
    auto& words = traces.emplace_back(bytes.size() / sizeof(std::uint64_t));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    auto* header = reinterpret_cast<trace::FileHeader*>(words.data());
    status = {.phase = capture::Phase::kSampling,
              .stop_reason = trace::StopReason::kNone,
              .stop_errno = 0,
              .is_recording = true,
              .is_paused = false,
              .is_in_memory = true,
              .image = number,
              .first_image = number,
              .interval = kInterval,
              .largest_interval = kInterval,
              .live_samples = 0,
              .header = header};
    mapped = bytes.size();
  }
  /// The same image with what the trace has gone on to hold.
  void grow(trace::TestTrace& trace) {
    const std::uint32_t first = status.first_image;
    show(trace, status.image);
    status.first_image = first;
  }

  capture::Status status{};
  Bytes mapped = 0;
  capture::Rate rate{};
  bool can_set_interval = true, can_write_marks = true, can_name = true, has_memory = true;
  std::vector<std::string> names;                          ///< Ids from 1 on.
  std::vector<trace::NameKind> kinds;                      ///< Of the names.
  std::vector<capture::Report> reported;                   ///< Samples of custom heaps.
  std::vector<std::uint64_t> freed;                        ///< Addresses in custom heaps.
  std::vector<std::pair<std::uint64_t, trace::Ref>> live;  ///< Keys and samples.
  capture::Counted counted = capture::Counted::kYes;
  std::uint64_t thread_bytes = 0;
  capture::ProcessBytes process_bytes{};
  std::vector<bool> held;  ///< What hold() was told.
  /// Called once, when these are asked.
  std::function<void()> at_status, at_rate, at_live, at_allocate;
};

/// Of this program; a test begins with a new one and another image.
extern Capture fake;
extern std::atomic<const capture::Listener*> listener;

}  // namespace geiger::api::test
