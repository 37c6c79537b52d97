#include "cli/template_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "cli/preload.h"
#include "cli/text_file.h"

namespace geiger::cli {

Outcome<std::string> read_template(const std::string& name) {
  const std::filesystem::path path = install_root() / "share" / "geiger" / name;
  if (access(path.c_str(), F_OK) != 0) {
    return Outcome<std::string>::failure(
        fmt::format("{} is missing: ./geiger builds it in a source tree (needs npm), "
                    "'cmake --build BUILD --target web' in a build tree",
                    path.string()));
  }
  return read_text_file(path.string());
}

}  // namespace geiger::cli
