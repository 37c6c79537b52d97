#include "analysis/profile/select/patterns.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <cctype>
#include <cstdint>
#include <utility>

namespace geiger::profile {

bool matches_glob(std::string_view glob, std::string_view text) {
  std::size_t at = 0;
  std::size_t in_glob = 0;
  std::size_t star = std::string_view::npos;  // The last *, to be tried longer.
  std::size_t after_star = 0;
  while (at < text.size()) {
    if (in_glob < glob.size() && glob[in_glob] == '*') {
      star = in_glob++;
      after_star = at;
    } else if (in_glob < glob.size() && (glob[in_glob] == '?' || glob[in_glob] == text[at])) {
      ++in_glob;
      ++at;
    } else if (star != std::string_view::npos) {
      in_glob = star + 1;
      at = ++after_star;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', in_glob) == std::string_view::npos;
}

namespace {

/// Of a compiled expression with the states that RE2 keeps of it. A file may hold kMostRules of
/// them, which then take 400 MB in the worst case.
constexpr std::int64_t kMostMemory = std::int64_t{1} << 20;

re2::RE2::Options re2_options() {
  re2::RE2::Options options;
  // Bytes, as names need not be valid UTF-8 and a byte that is not must not hide one.
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_dot_nl(true);
  options.set_never_capture(true);
  options.set_max_mem(kMostMemory);
  options.set_log_errors(false);
  return options;
}

/// What `grep -E` gives a meaning that RE2 does not have: RE2 would match these characters
/// themselves.
base::Outcome<void> check_dialect(std::string_view expression) {
  for (std::size_t i = 0; i + 1 < expression.size(); ++i) {
    const char next = expression[i + 1];
    if (expression[i] == '\\') {
      if (next == '<' || next == '>') {
        return base::Failure{fmt::format("\\{} is not supported: use \\b", next)};
      }
      ++i;
    } else if (expression[i] == '{' && next == ',' && i + 2 < expression.size() &&
               std::isdigit(static_cast<unsigned char>(expression[i + 2])) != 0) {
      return base::Failure{"a repetition needs its least number: use {0,N}"};
    }
  }
  return {};
}

/// RE2 ends some reasons with the part that it could not read, which may be the whole expression.
std::string reason_of(const re2::RE2& compiled) {
  if (compiled.error_code() == re2::RE2::ErrorPatternTooLarge) {
    return "it is too large: use fewer repetitions and alternatives";
  }
  std::string reason = compiled.error();
  const std::string& part = compiled.error_arg();
  if (part.empty() || !reason.ends_with(part)) return reason;
  reason.resize(reason.size() - part.size());
  return reason + quoted(part);
}

base::Outcome<std::shared_ptr<const re2::RE2>> compile(const std::string& expression) {
  if (expression.empty()) return base::Failure{"it is empty and would match everything"};
  if (expression.size() > kMostLineBytes) {
    return base::Failure{
        fmt::format("it has {} bytes (at most {})", expression.size(), kMostLineBytes)};
  }
  GEIGER_TRY(check_dialect(expression));
  auto compiled = std::make_shared<const re2::RE2>(expression, re2_options());
  if (!compiled->ok()) return base::Failure{reason_of(*compiled)};
  return std::shared_ptr<const re2::RE2>(std::move(compiled));
}

}  // namespace

base::Outcome<NamePattern> NamePattern::parse(const std::string& expression) {
  NamePattern pattern;
  pattern.compiled_ = GEIGER_TRY(compile(expression).with_prefix(quoted(expression) + ": "));
  pattern.text_ = expression;
  return pattern;
}

bool NamePattern::matches(std::string_view name) const {
  return re2::RE2::PartialMatch({name.data(), name.size()}, *compiled_);
}

}  // namespace geiger::profile
