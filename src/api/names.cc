// Labels and types in force.
//
//   thread: label in force ---- entered within it? ---> cached id    a comparison, a store
//                                        \--- first time: define, remember
//
// A scope has the depth at which it was entered. Leaving a scope that is not the innermost also
// leaves those inside it, so that a forgotten leave has no later effect; leaving one deeper than
// the thread's depth changes nothing.
#include <atomic>
#include <cstring>

#include "api/connection.h"
#include "base/check.h"

namespace geiger::api {
namespace {

using capture::NameId;
using trace::NameKind;

std::atomic_ref<std::uint64_t> known_of(std::uint64_t& known) { return std::atomic_ref(known); }

/// 0 if empty, above the limit if too long.
std::size_t size_of(const char* text) {
  return text == nullptr ? 0 : strnlen(text, GEIGER_MAX_TEXT + 1);
}

geiger_status define(NameKind kind, NameId around, const char* text, NameId& id) {
  const std::size_t size = size_of(text);
  if (size == 0 || size > GEIGER_MAX_TEXT) return GEIGER_BAD_ARGUMENT;
  const capture::Interface* capture = connection();
  if (capture == nullptr) return GEIGER_NOT_AVAILABLE;
  id = capture->define_name(kind, around, text, size);
  return id == 0 ? GEIGER_LIMIT : GEIGER_OK;
}

GEIGER_SLOW_PATH geiger_status define_known(NameKind kind, NameId around, const char* text,
                                            std::uint64_t& known, NameId& id) {
  const geiger_status status = define(kind, around, text, id);
  if (status == GEIGER_OK) {
    known_of(known).store(std::uint64_t{around} << 32 | id, std::memory_order_relaxed);
  }
  return status;
}

/// The id of a handle's text within `around`.
GEIGER_FAST_PATH geiger_status id_of(NameKind kind, NameId around, const char* text,
                                     std::uint64_t& known, NameId& id) {
  const std::uint64_t seen = known_of(known).load(std::memory_order_relaxed);
  id = static_cast<NameId>(seen);
  if (id != 0 && seen >> 32 == around) [[likely]]
    return GEIGER_OK;
  return define_known(kind, around, text, known, id);
}

std::uint64_t this_thread() { return reinterpret_cast<std::uint64_t>(&tls); }

GEIGER_FAST_PATH void enter(NameId& in_force, std::uint32_t& depth, NameId id,
                            geiger_scope& scope) {
  scope = {
      .inside = id, .before = in_force, .depth = ++depth, .is_entered = 1, .thread = this_thread()};
  in_force = id;
}

geiger_status leave(NameId& in_force, std::uint32_t& depth, geiger_scope* scope) {
  if (scope == nullptr) return GEIGER_BAD_ARGUMENT;
  if (scope->is_entered == 0) return GEIGER_NOT_ENTERED;
  if (scope->thread != this_thread()) return GEIGER_WRONG_THREAD;
  const geiger_scope left = *scope;
  *scope = {};
  const bool is_innermost = left.depth == depth;
  if (left.depth > depth || (is_innermost && left.inside != in_force)) return GEIGER_NOT_ENTERED;
  in_force = left.before;
  depth = left.depth - 1;
  return is_innermost ? GEIGER_OK : GEIGER_WRONG_NESTING;
}

}  // namespace
}  // namespace geiger::api

using namespace geiger::api;  // NOLINT: the C names below live outside.

geiger_status geiger_enter_label(geiger_label* label, geiger_scope* scope) {
  if (label == nullptr || scope == nullptr) return GEIGER_BAD_ARGUMENT;
  geiger::capture::Naming& names = naming();
  NameId id = 0;
  const geiger_status status = id_of(NameKind::kLabel, names.label, label->text, label->known, id);
  if (status == GEIGER_OK) [[likely]] {
    enter(names.label, tls.label_depth, id, *scope);
  } else {
    *scope = {};
  }
  return status;
}

geiger_status geiger_enter_label_text(const char* text, geiger_scope* scope) {
  geiger_label label = GEIGER_LABEL(text);
  return geiger_enter_label(&label, scope);
}

geiger_status geiger_leave_label(geiger_scope* scope) {
  return leave(naming().label, tls.label_depth, scope);
}

geiger_status geiger_current_label(uint32_t* label) {
  if (label == nullptr) return GEIGER_BAD_ARGUMENT;
  *label = naming().label;
  return connection() == nullptr ? GEIGER_NOT_AVAILABLE : GEIGER_OK;
}

geiger_status geiger_resume_label(uint32_t label, geiger_scope* scope) {
  if (scope == nullptr) return GEIGER_BAD_ARGUMENT;
  *scope = {};
  const geiger::capture::Interface* capture = connection();
  if (capture == nullptr) return GEIGER_NOT_AVAILABLE;
  if (label != 0 && capture->name_at(label).kind != NameKind::kLabel) return GEIGER_BAD_HANDLE;
  enter(naming().label, tls.label_depth, label, *scope);
  return GEIGER_OK;
}

geiger_status geiger_define_label(const char* text, uint32_t around, uint32_t* label) {
  if (label == nullptr) return GEIGER_BAD_ARGUMENT;
  *label = 0;
  const geiger::capture::Interface* capture = connection();
  if (capture == nullptr) return GEIGER_NOT_AVAILABLE;
  if (around != 0 && capture->name_at(around).kind != NameKind::kLabel) return GEIGER_BAD_HANDLE;
  return define(NameKind::kLabel, around, text, *label);
}

geiger_status geiger_enter_type(geiger_type* type, geiger_scope* scope) {
  if (type == nullptr || scope == nullptr) return GEIGER_BAD_ARGUMENT;
  geiger::capture::Naming& names = naming();
  NameId id = 0;
  const geiger_status status = id_of(NameKind::kType, 0, type->name, type->known, id);
  if (status == GEIGER_OK) [[likely]] {
    enter(names.type, tls.type_depth, id, *scope);
  } else {
    *scope = {};
  }
  return status;
}

geiger_status geiger_leave_type(geiger_scope* scope) {
  return leave(naming().type, tls.type_depth, scope);
}
