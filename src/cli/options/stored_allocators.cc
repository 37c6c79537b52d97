#include "cli/options/stored_allocators.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/unique_fd.h"
#include "cli/options/output.h"
#include "control/run_directory.h"
#include "query/text_file.h"

namespace geiger::cli {

namespace {

namespace fs = std::filesystem;

/// Of the executable, as a script of the same name may run another one.
std::string comparison_name(const report::ComparedProgram& program) {
  return fmt::format("geiger-{}.allocators", control::name_for_files(program.executable));
}

}  // namespace

base::Outcome<std::string> store_comparison(const report::StoredComparison& comparison) {
  if (comparison.of.build_id.empty()) return base::Failure{"the program's build id is not known"};
  std::string name = comparison_name(comparison.of);
  Output output(name, true);
  GEIGER_TRY(output.outcome());
  output.write(report::to_stored(comparison));
  GEIGER_TRY(output.commit());
  return name;
}

namespace {

base::Outcome<report::OtherAllocators> find_stored(const Input& input,
                                                   const advice::Options& options) {
  if (input.recording().processes.empty()) return report::OtherAllocators{};
  const report::ComparedProgram program = report::compared_program(input.recording());
  for (const fs::path& folder : {fs::path(input.shown).parent_path(), fs::path()}) {
    const std::string path = folder / comparison_name(program);
    const base::UniqueFd file = GEIGER_TRY(query::open_own_file(path).with_prefix(path + ": "));
    if (!file.is_open()) continue;
    const std::string text = GEIGER_TRY(query::read_text(file, path));
    auto stored = GEIGER_TRY(report::from_stored(text).with_prefix(path + " "));
    if (!program.build_id.empty() && stored.of.build_id == program.build_id) {
      return other_allocators(std::move(stored), options);
    }
    return base::Failure{path + " is of another build: run geiger compare-malloc again"};
  }
  return report::OtherAllocators{};
}

}  // namespace

report::OtherAllocators stored_allocators(const Input& input, const advice::Options& options) {
  auto found = find_stored(input, options);
  if (!found.has_value()) return {.why_not = found.reason()};
  return found.release();
}

}  // namespace geiger::cli
