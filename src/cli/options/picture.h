// --svg FILE: a report as a picture.
#pragma once

#include <functional>
#include <string>

#include "base/outcome.h"

namespace CLI {
class App;
}

namespace geiger::cli {

struct PictureOptions {
  std::string path;  ///< Empty: no picture.
  bool replaces = false;
};

/// --svg FILE and -f.
void add_picture_options(CLI::App& verb, PictureOptions& options);

/// Whether the file can be written, as far as that can be known before the work is done.
base::Outcome<void> may_write(const PictureOptions& options);

/// Draws and writes the picture, if requested.
base::Outcome<void> write_picture(const PictureOptions& options,
                                  const std::function<std::string()>& draw);

}  // namespace geiger::cli
