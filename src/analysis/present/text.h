// How a text report is drawn, and names for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace geiger::present {

// How a text report is drawn, decided once by the command line.

inline constexpr std::size_t kDefaultWidth = 100;
/// Narrower terminals get lines this wide and wrap them.
inline constexpr std::size_t kLeastWidth = 60;

enum class Names {
  kShort,  ///< As people say them, fitted to the width (analysis/naming).
  kFull,   ///< As the compiler knows them, never cut.
};

struct Style {
  std::size_t width = kDefaultWidth;  ///< Columns; at least kLeastWidth.
  bool has_color = false;
  bool has_unicode = true;
  double level = 0.95;  ///< Confidence level of every interval, in (0, 1).
  Names names = Names::kShort;
};

/// Roles, not colours: what the text is for.
enum class Role { kHeading, kFaint, kWarning };

/// `text` in the colour of its role, or as it is where colours are off.
[[nodiscard]] std::string paint(const Style& style, Role role, std::string_view text);

/// For terminals without UTF-8: ± becomes +-, lines, bars and the ellipsis become
/// ASCII. Other characters, as in names, stay.
[[nodiscard]] std::string to_ascii_marks(std::string text);

// Names for a terminal: what the target wrote (symbols, paths, thread names) may be any bytes and
// must not move the cursor, change colours or break a line. Nothing here knows about numbers; see
// format.h.

/// Processes that a text lists; the others are counted.
inline constexpr std::size_t kProcessesShown = 20;

/// `text` with control characters, escapes, bidirectional overrides and invalid
/// bytes shown as \x1b, \u202e, ... The result is valid UTF-8 on one line.
[[nodiscard]] std::string printable(std::string_view text);
/// printable(text), with `&`, `<`, `>` and `"` escaped: for text and attributes of XML and HTML.
[[nodiscard]] std::string in_markup(std::string_view text);

/// A clause with a capital letter and a full stop.
[[nodiscard]] std::string as_sentence(std::string clause);

/// Terminal columns that a printable text takes.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// At most `columns` wide: the middle goes, both ends stay ("alpha…omega").
[[nodiscard]] std::string elide(std::string_view text, std::size_t columns);

/// Whether it is a place in a source file as reports show them: "leaky.cc:25", "leaky.cc:25 +2",
/// "leaky.cc:23-25".
[[nodiscard]] bool is_place(std::string_view text);

/// A place in `columns`: "+2" goes first, then the middle of the file's name; the line never does.
/// Empty if even that does not fit.
[[nodiscard]] std::string fit_place(std::string_view place, std::size_t columns);

/// "a < b < c" in `columns`: whole names, from the left, "a < …". Empty where the first of them
/// would lose its last component.
[[nodiscard]] std::string fit_callers(std::string_view callers, std::size_t columns);

/// `tail` after a text that takes `used` of `room` columns, two spaces before it; empty where too
/// little of it would be left. Places and callers are cut as above; another single word is shown
/// whole or not at all.
[[nodiscard]] std::string tail_within(std::string_view tail, std::size_t room, std::size_t used);

/// Breaks at spaces so that no line is wider than `width` columns; lines after the first begin with
/// `indent` spaces, the first is taken to follow as many. A word that is too long stays whole on a
/// line of its own.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t indent, std::size_t width);
/// wrap() of every line of `lines`, each ended by a newline, without indent.
[[nodiscard]] std::string wrap_lines(std::string_view lines, std::size_t width);

/// A word as a shell takes it: quoted where it has to be.
[[nodiscard]] std::string as_typed(const std::string& word);
/// " 'my run.geiger'": a run after a command to type; empty where it has no name.
[[nodiscard]] std::string behind_command(const std::string& run);

/// "a, b and 3 more": the first `most` items, each as text_of(item) has it.
template <typename Items, typename TextOf>
[[nodiscard]] std::string first_of(const Items& items, std::size_t most, const TextOf& text_of) {
  std::string text;
  std::size_t named = 0;
  for (const auto& item : items) {
    if (named == most) return text + " and " + std::to_string(items.size() - most) + " more";
    text += named++ == 0 ? "" : ", ";
    text += text_of(item);
  }
  return text;
}

[[nodiscard]] std::string pad_left(std::string_view text, std::size_t columns);
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t columns);

}  // namespace geiger::present
