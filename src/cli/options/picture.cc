#include "cli/options/picture.h"

#include <CLI/CLI.hpp>

#include "cli/options/output.h"
#include "terminal/terminal.h"

namespace geiger::cli {

void add_picture_options(CLI::App& verb, PictureOptions& options) {
  verb.add_option("--svg", options.path, "Also draw the result as a picture in this file")
      ->type_name("FILE");
  verb.add_flag("-f,--force", options.replaces, "Replace the file if it exists");
}

bool may_write(const PictureOptions& options) {
  if (options.path.empty()) return true;
  const Output output(options.path, options.replaces);
  if (!output.error().empty()) terminal::complain(output.error());
  return output.error().empty();
}

bool write_picture(const PictureOptions& options, const std::function<std::string()>& draw) {
  if (options.path.empty()) return true;
  Output output(options.path, options.replaces);
  output.write(draw());
  output.commit();
  if (!output.error().empty()) terminal::complain(output.error());
  return output.error().empty();
}

}  // namespace geiger::cli
