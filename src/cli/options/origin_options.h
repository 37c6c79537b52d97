// The options of verbs that send windows or choose them: labels, and the host when none is named.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/outcome.h"

namespace CLI {
class App;
}

namespace geiger::cli {

/// --label NAME=VALUE, which may be given several times.
void add_label_option(CLI::App& verb, std::vector<std::string>& labels, const char* help);

/// The labels as typed, by name. A failure is of usage.
base::Outcome<std::map<std::string, std::string>> labels_of(const std::vector<std::string>& typed);

/// The name of this host; "localhost" if it is unknown.
[[nodiscard]] std::string this_host();

}  // namespace geiger::cli
