#include "cli/options/picture.h"

#include <CLI/CLI.hpp>

#include "cli/options/output.h"

namespace geiger::cli {

void add_picture_options(CLI::App& verb, PictureOptions& options) {
  verb.add_option("--svg", options.path, "Also draw the result as a picture in this file")
      ->type_name("FILE");
  verb.add_flag("-f,--force", options.replaces, "Replace the file if it exists");
}

base::Outcome<void> may_write(const PictureOptions& options) {
  if (options.path.empty()) return {};
  return Output(options.path, options.replaces).outcome();
}

base::Outcome<void> write_picture(const PictureOptions& options,
                                  const std::function<std::string()>& draw) {
  if (options.path.empty()) return {};
  Output output(options.path, options.replaces);
  output.write(draw());
  return output.commit();
}

}  // namespace geiger::cli
