// A progress line on standard error, where that is a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace geiger::terminal {

/// "WHAT [###   ] 120 of 400, 35/s, 8 s left"; without rate before there is one.
[[nodiscard]] std::string progress_line(const std::string& what, std::size_t done,
                                        std::size_t total, double seconds);

/// Draws nothing in the first half second and nothing off a terminal; erases
/// itself when it goes.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::size_t done, std::size_t total);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  bool is_shown_;
  bool is_drawn_ = false;
  Clock::time_point start_, next_;
};

}  // namespace geiger::terminal
