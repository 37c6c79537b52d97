// /etc/ld.so.preload: the libraries that glibc's loader puts into every program of the machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.h"

namespace geiger::run {

inline constexpr const char* kHostPreloads = "/etc/ld.so.preload";

/// The words of `list` that name the runtime, of any installation.
[[nodiscard]] std::vector<std::string> runtime_words_in(std::string_view list);

/// `list` with `word` first and without other words that name the runtime; an empty `word`: without
/// any. All else keeps its bytes.
[[nodiscard]] std::string with_runtime_word(std::string_view list, const std::string& word);

/// Fails, with a clause, if another user than root can replace the runtime: privileged programs
/// load it too.
[[nodiscard]] base::Outcome<void> check_only_root_writes();

/// Starts a program, with LD_PRELOAD=`word` unless that is empty. Fails, with what the loader said,
/// if the runtime is not in it.
[[nodiscard]] base::Outcome<void> try_preload(const std::string& word);

}  // namespace geiger::run
