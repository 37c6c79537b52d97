// `geiger symbolize`: looks up names and keeps them with the traces.
#include "analysis/symbolize/symbolize.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>

#include "analysis/ingest/seal.h"
#include "analysis/present/format.h"
#include "cli/options/foreign.h"
#include "cli/options/input.h"
#include "cli/options/next_step.h"
#include "cli/verbs/commands.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct SymbolizeArguments {
  ReadOptions read;
  symbolize::Options symbolize;
  std::vector<std::string> debug_dirs;
};

/// The names of each image, by file.
std::map<std::string, std::vector<ingest::ImageChunks>> encode_all(const Input& input) {
  std::map<std::string, std::vector<ingest::ImageChunks>> files;
  for (const ingest::ImagePlace& place : input.ingested.places) {
    if (!place.is_last) continue;
    files[place.path].push_back({place.image,
                                 {{trace::ChunkType::kSymbols,
                                   symbolize::encode_symbols(input.recording(), place.process)}}});
  }
  return files;
}

bool store_all(const Input& input) {
  bool is_stored = true;
  for (const auto& [path, symbols] : encode_all(input)) {
    const auto error = ingest::store_chunks(path, symbols);
    if (!error) continue;
    terminal::complain(error->text());
    is_stored = false;
  }
  return is_stored;
}

std::string outcome_text(const symbolize::Outcome& outcome) {
  const std::uint64_t all = outcome.resolved + outcome.unresolved;
  std::string out = fmt::format("{} of {} named", present::exact_count(outcome.resolved),
                                present::plural(all, "location"));
  if (outcome.modules_without_debug_info > 0) {
    out += fmt::format("; {} without debug info",
                       present::plural(outcome.modules_without_debug_info, "module"));
  }
  return out + "\n";
}

base::Outcome<int> store_names(SymbolizeArguments& options) {
  const char* const servers = std::getenv("DEBUGINFOD_URLS");
  if (options.symbolize.use_debuginfod && (servers == nullptr || *servers == '\0')) {
    return usage_failure(
        "--debuginfod: DEBUGINFOD_URLS is not set; it names the servers to ask, for example "
        "DEBUGINFOD_URLS=https://debuginfod.debian.net");
  }
  auto input = only_own(read_traces(options.read), "symbolize");
  if (!input.has_value()) return input.failure();
  auto& directories = options.symbolize.debug_dirs;
  // Relative ones would be looked for beside each module.
  for (std::string& directory : options.debug_dirs) {
    directory = std::filesystem::absolute(directory).string();
  }
  directories.insert(directories.begin(), options.debug_dirs.begin(), options.debug_dirs.end());
  symbolize::Outcome outcome;
  {
    terminal::Progress progress("looking up names");
    options.symbolize.progress = [&](std::size_t done, std::size_t total) {
      progress.update(done, total);
    };
    outcome = symbolize::symbolize(input->ingested.recording, options.symbolize);
  }
  const bool is_stored = store_all(input.value());
  for (const std::string& hint : outcome.hints) terminal::complain(hint);
  if (!terminal::print_data(outcome_text(outcome)) || !is_stored) return kExitFailed;
  suggest("table", options.read.runs);
  return input->exit_code();
}

}  // namespace

void register_symbolize(CLI::App& app, Work& work) {
  auto options = std::make_shared<SymbolizeArguments>();
  options->symbolize.refresh = true;
  CLI::App* verb =
      app.add_subcommand("symbolize", "Look up names and lines and store them in the run");
  add_read_options(*verb, options->read, false);
  verb->add_flag("--debuginfod", options->symbolize.use_debuginfod,
                 "Ask the servers in DEBUGINFOD_URLS for debug info");
  verb->add_option("--debug-dir", options->debug_dirs,
                   "Look for debug files here first, named DIR/.build-id/ab/cdef.debug; a copy of "
                   "the file that ran does as well (may be repeated)")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  verb->callback([options, &work] { work = [options] { return store_names(*options); }; });
}

}  // namespace geiger::cli
