// For tests only: a capture whose results the test chooses, and whose trace it writes. It replaces
// the real one in the program, to test refusals that a real capture makes once in a million years.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "geiger/geiger.h"
#include "runtime/capture/interface.h"
#include "trace/test_trace.h"

namespace geiger::api::test {

inline constexpr std::uint64_t kInterval = 1024;  ///< Of the traces' first epoch.

struct Capture {
  /// Shows this trace to the program, as image `number`; earlier ones stay valid, like mapped
  /// traces.
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
  /// The same image with the records added to the trace.
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
  std::vector<bool> held;  ///< Arguments of hold().
  /// Called once, when these functions are called.
  std::function<void()> at_status, at_rate, at_live, at_allocate;
};

/// This program's; each test begins with a new one and another image.
extern Capture fake;
extern std::atomic<const capture::Listener*> listener;

}  // namespace geiger::api::test
