#include "run/environment.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "modules/module.h"
#include "trace/format.h"
#include "trace/share.h"

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

namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::array<std::string_view, 11> kOwnVariables{
    "GEIGER_DIR=",      "GEIGER_INTERVAL=", "GEIGER_SEED=",   "GEIGER_MODE=",
    "GEIGER_CAPACITY=", "GEIGER_SEGMENT=",  "GEIGER_KEEP=",   "GEIGER_LIVE=",
    "GEIGER_BROKER=",   "GEIGER_GUARD=",    "GEIGER_FRAMES=",
};

bool is_own(std::string_view word) {
  return std::any_of(kOwnVariables.begin(), kOwnVariables.end(),
                     [&](std::string_view name) { return word.starts_with(name); });
}

std::string mode_words(const RuntimeSettings& settings, int program) {
  const std::string root = fmt::format("root={}", program);
  const std::string scanner = fmt::format("scanner={}", settings.scanner);
  std::vector<std::string_view> words{root};
  if (settings.scanner != 0) words.emplace_back(scanner);
  if (settings.is_pure) words.emplace_back("pure");
  if (settings.uses_frame_pointers) words.emplace_back("fp");
  if (settings.python == RuntimeSettings::Python::kStacks) words.emplace_back("pystacks");
  if (settings.python == RuntimeSettings::Python::kOff) words.emplace_back("nopython");
  if (!settings.follows_children) words.emplace_back("nochildren");
  if (settings.starts_paused) words.emplace_back("paused");
  if (settings.is_dormant) words.emplace_back("dormant");
  if (settings.records_free_stacks) words.emplace_back("freestacks");
  if (!settings.records_mappings) words.emplace_back("nomappings");
  if (settings.aggregates) words.emplace_back("aggregate");
  return fmt::format("{}", fmt::join(words, ","));
}

std::string interval_word(const RuntimeSettings& settings) {
  if (settings.share == 0) return fmt::format("{}", settings.interval);
  const auto share = std::llround(settings.share * static_cast<double>(trace::kPerMillion));
  return fmt::format("auto:{}", std::max(share, 1LL));
}

}  // namespace

Environment own_environment() {
  Environment words;
  for (char** word = environ; word != nullptr && *word != nullptr; ++word)
    words.emplace_back(*word);
  return words;
}

Environment with_preload(Environment inherited, const std::string& preload) {
  const auto existing =
      std::find_if(inherited.begin(), inherited.end(),
                   [](const std::string& word) { return word.starts_with(kPreload); });
  if (existing == inherited.end()) {
    inherited.push_back(std::string(kPreload) + preload);
    return inherited;
  }
  const std::string rest = existing->substr(kPreload.size());
  *existing = std::string(kPreload) + preload + (rest.empty() ? "" : ":" + rest);
  return inherited;
}

Environment without_runtime(Environment inherited) {
  std::erase_if(inherited, is_own);
  return inherited;
}

std::string directory_word(const std::string& directory) { return "GEIGER_DIR=" + directory; }

Environment runtime_words(const RuntimeSettings& settings, const std::string& directory,
                          int program) {
  Environment words;
  words.push_back(directory_word(directory));
  words.push_back("GEIGER_INTERVAL=" + interval_word(settings));
  words.push_back(fmt::format("GEIGER_CAPACITY={}", settings.capacity));
  if (settings.segment != 0) words.push_back(fmt::format("GEIGER_SEGMENT={}", settings.segment));
  if (settings.keep != 0) words.push_back(fmt::format("GEIGER_KEEP={}", settings.keep));
  if (settings.live != 0) words.push_back(fmt::format("GEIGER_LIVE={}", settings.live));
  if (settings.frames != 0) words.push_back(fmt::format("GEIGER_FRAMES={}", settings.frames));
  if (settings.guard != 0) {
    words.push_back(fmt::format("GEIGER_GUARD={}{}", trace::guard_rate_of(settings.guard),
                                (settings.guard & trace::kGuardExact) != 0 ? ",exact" : ""));
  }
  if (!settings.broker.empty()) words.push_back("GEIGER_BROKER=" + settings.broker);
  if (settings.seed) words.push_back(fmt::format("GEIGER_SEED={}", *settings.seed));
  words.push_back("GEIGER_MODE=" + mode_words(settings, program));
  return words;
}

Environment with_runtime(Environment inherited, const RuntimeSettings& settings,
                         const std::string& preload, const std::string& directory, int program) {
  Environment words = with_preload(without_runtime(std::move(inherited)), preload);
  for (auto& word : runtime_words(settings, directory, program)) words.push_back(std::move(word));
  return words;
}

namespace {

constexpr std::string_view kNodeOptions = "NODE_OPTIONS=";
/// This kind of map has functions only, and leaves no log in the working directory.
constexpr std::string_view kNodeMap = "--perf-basic-prof-only-functions";
constexpr std::string_view kAnyNodeMap = "--perf-basic-prof";
constexpr std::string_view kNodeFrames = "--interpreted-frames-native-stack";

constexpr std::string_view kJavaMap = "-XX:+DumpPerfMapAtExit";  // Since JDK 17.
constexpr std::array<std::string_view, 4> kJavaOptions{"-XX:+IgnoreUnrecognizedVMOptions",
                                                       "-XX:+PreserveFramePointer",
                                                       "-XX:+UnlockDiagnosticVMOptions", kJavaMap};

std::string& variable(Environment& environment, std::string_view start) {
  const auto found = std::ranges::find_if(
      environment, [&](const std::string& word) { return word.starts_with(start); });
  return found != environment.end() ? *found : environment.emplace_back(start);
}

void add_option(std::string& options, std::string_view option) {
  if (!options.ends_with('=')) options += ' ';
  options += option;
}

}  // namespace

bool ask_node(Environment& environment, const std::vector<std::string>& program) {
  std::string& options = variable(environment, kNodeOptions);
  const bool has_map =
      options.find(kAnyNodeMap) != std::string::npos ||
      std::ranges::any_of(program, [](const auto& word) { return word.starts_with(kAnyNodeMap); });
  if (!has_map) add_option(options, kNodeMap);
  if (options.find(kNodeFrames) == std::string::npos) add_option(options, kNodeFrames);
  return !has_map;
}

base::Outcome<bool> ask_java(std::vector<std::string>& program) {
  if (base::file_name_of(program.front()) != "java") {
    return base::Failure{fmt::format("--java: '{}' is not java; give its JVM {}", program.front(),
                                     fmt::join(kJavaOptions.begin() + 1, kJavaOptions.end(), " ")),
                         base::Fault::kRequest};
  }
  const bool has_map = std::ranges::find(program, kJavaMap) != program.end();
  program.insert(program.begin() + 1, kJavaOptions.begin(), kJavaOptions.end());
  return !has_map;
}

}  // namespace geiger::run
