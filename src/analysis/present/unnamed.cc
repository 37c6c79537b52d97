#include "analysis/present/unnamed.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/text.h"
#include "analysis/profile/frames/jit_code.h"
#include "analysis/profile/frames/plumbing_names.h"
#include "base/path.h"

namespace geiger::present {
namespace {

/// Modules that are named; the others are counted.
constexpr std::size_t kMostModulesNamed = 3;

}  // namespace

std::string ask_debuginfod(const std::string& run) {
  return "set DEBUGINFOD_URLS and run geiger symbolize --debuginfod" + behind_command(run);
}

void UnnamedModules::see(std::string_view function) {
  if (!profile::is_address_name(function)) return;
  const std::size_t plus = function.rfind('+');
  if (plus == std::string_view::npos) return;
  const std::string_view module = function.substr(0, plus);
  if (!module.starts_with("libgeiger")) modules_.emplace(module);
}

std::string UnnamedModules::clause() const {
  if (modules_.empty()) return {};
  const std::string text = first_of(modules_, kMostModulesNamed, printable);
  const bool is_one = modules_.size() == 1;
  return fmt::format("{} {} no symbols: install {}", text, is_one ? "has" : "have",
                     is_one ? "its -dbgsym package" : "their -dbgsym packages");
}

std::string UnnamedModules::sentence(const std::string& run) const {
  return modules_.empty() ? "" : fmt::format("{}, or {}.", clause(), ask_debuginfod(run));
}

std::string compiled_code_hint(const profile::Recording& recording) {
  const auto machine =
      std::ranges::find_if(recording.modules, profile::is_virtual_machine, &profile::Module::path);
  if (machine == recording.modules.end()) return {};
  bool is_unnamed = false;
  for (const profile::Location& location : recording.locations) {
    if (location.module != profile::kNone) continue;
    for (const std::uint32_t index : location.frames) {
      const profile::Frame& frame = recording.frames[index];
      if (profile::is_script(frame.file) || profile::is_java_method(frame.function)) return {};
      is_unnamed |= profile::is_address_name(frame.function);
    }
  }
  if (!is_unnamed) return {};
  return base::file_name_of(machine->path).starts_with("libjvm")
             ? "methods that the JVM compiled have no names: record with geiger run --java"
             : "functions of node's scripts have no names: record with geiger run --node";
}

std::string UnnamedModules::note(std::size_t width) const {
  return modules_.empty() ? "" : wrap_lines(sentence(), width);
}

}  // namespace geiger::present
