#include "cli/verbs/symbol_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cli/options/ending.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {

void add_symbol_options(CLI::App& verb, SymbolOptions& options) {
  verb.add_flag("--debuginfod", options.use_debuginfod,
                "Ask the servers in DEBUGINFOD_URLS for debug info");
  verb.add_option("--debug-dir", options.debug_dirs,
                  "Look for debug files here first, named DIR/.build-id/ab/cdef.debug; and for any "
                  "file below DIR whose build id fits, such as a copy of the one that ran (may be "
                  "repeated)")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

base::Outcome<symbolize::Outcome> look_up_names(profile::Recording& recording,
                                                const SymbolOptions& options, bool refreshes) {
  const char* const servers = std::getenv("DEBUGINFOD_URLS");
  if (options.use_debuginfod && (servers == nullptr || *servers == '\0')) {
    return usage_failure(
        "--debuginfod: DEBUGINFOD_URLS is not set; it names the servers to ask, for example "
        "DEBUGINFOD_URLS=https://debuginfod.debian.net");
  }
  symbolize::Options where;
  where.use_debuginfod = options.use_debuginfod;
  where.refresh = refreshes;
  // Relative ones would be looked for beside each module.
  auto place = where.debug_dirs.begin();
  for (const std::string& directory : options.debug_dirs) {
    std::error_code error;
    if (!std::filesystem::is_directory(directory, error)) {
      return usage_failure(fmt::format("--debug-dir {}: no such directory", directory));
    }
    place = where.debug_dirs.insert(place, std::filesystem::absolute(directory).string()) + 1;
    symbolize::add_files(directory, where.kept_files);
  }
  symbolize::Outcome outcome;
  {
    terminal::Progress progress("looking up names");
    where.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
    outcome = symbolize::symbolize(recording, where);
  }
  for (const std::string& hint : outcome.hints) terminal::complain(hint);
  return outcome;
}

}  // namespace geiger::cli
