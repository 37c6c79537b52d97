#include "runtime/capture/settings.h"

#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

extern "C" void* __libc_stack_end;  // NOLINT: the loader's name.

/// Defined by libgeiger.so where the program has it from the start.
extern "C" [[gnu::weak, gnu::visibility("default")]] const char geiger_api_version[];

namespace geiger::capture {
namespace {

/// The environment block as the kernel laid it out: argc, argv, 0, envp, 0. It is
/// there before libc has set `environ`, and setenv() in the program cannot race it.
char** initial_environment() {
  const auto* stack = static_cast<const std::uintptr_t*>(__libc_stack_end);
  if (stack != nullptr) {
    const std::uintptr_t argc = stack[0];
    if (argc < (1U << 20) && stack[argc + 1] == 0) {
      return reinterpret_cast<char**>(const_cast<std::uintptr_t*>(stack + argc + 2));
    }
  }
  return environ;
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

bool apply_mode_word(const char* begin, const char* end, Settings& settings) {
  if (begin == end) return true;
  if (is_word(begin, end, "pure")) return settings.is_pure = true;
  if (is_word(begin, end, "fp")) return settings.use_frame_pointers = true;
  if (is_word(begin, end, "paused")) return settings.starts_paused = true;
  if (is_word(begin, end, "freestacks")) return settings.free_stacks = true;
  if (is_word(begin, end, "nomappings")) return !(settings.records_mappings = false);
  if (is_word(begin, end, "nochildren")) return !(settings.follow_children = false);
  constexpr std::size_t kRootLength = 5;
  if (end - begin > 5 && strncmp(begin, "root=", kRootLength) == 0) {
    return parse_number(begin + kRootLength, end, settings.root_pid);
  }
  return false;
}

bool apply_mode(const char* text, Settings& settings) {
  for (const char* begin = text;;) {
    const char* end = begin;
    while (*end != '\0' && *end != ',') ++end;
    if (!apply_mode_word(begin, end, settings)) return false;
    if (*end == '\0') return true;
    begin = end + 1;
  }
}

constexpr Bytes kMemoryCapacity = 256 * kMiB;

bool apply_number(char** environment, const char* name, std::uint64_t& value, bool& is_given) {
  const char* text = value_of(environment, name);
  is_given = text != nullptr;
  return text == nullptr || parse_number(text, nullptr, value);
}

}  // namespace

Settings read_settings() {
  Settings settings;
  if (getauxval(AT_SECURE) != 0) return settings;  // A privileged program is left alone.
  char** environment = initial_environment();
  const char* mode = value_of(environment, "GEIGER_MODE");
  bool is_given = false;
  bool has_capacity = false;
  const bool is_valid =
      apply_number(environment, "GEIGER_INTERVAL", settings.interval, is_given) &&
      apply_number(environment, "GEIGER_CAPACITY", settings.capacity, has_capacity) &&
      apply_number(environment, "GEIGER_SEED", settings.seed, settings.has_seed) &&
      (mode == nullptr || apply_mode(mode, settings)) && settings.interval > 0;
  if (!is_valid) return settings;
  settings.directory = value_of(environment, "GEIGER_DIR");
  settings.in_memory = settings.directory == nullptr && geiger_api_version != nullptr;
  if (settings.in_memory && !has_capacity) settings.capacity = kMemoryCapacity;
  if (settings.directory != nullptr && *settings.directory != '/') settings.directory = nullptr;
  return settings;
}

}  // namespace geiger::capture
