#include "run/preload.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "modules/module.h"

namespace geiger::run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libgeiger-preload.so";
constexpr const char* kLttngLibrary = "libgeiger-lttng.so";

fs::path library_root() { return modules::install_root() / "lib" / "geiger"; }

std::string loaded_from(const std::string& root, const char* library) {
  return root + "/$LIB/" + library;
}

bool can_stand_in_preload(const std::string& path) {
  return path.find_first_of(" :$") == std::string::npos;
}

// Others may search it but not write it: a program that gives up its user still
// finds the library when it starts another.
std::string make_stand_in(const fs::path& target) {
  std::string directory = "/tmp/geiger-lib-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return {};
  if (chmod(directory.c_str(), 0711) == 0 &&
      symlink(target.c_str(), (directory + "/lib").c_str()) == 0) {
    return directory;
  }
  rmdir(directory.c_str());
  return {};
}

}  // namespace

PreloadPath::PreloadPath(const std::string& root, std::string stand_in)
    : root_(root), word_(loaded_from(root, kLibrary)), stand_in_(std::move(stand_in)) {}

PreloadPath::PreloadPath(PreloadPath&& other) noexcept
    : root_(std::move(other.root_)),
      word_(std::move(other.word_)),
      stand_in_(std::exchange(other.stand_in_, {})) {}

PreloadPath::~PreloadPath() {
  if (stand_in_.empty()) return;
  unlink((stand_in_ + "/lib").c_str());
  rmdir(stand_in_.c_str());
}

base::Outcome<std::string> PreloadPath::library() {
  const fs::path library = library_root() / GEIGER_LIB_TOKEN / kLibrary;
  if (access(library.c_str(), R_OK) == 0) return library.string();
  return base::Failure{fmt::format("{} is missing", library.string())};
}

std::string PreloadPath::allocator() {
  return library_root() / GEIGER_LIB_TOKEN / "libgeiger-malloc.so";
}

base::Outcome<PreloadPath> PreloadPath::locate() {
  const fs::path root = library_root();
  GEIGER_TRY(library());
  if (can_stand_in_preload(root.string())) return PreloadPath(root.string(), {});
  const std::string stand_in = make_stand_in(root);
  if (stand_in.empty()) {
    return base::Failure{
        fmt::format("LD_PRELOAD cannot hold '{}' and /tmp is not writable", root.string())};
  }
  return PreloadPath(stand_in + "/lib", stand_in);
}

bool PreloadPath::add_lttng() {
  const fs::path library = library_root() / GEIGER_LIB_TOKEN / kLttngLibrary;
  if (access(library.c_str(), R_OK) != 0) return false;
  word_ += ":" + loaded_from(root_, kLttngLibrary);
  return true;
}

}  // namespace geiger::run
