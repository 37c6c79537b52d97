#include "analysis/present/function_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/frame_rules.h"
#include "analysis/profile/frames/labels.h"
#include "base/text.h"

namespace geiger::present {

std::string function_text(std::string_view function, std::size_t columns, const Style& style) {
  const std::string shown = printable(function);
  if (style.names == Names::kFull) return shown;
  return naming::fit_name(naming::display_name(shown), columns);
}

std::size_t columns_needed(std::string_view function) {
  constexpr std::size_t kMost = 40;
  constexpr std::size_t kNumber = 3;  // " #2"
  constexpr std::size_t kLine = 5;    // ":1234"
  const std::string name = naming::display_name(printable(function));
  const bool is_lambda = name.ends_with("{lambda}") || name.ends_with("{closure}");
  return std::min(naming::telling_columns(name) + (is_lambda ? kLine : kNumber), kMost);
}

std::string callers_text(std::string_view callers, const Style& style) {
  constexpr std::string_view kBetween = " < ";
  if (style.names == Names::kFull) return printable(callers);
  std::string out;
  while (!callers.empty()) {
    const std::size_t end = std::min(callers.find(kBetween), callers.size());
    out += naming::display_name(printable(callers.substr(0, end)));
    callers.remove_prefix(end);
    if (!callers.starts_with(kBetween)) continue;
    callers.remove_prefix(kBetween.size());
    out += kBetween;
  }
  return out;
}

bool is_named_by_functions(profile::GroupBy by) {
  return by == profile::GroupBy::kFunction || by == profile::GroupBy::kLine ||
         by == profile::GroupBy::kStack || by == profile::GroupBy::kType ||
         by == profile::GroupBy::kHolder;
}

profile::GroupBy named_like(profile::LifetimeGrouping by) {
  switch (by) {
    case profile::LifetimeGrouping::kFunction:
      return profile::GroupBy::kFunction;
    case profile::LifetimeGrouping::kLine:
      return profile::GroupBy::kLine;
    case profile::LifetimeGrouping::kStack:
    case profile::LifetimeGrouping::kFreeStack:
      return profile::GroupBy::kStack;
    case profile::LifetimeGrouping::kType:
      return profile::GroupBy::kType;
    case profile::LifetimeGrouping::kWhole:
    case profile::LifetimeGrouping::kThread:
    case profile::LifetimeGrouping::kSize:
      break;
  }
  return profile::GroupBy::kThread;
}

std::string where_cell(const profile::SourceLine& where, std::string_view detail,
                       profile::GroupBy by) {
  constexpr std::size_t kMostOfModule = 24;
  const bool has_module = is_named_by_functions(by) && by != profile::GroupBy::kStack;
  if (!where.file.empty() || !has_module) return printable(text_of(where));
  return elide(printable(detail), kMostOfModule);
}

void add_row(Grid& grid, std::vector<std::string> cells, std::string_view name,
             std::string_view detail, profile::GroupBy by, const Style& style, bool is_faint,
             const profile::SourceLine& where) {
  const bool is_stack = by == profile::GroupBy::kStack;
  std::string tail = is_stack ? std::string() : printable(detail);
  const std::string place = printable(text_of(where));
  const bool has_place = is_place(cells.back());  // As a column of its own has it, maybe cut.
  if (!is_stack && !place.empty() && !has_place) tail = place;
  // A function of Python has its file for a module, which the place says too.
  const bool is_told = !where.file.empty() && base::place_name_of(where.file) == detail;
  if (cells.back() == tail || (is_told && has_place)) tail.clear();
  grid.add(std::move(cells), std::move(tail), is_faint);
  if (is_named_by_functions(by)) grid.name(name, is_stack ? "" : detail, where.line);
  if (is_stack) grid.append_callers(callers_text(detail, style));
}

const Fields<Named>& fields_of(Of<Named> /*type*/) {
  static const auto kFields =
      Fields<Named>()
          .field("name", "as demangled", &Named::name)
          .field("short_name",
                 "without arguments, `std::` and the like, as the text shows it; of functions and "
                 "types",
                 [](const Named& it) {
                   return it.is_function ? std::optional(naming::display_name(it.name))
                                         : std::nullopt;
                 });
  return kFields;
}

namespace {

using profile::Location;
using profile::Recording;
using profile::SourceLine;

/// As a frame is written.
struct ShownFrame {
  std::string function;
  SourceLine where;
  std::optional<std::string> module;
  std::optional<std::uint64_t> address;
};

const Fields<ShownFrame>& fields_of(Of<ShownFrame> /*type*/) {
  static const auto kFields =
      Fields<ShownFrame>("frame", "One of a stack, leaf first.")
          .field("function", "", &ShownFrame::function)
          .inlined(&ShownFrame::where)
          .field("module", "the file that it is in", &ShownFrame::module)
          .field("address",
                 "ELF virtual address of the return address; frames of interpreters have none",
                 &ShownFrame::address);
  return kFields;
}

void append_frames(std::vector<ShownFrame>& frames, const Recording& recording,
                   const Location& location) {
  ShownFrame shown;
  if (location.module < recording.modules.size()) {
    shown.module = recording.modules[location.module].path;
  }
  if (!recording.is_source(location)) shown.address = location.vaddr;
  if (location.frames.empty()) {
    shown.function = profile::address_name(recording, location);
    frames.push_back(shown);
  }
  for (const std::uint32_t index : location.frames) {
    shown.function = recording.frames[index].function;
    shown.where = profile::source_line_of(recording, index);
    frames.push_back(shown);
  }
}

std::vector<ShownFrame> frames_of(const StackOf& of) {
  std::vector<ShownFrame> frames;
  for (const std::uint32_t location : of.recording.stacks[of.stack].locations) {
    append_frames(frames, of.recording, of.recording.locations[location]);
  }
  return frames;
}

}  // namespace

const Fields<StackOf>& fields_of(Of<StackOf> /*type*/) {
  static const auto kFields =
      Fields<StackOf>()
          .field("stack", "leaf first", &frames_of)
          .field("is_truncated", "frames are missing at its outer end",
                 [](const StackOf& it) { return it.recording.stacks[it.stack].is_truncated; });
  return kFields;
}

std::optional<StackOf> stack_of(const Recording& recording, std::uint32_t stack) {
  return if_true(stack < recording.stacks.size(), StackOf{recording, stack});
}

const Fields<SourceLine>& fields_of(Of<SourceLine> /*type*/) {
  static const auto kFields =
      Fields<SourceLine>()
          .field("file", "where debug information has it",
                 [](const SourceLine& it) { return if_true(!it.file.empty(), it.file); })
          .field("line", "1 for the first",
                 [](const SourceLine& it) {
                   return if_true(!it.file.empty() && it.line != 0, it.line);
                 })
          .field("other_lines", "of a row of several lines: how many more",
                 [](const SourceLine& it) {
                   return if_true(!it.file.empty() && it.others != 0, it.others);
                 });
  return kFields;
}

namespace {

/// Modules that are named; the others are counted.
constexpr std::size_t kMostModulesNamed = 3;

}  // namespace

std::string ask_debuginfod(const std::string& run) {
  return "set DEBUGINFOD_URLS and run geiger symbolize --debuginfod" + behind_command(run);
}

void UnnamedModules::see(std::string_view function) {
  if (!profile::is_address_name(function)) return;
  const std::size_t plus = function.rfind('+');
  if (plus == std::string_view::npos) return;
  const std::string module(function.substr(0, plus));
  if (module.starts_with("libgeiger")) return;
  (absent_.contains(module) ? missing_ : unnamed_).insert(module);
}

std::string UnnamedModules::clause() const {
  std::string text;
  if (!missing_.empty()) {
    const bool is_one = missing_.size() == 1;
    text = fmt::format(
        "{} {} not found here: run geiger symbolize where {}, or with --debug-dir or --debuginfod",
        first_of(missing_, kMostModulesNamed, printable), is_one ? "was" : "were",
        is_one ? "its file is" : "their files are");
  }
  if (unnamed_.empty()) return text;
  const bool is_one = unnamed_.size() == 1;
  return fmt::format("{}{}{} {} no symbols: install {}", text, text.empty() ? "" : "; ",
                     first_of(unnamed_, kMostModulesNamed, printable), is_one ? "has" : "have",
                     is_one ? "its -dbgsym package" : "their -dbgsym packages");
}

std::string UnnamedModules::sentence(const std::string& run) const {
  const std::string text = clause();
  if (unnamed_.empty()) return text.empty() ? "" : text + ".";
  return fmt::format("{}, or {}.", text, ask_debuginfod(run));
}

std::set<std::string> absent_modules(const profile::Recording& recording) {
  std::set<std::string> absent;
  for (const profile::Module& module : recording.modules) {
    if (module.is_absent) absent.emplace(base::file_name_of(module.path));
  }
  return absent;
}

std::string compiled_code_hint(const profile::Recording& recording) {
  const auto machine =
      std::ranges::find_if(recording.modules, profile::is_virtual_machine, &profile::Module::path);
  if (machine == recording.modules.end()) return {};
  bool is_unnamed = false;
  for (const profile::Location& location : recording.locations) {
    if (location.module != profile::kNone) continue;
    for (const std::uint32_t index : location.frames) {
      const profile::Frame& frame = recording.frames[index];
      if (profile::is_script(frame.file) || profile::is_java_method(frame.function)) return {};
      is_unnamed |= profile::is_address_name(frame.function);
    }
  }
  if (!is_unnamed) return {};
  const std::string_view name = base::file_name_of(machine->path);
  return name.starts_with("node") || name.starts_with("libnode")
             ? "functions of node's scripts have no names: record with geiger run --node"
             : "methods that the JVM compiled have no names: record with geiger run --java";
}

std::string UnnamedModules::note(std::size_t width) const {
  const std::string text = sentence();
  return text.empty() ? "" : wrap_lines(text, width);
}

}  // namespace geiger::present
