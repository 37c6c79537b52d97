#include "terminal/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "analysis/present/format.h"
#include "base/units.h"

namespace geiger::terminal {
namespace {

using namespace std::chrono_literals;

constexpr auto kQuietTime = 500ms;
constexpr auto kRedraw = 100ms;
constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kLeastBar = 5;  ///< A shorter one shows nothing.
constexpr std::size_t kUsualColumns = 79;
constexpr Nanoseconds kSecond = 1'000'000'000;

/// A line that is drawn again and again needs a terminal that can go back to its start.
bool can_redraw() {
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return isatty(STDERR_FILENO) == 1 && !is_dumb;
}

/// A line that reaches the last column is continued on the next, where it cannot be erased.
std::size_t usable_columns() {
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col - 1U : kUsualColumns;
}

std::string time_left(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  return whole < 60 ? fmt::format("{} s", whole) : present::duration(whole * kSecond);
}

}  // namespace

std::string progress_line(const ProgressStyle& style, std::size_t done, std::size_t total,
                          double seconds) {
  done = std::min(done, total);
  std::string figures = fmt::format("{} of {}{}", done, total, style.unit);
  if (done != 0 && seconds > 0) {
    const double rate = static_cast<double>(done) / seconds;
    figures += fmt::format(", {}{}/s, {} left",
                           rate < 10 ? fmt::format("{:.1f}", rate) : fmt::format("{:.0f}", rate),
                           style.unit, time_left(static_cast<double>(total - done) / rate));
  }
  const std::size_t around = style.what.size() + figures.size() + std::strlen(" [] ");
  const std::size_t width =
      style.columns > around ? std::min(kBarWidth, style.columns - around) : 0;
  if (width < kLeastBar) return style.what + " " + figures;
  const std::size_t filled = total == 0 ? 0 : width * done / total;
  return fmt::format("{} [{}{}] {}", style.what, std::string(filled, '#'),
                     std::string(width - filled, ' '), figures);
}

Progress::Progress(std::string what, std::string unit)
    : style_{std::move(what), std::move(unit), usable_columns()},
      is_shown_(can_redraw()),
      start_(Clock::now()),
      next_(start_ + kQuietTime) {}

Progress::~Progress() {
  if (is_drawn_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::update(std::size_t done, std::size_t total) {
  if (total == 0 || !is_due()) return;
  const std::chrono::duration<double> elapsed = Clock::now() - start_;
  draw(progress_line(style_, done, total, elapsed.count()));
}

void Progress::update() {
  if (!is_due()) return;
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_);
  draw(fmt::format("{}, {} s", style_.what, elapsed.count()));
}

bool Progress::is_due() {
  if (!is_shown_ || Clock::now() < next_) return false;
  next_ = Clock::now() + kRedraw;
  return true;
}

void Progress::draw(const std::string& line) {
  is_drawn_ = true;
  fmt::print(stderr, "\r{}\x1b[K", line);
}

}  // namespace geiger::terminal
