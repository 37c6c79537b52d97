// Writes one image's trace: reserves space with one atomic addition, fills it in
// place, commits last (format.h). Nothing is buffered, so a committed record survives however the
// process dies.
//
// Threads: reserve/commit from any number of threads. Signals: safe. Fork: a
// child must open() its own writer before it records. Allocates: never; makes no
// system call while the supervisor's watermark is ahead of the tail.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"
#include "trace/format.h"
#include "trace/records.h"

namespace geiger::trace {

/// A reserved record; `words` is null if there was no room.
struct Slot {
  std::uint64_t* words = nullptr;
  Ref ref = 0;
  [[nodiscard]] explicit operator bool() const { return words != nullptr; }
};

/// The part of the header that only the caller knows.
struct Identity {
  std::uint64_t seed;
  std::uint64_t interval;
  std::uint32_t mode;
  Nanoseconds start_monotonic;
  Nanoseconds start_realtime;
  Nanoseconds start_processor_time = 0;
  const char* executable;
  const char* started_as = "";
  const char* allocator;
  const char* runtime_version;
  bool is_paused;  ///< Initial value of ControlPage::paused.
  std::uint32_t guard_setting = 0;
  /// In later segments: start_monotonic of the first; 0 in the first itself.
  Nanoseconds image_start = 0;
  std::uint32_t segment = 0;
  /// The previous segment's page: what it requests is requested of this one.
  const ControlPage* asked = nullptr;
};

class Writer {
 public:
  constexpr Writer() = default;

  /// Creates `path` (O_EXCL, 0600) for `capacity` bytes (less if a resource limit is lower), maps
  /// the beginning, writes the header and closes the descriptor: the mapping doubles without one.
  /// Returns 0 or an errno; with EEXIST the caller picks another name.
  int open(const char* path, Bytes capacity, const Identity& identity);

  /// open() of a file just created with O_RDWR and kFileMode; closes the descriptor.
  int adopt(long fd, Bytes capacity, const Identity& identity);

  /// Uses an already allocated image in memory instead of a file (tests).
  void open_memory(void* memory, Bytes capacity, const Identity& identity);

  /// Unmaps the trace. No thread may be inside, or use its records afterwards.
  void close();
  /// close(), but the trace stays mapped, for readers that are still inside.
  void leave();

  /// From now on a full trace only counts drops and does not stop.
  void go_on_when_full() { stops_when_full_ = false; }

  [[nodiscard]] bool is_open() const { return header_ != nullptr; }

  /// Reserves a record of the header's words and stores the header marked
  /// kReserved. Without room: counts `cause`, stops the trace, returns null.
  Slot reserve(std::uint64_t header);
  Slot reserve(const RecordHeader& header) { return reserve(header.pack()); }

  /// Publishes a filled record; release, pairs with the reader's acquire.
  static void commit(const Slot& slot, std::uint64_t header) {
    std::atomic_ref(slot.words[0]).store(header, std::memory_order_release);
  }
  static void commit(const Slot& slot, const RecordHeader& header) { commit(slot, header.pack()); }

  void count_drop(DropCause cause, std::uint64_t count = 1);

  /// Records the reason and the time; later reserve() calls fail at once.
  void stop(StopReason reason, int error, Nanoseconds now);

  /// Ends the trace on purpose; records already reserved may still be committed.
  void finish(State state, Nanoseconds now);

  /// Prevents further reservations and truncates the file at `path`, if it is this trace's, to the
  /// reserved bytes. Threads may still be filling records, all of them in front of the cut.
  void shrink(const char* path);

  /// Bytes from the image's start that are reserved.
  [[nodiscard]] Bytes tail() const { return header_->tail.load(std::memory_order_relaxed); }

  /// Allocates storage for all that is mapped, as far as the file system has room: for a writer
  /// that cannot ask later.
  void allocate_mapped();

  /// The current mapping, and how many of its bytes show the file. It contains every record whose
  /// reference is known.
  [[nodiscard]] const char* base(Bytes& bytes) const;
  /// A record of this trace.
  template <typename Layout>
  [[nodiscard]] const Layout& at(Ref ref) const {
    Bytes bytes = 0;
    return *reinterpret_cast<const Layout*>(base(bytes) + Bytes{ref} * 8);
  }

  [[nodiscard]] bool is_stopped() const {
    return phase_.load(std::memory_order_relaxed) != Phase::kOpen;
  }
  [[nodiscard]] FileHeader* header() const { return header_; }
  [[nodiscard]] const ControlPage* control() const { return control_; }

 private:
  void write_header(Bytes capacity, const Identity& identity);
  void inherit(const ControlPage& asked);
  void start_mapping(char* base, Bytes bytes, Bytes allocated);
  [[nodiscard]] bool is_writable(Bytes end) const;
  bool make_writable_slow(Bytes end);
  void stop_refused(StopReason reason, int error);
  bool double_mapping();
  long populate(Bytes end);
  void close_tail();
  void note_stop(Nanoseconds now);

  /// Doublings from the smallest first mapping to the largest capacity.
  static constexpr std::size_t kMaxMappings = 20;

  FileHeader* header_ = nullptr;
  ControlPage* control_ = nullptr;
  Bytes capacity_ = 0;
  /// mappings_[i] shows the first first_mapping_ << i bytes of the file. Only the
  /// current one is used for new records; earlier ones stay mapped for writers
  /// that are still inside, and show the same pages. Mapping the whole capacity at
  /// once would be simpler, but mlockall() would then fill 4 GiB of memory, and a
  /// program that limits its address space later could allocate no more.
  std::atomic<char*> mappings_[kMaxMappings]{};
  std::atomic<std::size_t> current_{0};
  Bytes first_mapping_ = 0;
  /// Bytes of the file that the current mapping shows and that may be written; 0 = closed.
  std::atomic<Bytes> limit_{0};
  /// Space this process has allocated itself; writable up to
  /// max(allocated_, control_->watermark).
  std::atomic<Bytes> allocated_{0};
  enum class Phase : std::uint8_t {
    kOpen,
    kStopped,  ///< It takes no more, and what is refused is lost.
    kEnded,    ///< So it should be: what comes now is after the end.
  };
  std::atomic<Phase> phase_{Phase::kOpen};
  bool stops_when_full_ = true;
};

// Appends one record to a trace: reserves its space, fills it in place, commits it. The only way
// in which the runtime writes records.
//
//   append<EpochRecord>(writer, {}, [&](EpochRecord& record) { record.time = now; ... });
//
// Threads / Signals / Fork / Allocates: as trace/writer.h.

/// The fields of a record's header besides type and size, and the bytes that follow the layout.
struct Heading {
  std::uint32_t thread = 0;
  std::uint8_t flags = 0;
  std::uint16_t cpu = kUnknownCpu;
  std::size_t more_bytes = 0;  ///< After the layout, padded to a word.
};

/// A reserved record; false if the trace had no room for it.
template <typename Record>
struct Draft {
  Record* record;
  Ref ref;
  std::uint64_t header;  ///< As it will be committed, packed.

  void add_flags(std::uint8_t flags) {
    header |= std::uint64_t{flags} << RecordHeader::kFlagsShift;
  }

  [[nodiscard]] explicit operator bool() const { return record != nullptr; }
};

template <typename Record>
[[nodiscard]] GEIGER_FAST_PATH Draft<Record> begin_record(Writer& writer, const Heading& heading) {
  static_assert(type_of<Record>() != RecordType::kNone);
  const std::size_t words = (sizeof(Record) + heading.more_bytes + 7) / 8;
  if (heading.more_bytes != 0 && !GEIGER_CHECK(words <= kMaxRecordWords)) return {};
  const std::uint64_t header =
      RecordHeader{type_of<Record>(), heading.flags, static_cast<std::uint16_t>(words), heading.cpu,
                   heading.thread}
          .pack();
  const Slot slot = writer.reserve(header);
  return {reinterpret_cast<Record*>(slot.words), slot.ref, header};
}

template <typename Record>
GEIGER_FAST_PATH void commit_record(const Draft<Record>& draft) {
  Writer::commit({reinterpret_cast<std::uint64_t*>(draft.record), draft.ref}, draft.header);
}

/// Writes a record that `fill(record)` fills in; its space is zero before. The reference is 0 if
/// there was no room.
template <typename Record, typename Fill>
GEIGER_FAST_PATH Draft<Record> append(Writer& writer, const Heading& heading, const Fill& fill) {
  const Draft<Record> draft = begin_record<Record>(writer, heading);
  if (!draft) return draft;
  fill(*draft.record);
  commit_record(draft);
  return draft;
}

/// Copies a record made elsewhere except for its header, which stays reserved: readers of the live
/// trace look at it meanwhile.
template <typename Record>
GEIGER_FAST_PATH void copy_body(Record& to, const Record& from) {
  constexpr std::size_t kHeader = sizeof from.header;
  __builtin_memcpy(reinterpret_cast<char*>(&to) + kHeader,
                   reinterpret_cast<const char*>(&from) + kHeader, sizeof from - kHeader);
}

}  // namespace geiger::trace
