#include "terminal/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "analysis/present/text.h"
#include "base/text.h"

namespace geiger::terminal {

std::size_t columns_of(const ScreenLine& line) {
  std::size_t columns = 0;
  for (const Span& span : line) columns += present::columns_of(span.text);
  return columns;
}

ScreenLine fitted(ScreenLine line, std::size_t width) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t columns = present::columns_of(line[i].text);
    if (used + columns > width) {
      line[i].text = present::elide(line[i].text, width - used);
      line.resize(i + 1);
      break;
    }
    used += columns;
  }
  return line;
}

void append(ScreenLine& line, Span span) {
  if (!line.empty() && line.back().ink == span.ink) {
    line.back().text += span.text;
  } else {
    line.push_back(std::move(span));
  }
}

namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_signal(int /*signal*/) { interrupted = 1; }

}  // namespace

void heed_signals() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool was_interrupted() { return interrupted != 0; }

void forget_interrupt() { interrupted = 0; }

namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

Color chosen_color = Color::kAuto;
present::Names chosen_names = present::Names::kShort;

std::optional<std::size_t> width_asked_for() {
  const auto width = base::number_in<std::size_t>(environment("COLUMNS"));
  constexpr std::size_t kMostWidth = 10'000;
  if (!width || *width == 0 || *width > kMostWidth) return std::nullopt;
  return std::max(*width, present::kLeastWidth);
}

std::size_t terminal_width(int fd, std::size_t elsewhere) {
  if (const auto width = width_asked_for()) return *width;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return elsewhere;
  return std::max<std::size_t>(size.ws_col, present::kLeastWidth);
}

bool wants_color(int fd) {
  if (chosen_color != Color::kAuto) return chosen_color == Color::kAlways;
  if (!environment("NO_COLOR").empty()) return false;
  const std::string_view force = environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  if (environment("CLICOLOR") == "0") return false;
  return isatty(fd) == 1 && environment("TERM") != "dumb";
}

/// An unset locale does not describe the terminal; today's show UTF-8.
bool shows_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale(environment(name));
    if (locale.empty()) continue;
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return true;
}

present::Style style_of(int fd, double level) {
  return {terminal_width(fd, present::kDefaultWidth), wants_color(fd), shows_unicode(), level,
          chosen_names};
}

}  // namespace

void choose_color(Color color) { chosen_color = color; }

void choose_names(present::Names names) { chosen_names = names; }

present::Style output_style(double level) { return style_of(STDOUT_FILENO, level); }

present::Style error_style(double level) {
  present::Style style = style_of(STDERR_FILENO, level);
  style.has_color = style.has_color && isatty(STDERR_FILENO) == 1;
  return style;
}

std::size_t help_width() {
  constexpr std::size_t kUsual = 80;
  return terminal_width(STDOUT_FILENO, kUsual);
}

bool print_report(std::string_view text, const present::Style& style) {
  if (style.has_unicode) return print_data(text);
  // cppcheck-suppress danglingTemporaryLifetime  // It lives until the call returns.
  return print_data(present::to_ascii_marks(std::string(text)));
}

bool print_data(std::string_view bytes) {
  const bool is_written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  if (is_written && std::fflush(stdout) == 0) return true;
  complain(fmt::format("standard output: {}", std::strerror(errno)));
  return false;
}

void complain(std::string_view sentence) {
  std::string line = fmt::format("geiger: {}\n", present::printable(sentence));
  if (isatty(STDERR_FILENO) == 1) {
    line = present::wrap_lines(line, terminal_width(STDERR_FILENO, present::kDefaultWidth));
  }
  fmt::print(stderr, "{}", line);
}

void suggest(std::string_view command) {
  fmt::print(stderr, "geiger: next: {}\n", present::printable(command));
}

}  // namespace geiger::terminal
