// Labels for languages that look functions up by name, such as Python through ctypes
// (python/geiger.py). Two calls do for every use, because the caller keeps what was in force:
//
//   before = set(define(text, in force)) ... set(before)
//
// Both stay as they are from version to version: unlike the table of geiger_capture_v1, which
// libgeiger.so reads, they serve files that are copied into other people's projects.
//
// Threads: a label is in force in the thread that sets it. Signals: safe. Fork: ids stay valid, and
// the child's thread keeps its label. Allocates: from the arena, for a new text.
#include <string.h>

#include "runtime/capture/program/names.h"
#include "runtime/capture/thread/thread_local.h"
#include "runtime/interpose/conclude.h"

using geiger::capture::define_name;
using geiger::capture::kMaxNameBytes;
using geiger::capture::name_at;
using geiger::capture::NameId;
using geiger::trace::NameKind;

/// The id of the label `text` within the label `around` (0: none). 0 where the text is empty or too
/// long, `around` is not a label, or there are too many names already.
GEIGER_EXPORT NameId geiger_define_label_v1(const char* text, NameId around) {
  if (text == nullptr) return 0;
  return define_name(NameKind::kLabel, around, text, strnlen(text, kMaxNameBytes + 1));
}

/// Sets the calling thread's label (0: none) and returns the one before. What is not the id of a
/// label changes nothing.
GEIGER_EXPORT NameId geiger_set_label_v1(NameId label) {
  NameId& in_force = geiger::capture::tls.naming.label;
  const NameId before = in_force;
  if (label == 0 || name_at(label).kind == NameKind::kLabel) in_force = label;
  return before;
}
