// Names that people read: short, fitted to a width, and made distinct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace geiger::naming {

// Names that people read. A demangled name says all that a compiler knows; what its author called
// the function is a small part of it. Nothing is lost: every view that shows short names also
// offers the whole ones, and distinct_names() adds back the parts by which two of them differ.

/// `demangled` without parameters, return type, `std::`, inline namespaces, default template
/// arguments and what compilers append: "vector<int>::resize". Long template arguments are
/// folded to "…". What is not a function of C++ or Rust stays as it is. Any bytes will do.
[[nodiscard]] std::string display_name(std::string_view demangled);

/// At most `columns` wide. An ellipsis takes from template arguments first, then the
/// namespaces on the left; the last component is cut only where it alone is too wide.
[[nodiscard]] std::string fit_name(std::string_view display, std::size_t columns);

/// False for placeholders of unknown names ("libfoo.so+0x1234") and for names of other runtimes.
[[nodiscard]] bool is_function_name(std::string_view display);

/// The fewest columns in which fit_name() leaves the last component whole.
[[nodiscard]] std::size_t least_columns(std::string_view display);

/// The fewest columns in which it also leaves the component before that: "Pass::run" says more
/// than "run".
[[nodiscard]] std::size_t telling_columns(std::string_view display);

/// A function of a report, and the room that its name has.
struct Named {
  std::string_view demangled;
  std::string_view module = {};  ///< As shown: without directories.
  std::size_t columns = 0;       ///< 0: as many as it needs.
  std::uint32_t line = 0;        ///< Where in its source file it is; 0: not known.
};

/// Display names, one for each, fitted. Two that differ in name or module do not look the same:
/// they get back the parts that distinguish them, the lines of lambdas first ("main::{lambda:24}")
/// or else their numbers, then parameters, template arguments, namespaces, and the module.
[[nodiscard]] std::vector<std::string> distinct_names(std::span<const Named> functions);

// How many columns of a terminal a text takes, and where to cut it.

/// Terminal columns that a text takes.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// Bytes of the longest prefix that is at most `columns` wide.
[[nodiscard]] std::size_t prefix_within(std::string_view text, std::size_t columns);

/// First byte of the longest suffix that is at most `columns` wide.
[[nodiscard]] std::size_t suffix_within(std::string_view text, std::size_t columns);

/// At most `columns` wide: the middle goes, both ends stay ("alpha…omega").
[[nodiscard]] std::string elide(std::string_view text, std::size_t columns);

}  // namespace geiger::naming
