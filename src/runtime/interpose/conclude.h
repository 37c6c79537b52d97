// What every slow allocation does after the original function returned.
#pragma once

#include "runtime/capture/capture.h"
#include "runtime/interpose/originals.h"
#include "runtime/interpose/python_domains.h"

namespace geiger::interpose {

/// Records the decided allocation, or takes it back if it failed (null).
inline void conclude(const capture::Decision& decision, void* pointer, std::size_t size,
                     trace::EntryPoint entry_point, std::size_t alignment,
                     const unwind::Registers& caller) {
  if (pointer == nullptr) return capture::retract(decision, size);
  if (decision.is_sample) {
    capture::record(decision,
                    {pointer, size, usable_size_of(pointer, size), entry_point, alignment}, caller);
  }
  look_after_python(decision);
}

}  // namespace geiger::interpose

/// An exported C symbol: the only ones besides the operators.
#define GEIGER_EXPORT extern "C" [[gnu::visibility("default")]]
