// What every fuzz target of this folder defines: one run over one input. libFuzzer
// calls it with what it makes up; replay.cc with the files of the corpus.
//
// A target may read anything, and must come back: a crash, a sanitizer's report, a
// broken promise (require) or a run of more than a few seconds is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace geiger::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process if a promise of the code under test is broken.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace geiger::fuzz
