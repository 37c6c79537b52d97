// `geiger symbolize`: looks up names and keeps them with the traces.
#include "analysis/symbolize/symbolize.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "analysis/ingest/seal.h"
#include "analysis/present/format.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/verbs/commands.h"
#include "cli/verbs/symbol_options.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct SymbolizeArguments {
  ReadOptions read;
  SymbolOptions symbols;
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
    const auto stored = ingest::store_chunks(path, symbols);
    if (stored.has_value()) continue;
    terminal::complain(stored.failure().text());
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
  auto input = GEIGER_TRY(only_own(read_traces(options.read), "symbolize"));
  const auto outcome = GEIGER_TRY(look_up_names(input.ingested.recording, options.symbols, true));
  const bool is_stored = store_all(input);
  if (!terminal::print_data(outcome_text(outcome)) || !is_stored) return kExitFailed;
  suggest("table", options.read.runs);
  return input.exit_code();
}

}  // namespace

void register_symbolize(CLI::App& app, Work& work) {
  auto options = std::make_shared<SymbolizeArguments>();
  CLI::App* verb =
      app.add_subcommand("symbolize", "Look up names and lines and store them in the run");
  add_read_options(*verb, options->read, false);
  add_symbol_options(*verb, options->symbols);
  verb->callback([options, &work] { work = [options] { return store_names(*options); }; });
}

}  // namespace geiger::cli
