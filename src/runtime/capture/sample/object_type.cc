#include "runtime/capture/sample/object_type.h"

#include <atomic>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "object_types/object_types.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/sample/write.h"
#include "runtime/capture/tables/number_table.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/thread_state.h"
#include "runtime/python/interpreter.h"
#include "runtime/unwind/stack_memory.h"
#include "trace/writer.h"

namespace geiger::capture {
namespace {

using object_types::TypeWords;

/// A large program has some ten thousand types; the other names are for the program's own.
constexpr NameId kMostTypes = kMaxNames / 2;
constinit NumberTable names{256};  ///< Fingerprint of a type, and key of its address -> NameId.
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

/// Of any type that was found there.
std::uint64_t key_of_type(Address address) { return address * 0x9e3779b97f4a7c15U; }

/// 0: not a type, without a name, or no room.
GEIGER_SLOW_PATH NameId name_slow(const object_types::Reader& reader, Address address,
                                  const TypeWords& type, std::uint64_t fingerprint) {
  object_types::TypeName name;
  if (named.load(std::memory_order_relaxed) >= kMostTypes || !reader.is_type(type)) return 0;
  reader.copy_name(address, type, name);
  const NameId id = define_name(trace::NameKind::kType, 0, name.bytes.data(), name.size);
  if (id == 0) return 0;
  named.fetch_add(1, std::memory_order_relaxed);
  names.insert(fingerprint, id);
  names.insert(key_of_type(address), id);
  return id;
}

struct Block {
  Address start;
  Bytes bytes;

  [[nodiscard]] bool contains(Address address, Bytes part) const {
    return part <= bytes && address - start <= bytes - part;
  }
};

bool is_known_type(Address address) { return names.find(key_of_type(address)) != 0; }

/// Whether the kernel finds memory at an address and at another one, which is less than a page
/// away.
bool are_readable(Address first, Address last) {
  constexpr Address kPage = 4096;
  return unwind::is_readable(first) && (first / kPage == last / kPage || unwind::is_readable(last));
}

/// The block is the program's. Where a type was, its object keeps it; only a block without an
/// object can have the address of one that is gone, so the kernel is asked whether something is
/// there, a tenth of the cost of having it read. Anything else it reads.
bool read_memory(void* block, Address address, void* into, Bytes bytes) {
  const bool is_sound =
      static_cast<const Block*>(block)->contains(address, bytes) ||
      (is_known_type(address) && are_readable(address, address + bytes - sizeof(std::uint64_t)));
  return python::Memory(is_sound ? python::Trust::kDirect : python::Trust::kChecked)
      .read(address, into, bytes);
}

/// Null without an interpreter whose types can be read.
const python::Interpreter* readable_interpreter() {
  const python::Interpreter* interpreter = python::interpreter();
  if (interpreter == nullptr) [[likely]]
    return nullptr;
  const bool is_free_threaded = interpreter->frames.load(std::memory_order_relaxed) ==
                                python::InterpretedFrames::kFreeThreaded;
  const bool is_known = object_types::has_known_types(interpreter->version);
  return is_known && !is_free_threaded ? interpreter : nullptr;
}

/// Reads the types of one block.
class BlockTypes {
 public:
  BlockTypes(const python::Interpreter& interpreter, Block block)
      : block_(block), reader_(interpreter.version, {read_memory, &block_}) {}

  /// The name of the type of its object, which is alive or is being freed; 0: not known.
  NameId find(bool is_alive) {
    // A word of the collector is not worth a look if another one has the address of a type.
    const NameId name = find_if(is_alive, true);
    return name != 0 ? name : find_if(is_alive, false);
  }

 private:
  NameId find_if(bool is_alive, bool is_known) {
    Found found{};
    const auto type_at = [&](Address address) -> const Found* {
      TypeWords type;
      if (is_known_type(address) != is_known) return nullptr;
      if (!reader_.read_type(address, type, found.place)) return nullptr;
      const std::uint64_t fingerprint = fingerprint_of(address, type);
      found.name = names.find(fingerprint);
      if (found.name == 0) found.name = name_slow(reader_, address, type, fingerprint);
      return found.name == 0 ? nullptr : &found;
    };
    const Found* type = reader_.type_of(block_.start, block_.bytes, is_alive, type_at);
    return type == nullptr ? 0 : type->name;
  }

  Block block_;
  object_types::Reader reader_;
};

/// Writes the type of a sample, whose memory is the program's.
void write_type(Segment& segment, std::uint64_t value, bool is_alive) {
  const python::Interpreter* interpreter = readable_interpreter();
  if (interpreter == nullptr || is_aggregated() || !is_of(segment, value)) return;
  const auto ref = static_cast<trace::Ref>(value);
  const trace::SampleRecord& sample = sample_at(segment, ref);
  if (!vocabulary::is_python_object(sample.entry_point()) || sample.type != 0) return;
  BlockTypes types(*interpreter, {sample.address, sample.requested()});
  const trace::Ref type = ref_of_name(segment, types.find(is_alive));
  if (type == 0) return;
  trace::append<trace::ObjectTypeRecord>(segment.writer, {}, [&](trace::ObjectTypeRecord& record) {
    record.sample = ref;
    record.type = type;
  });
}

}  // namespace

GEIGER_SLOW_PATH void follow_object(Segment& segment, ThreadState& state, const void* address,
                                    std::uint64_t value) {
  constexpr std::size_t kPlaces = std::size(NewObjects{}.samples);
  auto& [samples, next] = state.new_objects;
  const auto [old, old_value] = std::exchange(samples[next++ % kPlaces], {address, value});
  const auto key = reinterpret_cast<std::uint64_t>(old);
  if (old_value != 0 && image.live.table.exchange(key, old_value, old_value))
    write_type(segment, old_value, true);
}

void record_object_type(std::uint64_t taken) {
  if (python::interpreter() == nullptr) [[likely]]
    return;
  ThreadState* state = known_state();
  if (taken == 0 || state == nullptr || !is_recording()) return;
  write_type(*PinnedSegment(*state), taken, false);
}

}  // namespace geiger::capture
