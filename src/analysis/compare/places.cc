#include "analysis/compare/places.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "analysis/profile/frames/frame_rules.h"
#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/groups/groupings.h"
#include "base/index_of.h"

namespace geiger::compare {

namespace {

using profile::Label;
using profile::Labels;
using profile::Recording;

/// What compilers append, with or without a number after it.
constexpr std::array<std::string_view, 6> kSuffixes{".constprop", ".isra",     ".part",
                                                    ".cold",      ".lto_priv", ".llvm"};
constexpr std::string_view kCloneMark = " [clone ";
constexpr std::string_view kNoModule = "[no module]";
constexpr char kSeparator = '\0';

/// Where a last suffix starts, or npos.
std::size_t suffix_start(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos) return end;
  const bool has_number = end + 1 < name.size() && name[end] == '.';
  const std::string_view plain = name.substr(0, has_number ? end : name.size());
  for (const std::string_view suffix : kSuffixes) {
    if (plain.size() > suffix.size() && plain.ends_with(suffix))
      return plain.size() - suffix.size();
  }
  return std::string_view::npos;
}

/// Whether the path is that of the program which the recording is about.
bool is_program(const Recording& recording, const std::string& path) {
  return !recording.processes.empty() && !path.empty() &&
         recording.processes.front().executable == path;
}

/// The file of a function of a script, which has no module; else nothing.
std::string script_of(const Recording& recording, const Label& label) {
  if (!label.is_frame() || label.is_location) return "";
  const std::string& file = recording.frames[label.frame_or_location].file;
  return profile::is_script(file) ? std::string(profile::place_name_of(file)) : "";
}

/// Stands for all points without a name in a module.
Place unnamed(const std::string& module) {
  return {.name = module.empty() ? std::string(kNoModule) : "[no name]",
          .module = module,
          .build_id = {},
          .is_unnamed = false};
}

}  // namespace

std::string_view stem_of(std::string_view function) {
  const std::size_t mark = function.find(kCloneMark);
  if (mark != std::string_view::npos && mark > 0) function = function.substr(0, mark);
  for (std::size_t at = suffix_start(function); at != std::string_view::npos;
       at = suffix_start(function)) {
    function = function.substr(0, at);
  }
  return function;
}

std::string_view module_name(std::string_view path) {
  const std::string_view file = profile::place_name_of(path);
  const std::size_t library = file.find(".so.");
  return library == std::string_view::npos || library == 0 ? file : file.substr(0, library + 3);
}

std::string Places::module_of(const Recording& recording, std::uint32_t module) {
  if (module >= recording.modules.size()) return "";
  const std::string& path = recording.modules[module].path;
  if (!is_program(recording, path)) return std::string(module_name(path));
  if (program_.empty()) program_ = module_name(path);
  return program_;
}

std::uint32_t Places::intern(const Place& place) {
  std::string key = place.name;
  (((key += kSeparator) += place.module) += kSeparator) += place.build_id;
  key += place.is_unnamed ? 'u' : 'n';
  if (place.line != 0) key += place.file + kSeparator + std::to_string(place.line);
  return base::index_of(known_, key, places_, place);
}

std::vector<std::uint32_t> Places::of_labels(const Recording& recording, const Labels& labels,
                                             const profile::FrameRoles& roles,
                                             bool keeps_addresses) {
  std::vector<std::string> modules;
  for (std::uint32_t i = 0; i < recording.modules.size(); ++i) {
    modules.push_back(module_of(recording, i));
  }
  std::vector<std::uint32_t> places;
  places.reserve(labels.size());
  for (std::uint32_t i = 0; i < labels.size(); ++i) {
    const Label& label = labels[i];
    const bool has_module = label.module < recording.modules.size();
    const std::string module = has_module ? modules[label.module] : script_of(recording, label);
    if (label.is_location && !keeps_addresses) {
      places.push_back(intern(unnamed(module)));
      continue;
    }
    Place place{.name = std::string(stem_of(label.name)),
                .module = module,
                .build_id = {},
                .is_unnamed = label.is_location,
                .is_plumbing = profile::is_plumbing(roles[i])};
    if (label.is_location && has_module) place.build_id = recording.modules[label.module].build_id;
    places.push_back(intern(std::move(place)));
  }
  return places;
}

std::uint32_t Places::of_module(const Recording& recording, std::uint32_t module) {
  std::string name = module_of(recording, module);
  if (name.empty()) name = kNoModule;
  return of_name(std::move(name));
}

std::uint32_t Places::of_name(std::string name) {
  return intern({.name = std::move(name), .module = {}, .build_id = {}, .is_unnamed = false});
}

std::uint32_t Places::at_line(std::uint32_t place, const profile::SourceLine& where) {
  if (where.file.empty() || where.line == 0) return place;
  Place line = places_[place];
  line.file = profile::place_name_of(where.file);
  line.line = where.line;
  return intern(std::move(line));
}

std::uint32_t Places::truncated() {
  return intern({.name = "[truncated]", .module = {}, .build_id = {}, .is_unnamed = false});
}

std::vector<std::uint32_t> Places::unify_rebuilt() {
  std::map<std::string, std::vector<std::string>> builds;
  for (const Place& place : places_) {
    if (!place.is_unnamed) continue;
    auto& seen = builds[place.module];
    if (std::ranges::find(seen, place.build_id) == seen.end()) seen.push_back(place.build_id);
  }
  std::vector<std::uint32_t> shown;
  for (std::uint32_t i = 0, size = static_cast<std::uint32_t>(places_.size()); i < size; ++i) {
    shown.push_back(i);
    if (!places_[i].is_unnamed) continue;
    const std::string module = places_[i].module;
    const auto& seen = builds[module];
    if (seen.size() == 1 && !seen.front().empty()) continue;
    shown[i] = intern(unnamed(module));
  }
  return shown;
}

PatternAnswers::PatternAnswers(const std::vector<Pattern>& patterns,
                               const profile::Recording& recording, const profile::Labels& labels,
                               const std::vector<std::uint32_t>& place_of, const Places& places)
    : patterns_(patterns), of_stacks_(patterns.size()), of_labels_(patterns.size()) {
  profile::StackDoubts doubts;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].is_of_label()) of_labels_[i] = answers_of_labels(recording, patterns[i].label);
    if (patterns[i].is_of_label() || patterns[i].matches_everything()) continue;
    profile::AskedLabels asked;
    for (const std::uint32_t place : place_of) {
      asked.is_named.push_back(patterns[i].matches(places[place]));
    }
    of_stacks_[i] = stacks_through(recording, labels, asked, doubts);
  }
}

profile::Answer PatternAnswers::of(std::size_t pattern, std::uint32_t stack) const {
  if (patterns_[pattern].is_of_label()) {
    return label_ == profile::kNone ? profile::Answer::kNo : of_labels_[pattern][label_];
  }
  if (patterns_[pattern].matches_everything()) return true;
  const std::vector<profile::Answer>& answers = of_stacks_[pattern];
  return stack < answers.size() ? answers[stack] : profile::Answer::kOpen;
}

}  // namespace geiger::compare
