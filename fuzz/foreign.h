// One run over a file of another profiler: what its reader makes of it must be sound.
#pragma once

#include <string>
#include <string_view>

#include "analysis/export/sql/rows.h"
#include "analysis/import/import.h"
#include "analysis/profile/select/profile.h"
#include "target.h"

namespace geiger::fuzz {

inline int read_foreign(std::string_view bytes, imports::Format format) {
  const imports::Imported imported = imports::read_bytes(bytes, "input", format);
  const profile::Recording& recording = imported.recording;
  require(recording.processes.size() == 1, "a file is one process");
  require(imported.errors.size() <= 1, "damage is said once");
  for (const profile::Sample& sample : recording.samples) {
    require(sample.stack < recording.stacks.size(), "samples have stacks that are there");
    require(sample.epoch < recording.epochs.size(), "and intervals");
  }
  for (const profile::Kind kind : {profile::Kind::kAllocated, profile::Kind::kLiveAtEnd}) {
    const profile::Profile profile = profile::select(recording, kind);
    std::size_t written = 0;
    exports::write_csv(recording, profile, 0.95,
                       [&](std::string_view piece) { written += piece.size(); });
    require(written > 0, "every profile has an export");
  }
  return 0;
}

}  // namespace geiger::fuzz
