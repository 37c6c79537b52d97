// Labels, marks and pauses for languages that look up functions by name, such as Python through
// ctypes (python/geiger.py). Two functions suffice for labels, because the caller keeps the
// previous label:
//
//   before = set(define(text, in force)) ... set(before)
//
// All are stable across versions: unlike the table geiger_capture_v1, which libgeiger.so reads,
// they are called by files that are copied into other projects.
//
// Threads: a label is in force in the thread that sets it. Signals: safe. Fork: ids stay valid, and
// the child's thread keeps its label. Allocates: from the arena, for a new text.
#include <string.h>

#include "runtime/capture/capture.h"
#include "runtime/capture/interface.h"
#include "runtime/capture/program/names.h"
#include "runtime/interpose/conclude.h"

using geiger::capture::define_name;
using geiger::capture::kMaxNameBytes;
using geiger::capture::name_at;
using geiger::capture::NameId;
using geiger::trace::NameKind;

/// The id of the label `text` within the label `around` (0: none). 0 if the text is empty or too
/// long, `around` is not a label, or there are too many names.
GEIGER_EXPORT NameId geiger_define_label_v1(const char* text, NameId around) {
  if (text == nullptr) return 0;
  return define_name(NameKind::kLabel, around, text, strnlen(text, kMaxNameBytes + 1));
}

/// Sets the calling thread's label (0: none) and returns the previous one. Ignores ids that are not
/// a label's.
GEIGER_EXPORT NameId geiger_set_label_v1(NameId label) {
  NameId& in_force = geiger::capture::tls.naming.label;
  const NameId before = in_force;
  if (label == 0 || name_at(label).kind == NameKind::kLabel) in_force = label;
  return before;
}

/// Writes a mark. 0: the text is empty or too long, or nothing is recorded.
GEIGER_EXPORT int geiger_write_mark_v1(const char* text) {
  return text != nullptr && geiger::capture::write_mark(text, strnlen(text, kMaxNameBytes + 1)) ? 1
                                                                                                : 0;
}

/// Until geiger_pause_v1(0) no allocation of the process is sampled or counted; frees of samples
/// are recorded.
GEIGER_EXPORT void geiger_pause_v1(int is_paused) { geiger_capture_v1.hold(is_paused != 0); }
