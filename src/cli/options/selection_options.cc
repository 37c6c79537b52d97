#include "cli/options/selection_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/memory/measured.h"
#include "cli/help/command_line.h"
#include "cli/options/ending.h"
#include "cli/options/parsed_option.h"
#include "query/selection.h"
#include "terminal/terminal.h"

namespace geiger::cli {

namespace {

void add_rule_options(CLI::App& verb, query::FrameOptions& options) {
  using profile::FramesShown;
  add_choice(
      verb, "--frames", "WHICH",
      "Of Python programs: mixed (default; interpreter frames\nare plumbing), python, or native",
      Choices<FramesShown>{{"mixed", FramesShown::kMixed},
                           {"python", FramesShown::kPython},
                           {"native", FramesShown::kNative}},
      [&options](FramesShown frames) { options.frames = frames; });
  verb.add_option("--hide", options.hidden,
                  "Hide frames whose function, module or file matches (syntax\nof RE2); their "
                  "callers are blamed; may be repeated")
      ->type_name("REGEX")
      ->allow_extra_args(false);
  verb.add_option("--rules", options.rules_file,
                  "File of rules that classify frames: lines such as \"own REGEX\",\n\"wrapper "
                  "function=NAME\" "
                  "(default: ./.geiger-rules)")
      ->type_name("FILE");
  add_choice(verb, "--wrappers", "WHICH",
             "Functions that only allocate for their callers, which are\nblamed instead: found by "
             "what they do (default), or named\nby rules alone",
             Choices<bool>{{"found", true}, {"named", false}},
             [&options](bool finds) { options.finds_wrappers = finds; });
}

}  // namespace

void add_frame_options(CLI::App& verb, query::FrameOptions& options) {
  verb.add_flag("--plumbing", options.shows_plumbing,
                "Also show frames of allocators, standard libraries and\n"
                "interpreters, and blame the innermost one");
  add_rule_options(verb, options);
}

void add_all_frames_options(CLI::App& verb, query::FrameOptions& options) {
  options.shows_plumbing = true;
  verb.add_flag_callback(
      "--no-plumbing", [&options] { options.shows_plumbing = false; },
      "Hide frames of allocators, standard libraries and\ninterpreters, as reports do");
  add_rule_options(verb, options);
}

page::Preset preset_of(const query::FrameOptions& options) {
  page::Preset preset;
  preset.all_frames = options.shows_plumbing;
  for (const std::string& one : options.hidden) {
    preset.hide += (preset.hide.empty() ? "" : "|") + one;
  }
  return preset;
}

base::Outcome<void> check_followed(const profile::Recording& recording, const std::string& what) {
  if (!query::is_aggregated(recording)) return {};
  return usage_failure(fmt::format("{}: {}", what, profile::kAggregated));
}

base::Outcome<void> check_holders(const profile::Recording& recording, profile::GroupBy by) {
  if (by != profile::GroupBy::kHolder || !recording.holders.empty()) return {};
  return base::Failure{
      "it has no answer to what holds its memory: it was not looked for ('geiger run --holders' "
      "stores answers), or no scan has ended yet; 'geiger holders PID' looks now"};
}

void add_sort_option(CLI::App& verb, report::SortBy& sort) {
  using report::SortBy;
  static const Choices<SortBy> kSorts{{"self", SortBy::kSelf},       {"total", SortBy::kTotal},
                                      {"samples", SortBy::kSamples}, {"objects", SortBy::kObjects},
                                      {"name", SortBy::kName},       {"natural", SortBy::kNatural}};
  add_choice(verb, "--sort", "COLUMN",
             "self (default), total, samples, objects, name, or natural:\n"
             "sizes, lifetimes and alignments in their order",
             kSorts, [&sort](SortBy by) { sort = by; });
}

void add_window_options(CLI::App& verb, query::SelectionOptions& options) {
  verb.add_option("--from", options.from,
                  std::string("Only allocations from WHEN on:\n") + query::kWhenForms)
      ->type_name("WHEN");
  verb.add_option("--to", options.to, "Only allocations before WHEN")->type_name("WHEN");
}

void add_filter_options(CLI::App& verb, query::SelectionOptions& options) {
  verb.add_option("--thread", options.thread, "Only threads with this name (* and ? as in a shell)")
      ->type_name("NAME");
  verb.add_option("--label", options.label, "Only within this label")->type_name("TEXT");
  verb.add_option("--type", options.type, "Only objects of this type")->type_name("NAME");
  verb.add_option("--size", options.size, "Only objects of these sizes: 1KiB..4KiB")
      ->type_name("MIN..MAX");
  verb.add_option("--pid", options.pids, "Only this process; may be repeated")
      ->check(process_id())
      ->type_name("PID")
      ->allow_extra_args(false);
  verb.add_option("--function", options.function, "Only stacks through this function: '*Cache::*'")
      ->type_name("NAME");
  add_expression_options(verb, options);
}

void add_expression_options(CLI::App& verb, query::SelectionOptions& options) {
  verb.add_option("--focus", options.focus,
                  "Only stacks with a frame whose function, module or file matches")
      ->type_name("REGEX");
  verb.add_option("--ignore", options.ignore, "Only stacks without a frame that matches")
      ->type_name("REGEX");
}

void add_heap_option(CLI::App& verb, query::SelectionOptions& options) {
  verb.add_option("--heap", options.heap,
                  "A heap that the program reports, instead of the process's heap")
      ->type_name("NAME");
}

void add_selection_options(CLI::App& verb, query::SelectionOptions& options, query::Kinds kinds) {
  const bool has_all = kinds == query::Kinds::kAll;
  verb.add_option_function<std::string>(
          "--kind",
          [&options](const std::string& name) { options.kind = profile::kind_named(name); },
          query::help_of(kinds))
      ->check(one_of(query::names_of(kinds)))
      ->type_name("KIND");
  verb.add_option("--at", options.at,
                  has_all ? "Memory live at WHEN; for kinds read from snapshots:\n"
                            "maximum (default) or last"
                          : "Memory live at WHEN")
      ->type_name("WHEN");
  add_window_options(verb, options);
  add_filter_options(verb, options);
  add_heap_option(verb, options);
}

base::Outcome<query::Subject> subject_in(const query::SelectionOptions& options,
                                         const profile::Recording& recording) {
  auto subject = GEIGER_TRY(query::subject_of(options, recording).failing_as(base::Fault::kUsage));
  for (const std::string& remark : subject.remarks) terminal::complain(remark);
  return subject;
}

}  // namespace geiger::cli
