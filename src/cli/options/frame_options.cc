#include "cli/options/frame_options.h"

#include <CLI/CLI.hpp>

#include "cli/options/parsed_option.h"

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
                  "File of rules that classify frames: lines\n\"own|library|plumbing|hide "
                  "REGEX\" (default: ./.geiger-rules)")
      ->type_name("FILE");
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

}  // namespace geiger::cli
