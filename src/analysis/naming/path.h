// The parts of a demangled name: its brackets paired, its lambdas told apart, and the components
// between `::`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace geiger::naming {

// A name with its brackets paired. Names come from symbol tables that anyone may have
// written: brackets need not balance, and nothing here recurses.

/// No position in a text.
inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

class Brackets {
 public:
  /// `text` must outlive this, and is at most 4 GiB long.
  explicit Brackets(std::string_view text);

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  [[nodiscard]] std::string_view part(std::size_t begin, std::size_t end) const {
    return begin < end ? text_.substr(begin, end - begin) : std::string_view();
  }
  [[nodiscard]] bool has(std::size_t i, std::string_view what) const {
    return i <= text_.size() && text_.substr(i).starts_with(what);
  }

  /// The bracket that closes the one at `i`; kNone where there is none, or where
  /// it lies at or after `end`.
  [[nodiscard]] std::size_t closing(std::size_t i, std::size_t end = kNone) const;

  /// The first byte after the symbol of an operator whose `operator` ends at `i`:
  /// "<<" of "operator<<", "()" of "operator()"; `i` where there is no symbol.
  [[nodiscard]] static std::size_t after_operator(std::string_view text, std::size_t i);

 private:
  std::string_view text_;
  std::vector<std::uint32_t> closing_;  ///< Empty where the text has no bracket.
};

/// What identifiers are made of: also `$`, `.` of what compilers append, and all of UTF-8
/// that is not ASCII.
[[nodiscard]] bool is_identifier(char c);

// How compilers and demanglers write lambdas.

/// `$_3`, clang's word for any type without a name.
[[nodiscard]] bool is_clang_unnamed(std::string_view word);

/// Which of the lambdas of a function it is: "2" of "{lambda(int)#2}", "<lambda(int)#2>",
/// "'lambda0'" and "$_1"; empty where `word` does not say.
[[nodiscard]] std::string lambda_number(std::string_view word);

// The parts of a demangled name: the components between `::`, with their template arguments
// and, of functions that something local is named by, their parameters.

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
