#include "cli/options/gate_file.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/profile/labels.h"
#include "analysis/profile/trimmed.h"
#include "query/ratio.h"
#include "query/sizes.h"
#include "query/spelling.h"
#include "query/text_file.h"

namespace geiger::cli {
namespace {

using compare::GateSpec;
using compare::Limit;
using compare::Measured;
using profile::kBlank;
using profile::trimmed;
using Specs = std::vector<GateSpec>;

/// Cuts the first word off.
std::string_view next_word(std::string_view& text) {
  text = trimmed(text);
  const std::string_view word = text.substr(0, text.find_first_of(kBlank));
  text = trimmed(text.substr(word.size()));
  return word;
}

base::Outcome<Limit> parse_limit(std::string_view kind, std::string_view value) {
  if (kind == "max-growth") {
    const auto growth = GEIGER_TRY(query::parse_growth(value));
    return Limit{Measured::kGrowth, growth};
  }
  if (kind == "max-bytes") {
    const auto bytes = GEIGER_TRY(query::parse_size(value));
    return Limit{Measured::kBytes, static_cast<double>(bytes)};
  }
  return base::Failure{
      fmt::format("unknown limit {} (choose from max-growth, max-bytes)", profile::quoted(kind))};
}

/// "FUNCTION", "FUNCTION in MODULE" or "label TEXT"; names and texts may hold blanks.
compare::Pattern parse_pattern(std::string_view text) {
  constexpr std::string_view kLabel = "label ";
  if (text.starts_with(kLabel)) {
    return {
        .function = "*", .module = "*", .label = std::string(trimmed(text.substr(kLabel.size())))};
  }
  constexpr std::string_view kIn = " in ";
  const std::size_t in = text.rfind(kIn);
  if (in == std::string_view::npos) return {.function = std::string(text), .module = "*"};
  return {.function = std::string(trimmed(text.substr(0, in))),
          .module = std::string(trimmed(text.substr(in + kIn.size())))};
}

/// A first word that no function begins with is a slip: "lable x", "function parse". Names of
/// functions may hold blanks, but their first words are types or "operator".
base::Outcome<void> check_first_word(std::string_view text) {
  const std::size_t end = text.find_first_of(kBlank);
  const std::string word(text.substr(0, end));
  if (end == std::string_view::npos || word == "label") return {};
  if (word == "function") return base::Failure{"name a function without the word 'function'"};
  if (word == "module") return base::Failure{"name a module as '* in MODULE'"};
  const bool is_word =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:") ==
      std::string::npos;
  const std::string meant = is_word ? query::did_you_mean(word, {"label"}) : "";
  if (!meant.empty()) return base::Failure{fmt::format("unknown word '{}'{}", word, meant)};
  return {};
}

base::Outcome<GateSpec> parse_line(std::string_view line) {
  const std::string_view kind = next_word(line);
  const std::string_view value = next_word(line);
  if (value.empty()) return base::Failure{"a limit needs a value and a function"};
  const auto limit = GEIGER_TRY(parse_limit(kind, value));
  if (line.empty()) return base::Failure{"no function given (* matches all)"};
  GEIGER_TRY(check_first_word(line));
  return GateSpec{parse_pattern(line), limit, {}};
}

}  // namespace

base::Outcome<Specs> parse_budget(std::string_view text, const std::string& path) {
  Specs specs;
  const auto take = [&](std::string_view line, std::size_t number) -> base::Outcome<void> {
    auto spec = GEIGER_TRY(parse_line(line));
    spec.source = fmt::format("{}:{}", profile::file_name_of(path), number);
    specs.push_back(std::move(spec));
    return {};
  };
  GEIGER_TRY(profile::read_lines(text, take).with_prefix(path + ":"));
  if (specs.empty()) return base::Failure{path + ": contains no limits"};
  return specs;
}

base::Outcome<Specs> read_budget(const std::string& path) {
  const auto text = GEIGER_TRY(query::read_text_file(path));
  return parse_budget(text, path);
}

}  // namespace geiger::cli
