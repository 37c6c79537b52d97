// The list of verbs. Each is one file, VERB.cc, with one function that adds
// its subcommand; a new verb is a new file and one line here.
#pragma once

#include "analysis/present/fields.h"
#include "cli/options/ending.h"
#include "cli/verbs/command.h"

namespace geiger::cli {

void register_run(CLI::App& app, Work& work);
void register_ctl(CLI::App& app, Work& work);
void register_attach(CLI::App& app, Work& work);
void register_detach(CLI::App& app, Work& work);
void register_preload(CLI::App& app, Work& work);
void register_live(CLI::App& app, Work& work);
void register_serve(CLI::App& app, Work& work);
void register_summary(CLI::App& app, Work& work);
void register_table(CLI::App& app, Work& work);
void register_tree(CLI::App& app, Work& work);
void register_rss(CLI::App& app, Work& work);
void register_stats(CLI::App& app, Work& work);
void register_marks(CLI::App& app, Work& work);
void register_lifetimes(CLI::App& app, Work& work);
void register_leaks(CLI::App& app, Work& work);
void register_advise(CLI::App& app, Work& work);
void register_faults(CLI::App& app, Work& work);
void register_holders(CLI::App& app, Work& work);
void register_diff(CLI::App& app, Work& work);
void register_check(CLI::App& app, Work& work);
void register_doctor(CLI::App& app, Work& work);
void register_compare_malloc(CLI::App& app, Work& work);
void register_plan(CLI::App& app, Work& work);
void register_estimate(CLI::App& app, Work& work);
void register_report(CLI::App& app, Work& work);
void register_push(CLI::App& app, Work& work);
void register_fleet(CLI::App& app, Work& work);
void register_agent(CLI::App& app, Work& work);
void register_collect(CLI::App& app, Work& work);
void register_export(CLI::App& app, Work& work);
void register_symbolize(CLI::App& app, Work& work);
void register_schema(CLI::App& app, Work& work);
void register_completion(CLI::App& app, Work& work);
void register_help(CLI::App& app, Work& work);

present::DocumentSchema ctl_schema();
present::DocumentSchema estimate_schema();

/// In the order of `geiger --help`.
inline constexpr Command kCommands[] = {
    {"run", register_run, Words::kProgram},
    {"ctl", register_ctl},
    {"attach", register_attach},
    {"detach", register_detach},
    {"preload", register_preload},
    {"live", register_live, Words::kProgramAfterDivider},
    {"serve", register_serve},
    {"report", register_report},
    {"summary", register_summary},
    {"table", register_table},
    {"tree", register_tree},
    {"rss", register_rss},
    {"stats", register_stats},
    {"marks", register_marks},
    {"lifetimes", register_lifetimes},
    {"leaks", register_leaks},
    {"advise", register_advise},
    {"faults", register_faults},
    {"holders", register_holders},
    {"diff", register_diff, Words::kSides},
    {"check", register_check, Words::kSides},
    {"doctor", register_doctor},
    {"compare-malloc", register_compare_malloc, Words::kProgram},
    {"plan", register_plan},
    {"estimate", register_estimate},
    {"push", register_push},
    {"fleet", register_fleet},
    {"agent", register_agent},
    {"collect", register_collect},
    {"export", register_export},
    {"symbolize", register_symbolize},
    {"schema", register_schema},
    {"completion", register_completion},
    {"help", register_help},
};

}  // namespace geiger::cli
