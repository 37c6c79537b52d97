// What people type: sizes, times, shares, levels, instants, samples, rules.
#include "query/words.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "analysis/present/text.h"
#include "analysis/profile/frames/frame_rules.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/lives/leaks.h"
#include "analysis/profile/select/patterns.h"
#include "analysis/profile/testing/example_recording.h"
#include "analysis/symbolize/demangle.h"
#include "cli/help/command_line.h"
#include "cli/options/gate_options.h"
#include "cli/options/input.h"
#include "query/samples.h"
#include "query/selection.h"
#include "target.h"

namespace {

using namespace geiger;

void read_numbers(std::string_view text) {
  static_cast<void>(query::parse_size(text));
  static_cast<void>(query::parse_duration(text));
  for (const auto parse : {query::parse_share, query::parse_change, query::parse_growth}) {
    const auto number = parse(text);
    fuzz::require(!number.has_value() || std::isfinite(number.value()), "a share is a number");
  }
  const auto level = cli::parse_level(std::string(text));
  fuzz::require(!level || (*level > 0 && *level < 1), "a level lies between 0 and 1");
}

void read_lists(std::string_view text) {
  static_cast<void>(query::parse_samples(text, 1));
  static_cast<void>(cli::parse_budget(text, "budget"));
  static_cast<void>(profile::Suppressions::parse(text));
}

void match(std::string_view text) {
  const std::size_t half = text.size() / 2;
  static_cast<void>(profile::matches_suppression(text.substr(0, half), text.substr(half)));
  static_cast<void>(profile::matches_glob(text.substr(0, half), text.substr(half)));
}

void read_names(std::string_view text) {
  static_cast<void>(profile::type_allocated_by(text));
  static_cast<void>(profile::FrameRules().passes_allocation_on(text));
  static_cast<void>(symbolize::demangle(std::string(text)));
  const std::string shown = present::printable(text);
  fuzz::require(present::printable(shown) == shown, "what is printable stays as it is");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 4096;
  if (size > kMost) return 0;
  const std::string_view text = fuzz::text_of(data, size);
  static const profile::Recording recording = profile::example::small_server();
  read_numbers(text);
  read_lists(text);
  match(text);
  read_names(text);
  static_cast<void>(query::instant_of(std::string(text), recording));
  static_cast<void>(query::closest(text, {"summary", "table", "tree"}));
  return 0;
}
