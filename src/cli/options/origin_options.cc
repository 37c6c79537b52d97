#include "cli/options/origin_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>

#include "cli/options/ending.h"

namespace geiger::cli {

void add_label_option(CLI::App& verb, std::vector<std::string>& labels, const char* help) {
  // One value each: the words that follow may be runs.
  verb.add_option("--label", labels, help)->type_name("NAME=VALUE")->allow_extra_args(false);
}

base::Outcome<std::map<std::string, std::string>> labels_of(const std::vector<std::string>& typed) {
  std::map<std::string, std::string> labels;
  for (const std::string& label : typed) {
    const std::size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return usage_failure(fmt::format("a label is NAME=VALUE, such as zone=b, not '{}'", label));
    }
    labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return labels;
}

std::string this_host() {
  std::array<char, 256> name{};
  const bool is_known = gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0';
  return is_known ? name.data() : "localhost";
}

}  // namespace geiger::cli
