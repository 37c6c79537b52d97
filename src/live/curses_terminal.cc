#include "live/curses_terminal.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <climits>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string_view>
#include <thread>

namespace geiger::live {
namespace {

constexpr int kEscapeMilliseconds = 25;  ///< Until an escape is a key of its own.

enum Pair : short { kHeapPair = 1, kBandPair, kResidentPair, kWarningPair, kBarPair };

/// Wide characters need a locale that has them; the user's other settings stay.
void choose_locale(bool has_unicode) {
  std::setlocale(LC_CTYPE, "");
  const bool is_utf8 = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  if (has_unicode && !is_utf8) std::setlocale(LC_CTYPE, "C.UTF-8");
}

attr_t attributes_of(terminal::Ink ink, bool has_color) {
  const auto color = [has_color](Pair pair, attr_t otherwise) {
    return has_color ? static_cast<attr_t>(COLOR_PAIR(pair)) : otherwise;
  };
  switch (ink) {
    case terminal::Ink::kPlain:
      return A_NORMAL;
    case terminal::Ink::kStrong:
      return A_BOLD;
    case terminal::Ink::kFaint:
      return A_DIM;
    case terminal::Ink::kWarning:
      return color(kWarningPair, A_BOLD) | A_BOLD;
    case terminal::Ink::kHeap:
      return color(kHeapPair, A_NORMAL);
    case terminal::Ink::kBand:
      return color(kBandPair, A_DIM);
    case terminal::Ink::kResident:
      return color(kResidentPair, A_NORMAL);
    case terminal::Ink::kBar:
      return color(kBarPair, A_REVERSE);
    case terminal::Ink::kSelected:
      return A_REVERSE;
  }
  return A_NORMAL;
}

void choose_colors() {
  start_color();
  use_default_colors();
  constexpr short kDefault = -1;
  init_pair(kHeapPair, COLOR_CYAN, kDefault);
  init_pair(kBandPair, COLOR_CYAN, kDefault);
  init_pair(kResidentPair, COLOR_YELLOW, kDefault);
  init_pair(kWarningPair, COLOR_RED, kDefault);
  init_pair(kBarPair, COLOR_BLACK, COLOR_CYAN);
}

Key named_key(wint_t code) {
  switch (code) {
    case KEY_ENTER:
      return Key::kEnter;
    case KEY_BACKSPACE:
    case KEY_DC:
      return Key::kErase;
    case KEY_UP:
      return Key::kUp;
    case KEY_DOWN:
      return Key::kDown;
    case KEY_PPAGE:
      return Key::kPageUp;
    case KEY_NPAGE:
      return Key::kPageDown;
    case KEY_HOME:
      return Key::kHome;
    case KEY_END:
      return Key::kEnd;
    default:
      return Key::kNone;
  }
}

Key control_key(wint_t code) {
  constexpr wint_t kEscapeCode = 27, kDelete = 127, kBackspace = 8;
  if (code == '\n' || code == '\r') return Key::kEnter;
  if (code == kEscapeCode) return Key::kEscape;
  if (code == kDelete || code == kBackspace) return Key::kErase;
  return Key::kNone;
}

struct Handles {
  std::FILE* input = nullptr;  ///< /dev/tty where standard input is something else.
  SCREEN* screen = nullptr;
  bool has_color = false;
};

class CursesTerminal : public LiveTerminal {
 public:
  explicit CursesTerminal(const Handles& handles) : handles_(handles) {}
  CursesTerminal(const CursesTerminal&) = delete;
  CursesTerminal& operator=(const CursesTerminal&) = delete;
  ~CursesTerminal() override;

  [[nodiscard]] ScreenSize size() const override;
  void paint(const terminal::Screen& screen) override;
  [[nodiscard]] Key read(std::chrono::milliseconds at_most) override;
  [[nodiscard]] const std::string& text() const override { return text_; }

 private:
  [[nodiscard]] bool has_hung_up() const;

  Handles handles_;
  std::string text_;
};

CursesTerminal::~CursesTerminal() {
  endwin();
  delscreen(handles_.screen);
  if (handles_.input != nullptr) std::fclose(handles_.input);
}

/// The kernel is asked each time: ncurses reads the size before it handles SIGWINCH, and would not
/// learn of a change in between.
ScreenSize CursesTerminal::size() const {
  winsize now{};
  const bool is_known =
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) == 0 && now.ws_row > 0 && now.ws_col > 0;
  if (is_known && is_term_resized(now.ws_row, now.ws_col)) resizeterm(now.ws_row, now.ws_col);
  return {static_cast<std::size_t>(getmaxx(stdscr)), static_cast<std::size_t>(getmaxy(stdscr))};
}

void CursesTerminal::paint(const terminal::Screen& screen) {
  erase();
  for (std::size_t row = 0; row < screen.size(); ++row) {
    move(static_cast<int>(row), 0);
    for (const terminal::Span& span : screen[row]) {
      attrset(static_cast<int>(attributes_of(span.ink, handles_.has_color)));
      addnstr(span.text.c_str(), static_cast<int>(span.text.size()));
    }
  }
  attrset(A_NORMAL);
  refresh();
}

bool CursesTerminal::has_hung_up() const {
  pollfd terminal{handles_.input == nullptr ? STDIN_FILENO : fileno(handles_.input), 0, 0};
  return poll(&terminal, 1, 0) == 1 && (terminal.revents & POLLHUP) != 0;
}

Key CursesTerminal::read(std::chrono::milliseconds at_most) {
  timeout(static_cast<int>(at_most.count()));
  wint_t code = 0;
  const int kind = get_wch(&code);
  if (kind == ERR && has_hung_up()) {
    std::this_thread::sleep_for(at_most);  // Reading does not wait any more.
    return Key::kHangUp;
  }
  if (kind == KEY_CODE_YES) return named_key(code);
  if (kind != OK) return Key::kNone;
  constexpr wint_t kFirstPrintable = 32;
  if (code < kFirstPrintable || code == 127) {
    text_ = static_cast<char>(code);
    const Key key = control_key(code);
    return key == Key::kNone && code == '\t' ? Key::kText : key;
  }
  char bytes[MB_LEN_MAX];
  std::mbstate_t state{};
  const std::size_t count = std::wcrtomb(bytes, static_cast<wchar_t>(code), &state);
  if (count == static_cast<std::size_t>(-1)) return Key::kNone;
  text_.assign(bytes, count);
  return Key::kText;
}

/// Null where terminfo does not describe the terminal.
LiveTerminal* open_terminal(bool has_color, bool has_unicode) {
  choose_locale(has_unicode);
  Handles handles;
  if (isatty(STDIN_FILENO) != 1) handles.input = std::fopen("/dev/tty", "re");
  std::FILE* input = handles.input == nullptr ? stdin : handles.input;
  handles.screen = newterm(std::getenv("TERM"), stdout, input);
  if (handles.screen == nullptr) {
    if (handles.input != nullptr) std::fclose(handles.input);
    return nullptr;
  }
  handles.has_color = has_color && has_colors();
  if (handles.has_color) choose_colors();
  cbreak();
  noecho();
  nonl();
  curs_set(0);
  keypad(stdscr, TRUE);
  set_escdelay(kEscapeMilliseconds);
  return new CursesTerminal(handles);
}

}  // namespace
}  // namespace geiger::live

geiger::live::LiveTerminal* geiger_open_curses_terminal(bool has_color, bool has_unicode) {
  return geiger::live::open_terminal(has_color, has_unicode);
}
