#include "live/template_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "modules/module.h"
#include "query/text_file.h"

namespace geiger::live {

base::Outcome<std::string> read_template(const std::string& name) {
  const std::filesystem::path path = modules::install_root() / "share" / "geiger" / name;
  if (access(path.c_str(), F_OK) != 0) {
    return base::Failure{
        fmt::format("{} is missing: ./geiger builds it in a source tree (needs npm), "
                    "'cmake --build BUILD --target web' in a build tree",
                    path.string())};
  }
  return query::read_text_file(path.string());
}

}  // namespace geiger::live
