// `geiger lifetimes`: how long objects live.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>

#include "analysis/report/lifetimes.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/picture.h"
#include "cli/sizes.h"
#include "cli/terminal.h"

namespace geiger::cli {
namespace {

using profile::LifetimeGrouping;

struct Options {
  ReadOptions read;
  report::LifetimesOptions lifetimes;
  PictureOptions picture;
};

const std::map<std::string, LifetimeGrouping> kGroupings{{"function", LifetimeGrouping::kFunction},
                                                         {"stack", LifetimeGrouping::kStack},
                                                         {"thread", LifetimeGrouping::kThread},
                                                         {"size", LifetimeGrouping::kSize},
                                                         {"none", LifetimeGrouping::kWhole}};

int print_lifetimes(Options& options) {
  if (!may_write(options.picture)) return kExitFailed;
  const auto input = read_input(options.read);
  if (!input) return kExitFailed;
  options.lifetimes.level = options.read.level;
  const report::LifetimesReport report =
      report::lifetimes_report(input->recording(), options.lifetimes);
  if (!write_picture(options.picture, [&] { return to_svg(report); })) return kExitFailed;
  const report::Style style = output_style(options.read.level);
  const bool is_printed = options.read.is_json ? print_data(to_json(report, input->recording()))
                                               : print_report(to_text(report, style), style);
  return is_printed ? input->exit_code() : kExitFailed;
}

void add_temporary(CLI::App& verb, Options& options) {
  verb.add_option_function<std::string>(
          "--temporary",
          [&options](const std::string& text) {
            const auto limit = parse_duration(text);
            if (!limit.has_value()) throw CLI::ValidationError("--temporary", limit.reason());
            if (limit.value() == 0) throw CLI::ValidationError("--temporary", "must be above 0");
            options.lifetimes.temporary = limit.value();
          },
          "Lives up to this are temporary (default 1ms)")
      ->type_name("TIME");
}

}  // namespace

void register_lifetimes(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("lifetimes", "How long objects live, and where they are freed");
  add_read_options(*verb, options->read);
  verb->add_option_function<std::string>(
          "--by",
          [options](const std::string& name) { options->lifetimes.by = kGroupings.at(name); },
          "function (default), stack, thread, size or none")
      ->check(CLI::IsMember({"function", "stack", "thread", "size", "none"}))
      ->type_name("GROUP");
  verb->add_option("--top", options->lifetimes.top, "Rows to show (default 30; 0: all)")
      ->type_name("N");
  add_temporary(*verb, *options);
  verb->add_flag("--observed-only", options->lifetimes.selection.observed_only,
                 "Only objects seen being freed; over-represents short lives");
  add_picture_options(*verb, options->picture);
  verb->footer(
      "\nWhat is alive at the end counts as long as it was watched (docs/lifetimes.md).\n"
      "Who frees is recorded always, where from with geiger run --free-stacks.\n");
  verb->callback([options, &exit_code] { exit_code = print_lifetimes(*options); });
}

}  // namespace geiger::cli
