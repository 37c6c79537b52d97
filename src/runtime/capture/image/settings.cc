#include "runtime/capture/image/settings.h"

#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/loader.h"
#include "runtime/capture/image/segment.h"
#include "trace/format.h"
#include "trace/rendezvous.h"
#include "trace/share.h"

/// Defined by libgeiger.so if the program loads it at its start.
extern "C" [[gnu::weak, gnu::visibility("default")]] const char geiger_api_version[];

namespace geiger::capture {
namespace {

/// The environment as the kernel laid it out: argc, argv, 0, envp, 0. It exists before libc has set
/// `environ`, and setenv() in the program cannot race with reading it. A recording may begin after
/// main() has shortened argv, as parsers of options do, so its end is where argc says.
char** initial_environment() {
  constexpr std::uintptr_t kMostArguments = std::uintptr_t{1} << 24;
  char** arguments = initial_arguments();
  if (arguments == nullptr) return environ;
  // Not argc, but an address, after a loader that skipped its own arguments.
  const auto count = reinterpret_cast<std::uintptr_t>(arguments[-1]);
  if (count < kMostArguments && arguments[count] == nullptr) return arguments + count + 1;
  while (*arguments != nullptr) ++arguments;
  return arguments + 1;
}

const char* value_of(char** environment, const char* name) {
  const std::size_t length = strlen(name);
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return nullptr;
}

/// Decimal digits up to `end` or NUL; false on anything else or overflow.
bool parse_number(const char* text, const char* end, std::uint64_t& value) {
  if (text == end || *text == '\0') return false;
  value = 0;
  for (; text != end && *text != '\0'; ++text) {
    if (*text < '0' || *text > '9') return false;
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<std::uint64_t>(*text - '0'), &value)) {
      return false;
    }
  }
  return true;
}

bool is_word(const char* begin, const char* end, const char* word) {
  const auto length = static_cast<std::size_t>(end - begin);
  return strlen(word) == length && strncmp(begin, word, length) == 0;
}

/// Words of GEIGER_MODE that decide when to record, not how.
struct Start {
  bool is_off = false;
  bool is_dormant = false;
};

bool apply_mode_word(const char* begin, const char* end, Settings& settings, Start& start) {
  if (begin == end) return true;
  if (is_word(begin, end, "off")) return start.is_off = true;
  if (is_word(begin, end, "dormant")) return start.is_dormant = true;
  if (is_word(begin, end, "pure")) return settings.is_pure = true;
  if (is_word(begin, end, "fp")) return settings.use_frame_pointers = true;
  if (is_word(begin, end, "paused")) return settings.starts_paused = true;
  if (is_word(begin, end, "freestacks")) return settings.free_stacks = true;
  if (is_word(begin, end, "nomappings")) return !(settings.records_mappings = false);
  if (is_word(begin, end, "aggregate")) return settings.aggregates = true;
  if (is_word(begin, end, "nochildren")) return !(settings.follow_children = false);
  if (is_word(begin, end, "pystacks")) {
    settings.python = Settings::Python::kStacks;
    return true;
  }
  if (is_word(begin, end, "nopython")) {
    settings.python = Settings::Python::kOff;
    return true;
  }
  const auto is_number = [&](std::string_view name, std::uint64_t& value) {
    return std::string_view(begin, static_cast<std::size_t>(end - begin)).starts_with(name) &&
           parse_number(begin + name.size(), end, value);
  };
  return is_number("root=", settings.root_pid) || is_number("scanner=", settings.scanner_pid);
}

bool apply_mode(const char* text, Settings& settings, Start& start) {
  for (const char* begin = text;;) {
    const char* end = begin;
    while (*end != '\0' && *end != ',') ++end;
    if (!apply_mode_word(begin, end, settings, start)) return false;
    if (*end == '\0') return true;
    begin = end + 1;
  }
}

constexpr Bytes kMemoryCapacity = 256 * kMiB;
/// Least capacity of one of its segments.
constexpr Bytes kLeastMemory = 64 * kKiB;

/// A copy for children by fork: programs that write their title over arguments and environment
/// (redis, nginx, postgres) destroy the original. Paths too long for it are too long for a trace
/// too.
constinit char directory[1024]{};
constinit char runtime_directory[256]{};

/// Copies `path`; null unless it is absolute and fits.
template <std::size_t N>
const char* keep(const char* path, char (&copy)[N]) {
  if (path == nullptr || *path != '/' || strlen(path) >= N) return nullptr;
  return strcpy(copy, path);
}

constinit char broker[trace::kBrokerName + trace::kBrokerSecret + 1]{};

/// Copies the broker's digits; null if they have the wrong length.
const char* keep_broker(const char* digits) {
  if (digits == nullptr || strlen(digits) != sizeof broker - 1) return nullptr;
  return strcpy(broker, digits);
}

bool apply_number(char** environment, const char* name, std::uint64_t& value, bool& is_given) {
  const char* text = value_of(environment, name);
  is_given = text != nullptr;
  return text == nullptr || parse_number(text, nullptr, value);
}

/// In memory the capacity is shared by all segments. A segment continues in the next when it has
/// grown by half of its share; the other half is for carried records.
void share_memory(Settings& settings) {
  settings.capacity = std::max(settings.capacity / kSegments, kLeastMemory) / 4096 * 4096;
  if (settings.segment == 0 || settings.segment > settings.capacity / 2) {
    settings.segment = settings.capacity / 2;
  }
}

/// A number of bytes, "auto" or "auto:N".
bool apply_interval(const char* text, Settings& settings) {
  constexpr std::size_t kAutoLength = 4;
  if (text == nullptr) return true;
  if (strncmp(text, "auto", kAutoLength) != 0) {
    return parse_number(text, nullptr, settings.interval) && settings.interval > 0 &&
           settings.interval <= trace::kMostInterval;
  }
  const char* rest = text + kAutoLength;
  settings.interval = trace::kFirstInterval;
  settings.share = trace::kUsualShare;
  if (*rest == '\0') return true;
  return *rest == ':' && parse_number(rest + 1, nullptr, settings.share) && settings.share > 0 &&
         settings.share < trace::kPerMillion;
}

/// "N" or "N,exact".
bool apply_guard(const char* text, Settings& settings) {
  if (text == nullptr) return true;
  const char* comma = strchrnul(text, ',');
  std::uint64_t rate = 0;
  if (!parse_number(text, comma, rate) || rate > trace::kMostGuardRate) return false;
  settings.guard = static_cast<std::uint32_t>(rate);
  if (*comma == '\0') return true;
  if (rate != 0) settings.guard |= trace::kGuardExact;
  return strcmp(comma, ",exact") == 0;
}

/// False: invalid value, or recording is off.
bool read_words(char** environment, Settings& settings) {
  const char* mode = value_of(environment, "GEIGER_MODE");
  bool is_given = false;
  bool has_capacity = false;
  Start start;
  const bool is_valid =
      apply_interval(value_of(environment, "GEIGER_INTERVAL"), settings) &&
      apply_number(environment, "GEIGER_CAPACITY", settings.capacity, has_capacity) &&
      apply_number(environment, "GEIGER_SEED", settings.seed, settings.has_seed) &&
      apply_number(environment, "GEIGER_SEGMENT", settings.segment, is_given) &&
      apply_number(environment, "GEIGER_KEEP", settings.keep, is_given) &&
      apply_number(environment, "GEIGER_LIVE", settings.live, is_given) &&
      apply_number(environment, "GEIGER_FRAMES", settings.frames, is_given) &&
      apply_guard(value_of(environment, "GEIGER_GUARD"), settings) &&
      (mode == nullptr || apply_mode(mode, settings, start)) && settings.keep <= kMostKept &&
      settings.live >= kLeastLive && settings.frames >= vocabulary::kUsualFrames &&
      settings.frames <= vocabulary::kMostFrames;
  if (!is_valid || start.is_off) return false;
  const char* path = value_of(environment, "GEIGER_DIR");
  settings.directory = keep(path, directory);
  if (path != nullptr && settings.directory == nullptr) return false;
  settings.broker = keep_broker(value_of(environment, "GEIGER_BROKER"));
  settings.is_dormant = start.is_dormant || (path == nullptr && geiger_api_version == nullptr);
  settings.in_memory = path == nullptr && !settings.is_dormant;
  settings.runtime_directory = keep(value_of(environment, "XDG_RUNTIME_DIR"), runtime_directory);
  if (settings.in_memory && !has_capacity) settings.capacity = kMemoryCapacity;
  // libgeiger.so reads the trace in the process and refers to records of samples.
  if (geiger_api_version != nullptr) {
    settings.aggregates = false;
    settings.live = ~std::uint64_t{0};
  }
  if (settings.in_memory) share_memory(settings);
  if (settings.aggregates) settings.segment = 0;  // Nothing to carry over.
  // Sleepers check for calls once per interval, and the program's tokens rely on their intervals.
  if (settings.share != 0 && (settings.is_dormant || geiger_api_version != nullptr)) {
    settings.interval = Settings{}.interval;
    settings.share = 0;
  }
  return true;
}

constexpr std::size_t kMaxLines = 16;

/// The settings given by attaching, as an environment block.
constinit char told[4096]{};
constinit char* told_words[kMaxLines + 1]{};

/// False: too long, or too many lines.
bool keep_lines(const char* lines) {
  if (strlen(lines) >= sizeof told) return false;
  strcpy(told, lines);
  std::size_t count = 0;
  for (char* line = told; *line != '\0'; ++count) {
    if (count == kMaxLines) return false;
    told_words[count] = line;
    line = strchrnul(line, '\n');
    if (*line != '\0') *line++ = '\0';
  }
  told_words[count] = nullptr;
  return true;
}

}  // namespace

char** initial_arguments() {
  auto* stack = static_cast<std::uintptr_t*>(base::first_stack());
  if (stack == nullptr) return nullptr;
  const std::uintptr_t argc = stack[0];
  const bool is_plausible = argc < (1U << 20) && stack[argc + 1] == 0;
  return is_plausible ? reinterpret_cast<char**>(stack + 1) : nullptr;
}

const char* initial_value(const char* name) { return value_of(initial_environment(), name); }

Settings read_settings() {
  Settings settings;
  // Privileged programs are never recorded.
  if (getauxval(AT_SECURE) == 0) static_cast<void>(read_words(initial_environment(), settings));
  return settings;
}

bool read_settings_from(const char* lines, Settings& settings) {
  return keep_lines(lines) && read_words(told_words, settings) && settings.directory != nullptr;
}

std::uint32_t mode_of(const Settings& settings) {
  return (settings.is_pure ? trace::kModePure : 0) |
         (settings.use_frame_pointers ? trace::kModeFramePointers : 0) |
         (settings.free_stacks ? trace::kModeFreeStacks : 0) |
         (settings.aggregates ? trace::kModeAggregated : 0);
}

}  // namespace geiger::capture
