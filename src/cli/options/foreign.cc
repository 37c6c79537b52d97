#include "cli/options/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/import/import.h"
#include "base/units.h"
#include "terminal/progress.h"

namespace geiger::cli {

std::size_t count_foreign(const std::vector<std::string>& runs) {
  return static_cast<std::size_t>(std::ranges::count_if(
      runs, [](const std::string& run) { return imports::format_of(run).has_value(); }));
}

Input read_foreign(const std::vector<std::string>& runs) {
  terminal::Progress progress("reading", " MiB");
  imports::Imported imported = imports::read_files(
      runs,
      [&](std::uint64_t done, std::uint64_t all) { progress.update(done / kMiB, all / kMiB); });
  Input input;
  input.ingested.recording = std::move(imported.recording);
  input.ingested.damaged = !imported.errors.empty();
  input.origins = std::move(imported.origins);
  return input;
}

std::vector<std::string> lines_of(const std::vector<imports::Origin>& origins) {
  std::vector<std::string> lines;
  for (const imports::Origin& origin : origins) {
    lines.push_back(origin.path + ": " + origin.what);
    lines.insert(lines.end(), origin.notes.begin(), origin.notes.end());
  }
  return lines;
}

base::Outcome<Input> only_own(base::Outcome<Input> input, const char* verb) {
  if (!input.has_value() || input->origins.empty()) return input;
  const imports::Origin& first = input->origins.front();
  return base::Failure{
      fmt::format("{}: {}; '{}' needs a recording made by geiger", first.path, first.what, verb)};
}

}  // namespace geiger::cli
