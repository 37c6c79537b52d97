// Stacks in JSON documents.
#pragma once

#include <cstdint>

#include "analysis/profile/recording.h"
#include "analysis/report/json.h"

namespace geiger::report {

/// The field "stack": its frames, leaf first, and the field "is_truncated".
/// Requires a stack of the recording.
void write_stack(JsonWriter& json, const profile::Recording& recording, std::uint32_t stack);

}  // namespace geiger::report
