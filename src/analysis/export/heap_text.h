// Writes heap text, "heap_v2": the format of tcmalloc's heap samples, which google-pprof and jeprof
// read.
//
//   --- symbol                                     names, where the recording has any
//   binary=/usr/bin/server
//   0x55d0c0a01130 outer--inlined
//   ---
//   heap profile: 3: 900 [ 7: 2100] @ heap_v2/524288
//   # ...                                          comments, which readers pass over
//   2: 600 [ 4: 1200] @ 0x55d0c0a01130 0x55d0c0a010a0
//   MAPPED_LIBRARIES:
//   55d0c0a00000-55d0c0a04000 r-xp 00000000 00:00 0 /usr/bin/server
//
// Numbers are samples and their bytes, live and allocated; readers scale them up
// (heap_text.cc).
// The header has "@ heapprofile" where everything was recorded: then nothing is scaled.
#pragma once

#include <string>
#include <vector>

#include "analysis/export/streams/sink.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::exports {

/// `allocated` and `live` are profiles of `recording`, of whole objects. In a name "--", which
/// joins inlined functions here, becomes "- -"; control characters become spaces.
void write_heap_text(const profile::Recording& recording, const profile::Profile& allocated,
                     const profile::Profile& live, const std::vector<std::string>& comments,
                     const Sink& sink);

}  // namespace geiger::exports
