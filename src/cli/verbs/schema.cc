// `geiger schema`: what `--json` prints, for programs that read it.
#include <CLI/CLI.hpp>

#include "analysis/present/fields.h"
#include "analysis/report/profiles/table.h"
#include "cli/verbs/commands.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

using present::document_schema;

base::Outcome<int> print_schema() {
  const std::string schema = present::schema_of({
      document_schema<report::TableDocument>("table"),
  });
  return terminal::print_data(schema) ? kExitOk : kExitFailed;
}

}  // namespace

void register_schema(CLI::App& app, Work& work) {
  CLI::App* verb = app.add_subcommand("schema", "Print the JSON Schema of what --json prints");
  verb->callback([&work] { work = print_schema; });
}

}  // namespace geiger::cli
