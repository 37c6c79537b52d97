#include "runtime/capture/sample/object_type.h"

#include <atomic>

#include "base/attributes.h"
#include "object_types/object_types.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/sample/write.h"
#include "runtime/capture/tables/number_table.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/thread_state.h"
#include "runtime/python/interpreter.h"
#include "runtime/python/memory.h"
#include "trace/append.h"

namespace geiger::capture {
namespace {

using object_types::TypeWords;

/// A large program has some ten thousand types; the other names are for the program's own.
constexpr NameId kMostTypes = kMaxNames / 2;
constinit NumberTable names{256};  ///< Fingerprint of a type -> NameId.
constinit std::atomic<NameId> named{0};

/// What is found at the address of a type.
struct Found {
  object_types::Placement place;
  NameId name;
};

/// Types are freed and their addresses reused, so a type is known by what it refers to as well.
std::uint64_t fingerprint_of(Address address, const TypeWords& type) {
  std::uint64_t hash = address;
  for (const std::size_t word : object_types::kLastingWords) {
    hash = (hash ^ type[word]) * 0x9fb21c651e98df25U;
    hash ^= hash >> 29;
  }
  return hash == 0 ? 1 : hash;
}

/// 0: not a type, without a name, or no room.
GEIGER_SLOW_PATH NameId name_slow(const object_types::Reader& reader, Address address,
                                  const TypeWords& type) {
  object_types::TypeName name;
  if (named.load(std::memory_order_relaxed) >= kMostTypes || !reader.is_type(type)) return 0;
  reader.copy_name(address, type, name);
  const NameId id = define_name(trace::NameKind::kType, 0, name.bytes.data(), name.size);
  if (id != 0) named.fetch_add(1, std::memory_order_relaxed);
  return id;
}

bool read_memory(void* memory, Address address, void* into, Bytes bytes) {
  return static_cast<const python::Memory*>(memory)->read(address, into, bytes);
}

/// 0: not known.
NameId type_of(const python::Interpreter& interpreter, const trace::SampleRecord& sample) {
  python::Memory memory(python::Trust::kChecked);
  const object_types::Reader reader(interpreter.version, {read_memory, &memory});
  Found found{};
  const auto type_at = [&](Address address) -> const Found* {
    TypeWords type;
    if (!reader.read_type(address, type, found.place)) return nullptr;
    const std::uint64_t fingerprint = fingerprint_of(address, type);
    found.name = names.find(fingerprint);
    if (found.name == 0) {
      found.name = name_slow(reader, address, type);
      if (found.name != 0) names.insert(fingerprint, found.name);
    }
    return found.name == 0 ? nullptr : &found;
  };
  const Found* type = reader.type_of(sample.address, sample.requested(), false, type_at);
  return type == nullptr ? 0 : type->name;
}

}  // namespace

void record_object_type(std::uint64_t taken) {
  const python::Interpreter* interpreter = python::interpreter();
  if (interpreter == nullptr) [[likely]]
    return;
  ThreadState* state = known_state();
  if (taken == 0 || state == nullptr || !is_recording() || is_aggregated()) return;
  const PinnedSegment segment(*state);
  if (!is_of(*segment, taken)) return;
  const trace::SampleRecord& sample = sample_at(*segment, static_cast<trace::Ref>(taken));
  const bool is_free_threaded = interpreter->frames.load(std::memory_order_relaxed) ==
                                python::InterpretedFrames::kFreeThreaded;
  if (!vocabulary::is_python_object(sample.entry_point()) || sample.type != 0 || is_free_threaded ||
      !object_types::has_known_types(interpreter->version)) {
    return;
  }
  const trace::Ref type = ref_of_name(*segment, type_of(*interpreter, sample));
  if (type == 0) return;
  trace::append<trace::ObjectTypeRecord>(segment->writer, {}, [&](trace::ObjectTypeRecord& record) {
    record.sample = static_cast<trace::Ref>(taken);
    record.type = type;
  });
}

}  // namespace geiger::capture
