// A progress line on standard error, where that is a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace geiger::terminal {

/// What is counted, and the terminal that shows it.
struct ProgressStyle {
  std::string what;
  std::string unit;  ///< With a space before it, such as " MiB"; may be empty.
  std::size_t columns;
};

/// "WHAT [###   ] 120 of 400 MiB, 35 MiB/s, 8 s left"; without rate before there is one. The bar
/// gets what the terminal's width leaves.
[[nodiscard]] std::string progress_line(const ProgressStyle& style, std::size_t done,
                                        std::size_t total, double seconds);

/// Draws nothing in the first half second and nothing off a terminal; erases
/// itself when it goes.
class Progress {
 public:
  explicit Progress(std::string what, std::string unit = "");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::size_t done, std::size_t total);
  /// That it goes on, where how much is left is not known: "WHAT, 12 s".
  void update();

 private:
  void draw(const std::string& line);
  [[nodiscard]] bool is_due();

  using Clock = std::chrono::steady_clock;

  ProgressStyle style_;
  bool is_shown_;
  bool is_drawn_ = false;
  Clock::time_point start_, next_;
};

}  // namespace geiger::terminal
