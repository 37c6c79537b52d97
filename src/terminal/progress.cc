#include "terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
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

/// A line that is drawn again and again needs a terminal that can go back to its start.
bool can_redraw() {
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return isatty(STDERR_FILENO) == 1 && !is_dumb;
}

std::string time_left(double seconds) {
  return present::duration(static_cast<Nanoseconds>(std::ceil(seconds) * 1e9));
}

}  // namespace

std::string progress_line(const std::string& what, std::size_t done, std::size_t total,
                          double seconds) {
  done = std::min(done, total);
  const std::size_t filled = total == 0 ? 0 : kBarWidth * done / total;
  std::string line = fmt::format("{} [{}{}] {} of {}", what, std::string(filled, '#'),
                                 std::string(kBarWidth - filled, ' '), done, total);
  if (done == 0 || !(seconds > 0)) return line;
  const double rate = static_cast<double>(done) / seconds;
  return line + fmt::format(", {:.3g}/s, {} left", rate,
                            time_left(static_cast<double>(total - done) / rate));
}

Progress::Progress(std::string what)
    : what_(std::move(what)),
      is_shown_(can_redraw()),
      start_(Clock::now()),
      next_(start_ + kQuietTime) {}

Progress::~Progress() {
  if (is_drawn_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::update(std::size_t done, std::size_t total) {
  if (!is_shown_ || total == 0 || Clock::now() < next_) return;
  next_ = Clock::now() + kRedraw;
  is_drawn_ = true;
  const std::chrono::duration<double> elapsed = Clock::now() - start_;
  fmt::print(stderr, "\r{}\x1b[K", progress_line(what_, done, total, elapsed.count()));
}

}  // namespace geiger::terminal
