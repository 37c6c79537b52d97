#include "analysis/profile/frames/jit_code.h"

#include <algorithm>
#include <array>

#include "base/path.h"

namespace geiger::profile {
namespace {

using Word = std::string_view;

constexpr std::array kScriptEndings{Word(".js"),  Word(".mjs"), Word(".cjs"), Word(".ts"),
                                    Word(".mts"), Word(".cts"), Word(".jsx"), Word(".tsx")};

constexpr std::array kJavaPackages{Word("java."), Word("javax."),   Word("jdk."),
                                   Word("sun."),  Word("com.sun."), Word("org.graalvm.")};

/// V8's, then HotSpot's. Only what no program calls a function: other recordings have frames
/// without a module too.
constexpr std::array kStubStarts{Word("Builtin:"), Word("BytecodeHandler:"), Word("Stub:"),
                                 Word("RegExp:"), Word("StubRoutines (")};
constexpr std::array kStubEndings{Word(" stub"), Word(" adapters")};
constexpr std::array kStubs{Word("Interpreter"),     Word("adapters"),
                            Word("SafepointBlob"),   Word("DeoptimizationBlob"),
                            Word("ExceptionBlob"),   Word("UncommonTrapBlob"),
                            Word("_rethrow_Java"),   Word("_new_instance_Java"),
                            Word("_new_array_Java"), Word("_multianewarray2_Java")};

constexpr std::array kMachines{Word("node"),       Word("nodejs"),    Word("libjvm.so"),
                               Word("libjava.so"), Word("libzip.so"), Word("libnio.so"),
                               Word("libnet.so"),  Word("libjli.so"), Word("libjimage.so")};

template <typename Words>
bool begins_with_one(Word text, const Words& words) {
  return std::ranges::any_of(words, [&](Word word) { return text.starts_with(word); });
}

template <typename Words>
bool ends_with_one(Word text, const Words& words) {
  return std::ranges::any_of(words, [&](Word word) { return text.ends_with(word); });
}

}  // namespace

bool is_script(std::string_view file) {
  return file.starts_with("node:") || ends_with_one(file, kScriptEndings);
}

bool is_script_library(std::string_view file) {
  return file.starts_with("node:") || file.find("/node_modules/") != std::string_view::npos;
}

bool is_java_method(std::string_view function) {
  const std::size_t open = function.find('(');
  return open != std::string_view::npos && function.ends_with(')') &&
         function.find("::") == std::string_view::npos && function.find(' ') > open &&
         function.substr(0, open).find('.') != std::string_view::npos;
}

bool is_java_library(std::string_view function) { return begins_with_one(function, kJavaPackages); }

bool is_jit_stub(std::string_view function) {
  return begins_with_one(function, kStubStarts) || ends_with_one(function, kStubEndings) ||
         std::ranges::find(kStubs, function) != kStubs.end();
}

bool is_virtual_machine(std::string_view path) {
  const std::string_view file = base::file_name_of(path);
  return std::ranges::find(kMachines, file) != kMachines.end() || file.starts_with("libnode.so");
}

}  // namespace geiger::profile
