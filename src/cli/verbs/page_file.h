// The file that a page is written to: what `report` and `fleet report` have in common.
#pragma once

#include <functional>
#include <string>

#include "base/outcome.h"

namespace CLI {
class App;
}

namespace geiger::cli {

/// As typed.
struct PageFile {
  std::string output;  ///< Empty: named after what it is of.
  bool replaces = false;
  bool opens = false;
};

/// -o, -f, --open. `usual` is the name of the file without -o, for the help.
void add_page_file_options(CLI::App& verb, PageFile& file, const std::string& usual);

/// The part of a name that a file name can have: "geiger-redis-server.html".
[[nodiscard]] std::string page_name(const std::string& name);

/// Fails if this build has no template of pages.
[[nodiscard]] base::Outcome<void> check_page_template();

/// Writes the page of the document that make_document() makes to `file`, else to `usual`, and says
/// what to do with it. An exit code: failed if it could not be opened in a browser. `file` is
/// looked at before the document is made.
[[nodiscard]] base::Outcome<int> write_page_file(
    const PageFile& file, const std::string& usual,
    const std::function<base::Outcome<std::string>()>& make_document);

}  // namespace geiger::cli
