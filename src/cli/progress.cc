#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace geiger::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 500ms;
constexpr auto kRedraw = 100ms;
constexpr std::size_t kBarWidth = 30;

}  // namespace

Progress::Progress(std::string what)
    : what_(std::move(what)),
      is_shown_(isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + kPatience) {}

Progress::~Progress() {
  if (is_drawn_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::update(std::size_t done, std::size_t total) {
  if (!is_shown_ || total == 0 || Clock::now() < next_) return;
  next_ = Clock::now() + kRedraw;
  is_drawn_ = true;
  const std::size_t filled = kBarWidth * std::min(done, total) / total;
  fmt::print(stderr, "\r{} [{}{}] {} of {}\x1b[K", what_, std::string(filled, '#'),
             std::string(kBarWidth - filled, ' '), done, total);
}

}  // namespace geiger::cli
