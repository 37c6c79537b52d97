#include "cli/options/gate_file.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/profile/labels.h"
#include "analysis/profile/trimmed.h"
#include "query/ratio.h"
#include "query/sizes.h"
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
    const auto growth = query::parse_growth(value);
    if (!growth.has_value()) return base::Outcome<Limit>::failure(growth.reason());
    return Limit{Measured::kGrowth, growth.value()};
  }
  if (kind == "max-bytes") {
    const auto bytes = query::parse_size(value);
    if (!bytes.has_value()) return base::Outcome<Limit>::failure(bytes.reason());
    return Limit{Measured::kBytes, static_cast<double>(bytes.value())};
  }
  return base::Outcome<Limit>::failure(
      fmt::format("unknown limit '{}' (choose from max-growth, max-bytes)", kind));
}

/// "FUNCTION" or "FUNCTION in MODULE"; names of functions may hold blanks.
compare::Pattern parse_pattern(std::string_view text) {
  constexpr std::string_view kIn = " in ";
  const std::size_t in = text.rfind(kIn);
  if (in == std::string_view::npos) return {.function = std::string(text), .module = "*"};
  return {.function = std::string(trimmed(text.substr(0, in))),
          .module = std::string(trimmed(text.substr(in + kIn.size())))};
}

base::Outcome<GateSpec> parse_line(std::string_view line) {
  const std::string_view kind = next_word(line);
  const std::string_view value = next_word(line);
  if (value.empty())
    return base::Outcome<GateSpec>::failure("a limit needs a value and a function");
  const auto limit = parse_limit(kind, value);
  if (!limit.has_value()) return base::Outcome<GateSpec>::failure(limit.reason());
  if (line.empty()) return base::Outcome<GateSpec>::failure("no function given (* matches all)");
  return GateSpec{parse_pattern(line), limit.value(), {}};
}

}  // namespace

base::Outcome<Specs> parse_budget(std::string_view text, const std::string& path) {
  Specs specs;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    auto spec = parse_line(line);
    const std::string place = fmt::format("{}:{}", path, number);
    if (!spec.has_value()) return base::Outcome<Specs>::failure(place + ": " + spec.reason());
    spec.value().source = fmt::format("{}:{}", profile::file_name_of(path), number);
    specs.push_back(std::move(spec.value()));
  }
  if (specs.empty()) return base::Outcome<Specs>::failure(path + ": contains no limits");
  return specs;
}

base::Outcome<Specs> read_budget(const std::string& path) {
  const auto text = query::read_text_file(path);
  if (!text.has_value()) return base::Outcome<Specs>::failure(text.reason());
  return parse_budget(text.value(), path);
}

}  // namespace geiger::cli
