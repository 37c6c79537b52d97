// Whatever geiger can say about a recording, said once: what a hostile trace may
// reach beyond its reader.
#pragma once

#include <cstddef>

#include "analysis/ingest/ingest.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::fuzz {

/// Applies the stored names and gives all other locations theirs, without a look at
/// any file: what a hostile trace names as modules is not there.
void give_names(ingest::Ingested& ingested);

/// Draws every report and export, as text and JSON, and checks what goes for all of them: text is
/// valid UTF-8 without control characters, JSON has no NaN or infinity. `recording` must have its
/// names.
void draw_everything(const profile::Recording& recording);

/// One part of that: with `number` counting up, all in turn. For fuzzers, which learn
/// more from ten inputs than from ten reports of one.
void draw_part(const profile::Recording& recording, std::size_t number);

}  // namespace geiger::fuzz
