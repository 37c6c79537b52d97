// Whose a frame is, by its names: rules as text, those of frames.rules and those of a project's
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/patterns.h"
#include "base/outcome.h"

namespace geiger::profile {

// Whose a frame is: the program's own code, a library's, or plumbing between the two and the
// allocator. Views leave plumbing out and blame the first frame of a stack that is not; nothing
// is counted differently.

/// Ordered by what they reveal about the cause of an allocation: where a stack has nothing
/// but plumbing, the first frame of the best role is blamed.
enum class FrameRole : std::uint8_t {
  kOwn,         ///< The program's executable, or a shared object of the project.
  kLibrary,     ///< Of a library that the system or a package manager installed.
  kPackage,     ///< Of a library that an interpreter runs: its own, or an installed package.
  kDispatch,    ///< Loops and calls of an interpreter.
  kStandard,    ///< Standard libraries and containers, also instantiated elsewhere.
  kStartUp,     ///< Before main, below threads.
  kAllocation,  ///< Allocation functions and their wrappers.
  kHidden,      ///< The user wants none of it (--hide).
};

[[nodiscard]] constexpr bool is_plumbing(FrameRole role) { return role > FrameRole::kLibrary; }

/// What a role depends on; each may be empty.
struct FrameFacts {
  std::string_view function;   ///< Demangled.
  std::string_view module;     ///< Path.
  std::string_view file;       ///< Of the source.
  bool is_executable = false;  ///< `module` is the program that was started.
  ModuleKind kind = ModuleKind::kNative;
};

/// Which frames of an interpreted program views show.
enum class FramesShown : std::uint8_t {
  kMixed,   ///< Interpreted and native ones; those of the interpreter are plumbing.
  kPython,  ///< Interpreted ones only.
  kNative,  ///< Native ones only, those of the interpreter like any others.
};

/// A function template, or a member of a class template, that allocates its first argument's type.
struct TypeRule {
  std::string_view name;     ///< Up to the bracket before the type.
  std::string_view members;  ///< What follows after the bracket,
  bool is_start = false;     ///< as the whole name or, if so, as the start of one.
};

/// Of a file: functions that allocate types, and templates that hold one object of their first
/// argument's type ("std::_List_node<").
struct TypeRules {
  std::vector<TypeRule> allocators;
  std::vector<std::string_view> holders;
};

/// Of a file: each takes memory, and time for each name.
inline constexpr std::size_t kMostRules = 1000;

class RuleTable;

/// A file of rules. The last one that matches decides; those of a project go before those that are
/// built in.
class FrameRules {
 public:
  /// Reads a file of the form that docs/guide/profiles.md describes. The reason of a failure begins
  /// with the number of its line, "3: ".
  static base::Outcome<FrameRules> parse(std::string_view text);

  /// Hides what matches, whatever the file says.
  void hide(NamePattern pattern) { hidden_.push_back(std::move(pattern)); }

  /// By these rules, then by those that are built in.
  [[nodiscard]] FrameRole role(const FrameFacts& facts) const;
  /// Whether there are frames that views leave out, by these rules.
  [[nodiscard]] bool leaves_out() const;

  /// Leave plumbing in: only what is hidden is left out, and leaves are blamed.
  bool shows_plumbing = false;
  FramesShown frames = FramesShown::kMixed;

  /// The function only passes an allocation on, so that its caller determines the type: what lies
  /// between an allocator of typed objects and one of bytes.
  [[nodiscard]] bool passes_allocation_on(std::string_view function) const;

  /// Of the file, if there is one, and those that are built in.
  [[nodiscard]] std::vector<const TypeRules*> types() const;

  /// Whether wrappers are looked for (wrappers.h), and the functions that then are allocation
  /// functions if neither the file nor a rule that is built in says otherwise: name_in_module().
  [[nodiscard]] bool finds_wrappers() const;
  void find_wrappers(bool finds) { finds_wrappers_ = finds; }
  void set_wrappers(std::unordered_set<std::string> names);
  /// Whether the name of a function hints at a wrapper.
  [[nodiscard]] bool may_wrap(std::string_view function) const;

 private:
  std::shared_ptr<const RuleTable> file_;  ///< Null: no rules.
  std::vector<NamePattern> hidden_;
  std::optional<bool> finds_wrappers_;  ///< Else as the file says.
  std::shared_ptr<const std::unordered_set<std::string>> wrappers_;
};

/// A function, the same in every recording.
[[nodiscard]] std::string name_in_module(std::string_view function, std::string_view module_path);

/// Those that a recording is read by.
[[nodiscard]] const FrameRules& rules_of(const Recording& recording);

/// By the rules that are built in.
[[nodiscard]] FrameRole role_of(const FrameFacts& facts);

/// Whether a function of this name allocates memory itself: malloc and its kin, operator new,
/// Rust's global allocator, and what the usual allocators call theirs.
[[nodiscard]] bool is_allocation_function(std::string_view name);

/// libc, the loader, libstdc++ and what belongs to them; allocators that are libraries.
[[nodiscard]] bool is_standard_module(std::string_view path);

/// The executable or a shared object of a virtual machine: node, libjvm.so.
[[nodiscard]] bool is_virtual_machine(std::string_view path);

/// The text of frames.rules.
extern const char* const kBuiltInRules;

// Names that say of which language code is. What node's and the JVM's compilers make while the
// program runs has no module; perf maps name it.

/// A function of a script: its source file, as a name in a perf map has it.
[[nodiscard]] bool is_script(std::string_view file);

/// A method by its name: "app.Leak.remember(int)".
[[nodiscard]] bool is_java_method(std::string_view function);

/// Whether a function's name is only an address, "module+0x1234": what frames are called whose
/// symbol is unknown.
[[nodiscard]] bool is_address_name(std::string_view function);

}  // namespace geiger::profile
