// What is plumbing of Python: its interpreter, its own library, installed packages.
#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/profile/frames/plumbing_names.h"
#include "base/path.h"

namespace geiger::profile {
namespace {

using base::file_name_of;
using std::string_view_literals::operator""sv;

/// Folders of installed packages; Python's own library is in lib/python3.11.
constexpr std::array kPythonPackages{"/site-packages/"sv, "/dist-packages/"sv};
constexpr std::array kPythonLibraries{"/lib/python"sv, "/lib64/python"sv};

}  // namespace

bool is_python_module(std::string_view path) {
  const std::string_view file = file_name_of(path);
  return file.starts_with("python") || file.starts_with("libpython");
}

bool is_python_function(std::string_view function) {
  return function.starts_with("Py") || function.starts_with("_Py");
}

bool is_python_library(std::string_view path) {
  if (std::ranges::any_of(kPythonPackages, [&](std::string_view folder) {
        return path.find(folder) != std::string_view::npos;
      }))
    return true;
  return std::ranges::any_of(kPythonLibraries, [&](std::string_view folder) {
    // "/lib/python3.11/", "/usr/lib/python3/", and no "/lib/python_of_mine/".
    const std::size_t at = path.find(folder);
    if (at == std::string_view::npos) return false;
    const std::string_view rest = path.substr(at + folder.size());
    const std::size_t end = rest.find_first_not_of("0123456789.");
    return end != std::string_view::npos && end > 0 &&
           (rest[end] == '/' || rest.substr(end, 4) == "zip/");
  });
}

bool is_python_dispatch(std::string_view function, std::string_view file) {
  // Methods of dataclasses and named tuples, what calls __init__ from 3.12 on, and our own module,
  // which projects copy.
  return file.starts_with("<frozen ") || file == "__init__" || file == "<shim>" ||
         file_name_of(file) == "geiger.py" || function.starts_with("__create_fn__.");
}

bool is_python_start_up(std::string_view function, std::string_view file) {
  const std::string_view name = file_name_of(file);
  if (name == "runpy.py" || file == "<frozen runpy>") return true;
  if (name == "threading.py" && is_python_library(file)) {
    return function.find("_bootstrap") != std::string_view::npos;
  }
  const std::string_view folder = file.substr(0, file.size() - name.size());
  return function == "<module>" && folder.ends_with("/bin/") &&
         name.find('.') == std::string_view::npos;
}

}  // namespace geiger::profile
