#include "query/filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "analysis/present/heading.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/select/patterns.h"
#include "query/words.h"

namespace geiger::query {
namespace {

using profile::Answer;
using profile::Keeps;
using profile::kNone;
using profile::Recording;
using profile::Sample;
using Matching = std::vector<bool>;

constexpr std::size_t kNamesSaid = 8;

/// What keeps samples open, with the remedy.
constexpr const char* kUnnamed = "stacks with functions without a name (keep their debug files)";
constexpr const char* kLineless =
    "stacks with functions without a file, in modules that have files asked for";
constexpr const char* kRenamed = "threads that changed their name (--thread takes their number)";
constexpr const char* kUnlabelled = "objects whose label is lost";
constexpr const char* kUntyped = "objects whose type is not known";

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesSaid); ++i) {
    list += (i == 0 ? "" : ", ") + names[i];
  }
  return list + (names.size() > kNamesSaid ? ", ..." : "");
}

/// "no thread 'io-9' was seen; did you mean 'io-1'?"
std::string nothing_matches(const char* what, const std::string& asked,
                            std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text = fmt::format("no {} '{}' was seen", what, asked);
  if (names.empty()) return text;
  if (const auto meant = closest(asked, names)) {
    return fmt::format("{}; did you mean '{}'?", text, *meant);
  }
  return fmt::format("{}; there are: {}", text, list_of(names));
}

bool any_of(const Matching& matching) {
  return std::ranges::any_of(matching, [](bool matches) { return matches; });
}

bool has(const std::vector<Answer>& answers, Answer answer) {
  return std::ranges::find(answers, answer) != answers.end();
}

/// Threads by their names, or by their numbers. Which of its samples a thread allocated under which
/// name is not known.
Keeps of_threads(const std::string& glob, const Recording& recording, Remarks& remarks) {
  std::vector<Answer> answers;
  std::vector<std::string> names;
  for (const profile::Thread& thread : recording.threads) {
    names.push_back(thread.name);
    const bool is_so = profile::matches_glob(glob, thread.name);
    const bool was_so =
        thread.earlier_name.empty() ? is_so : profile::matches_glob(glob, thread.earlier_name);
    if (glob == std::to_string(thread.tid)) {
      answers.emplace_back(true);
    } else {
      answers.push_back(is_so == was_so ? Answer(is_so) : Answer::kOpen);
    }
  }
  if (has(answers, Answer::kOpen)) remarks.open.emplace_back(kRenamed);
  if (!has(answers, Answer::kOpen) && !has(answers, Answer::kYes)) {
    remarks.said.push_back(nothing_matches("thread", glob, names));
  }
  return [answers](const Sample& sample) {
    return sample.thread < answers.size() ? answers[sample.thread] : Answer::kNo;
  };
}

/// A label, whatever labels are around or inside it.
Keeps of_labels(const std::string& glob, const Recording& recording, Remarks& remarks) {
  const std::vector<Answer> answers = profile::answers_of_labels(recording, glob);
  std::vector<std::string> names;
  for (const profile::ScopedLabel& label : recording.labels) {
    if (!label.is_lost) names.push_back(label.text);
  }
  if (has(answers, Answer::kOpen)) remarks.open.emplace_back(kUnlabelled);
  if (!has(answers, Answer::kYes)) remarks.said.push_back(nothing_matches("label", glob, names));
  return [answers](const Sample& sample) {
    return sample.label < answers.size() ? answers[sample.label] : Answer::kNo;
  };
}

Keeps of_types(const std::string& glob, const Recording& recording, Remarks& remarks) {
  profile::Types types(recording);
  Matching matching;
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < types.size(); ++i) {
    names.push_back(types[i]);
    matching.push_back(profile::matches_glob(glob, types[i]));
  }
  if (!any_of(matching)) remarks.said.push_back(nothing_matches("type", glob, names));
  if (!matching[profile::Types::kUnknown]) remarks.open.emplace_back(kUntyped);
  return [matching, types = std::move(types)](const Sample& sample) -> Answer {
    const std::uint32_t type = types.of(sample.type, sample.stack);
    if (matching[type]) return true;
    return type == profile::Types::kUnknown ? Answer::kOpen : Answer::kNo;
  };
}

/// Asks stacks whether they pass through one of the `named` functions.
Keeps through(const profile::AskedLabels& asked, const profile::Labels& functions,
              const Recording& recording, Remarks& remarks) {
  profile::StackDoubts doubts;
  auto answers = profile::stacks_through(recording, functions, asked, doubts);
  if (doubts.cut) {
    remarks.open.push_back(present::cut_stacks(profile::has_stacks_at_limit(recording)));
  }
  if (doubts.unnamed) remarks.open.emplace_back(kUnnamed);
  if (doubts.lineless) remarks.open.emplace_back(kLineless);
  return [answers = std::move(answers)](const Sample& sample) {
    return sample.stack < answers.size() ? answers[sample.stack] : Answer::kOpen;
  };
}

/// Stacks that pass through a function.
Keeps of_functions(const std::string& glob, const Recording& recording, Remarks& remarks) {
  const profile::Labels functions(recording);
  Matching named;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    named.push_back(profile::matches_glob(glob, functions[i].name));
  }
  if (!any_of(named)) remarks.said.push_back(nothing_matches("function", glob, {}));
  return through({named}, functions, recording, remarks);
}

/// The functions that an expression matches by their name, module or file.
profile::AskedLabels matching_functions(const profile::NamePattern& pattern,
                                        const profile::Labels& functions,
                                        const Recording& recording) {
  profile::AskedLabels asked;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    const profile::Label& label = functions[i];
    const bool has_frame = label.frame_or_location != kNone && !label.is_location;
    asked.is_in_file.push_back(has_frame &&
                               pattern.matches(recording.frames[label.frame_or_location].file));
    asked.is_named.push_back(
        pattern.matches(label.name) || asked.is_in_file.back() ||
        (label.module != kNone && pattern.matches(recording.modules[label.module].path)));
  }
  return asked;
}

/// --focus keeps stacks that match, --ignore the others.
base::Outcome<Keeps> of_expression(const char* option, const std::string& expression,
                                   bool keeps_matching, const Recording& recording,
                                   Remarks& remarks) {
  const auto pattern =
      GEIGER_TRY(profile::NamePattern::parse(expression).with_prefix(option + std::string(" ")));
  const profile::Labels functions(recording);
  const auto asked = matching_functions(pattern, functions, recording);
  if (!any_of(asked.is_named)) {
    remarks.said.push_back(fmt::format("{}: no stack has a frame that matches {}", option,
                                       profile::quoted(expression)));
  }
  Keeps matching = through(asked, functions, recording, remarks);
  if (keeps_matching) return matching;
  return Keeps(
      [matching = std::move(matching)](const Sample& sample) { return !matching(sample); });
}

base::Outcome<Keeps> of_sizes(const std::string& range) {
  const std::size_t dots = range.find("..");
  const std::string least_text = range.substr(0, dots);
  const std::string most_text = dots == std::string::npos ? range : range.substr(dots + 2);
  Bytes least = 0;
  Bytes most = ~Bytes{0};
  for (const auto& [text, bytes] : {std::pair{&least_text, &least}, std::pair{&most_text, &most}}) {
    if (text->empty()) continue;
    *bytes = GEIGER_TRY(parse_size(*text).with_prefix("--size: "));
  }
  if (range == ".." || range.empty())
    return base::Failure{"--size: expected MIN..MAX, such as 1KiB..4KiB"};
  if (least > most) return base::Failure{fmt::format("--size: {} is empty", range)};
  return Keeps([least, most](const Sample& sample) {
    return least <= sample.requested && sample.requested <= most;
  });
}

base::Outcome<Keeps> of_pids(const std::vector<std::uint32_t>& pids, const Recording& recording) {
  Matching matching;
  std::vector<std::string> known;
  for (const profile::Process& process : recording.processes) {
    matching.push_back(std::ranges::find(pids, process.pid) != pids.end());
    known.push_back(std::to_string(process.pid));
  }
  for (const std::uint32_t pid : pids) {
    if (std::ranges::find(known, std::to_string(pid)) != known.end()) continue;
    return base::Failure{
        fmt::format("--pid: no process {} in this run; there are: {}", pid, list_of(known))};
  }
  return Keeps([matching](const Sample& sample) { return matching[sample.process]; });
}

Keeps all_of(std::vector<Keeps> filters) {
  if (filters.empty()) return {};
  return [filters = std::move(filters)](const Sample& sample) {
    Answer all = Answer::kYes;
    for (const Keeps& keeps : filters) all = std::min(all, keeps(sample));
    return all;
  };
}

}  // namespace

base::Outcome<Keeps> filter_of(const SelectionOptions& options, const Recording& recording,
                               Remarks& remarks) {
  std::vector<Keeps> filters;
  if (!options.size.empty()) filters.push_back(GEIGER_TRY(of_sizes(options.size)));
  if (!options.pids.empty()) filters.push_back(GEIGER_TRY(of_pids(options.pids, recording)));
  using Make = Keeps (*)(const std::string&, const Recording&, Remarks&);
  const std::pair<const std::string&, Make> named[] = {{options.thread, of_threads},
                                                       {options.label, of_labels},
                                                       {options.type, of_types},
                                                       {options.function, of_functions}};
  for (const auto& [glob, make] : named) {
    if (!glob.empty()) filters.push_back(make(glob, recording, remarks));
  }
  for (const auto& [option, expression, keeps_matching] :
       {std::tuple{"--focus", &options.focus, true},
        std::tuple{"--ignore", &options.ignore, false}}) {
    if (expression->empty()) continue;
    filters.push_back(
        GEIGER_TRY(of_expression(option, *expression, keeps_matching, recording, remarks)));
  }
  return all_of(std::move(filters));
}

base::Outcome<std::uint32_t> heap_named(const std::string& name, const Recording& recording) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < recording.heaps.size(); ++i) {
    if (recording.heaps[i].text == name) return i;
    names.push_back(recording.heaps[i].text);
  }
  return base::Failure{"--heap: " + nothing_matches("heap", name, names)};
}

}  // namespace geiger::query
