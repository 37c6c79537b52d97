// The parts of a demangled name: the components between `::`, with their template arguments
// and, of functions that something local is named by, their parameters.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/naming/brackets.h"

namespace geiger::naming {

/// A piece of a text: [begin, end).
struct Span {
  std::size_t begin = 0, end = 0;
  [[nodiscard]] bool is_empty() const { return begin >= end; }
};

struct Component {
  enum class Kind : std::uint8_t {
    kName,
    kAnonymous,  ///< (anonymous namespace)
    kLambda,     ///< {lambda(int)#1}, 'lambda'(int), $_0, <lambda(int)>, {{closure}}, {closure#0}
    kOperator,   ///< operator<<, operator new[], operator bool
    kImpl,       ///< Rust: <T as Trait>, <impl Trait for T>, <T>
  };
  Kind kind = Kind::kName;
  Span name;        ///< Without arguments; of kImpl what is between the brackets.
  Span arguments;   ///< Between the brackets of its template arguments.
  Span parameters;  ///< Between the parentheses, of the scope of something local.
};

struct Path {
  std::vector<Component> components;
  std::size_t end = 0;  ///< Behind it.
};

/// The path that begins at `begin`; without components where none does.
[[nodiscard]] Path parse_path(const Brackets& text, Span within);

/// A function, parsed from its demangled name.
struct Function {
  Path path;
  Span parameters;  ///< Between the parentheses.
  Span qualifiers;  ///< " const &" after them.
  bool has_parameters = false;
};

/// Leaves out the return type. Without components: the text is not a function of C++ or Rust.
[[nodiscard]] Function parse_function(const Brackets& text);

/// `begin` after " const", "&", "[abi:cxx11]" and what else may follow parameters.
[[nodiscard]] std::size_t after_qualifiers(const Brackets& text, std::size_t begin);

}  // namespace geiger::naming
