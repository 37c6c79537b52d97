// The page of `geiger serve`: what web/ builds, or a plain one where that was not built.
#pragma once

#include <string>

#include "analysis/report/profiles/live.h"
#include "serve/http_server.h"

namespace geiger::live {

/// A page that loads data.json from the same folder.
struct ServedTemplate {
  std::string html;     ///< Empty: there is none.
  std::string policy;   ///< What it may load and run, as it says itself.
  std::string missing;  ///< Why there is none, and how to get one.

  [[nodiscard]] bool is_built() const { return !html.empty(); }
};

[[nodiscard]] ServedTemplate read_served_template();

/// The template, under its own content security policy only.
[[nodiscard]] serve::Response page_of(const ServedTemplate& page);
/// A page without scripts that loads itself again; `note` is its last line.
[[nodiscard]] serve::Response plain_page(const std::string& shown, const report::LiveReport& live,
                                         const std::string& note);

}  // namespace geiger::live
