// Stacks in JSON documents.
#pragma once

#include <cstdint>

#include "analysis/present/json.h"
#include "analysis/profile/frames/source_line.h"
#include "analysis/profile/recording.h"

namespace geiger::present {

/// The field "stack": its frames, leaf first, and the field "is_truncated".
/// Requires a stack of the recording.
void write_stack(JsonWriter& json, const profile::Recording& recording, std::uint32_t stack);

/// The fields "file", "line" and, of rows of several lines, "other_lines"; what is not known is
/// left out.
void write_field(JsonWriter& json, const profile::SourceLine& where);

}  // namespace geiger::present
