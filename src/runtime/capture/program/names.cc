#include "runtime/capture/program/names.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "base/clock.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/capture/thread/thread_state.h"
#include "runtime/probes/probes.h"
#include "trace/writer.h"

namespace geiger::capture {
namespace {

using trace::NameKind;

struct Entry {
  NameKind kind;
  std::uint32_t owner;
  std::uint32_t bytes;
  std::uint32_t nesting;  ///< Labels around it.
  /// Segment number << 32 | record: belongs to the segment that it names.
  std::atomic<std::uint64_t> place;

  /// The text follows the entry.
  [[nodiscard]] char* text() { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] const char* text() const { return reinterpret_cast<const char*>(this + 1); }
};

constinit std::atomic<std::atomic<Entry*>*> entries{nullptr};
constinit std::atomic<NameId> defined{0};
constinit NumberTable ids{256};

/// Room for all ids; pages are touched as names are defined.
std::atomic<Entry*>* table() {
  std::atomic<Entry*>* known = entries.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  void* pages = map_pages((kMaxNames + 1) * sizeof(std::atomic<Entry*>));
  if (pages == nullptr) return nullptr;
  auto* fresh = static_cast<std::atomic<Entry*>*>(pages);
  // Losing the race wastes untouched address space.
  return entries.compare_exchange_strong(known, fresh, std::memory_order_acq_rel) ? fresh : known;
}

Entry* entry_of(NameId name) {
  std::atomic<Entry*>* known = entries.load(std::memory_order_acquire);
  if (known == nullptr || name == 0 || name > kMaxNames) return nullptr;
  return known[name].load(std::memory_order_acquire);
}

/// FNV-1a over the fields that identify a name.
std::uint64_t hash_of(NameKind kind, std::uint32_t owner, const char* text, std::size_t bytes) {
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  std::uint64_t hash = 0xcbf29ce484222325U ^ (std::uint64_t{owner} << 8 | std::uint64_t(kind));
  for (std::size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<unsigned char>(text[i])) * kPrime;
  }
  return hash * kPrime ^ hash >> 32;
}

bool is_same(const Entry& entry, NameKind kind, std::uint32_t owner, const char* text,
             std::size_t bytes) {
  return entry.kind == kind && entry.owner == owner && entry.bytes == bytes &&
         memcmp(entry.text(), text, bytes) == 0;
}

/// The known id under `hash`; 0 if there is none. `is_taken`: another name has this hash.
NameId find(std::uint64_t hash, NameKind kind, std::uint32_t owner, const char* text,
            std::size_t bytes, bool& is_taken) {
  const NameId id = ids.find(hash);
  const Entry* entry = entry_of(id);
  is_taken = entry != nullptr && !is_same(*entry, kind, owner, text, bytes);
  return is_taken ? 0 : id;
}

GEIGER_SLOW_PATH NameId add(std::uint64_t hash, NameKind kind, std::uint32_t owner,
                            std::uint32_t nesting, const char* text, std::size_t bytes) {
  std::atomic<Entry*>* known = table();
  if (known == nullptr || defined.load(std::memory_order_relaxed) >= kMaxNames) return 0;
  auto* entry = static_cast<Entry*>(arena_allocate(sizeof(Entry) + bytes));
  if (entry == nullptr) return 0;
  const NameId id = defined.fetch_add(1, std::memory_order_relaxed) + 1;
  if (id > kMaxNames) return 0;
  entry->kind = kind;
  entry->owner = owner;
  entry->bytes = static_cast<std::uint32_t>(bytes);
  entry->nesting = nesting;
  memcpy(entry->text(), text, bytes);
  known[id].store(entry, std::memory_order_release);
  ids.insert(hash, id);
  // Another thread may have defined it first. Without memory for the table each call defines a new
  // id.
  const NameId winner = ids.find(hash);
  return winner == 0 ? id : winner;
}

/// The id of the name in a segment's record; 0 for 0.
NameId id_of(const Segment& segment, trace::Ref ref) {
  if (ref == 0) return 0;
  const auto& record = segment.writer.at<trace::NameRecord>(ref);
  const bool is_nested = record.kind == NameKind::kLabel && record.owner != 0;
  const auto* text = reinterpret_cast<const char*>(&record + 1);
  return define_name(record.kind, is_nested ? id_of(segment, record.owner) : record.owner, text,
                     record.text_bytes);
}

std::uint32_t own_index() {
  const ThreadState* state = own_state();
  return state != nullptr && state->generation == image.origin.generation ? state->index : 0;
}

trace::Ref write_name(Segment& segment, const Entry& entry, std::uint32_t owner) {
  const trace::Heading heading{.thread = own_index(), .more_bytes = entry.bytes};
  return trace::append<trace::NameRecord>(segment.writer, heading,
                                          [&](trace::NameRecord& record) {
                                            record.kind = entry.kind;
                                            record.owner = owner;
                                            record.text_bytes = entry.bytes;
                                            memcpy(&record + 1, entry.text(), entry.bytes);
                                          })
      .ref;
}

bool write_mark_at(Segment& segment, Nanoseconds time, const char* text, std::size_t bytes,
                   std::uint32_t thread) {
  const trace::Heading heading{.thread = thread, .more_bytes = bytes};
  const auto written =
      trace::append<trace::MarkRecord>(segment.writer, heading, [&](trace::MarkRecord& record) {
        record.time = time;
        record.text_bytes = static_cast<std::uint32_t>(bytes);
        memcpy(&record + 1, text, bytes);
      });
  if (!written) return false;
  if (probes::wants_marks()) [[unlikely]]
    probes::fire_mark(text, written.record->text_bytes, time);
  return true;
}

}  // namespace

NameId define_name(NameKind kind, std::uint32_t owner, const char* text, std::size_t bytes) {
  if (text == nullptr || bytes == 0 || bytes > kMaxNameBytes) return 0;
  std::uint32_t nesting = 0;
  if (kind == NameKind::kLabel && owner != 0) {
    const Entry* around = entry_of(owner);
    if (around == nullptr || around->kind != NameKind::kLabel) return 0;
    nesting = around->nesting + 1;
    if (nesting >= kMaxNesting) return 0;
  }
  // If another name has this hash, try the next one; give up after a second collision.
  std::uint64_t hash = hash_of(kind, owner, text, bytes);
  bool is_taken = false;
  NameId id = find(hash, kind, owner, text, bytes, is_taken);
  if (is_taken) id = find(++hash, kind, owner, text, bytes, is_taken);
  if (is_taken) return 0;
  return id != 0 ? id : add(hash, kind, owner, nesting, text, bytes);
}

trace::Ref ref_of_name(Segment& segment, NameId name) {
  Entry* entry = entry_of(name);
  if (entry == nullptr) return 0;
  const std::uint64_t place = entry->place.load(std::memory_order_relaxed);
  const std::uint64_t number = segment.number.load(std::memory_order_relaxed);
  if (place >> 32 == number) return static_cast<trace::Ref>(place);
  const bool is_nested = entry->kind == NameKind::kLabel && entry->owner != 0;
  const trace::Ref ref =
      write_name(segment, *entry, is_nested ? ref_of_name(segment, entry->owner) : entry->owner);
  if (ref != 0) entry->place.store(number << 32 | ref, std::memory_order_relaxed);
  return ref;
}

trace::Ref carry_name(Segment& segment, const Segment& before, trace::Ref ref) {
  return ref_of_name(segment, id_of(before, ref));
}

NamedThing name_at(NameId name) {
  const Entry* entry = entry_of(name);
  if (entry == nullptr) return {};
  return {entry->kind, entry->owner, entry->text(), entry->bytes};
}

bool write_mark(const char* text, std::size_t bytes) {
  if (text == nullptr || bytes > kMaxNameBytes || !is_recording()) return false;
  return write_mark_at(current_segment(), base::monotonic_now(), text, bytes, own_index());
}

}  // namespace geiger::capture
