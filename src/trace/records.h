// The records of a trace (format.h): their header word, the structure of each type, and how one is
// committed.
//
// Committing. A writer reserves `words * 8` bytes by adding to `tail`, stores the
// header word with kReserved, fills the body, then stores the header word again
// without kReserved (release). So at any instant, also after SIGKILL:
//   header word == 0            reserved, nothing written: the body is zero
//   header word has kReserved   the size is known, the body is not
//   otherwise                   the record is whole
// A reader skips zero words one by one and reserved records whole, and loses
// nothing that was committed.
//
// A controller writes marks from another process: it adds to `tail` as well, and then gives up what
// is beyond `capacity`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/units.h"
#include "vocabulary/vocabulary.h"

namespace geiger::trace {

using vocabulary::EntryPoint;
using vocabulary::FaultKind;
using vocabulary::MappingKind;

enum class RecordType : std::uint8_t {
  kNone = 0,
  kSample = 1,
  kFree = 2,
  kStack = 3,
  kModule = 4,
  kThread = 5,
  kEpoch = 6,
  kThreadName = 7,
  kName = 8,
  kMark = 9,
  kMapping = 10,
  kUtilization = 11,
  kCarried = 12,
  kCheckpoint = 13,
  kThinning = 14,
  kTally = 15,
  kResidency = 16,
  kCode = 17,
  kInterpreter = 18,
  kFault = 19,
  kObjectType = 20,
  kObservation = 21,
  kMaxKnown = kObservation,
};

/// Header word: type 8 | flags 8 | words 12 | cpu 12 | thread 24.
struct RecordHeader {
  RecordType type;
  std::uint8_t flags;
  std::uint16_t words;   ///< Whole record in 8-byte words, this one included.
  std::uint16_t cpu;     ///< 0xfff = unknown.
  std::uint32_t thread;  ///< Index of the ThreadRecord, 0 = none.

  static constexpr unsigned kFlagsShift = 8;  ///< Position of the flags in the packed word.
  [[nodiscard]] constexpr std::uint64_t pack() const {
    return std::uint64_t{static_cast<std::uint8_t>(type)} | std::uint64_t{flags} << kFlagsShift |
           std::uint64_t{words} << 16 | std::uint64_t{cpu} << 28 | std::uint64_t{thread} << 40;
  }
  [[nodiscard]] static constexpr RecordHeader unpack(std::uint64_t word) {
    return {static_cast<RecordType>(word & 0xff), static_cast<std::uint8_t>(word >> 8),
            static_cast<std::uint16_t>(word >> 16 & 0xfff),
            static_cast<std::uint16_t>(word >> 28 & 0xfff), static_cast<std::uint32_t>(word >> 40)};
  }
};
inline constexpr std::uint16_t kUnknownCpu = 0xfff;
inline constexpr std::size_t kMaxRecordWords = 0xfff;

/// Frames of a stack that fit into a record; deeper stacks are flagged.
inline constexpr std::size_t kMaxFrames = kMaxRecordWords - 2;
inline constexpr std::uint32_t kMaxThread = (1U << 24) - 1;

inline constexpr std::uint8_t kReserved = 0x80;  ///< Any record: not yet whole.
/// SampleRecord: pi = 1, the size reached the interval; `offset` has no meaning.
inline constexpr std::uint8_t kFlagCertain = 0x01;
/// StackRecord: the walk stopped before the end of the stack.
inline constexpr std::uint8_t kFlagTruncated = 0x01;
/// StackRecord: cycles of frames that repeat were cut to two rounds each (unwind/unwind.h).
inline constexpr std::uint8_t kFlagFolded = 0x02;
/// FreeRecord: the free was not seen; the allocator returned the address again.
inline constexpr std::uint8_t kFlagUnseen = 0x01;
/// CodeRecord: its name or its line table was cut to fit into a record.
inline constexpr std::uint8_t kFlagCutCode = 0x01;
/// CarriedRecord: void, the object was freed before the record was complete.
inline constexpr std::uint8_t kFlagVoid = 0x40;
/// TallyRecord: of samples whose frees are not recorded (thinning).
inline constexpr std::uint8_t kFlagUntracked = 0x04;
/// ThreadRecord: written by a checkpoint for the samples that it carries, with totals of 0; the
/// thread's own record follows if it still allocates.
inline constexpr std::uint8_t kFlagCarriedThread = 0x02;
/// ThreadRecord: no thread start was seen, so its end will not be either.
inline constexpr std::uint8_t kFlagForeignThread = 0x01;

/// A reference to a record: its offset from the image's start / 8. 0 = none.
using Ref = std::uint32_t;

/// One sampled allocation, 64 bytes.
struct SampleRecord {
  std::uint64_t header;
  std::uint64_t time;  ///< ns, CLOCK_MONOTONIC.
  Ref stack;
  Ref epoch;  ///< The EpochRecord whose lambda drew this sample.
  std::uint64_t address;
  std::uint64_t requested_kind;  ///< requested:48 | entry point:8 | log2 alignment:8.
  std::uint64_t usable_heap;     ///< usable:48 | heap id:16 (0 = the process heap).
  std::uint64_t offset;          ///< 0-based index of the drawn byte.
  Ref label;                     ///< The innermost label's NameRecord, 0 = none.
  Ref type;                      ///< The type's NameRecord, 0 = not given.

  static constexpr std::uint64_t kSizeMask = (std::uint64_t{1} << 48) - 1;
  [[nodiscard]] constexpr Bytes requested() const { return requested_kind & kSizeMask; }
  [[nodiscard]] constexpr EntryPoint entry_point() const {
    return static_cast<EntryPoint>(requested_kind >> 48 & 0xff);
  }
  [[nodiscard]] constexpr unsigned log2_alignment() const {
    return static_cast<unsigned>(requested_kind >> 56);
  }
  [[nodiscard]] constexpr Bytes usable() const { return usable_heap & kSizeMask; }
  [[nodiscard]] constexpr std::uint16_t heap() const {
    return static_cast<std::uint16_t>(usable_heap >> 48);
  }
};
static_assert(sizeof(SampleRecord) == 64);

/// A sample of an earlier segment that was live when this one began, 80 bytes. References in
/// `sample` are to records of this segment; frees refer to this record. The header in `sample` is
/// unused, its time is that of the allocation.
struct CarriedRecord {
  std::uint64_t header;  ///< Flags as of the sample's record.
  SampleRecord sample;
  Ref previous;  ///< Its record in the segment before this one, 0 = in an earlier one.
  std::uint32_t reserved;
};
static_assert(sizeof(CarriedRecord) == 80);

/// The checkpoint is complete: every sample that was live at `time` and still is comes before this
/// record. A sample of the previous segment that was neither freed there nor carried ended in
/// between.
struct CheckpointRecord {
  std::uint64_t header;
  std::uint64_t time;
  std::uint64_t carried;
  std::uint64_t lost;  ///< Live samples that could not be carried.
};

/// Number from 0 to 2^64 - 1 by which samples are thinned: uniform whatever the program does
/// (splitmix64's mixing of the seed, the time and the address), and the same in every segment.
[[nodiscard]] constexpr std::uint64_t chance_of(std::uint64_t seed, const SampleRecord& sample) {
  std::uint64_t z = seed + sample.time * 0x9e3779b97f4a7c15U;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  z = (z ^ z >> 31) + sample.address;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  return z ^ z >> 31;
}
/// Whether a sample is kept by a thinning.
[[nodiscard]] constexpr bool is_kept(std::uint64_t chance, std::uint32_t level) {
  return level == 0 || (level < 64 && chance >> (64 - level) == 0);
}

/// From `time` on the frees of a sample are recorded only if is_kept(chance, level). All others,
/// also later ones, count as allocated, with an unknown lifetime. Each further ThinningRecord has a
/// larger level.
struct ThinningRecord {
  std::uint64_t header;
  std::uint64_t time;
  std::uint32_t level;  ///< Kept with probability 2^-level.
  std::uint32_t reserved;
};

/// Number of equal samples (kModeAggregated), 80 bytes. Like the thread's record it changes after
/// its commit.
struct TallyRecord {
  std::uint64_t header;  ///< Flags as of a sample's record; thread 0.
  std::uint64_t first;   ///< ns, when the first was allocated.
  Ref stack;
  Ref epoch;
  std::uint64_t requested_kind;  ///< As in SampleRecord.
  std::uint64_t usable_heap;     ///< As in SampleRecord.
  Ref label;
  Ref type;
  std::atomic<std::uint64_t> allocated;  ///< Samples so far.
  std::atomic<std::uint64_t> freed;      ///< Of these, freed.
  std::atomic<std::uint64_t> last;       ///< ns, when the last was allocated.
  std::uint64_t reserved;
};
static_assert(sizeof(TallyRecord) == 80);

/// The free of a sampled allocation, 24 bytes.
struct FreeRecord {
  std::uint64_t header;
  std::uint64_t time;
  Ref sample;
  Ref stack;  ///< 0 unless kModeFreeStacks.
};
static_assert(sizeof(FreeRecord) == 24);

/// A call stack, leaf first; `count` frames follow the two words: return addresses, and words of
/// an interpreter's frames (InterpretedFrame). Frame 0 is the return address into the caller of the
/// entry point. Modules are those recorded before this record (the latest wins where they overlap).
struct StackRecord {
  std::uint64_t header;
  std::uint64_t count;
  // std::uint64_t frames[count];
};

/// A module (executable or shared object), recorded before the first stack that
/// walks through it. `build_id_bytes` bytes, then the NUL-terminated path follow,
/// padded to a word.
struct ModuleRecord {
  std::uint64_t header;
  std::uint64_t start;  ///< First mapped address.
  std::uint64_t end;    ///< One past the last.
  std::uint64_t bias;   ///< Run-time address minus ELF vaddr.
  std::uint64_t time;
  std::uint32_t build_id_bytes;
  std::uint32_t path_bytes;  ///< With the NUL.
};

/// One thread. The only record that changes after its commit: its thread keeps
/// the totals up to date at every slow path, so a killed program keeps them too.
/// All byte counts are requested bytes; `bytes` is exact up to the last settling.
struct ThreadRecord {
  std::uint64_t header;  ///< Its `thread` is the index in other records.
  std::uint64_t start;   ///< ns, first slow path of the thread.
  std::uint64_t tid;
  std::atomic<std::uint64_t> end;            ///< ns when it ended, 0 = not seen.
  std::atomic<std::uint64_t> bytes;          ///< Allocated, settled.
  std::atomic<std::uint64_t> trials;         ///< Bytes tried (no tails, no certain).
  std::atomic<std::uint64_t> hits;           ///< Trials that succeeded.
  std::atomic<std::uint64_t> certain_bytes;  ///< In certain allocations.
  std::atomic<std::uint64_t> certain_count;
  std::atomic<std::uint64_t> tail_bytes;  ///< Untested bytes of hit allocations.
  std::atomic<std::uint64_t> armed;       ///< Bytes that may have been allocated since.
  /// Bytes allocated since, all of them failed trials, read when the segment ended before this
  /// thread; if the recording ended with it, `armed` is 0. Add it to bytes and trials.
  std::atomic<std::uint64_t> pending;
  std::atomic<std::uint64_t> calls;  ///< Allocations that took the slow path.
};

/// An interval that samples refer to. Each thread samples with it as soon as it sees it. A reporter
/// of a custom heap may have sampled with an interval that was never in force.
struct EpochRecord {
  std::uint64_t header;
  std::uint64_t time;
  std::uint64_t interval;     ///< T, bytes.
  std::uint64_t lambda_bits;  ///< -log1p(-1/T) as the bits of a double (+inf at T = 1).
};

/// The latest name of the header's thread: 16 bytes, NUL-padded.
struct ThreadNameRecord {
  std::uint64_t header;
  std::uint64_t time;
  char name[16];
};

/// The kind of thing that a name is given to.
enum class NameKind : std::uint32_t { kLabel = 1, kType = 2, kHeap = 3 };

/// A name that samples refer to, written before the first of them. `text_bytes` bytes
/// without a NUL follow, padded to a word.
struct NameRecord {
  std::uint64_t header;
  NameKind kind;
  /// kLabel: the NameRecord of the label around it, 0 = none. kHeap: its heap id, 1 and up.
  std::uint32_t owner;
  std::uint32_t text_bytes;
  std::uint32_t reserved;
};

/// An instant with a name; the text as in NameRecord.
struct MarkRecord {
  std::uint64_t header;
  std::uint64_t time;
  std::uint32_t text_bytes;
  std::uint32_t reserved;
};

/// A part of what a controller observed of the process, as a chunk of that type has it; all parts
/// one after the other. The text as in NameRecord.
struct ObservationRecord {
  std::uint64_t header;
  std::uint64_t time;
  std::uint32_t text_bytes;
  std::uint32_t left;  ///< Parts after this one.
};
static_assert(sizeof(ObservationRecord) == 24);

/// A successful mmap, munmap, mremap, mprotect or move of the program break by the program itself,
/// 64 bytes. `time` is read before a call that releases addresses (kUnmap) and after any other, so
/// that in order of time no range is reused before it was released.
struct MappingRecord {
  std::uint64_t header;
  std::uint64_t time;
  Ref stack;
  MappingKind kind;
  std::uint64_t address;      ///< The new address; kBreak: the new break.
  std::uint64_t bytes;        ///< Length asked for; 0 for kBreak.
  std::uint64_t old_address;  ///< kRemap: the old one; kBreak: the old break.
  std::uint64_t old_bytes;    ///< kRemap.
  std::uint32_t protection;   ///< kMap, kProtect: PROT_*. kRemap: ns that the call took.
  std::uint32_t flags;        ///< kMap: MAP_*; kRemap: MREMAP_*.
};
static_assert(sizeof(MappingRecord) == 64);

/// The utilization of a live sample's slab, from its allocator.
struct UtilizationRecord {
  std::uint64_t header;
  std::uint64_t time;
  Ref sample;
  std::uint32_t reserved;
  std::uint64_t slab_bytes;
  std::uint64_t free_bytes;
};

/// How much of a live sample is in memory, from mincore inside the process. The records of one
/// answer have the same `time`, when it began.
struct ResidencyRecord {
  std::uint64_t header;
  std::uint64_t time;
  Ref sample;
  std::uint32_t reserved;
  std::uint64_t resident_bytes;  ///< Of the requested ones, on resident pages.
};
static_assert(sizeof(ResidencyRecord) == 32);

/// A wrong use of a guarded object, 88 bytes, by the header's thread in `stack`. For an access, the
/// stack's first address is that of the instruction, + 1.
struct FaultRecord {
  std::uint64_t header;
  std::uint64_t time;
  FaultKind kind;
  vocabulary::Access access;
  std::uint64_t address;       ///< The one accessed or passed to free.
  std::uint64_t object;        ///< The object's start; 0: no object.
  std::uint64_t bytes;         ///< The object's requested size.
  std::uint64_t allocated;     ///< ns; 0: unknown.
  std::uint64_t freed;         ///< ns; 0: not freed.
  std::uint32_t allocated_by;  ///< The kernel's id of the thread.
  std::uint32_t freed_by;
  Ref stack;
  Ref allocated_stack;
  Ref freed_stack;
  std::uint32_t reserved;
};
static_assert(sizeof(FaultRecord) == 88);

// The records of an interpreter in the process: its version, the functions of its program, and what
// it has to say of sampled objects.

/// The frame of a function that an interpreter runs, as a word of a stack: bit 63 | kind 7 | code
/// 32 | offset 24, from the top. No address has bit 63. It follows the native frame of the
/// interpreter's loop that runs it, which is nearer to the leaf; the frames of one loop are
/// adjacent, the callee first.
struct InterpretedFrame {
  Ref code;              ///< Its CodeRecord.
  std::uint32_t offset;  ///< Of its instruction in its code, in units of 2 bytes, or kNotBegun.

  static constexpr std::uint64_t kMark = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kPython = std::uint64_t{1} << 56;
  static constexpr std::uint32_t kNotBegun = 0xffffff;

  [[nodiscard]] static constexpr bool is_one(std::uint64_t word) {
    return (word & (kMark | 0x7f * kPython)) == (kMark | kPython);
  }
  [[nodiscard]] constexpr std::uint64_t pack() const {
    return kMark | kPython | std::uint64_t{code} << 24 | offset;
  }
  [[nodiscard]] static constexpr InterpretedFrame unpack(std::uint64_t word) {
    return {static_cast<Ref>(word >> 24), static_cast<std::uint32_t>(word & kNotBegun)};
  }
};

/// A function of an interpreted program, written before the first stack that refers to it. Name,
/// file and line table follow, as the interpreter has them (UTF-8; bytes), padded to a word.
struct CodeRecord {
  std::uint64_t header;
  Ref interpreter;  ///< The InterpreterRecord that says how to read the line table.
  std::int32_t first_line;
  std::uint32_t name_bytes;   ///< Qualified name, from Python 3.11 on; else the plain one.
  std::uint32_t file_bytes;   ///< Path as the program gave it.
  std::uint32_t lines_bytes;  ///< Line table.
  std::uint32_t reserved;
};
static_assert(sizeof(CodeRecord) == 32);

/// An interpreter of the process, written before its first CodeRecord in each segment and again
/// when `frames`, `small_objects` or `is_finalizing` changes: the latest one with a `start` holds.
struct InterpreterRecord {
  std::uint64_t header;
  std::uint64_t time;     ///< If `is_finalizing`: when that was first seen.
  std::uint64_t start;    ///< First address of its module.
  std::uint32_t version;  ///< As Py_Version: 0x030b02f0 is 3.11.2.
  vocabulary::InterpretedFrames frames;
  vocabulary::SmallObjects small_objects;
  /// 1: it frees its modules and objects (python::finalizing_from); 0: it runs programs.
  std::uint32_t is_finalizing;
};
static_assert(sizeof(InterpreterRecord) == 40);

/// The type of a sampled object, as an interpreter has it, of a sample whose own record gives none.
/// The latest one holds.
struct ObjectTypeRecord {
  std::uint64_t header;
  Ref sample;
  Ref type;  ///< Its NameRecord.
};
static_assert(sizeof(ObjectTypeRecord) == 16);

// The structure of each type of record, in one list. The size that a type needs, the overload that
// a sink gets for it and the type written into a header follow from the list.

/// Calls visit(std::type_identity<Layout>()) with the structure of a type; ignores types that this
/// version does not know.
template <class Visit>
constexpr void with_layout(RecordType type, Visit&& visit) {
  switch (type) {
    case RecordType::kNone:
      return;
    case RecordType::kSample:
      return visit(std::type_identity<SampleRecord>());
    case RecordType::kFree:
      return visit(std::type_identity<FreeRecord>());
    case RecordType::kStack:
      return visit(std::type_identity<StackRecord>());
    case RecordType::kModule:
      return visit(std::type_identity<ModuleRecord>());
    case RecordType::kThread:
      return visit(std::type_identity<ThreadRecord>());
    case RecordType::kEpoch:
      return visit(std::type_identity<EpochRecord>());
    case RecordType::kThreadName:
      return visit(std::type_identity<ThreadNameRecord>());
    case RecordType::kName:
      return visit(std::type_identity<NameRecord>());
    case RecordType::kMark:
      return visit(std::type_identity<MarkRecord>());
    case RecordType::kMapping:
      return visit(std::type_identity<MappingRecord>());
    case RecordType::kUtilization:
      return visit(std::type_identity<UtilizationRecord>());
    case RecordType::kCarried:
      return visit(std::type_identity<CarriedRecord>());
    case RecordType::kCheckpoint:
      return visit(std::type_identity<CheckpointRecord>());
    case RecordType::kThinning:
      return visit(std::type_identity<ThinningRecord>());
    case RecordType::kTally:
      return visit(std::type_identity<TallyRecord>());
    case RecordType::kResidency:
      return visit(std::type_identity<ResidencyRecord>());
    case RecordType::kCode:
      return visit(std::type_identity<CodeRecord>());
    case RecordType::kInterpreter:
      return visit(std::type_identity<InterpreterRecord>());
    case RecordType::kFault:
      return visit(std::type_identity<FaultRecord>());
    case RecordType::kObjectType:
      return visit(std::type_identity<ObjectTypeRecord>());
    case RecordType::kObservation:
      return visit(std::type_identity<ObservationRecord>());
  }
}

/// The type in the header of records of this structure; kNone if it is not a record's structure.
template <class Layout>
consteval RecordType type_of() {
  RecordType found = RecordType::kNone;
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(RecordType::kMaxKnown); ++i) {
    const auto type = static_cast<RecordType>(i);
    with_layout(type, [&](auto layout) {
      if constexpr (std::is_same_v<typename decltype(layout)::type, Layout>) found = type;
    });
  }
  return found;
}

}  // namespace geiger::trace
