// The command line as data. Completion and manual are made from it, so both always agree with the
// parser.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace geiger::cli {

/// An option, or an operand: a word that stands for itself.
struct OptionFacts {
  std::vector<std::string> names;    ///< "-o", "--output"; of an operand "RUN".
  std::string value;                 ///< "FILE"; empty: takes none, or has no word for it.
  std::vector<std::string> choices;  ///< All values that are accepted; empty: not enumerated.
  std::string help;                  ///< Lines.
  bool takes_value = false;
  bool is_list = false;  ///< The value is choices, divided by commas.
};

/// A verb, or a format of `export`.
struct VerbFacts {
  std::string name;     ///< "table"; "export pprof"; "" of geiger itself.
  std::string summary;  ///< One line.
  std::string usage;    ///< "geiger table [OPTIONS] [RUN...]".
  std::string footer;   ///< The text below the options in its help.
  std::vector<OptionFacts> options, operands;
  std::vector<VerbFacts> verbs;
};

/// Of geiger itself, verbs included; `app` is the parser of all of it.
[[nodiscard]] VerbFacts describe_tree(const CLI::App& app);

/// What a value or operand can be completed to.
enum class Completion { kNothing, kChoices, kFiles, kDirectories, kRuns, kProcesses };

[[nodiscard]] Completion completion_of(const OptionFacts& option);

/// Its PID may be of any process; of other verbs, of those that have geiger in them.
[[nodiscard]] bool asks_all_processes(const VerbFacts& verb);

/// The words of a path as typed: "pprof" of "export pprof".
[[nodiscard]] std::string last_word(const std::string& path);

/// The word after `verb` stands for a program whose own words follow.
[[nodiscard]] bool takes_program(const VerbFacts& verb);

// Manual pages in scdoc's language, made of the command tree.

/// The page of one verb with its formats, or of geiger itself: NAME to EXIT STATUS. The
/// build puts hand-written sections after it (docs/man).
[[nodiscard]] std::string manual_page(const VerbFacts& verb, const std::string& version);

}  // namespace geiger::cli
