// Suggests the next command, for a user at a terminal.
#pragma once

#include <string>
#include <vector>

namespace geiger::cli {

/// "geiger: next: geiger VERB RUNS" on standard error, where that and standard output are
/// terminals: nothing of it reaches a pipe, a file or a log. Reports that say it themselves do
/// without. `verb` stands before the runs, with its options.
void suggest(const std::string& verb, const std::vector<std::string>& runs);

/// A whole command that is not one of geiger's, after a file was written: standard output may
/// be anything then.
void suggest_command(const std::string& command);

/// From now on neither says anything (-q).
void suggest_nothing();

}  // namespace geiger::cli
