// Identifies functions by name in every recording, and the patterns that select them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/patterns.h"
#include "analysis/profile/select/profile.h"

namespace geiger::compare {

// Identifies functions by name, so that a function is the same one in every recording, wherever its
// module was loaded or stored and however often it was rebuilt.

/// A function of a module, a line of one, or a program point without a name.
struct Place {
  std::string name;
  std::string module;    ///< module_name; empty outside every module.
  std::string build_id;  ///< Of a point without a name: what its address refers to.
  bool is_unnamed = false;
  bool is_plumbing = false;
  std::string file = {};   ///< Of a line: its name, as builds lie in different directories.
  std::uint32_t line = 0;  ///< 0: the whole function.
};

/// A function without what compilers append to the parts they split off, which
/// differs from build to build: "foo.constprop.0" and "foo [clone .cold]" are "foo".
[[nodiscard]] std::string_view stem_of(std::string_view function);

/// What a module is known by: the file name of its path; of a shared library
/// without its version ("libz.so.1.2.13" is "libz.so").
[[nodiscard]] std::string_view module_name(std::string_view path);

/// All places seen so far in any recording, numbered. The same name in the same
/// module is the same place.
class Places {
 public:
  /// The place of every label of a recording, in order of the labels. The
  /// executable of the recording's first process counts as the same module in all
  /// recordings, whatever its file is called. Unless `keeps_addresses`, one place
  /// stands for all points of a module that have no name.
  [[nodiscard]] std::vector<std::uint32_t> of_labels(const profile::Recording& recording,
                                                     const profile::Labels& labels,
                                                     const profile::FrameRoles& roles,
                                                     bool keeps_addresses);
  /// The place that stands for a whole module; profile::kNone: for what lies outside all.
  [[nodiscard]] std::uint32_t of_module(const profile::Recording& recording, std::uint32_t module);
  /// The place that stands for something with a name that is not in the code: a label.
  [[nodiscard]] std::uint32_t of_name(std::string name);
  /// A line of a place; the place itself where none is known.
  [[nodiscard]] std::uint32_t at_line(std::uint32_t place, const profile::SourceLine& where);
  /// The mark of a truncated stack.
  [[nodiscard]] std::uint32_t truncated();

  [[nodiscard]] const Place& operator[](std::uint32_t place) const { return places_[place]; }
  [[nodiscard]] std::size_t size() const { return places_.size(); }

  /// For every place the one to show instead of it. Addresses without names cannot
  /// be compared across builds: where such points were seen in several builds of a
  /// module, or in one without a build id, one place stands for all of them.
  [[nodiscard]] std::vector<std::uint32_t> unify_rebuilt();

 private:
  [[nodiscard]] std::uint32_t intern(const Place& place);
  [[nodiscard]] std::string module_of(const profile::Recording& recording, std::uint32_t module);

  std::vector<Place> places_;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::string program_;  ///< Of the first recording; stands for all programs.
};

// Glob patterns that select the functions a budget applies to.

/// Matches functions, and so the stacks that pass through one; or labels, by their text or their
/// whole path, with all that is allocated within them.
struct Pattern {
  std::string function = "*";
  std::string module = "*";
  std::string label = {};  ///< Instead of the two above, unless it is empty.

  [[nodiscard]] bool is_of_label() const { return !label.empty(); }
  [[nodiscard]] const std::string& name() const { return is_of_label() ? label : function; }
  [[nodiscard]] bool matches_everything() const {
    return function == "*" && module == "*" && !is_of_label();
  }
  [[nodiscard]] bool matches(const Place& place) const {
    return profile::matches_glob(function, place.name) &&
           profile::matches_glob(module, place.module);
  }
};

// Which patterns apply to the stacks of one run.

/// Looks into the recording and the patterns.
class PatternAnswers {
 public:
  /// `place_of`: by label, as of Places::of_labels.
  PatternAnswers(const std::vector<Pattern>& patterns, const profile::Recording& recording,
                 const profile::Labels& labels, const std::vector<std::uint32_t>& place_of,
                 const Places& places);

  /// From here on stacks are those of allocations within this label.
  void begin_label(std::uint32_t label) { label_ = label; }

  /// Whether a pattern, by its number, applies to a stack.
  [[nodiscard]] profile::Answer of(std::size_t pattern, std::uint32_t stack) const;

 private:
  const std::vector<Pattern>& patterns_;
  std::vector<std::vector<profile::Answer>> of_stacks_;  ///< By pattern of functions, and stack.
  std::vector<std::vector<profile::Answer>> of_labels_;  ///< By pattern of labels, and label.
  std::uint32_t label_ = profile::kNone;
};

}  // namespace geiger::compare
