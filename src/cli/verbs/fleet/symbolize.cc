// `geiger fleet symbolize`: names for what was sent without, looked up once per build.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/format.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "cli/options/fleet_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "cli/verbs/symbol_options.h"
#include "fleet/ask/ask.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct FleetSymbolizeArguments {
  FleetOptions fleet;
  SymbolOptions symbols;
};

/// Program points without names, as far as files can name them.
struct Unnamed {
  profile::Recording recording;            ///< Its locations are those in `locations`.
  std::vector<fleet::Location> locations;  ///< In modules with a build id.
  std::uint64_t without_build_id = 0;      ///< Another file may be in its place by now.
  std::uint64_t without_module = 0;        ///< Of code made at run time.
};

Unnamed unnamed_in(std::vector<fleet::Location> locations) {
  Unnamed out;
  std::map<std::pair<std::string, std::string>, std::uint32_t> modules;
  for (fleet::Location& location : locations) {
    if (location.module.empty()) {
      ++out.without_module;
      continue;
    }
    if (location.build_id.empty()) {
      ++out.without_build_id;
      continue;
    }
    const auto next = static_cast<std::uint32_t>(out.recording.modules.size());
    const auto [place, is_new] = modules.try_emplace({location.module, location.build_id}, next);
    if (is_new) {
      profile::Module& module = out.recording.modules.emplace_back();
      module.path = location.module;
      module.build_id = location.build_id;
      module.kind = location.kind;
    }
    out.recording.locations.push_back({place->second, location.address, 0, {}});
    out.locations.push_back(std::move(location));
  }
  return out;
}

/// The locations that have got the name of a function.
std::vector<fleet::Location> named_in(Unnamed unnamed) {
  std::vector<fleet::Location> named;
  const profile::Recording& recording = unnamed.recording;
  for (std::size_t i = 0; i < unnamed.locations.size(); ++i) {
    const profile::Location& known = recording.locations[i];
    if (known.frames.empty()) continue;
    const std::string& function = recording.frames[known.frames.front()].function;
    if (function == profile::address_name(recording, known)) continue;
    fleet::Location& location = named.emplace_back(std::move(unnamed.locations[i]));
    for (const std::uint32_t frame : known.frames) {
      location.frames.push_back(recording.frames[frame]);
    }
  }
  return named;
}

/// What came of it.
struct NamingResult {
  std::uint64_t named = 0, not_found = 0, without_build_id = 0, without_module = 0;
  std::uint64_t sites = 0;  ///< Stacks whose names for SQL were written.
  [[nodiscard]] std::uint64_t all() const {
    return named + not_found + without_build_id + without_module;
  }
};

std::string result_text(const NamingResult& result) {
  std::string text;
  if (result.sites > 0) {
    text = fmt::format("The names of {} are in the table sites.\n",
                       present::plural(result.sites, "stack"));
  }
  if (result.all() == 0) return "Every program point has a name.\n" + text;
  std::string names =
      fmt::format("{} of {} without a name are named now", present::exact_count(result.named),
                  present::plural(result.all(), "program point"));
  const auto add = [&](std::uint64_t count, const char* why) {
    if (count > 0) names += fmt::format("; {} {}", present::exact_count(count), why);
  };
  add(result.not_found, "are not named: their files are not here, or lack the symbols");
  add(result.without_build_id, "are in files without a build id, which may have changed");
  add(result.without_module, "are in code made at run time");
  return names + ".\n" + text;
}

const present::Fields<NamingResult>& fields_of(present::Of<NamingResult> /*type*/) {
  static const auto kFields =
      present::Fields<NamingResult>("fleet-symbolize", "Program points that had no name.")
          .field("named", "", &NamingResult::named)
          .field("not_found", "their files are not here, or do not have the symbols",
                 &NamingResult::not_found)
          .field("without_build_id", "", &NamingResult::without_build_id)
          .field("without_module", "of code made at run time", &NamingResult::without_module)
          .field("sites", "stacks whose names were written for readers of SQL",
                 &NamingResult::sites);
  return kFields;
}

base::Outcome<int> name_store(const FleetSymbolizeArguments& options) {
  auto store = GEIGER_TRY(open_store(options.fleet));
  auto locations = GEIGER_TRY(store->unnamed());
  Unnamed unnamed = unnamed_in(std::move(locations));
  NamingResult result;
  result.without_build_id = unnamed.without_build_id;
  result.without_module = unnamed.without_module;
  if (!unnamed.locations.empty()) {
    GEIGER_TRY(look_up_names(unnamed.recording, options.symbols, false));
    const std::size_t all = unnamed.locations.size();
    const std::vector<fleet::Location> named = named_in(std::move(unnamed));
    GEIGER_TRY(store->put_names(named));
    result.named = named.size();
    result.not_found = all - named.size();
  }
  result.sites = GEIGER_TRY(fleet::write_sites(*store));
  if (options.fleet.is_json) {
    return terminal::print_data(present::document("fleet-symbolize", result)) ? kExitOk
                                                                              : kExitFailed;
  }
  const present::Style style = terminal::output_style(options.fleet.level);
  return terminal::print_report(present::wrap_lines(result_text(result), style.width), style)
             ? kExitOk
             : kExitFailed;
}

}  // namespace

present::DocumentSchema fleet_symbolize_schema() {
  return present::document_schema<NamingResult>("fleet-symbolize");
}

void add_fleet_symbolize(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetSymbolizeArguments>();
  CLI::App* verb = fleet.add_subcommand("symbolize", "Look up missing names and store them");
  add_store_options(*verb, options->fleet);
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "\nNames are looked up by build id, on a machine that has the files, and stored:\n"
      "reports need no files then. What has a name keeps it. The table sites then has, for\n"
      "readers that only have SQL, which function of each stack reports blame.\n");
  verb->callback([options, &work] { work = [options] { return name_store(*options); }; });
}

}  // namespace geiger::cli
