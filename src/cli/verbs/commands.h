// The list of verbs. Each is one file, VERB.cc, with one function that adds
// its subcommand; a new verb is a new file and one line here.
#pragma once

#include "cli/options/exit_codes.h"

namespace CLI {
class App;
}

namespace geiger::cli {

/// One verb: adds its subcommand to `app`; when the user chose it, its callback
/// runs it and stores the exit code. `exit_code` outlives the parse.
using Register = void (*)(CLI::App& app, int& exit_code);

void register_run(CLI::App& app, int& exit_code);
void register_ctl(CLI::App& app, int& exit_code);
void register_attach(CLI::App& app, int& exit_code);
void register_detach(CLI::App& app, int& exit_code);
void register_live(CLI::App& app, int& exit_code);
void register_serve(CLI::App& app, int& exit_code);
void register_summary(CLI::App& app, int& exit_code);
void register_table(CLI::App& app, int& exit_code);
void register_tree(CLI::App& app, int& exit_code);
void register_rss(CLI::App& app, int& exit_code);
void register_stats(CLI::App& app, int& exit_code);
void register_marks(CLI::App& app, int& exit_code);
void register_lifetimes(CLI::App& app, int& exit_code);
void register_leaks(CLI::App& app, int& exit_code);
void register_diff(CLI::App& app, int& exit_code);
void register_check(CLI::App& app, int& exit_code);
void register_doctor(CLI::App& app, int& exit_code);
void register_plan(CLI::App& app, int& exit_code);
void register_simulate(CLI::App& app, int& exit_code);
void register_estimate(CLI::App& app, int& exit_code);
void register_report(CLI::App& app, int& exit_code);
void register_export(CLI::App& app, int& exit_code);
void register_symbolize(CLI::App& app, int& exit_code);
void register_completion(CLI::App& app, int& exit_code);
void register_help(CLI::App& app, int& exit_code);

/// In the order of `geiger --help`.
inline constexpr Register kCommands[] = {
    register_run,         //
    register_ctl,         //
    register_attach,      //
    register_detach,      //
    register_live,        //
    register_serve,       //
    register_report,      //
    register_summary,     //
    register_table,       //
    register_tree,        //
    register_rss,         //
    register_stats,       //
    register_marks,       //
    register_lifetimes,   //
    register_leaks,       //
    register_diff,        //
    register_check,       //
    register_doctor,      //
    register_plan,        //
    register_simulate,    //
    register_estimate,    //
    register_export,      //
    register_symbolize,   //
    register_completion,  //
    register_help,
};

}  // namespace geiger::cli
