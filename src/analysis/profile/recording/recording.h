// What one or several traces hold, decoded: the input of every view and export. Its marks in order,
// and everything in it that has a stack.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/recording/observations.h"
#include "base/units.h"
#include "vocabulary/vocabulary.h"

namespace geiger::profile {

// What one or several traces hold, decoded: the input of every view and export.
// Pure data; ingest fills it, symbolize adds names, views only read it.

class FrameRules;

using vocabulary::EntryPoint;
using vocabulary::StopReason;

/// Index types: positions in the vectors of Recording. kNone = absent.
inline constexpr std::uint32_t kNone = 0xffffffff;

/// The heap of what the process's own allocator gave.
inline constexpr std::uint32_t kProcessHeap = kNone;

/// What a module is to the interpreted programs of a recording.
enum class ModuleKind : std::uint8_t {
  kNative,       ///< An executable or a shared object.
  kInterpreter,  ///< One that runs programs whose frames are in the stacks.
  kSource,       ///< Not mapped: a source file that an interpreter runs.
};

/// A mapped executable or shared object of one process image; or a source file of an interpreted
/// program, whose locations have their frames from the start, and no addresses.
struct Module {
  std::string path;
  std::string build_id;  ///< Lower-case hex, may be empty.
  Address start = 0, end = 0;
  Address bias = 0;  ///< Run-time address minus ELF vaddr.
  ModuleKind kind = ModuleKind::kNative;
  bool is_absent = false;  ///< Names were looked for, and there was no file at `path`.
  /// In recordings of several releases: the module that stands for all releases of its file.
  std::uint32_t release_of = kNone;
};

/// A symbolized frame; a location has one or more, inlined callee first.
struct Frame {
  std::string function;     ///< Demangled; "module+0x1234" when unknown.
  std::string system_name;  ///< As in the symbol table (mangled), may be empty.
  std::string file;         ///< Source file, may be empty.
  std::uint32_t line = 0;   ///< 0 = unknown.
};

/// A program point: a module and an ELF vaddr, or a function and a line of an interpreted program;
/// unique in a Recording.
struct Location {
  std::uint32_t module = kNone;  ///< kNone: outside every known module (JIT, anonymous).
  Address vaddr = 0;          ///< ELF vaddr of the return address; run-time address if no module.
  std::uint32_t process = 0;  ///< Image it was seen in (perf-PID.map look-ups).
  std::vector<std::uint32_t> frames;  ///< Indexes into Recording::frames; empty = not symbolized.
};

/// A call stack, leaf first, unique in a Recording.
struct Stack {
  std::vector<std::uint32_t> locations;
  bool is_truncated = false;
  bool is_folded = false;  ///< Cycles of frames that repeated are in it twice.
};

/// A sampling interval that was in force.
struct Epoch {
  Bytes interval = 0;   ///< T
  double lambda = 0.0;  ///< -log1p(-1/T); +inf at T = 1.
};

/// One sampled allocation with what became of it.
struct Sample {
  std::uint32_t process = 0;  ///< Index into Recording::processes.
  std::uint32_t thread = kNone;
  std::uint32_t stack = kNone;
  std::uint32_t epoch = 0;
  Nanoseconds time = 0;       ///< CLOCK_MONOTONIC.
  Nanoseconds free_time = 0;  ///< 0 = alive at the end of the recording.
  std::uint32_t free_thread = kNone;
  std::uint32_t free_stack = kNone;
  Address address = 0;
  Bytes requested = 0;
  Bytes usable = 0;
  std::uint64_t offset = 0;        ///< Drawn byte; no meaning if certain.
  std::uint16_t cpu = 0xfff;       ///< That allocated it; 0xfff = unknown.
  std::uint16_t free_cpu = 0xfff;  ///< That freed it.
  EntryPoint entry_point = EntryPoint::kMalloc;
  std::uint8_t log2_alignment = 0;
  std::uint32_t label = kNone;        ///< Innermost, into Recording::labels.
  std::uint32_t type = kNone;         ///< Into Recording::types: as the program named it, or as
                                      ///< an object of Python names it itself.
  std::uint32_t heap = kProcessHeap;  ///< Else into Recording::heaps.
  std::uint32_t holder = kNone;       ///< Into Recording::holders, if it was looked for.
  bool is_certain = false;            ///< pi = 1.
  bool free_unseen = false;           ///< Its free was inferred, not seen.
  /// A thinning dropped it, or the interpreter was finalizing: it counts as allocated, and how long
  /// it lived is not known.
  bool is_thinned_out = false;
  /// Allocated before, where the recording has nothing: seen from here on because it lived
  /// then (Process::segments). 0 = seen from its allocation on.
  Nanoseconds seen_from = 0;
};

/// Whether the recording has its allocation, and so all others of its time.
[[nodiscard]] inline bool is_allocation_seen(const Sample& sample) { return sample.seen_from == 0; }

/// Samples alike in every property that profiles of allocated or live bytes distinguish, counted by
/// a runtime that records nothing else (Process::is_aggregated).
struct Tally {
  Sample alike;  ///< Its time is that of the first; no address, offset, thread.
  std::uint64_t allocated = 0;
  std::uint64_t freed = 0;  ///< Of `allocated`.
  Nanoseconds last = 0;     ///< When the last was allocated.
  /// Its frees are recorded. Other tallies, which thinned processes have, count allocations only.
  bool is_tracked = true;
};

/// A name that the program gave: of a type, or of a heap that it manages itself.
struct Name {
  std::string text;
  bool operator==(const Name&) const = default;
};

/// A label that was in force, inside another one or not: "tenant=acme" in "request".
struct ScopedLabel {
  std::string text;
  std::uint32_t parent = kNone;  ///< The label around it, into Recording::labels.
  bool is_lost = false;          ///< Stands for one whose record is lost.
  bool operator==(const ScopedLabel&) const = default;
};

/// An instant that the program, or a tool that watched it, gave a name.
struct Mark {
  std::uint32_t process = 0;
  std::uint32_t thread = kNone;
  Nanoseconds time = 0;
  std::string name;
};

/// What the program did to its address space by itself, past its allocator. Exact:
/// every call is recorded.
struct MappingEvent {
  using Kind = vocabulary::MappingKind;
  Kind kind = Kind::kMap;
  std::uint8_t protection = 0;  ///< PROT_* of kMap and kProtect.
  std::uint32_t flags = 0;      ///< MAP_* of kMap, MREMAP_* of kRemap.
  std::uint32_t process = 0;
  std::uint32_t thread = kNone;
  std::uint32_t stack = kNone;
  /// Of kUnmap when it began, else when it was done; kRemap began `took` before.
  Nanoseconds time = 0;
  Nanoseconds took = 0;
  Address address = 0;      ///< Where it is now; the new end of the data segment for kBreak.
  Bytes bytes = 0;          ///< Length, as asked for.
  Address old_address = 0;  ///< kRemap: where it was; kBreak: the old end.
  Bytes old_bytes = 0;      ///< kRemap.
};

/// How full the slab is that a live sample lies in, as its allocator said.
struct Utilization {
  std::uint32_t sample = kNone;  ///< Into Recording::samples.
  Nanoseconds time = 0;
  Bytes slab_bytes = 0;  ///< Of the whole slab (or extent).
  Bytes free_bytes = 0;  ///< Of its free regions.
};

/// How much of a live sample was in memory, as the kernel reported inside the process.
/// Those of one answer share its time; a live sample without one was not looked up.
struct ResidencyAnswer {
  std::uint32_t sample = kNone;  ///< Into Recording::samples.
  Nanoseconds time = 0;
  Bytes resident = 0;  ///< Of its requested bytes.
};

/// A wrong use of a guarded object. All of them are recorded.
struct Fault {
  /// Where something was done to the object before.
  struct Event {
    Nanoseconds time = 0;   ///< 0: not known, or it was not done.
    std::uint32_t tid = 0;  ///< As the kernel numbers threads.
    std::uint32_t stack = kNone;
  };
  vocabulary::FaultKind kind = vocabulary::FaultKind::kUseAfterFree;
  vocabulary::Access access = vocabulary::Access::kUnknown;
  std::uint32_t process = 0;
  std::uint32_t thread = kNone;
  std::uint32_t stack = kNone;
  Nanoseconds time = 0;
  Address address = 0;
  Address object = 0;  ///< 0: no object is known there.
  Bytes bytes = 0;     ///< Of the object, as requested.
  Event allocated, freed;
};

/// Guard mode of a process: how many of the samples were guarded.
struct Guarding {
  std::uint64_t rate = 0;    ///< One in this many is chosen, at the end; 0: none.
  bool is_on = false;        ///< Since the start; the rate may have become 0.
  bool has_changed = false;  ///< The rate was another before.
  bool is_exact = false;     ///< Objects on the right of their page end where it ends, to the byte.
  std::uint64_t chosen = 0;
  std::uint64_t large = 0;  ///< Of them, too large to be guarded.
  std::uint64_t full = 0;   ///< Of them, those that found no room.
  vocabulary::GuardObstacle obstacle = vocabulary::GuardObstacle::kNone;
  [[nodiscard]] std::uint64_t guarded() const { return chosen - large - full; }
};

/// An interpreter that ran in a process.
struct Interpreter {
  std::uint32_t process = 0;
  Address start = 0;          ///< Of its module, at run time.
  std::uint32_t version = 0;  ///< Of CPython, as Py_Version: 0x030b02f0 is 3.11.2.
  vocabulary::InterpretedFrames frames = vocabulary::InterpretedFrames::kRecorded;
  vocabulary::SmallObjects small_objects = vocabulary::SmallObjects::kNotKnown;
  Nanoseconds finalizing_from = 0;  ///< CLOCK_MONOTONIC; 0: was not seen to finalize.
  bool operator==(const Interpreter&) const = default;
};

/// Function of the only frame of stacks that a runtime had no room to record.
inline constexpr std::string_view kUntoldStacks = "[stacks not distinguished]";

struct Thread {
  std::uint32_t process = 0;
  std::uint64_t tid = 0;
  std::string name;               ///< The last one.
  std::string earlier_name = {};  ///< At its first sample, if another one: it changed in between.
  Nanoseconds start = 0, end = 0;
  Bytes bytes = 0, trials = 0, certain_bytes = 0, tail_bytes = 0, armed = 0;
  std::uint64_t hits = 0, certain_count = 0, slow_calls = 0;
};

/// How the image's recording ended. kContinued: in segments that are not there. kStopped:
/// on request, and the program went on.
enum class Ending : std::uint8_t {
  kExited,
  kKilled,
  kStillOpen,
  kSwitchedOff,
  kContinued,
  kStopped
};

/// A trace of a process image that wrote several, one after another.
struct Segment {
  std::uint32_t number = 0;        ///< From 0.
  Nanoseconds start = 0, end = 0;  ///< CLOCK_MONOTONIC.
  bool is_complete = true;         ///< It contains all samples that were live at its start.
  std::uint64_t lost = 0;          ///< Samples live at its start that found no room.
};

/// Traces that could not be made, which nothing else in a recording shows.
struct RefusedTraces {
  std::uint64_t children = 0;       ///< Children by fork that were not recorded.
  std::int32_t children_errno = 0;  ///< Of the last of them.
  std::int32_t segment_errno = 0;   ///< Of a next segment, 0 if none: the one before grew on.
};

/// One process image: one trace, or several segments of it.
/// Processor time of a process's threads, user and system, while it was recorded.
struct ProcessorTime {
  Nanoseconds used = 0;  ///< As far as it is known.
  bool is_least = true;  ///< Some of it is not known.

  [[nodiscard]] bool is_known() const { return used != 0; }
};

struct Process {
  std::string trace_path;
  std::string executable;
  std::string started_as;  ///< Base name of what was given to exec; empty if not known.
  std::string allocator;
  std::uint32_t pid = 0;        ///< For the recorder.
  std::uint32_t inner_pid = 0;  ///< In its own pid namespace, where that is another id; else 0.
  std::uint32_t parent_pid = 0;
  bool is_fork_child = false;
  bool is_pure = false;
  bool is_attached = false;        ///< What it allocated before `start` is not known.
  bool calls_privately = false;    ///< By functions of its allocator that are not recorded.
  Nanoseconds start = 0, end = 0;  ///< CLOCK_MONOTONIC; end = last thing recorded.
  /// CLOCK_MONOTONIC, when its interpreter began to free modules and objects, as the last thing
  /// that the process did: its end, as far as live objects are concerned. 0: there is no such
  /// instant.
  Nanoseconds finalizing_from = 0;
  Nanoseconds start_realtime = 0;
  /// Of segments that ended by themselves.
  ProcessorTime processor_time;
  /// The process's own clock of it, at `start` and when last read; 0 = not known.
  Nanoseconds processor_start = 0, processor_clock = 0;
  std::uint64_t seed = 0;
  Bytes interval = 0;  ///< T of the first epoch.
  Ending ending = Ending::kStillOpen;
  std::uint32_t end_signal = 0;   ///< That killed it; 0 = none, or not known.
  bool was_memory_short = false;  ///< The kernel killed for lack of memory meanwhile, perhaps it.
  StopReason stop_reason = StopReason::kNone;
  std::int32_t stop_errno = 0;
  vocabulary::Drops drops{};
  RefusedTraces refused;
  Bytes page_bytes = 4096;
  Bytes trace_bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t uncommitted = 0;  ///< Records reserved but never committed.
  /// Stacks without their interpreted frames, which could not be read at that instant.
  std::uint64_t unread_stacks = 0;
  Guarding guarding;
  /// The segments that were read, by number; empty for runtimes that do not write segments.
  std::vector<Segment> segments;
  Nanoseconds image_start = 0;  ///< CLOCK_MONOTONIC, of segment 0; 0 = not recorded.
  /// Level L: how long samples live is known only of a part, each kept with 2^-L by a chance
  /// that has nothing to do with the program.
  std::uint32_t thinning = 0;
  bool is_aggregated = false;  ///< Has tallies instead of samples.
  bool is_imported = false;    ///< Of another program's profile: nothing of it was counted.
  bool lacks_frees = false;    ///< Imported: what of it was live is not known.

  /// The start of the process image's recording, of which earlier segments may be missing.
  [[nodiscard]] Nanoseconds began() const { return image_start != 0 ? image_start : start; }
  /// The process's own id, by which perf maps are named.
  [[nodiscard]] std::uint32_t own_pid() const { return inner_pid != 0 ? inner_pid : pid; }
  [[nodiscard]] bool is_finalizing(Nanoseconds time) const {
    return finalizing_from != 0 && time >= finalizing_from;
  }
  /// Probability of a sample not to be thinned out.
  [[nodiscard]] double keep() const {
    return thinning == 0 ? 1 : std::ldexp(1.0, -static_cast<int>(thinning));
  }
  /// Whether segments before the first one read are missing.
  [[nodiscard]] bool misses_beginning() const {
    return !segments.empty() && segments.front().number > 0;
  }
  /// Whether segments between those read are missing.
  [[nodiscard]] bool has_gap() const {
    return !segments.empty() &&
           segments.back().number - segments.front().number + 1 != segments.size();
  }
  /// Whether segments are missing: part of what it allocated or mapped is not known.
  [[nodiscard]] bool misses_segments() const { return misses_beginning() || has_gap(); }
  /// Whether it had objects whose frees leave no record, because they were allocated before the
  /// recording began, or because a segment did not open with all live samples.
  [[nodiscard]] bool has_unseen_objects() const {
    return is_attached || std::ranges::any_of(segments, [](const Segment& segment) {
             return !segment.is_complete || segment.lost > 0;
           });
  }
  /// Likewise, or because its parent allocated them before the fork.
  [[nodiscard]] bool has_earlier_objects() const { return is_fork_child || has_unseen_objects(); }
};

/// The most that Process::thinning can be: nothing is kept any more.
inline constexpr std::uint32_t kMostThinning = 64;

struct Recording {
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<Module> modules;
  std::vector<Epoch> epochs;
  std::vector<Frame> frames;
  std::vector<Location> locations;
  std::vector<Stack> stacks;
  std::vector<Sample> samples;  ///< In order of (process, record).
  std::vector<ScopedLabel> labels;
  std::vector<Name> types;
  std::vector<Holder> holders;  ///< Of Sample::holder.
  std::vector<Name> heaps;
  std::vector<Mark> marks;  ///< In order of (process, record), like all below.
  std::vector<MappingEvent> mappings;
  std::vector<Utilization> utilization;
  std::vector<ResidencyAnswer> residency_answers;
  std::vector<Interpreter> interpreters;
  std::vector<Fault> faults;
  /// Of heaps that the program manages itself: memory that may well be part of a
  /// sample of the process's own heap, so the two are never added.
  std::vector<Sample> heap_samples;
  std::vector<Tally> tallies;              ///< In order of (process, record); of all heaps.
  std::vector<Observations> observations;  ///< In order of processes; not of all.
  std::vector<std::string> warnings;       ///< One line each: damaged places, losses.
  bool is_symbolized = false;
  bool is_damaged = false;  ///< Something of the files could not be read, or contradicts itself.
  std::uint64_t unrecorded_processes = 0;  ///< That left a trace without any record.
  /// How readers distinguish a program's own frames from plumbing (frame_roles.h); none: as built
  /// in.
  std::shared_ptr<const FrameRules> frame_rules;

  /// Whether the location is a line of an interpreted program.
  [[nodiscard]] bool is_source(const Location& location) const {
    return location.module < modules.size() && modules[location.module].kind == ModuleKind::kSource;
  }

  /// The vector that contains the samples of a heap, with those of others.
  [[nodiscard]] const std::vector<Sample>& samples_beside(std::uint32_t heap) const {
    return heap == kProcessHeap ? samples : heap_samples;
  }
};

// The marks of a recording in order of time, those of one name numbered.

struct NumberedMark {
  std::uint32_t mark = 0;     ///< Index into Recording::marks.
  std::uint32_t number = 1;   ///< Among the marks of its name, from 1, over all processes.
  std::uint32_t of_name = 1;  ///< How many there are.
};

/// By time; of one instant in the order of the recording.
[[nodiscard]] std::vector<NumberedMark> numbered_marks(const Recording& recording);

// Everything in a recording that has a stack.

/// Calls visit(stack, process) with each reference to a stack, those to none included.
template <typename Recorded, typename Visit>
void for_each_stack(Recorded& recording, const Visit& visit) {
  for (auto* samples : {&recording.samples, &recording.heap_samples}) {
    for (auto& sample : *samples) {
      visit(sample.stack, sample.process);
      visit(sample.free_stack, sample.process);
    }
  }
  for (auto& tally : recording.tallies) visit(tally.alike.stack, tally.alike.process);
  for (auto& event : recording.mappings) visit(event.stack, event.process);
  for (auto& fault : recording.faults) {
    for (auto* stack : {&fault.stack, &fault.allocated.stack, &fault.freed.stack}) {
      visit(*stack, fault.process);
    }
  }
}

// Hashing for tables whose keys come from files.

/// Mixes a value into a hash so that every input bit moves every output bit. The
/// same on every machine.
[[nodiscard]] constexpr std::uint64_t spread(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t x = hash + value;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  return x ^ x >> 32;
}

/// Where the hashes of tables start: drawn once per run, so that no file can be
/// made whose keys all fall into one bucket (open tables then grow without end).
/// Nothing that is printed may depend on it, nor on the order of such a table.
[[nodiscard]] std::uint64_t table_seed();

/// Hash of integer keys. std::hash returns them as they are, which degenerates
/// in tables sized by powers of two.
struct SpreadHash {
  [[nodiscard]] std::size_t operator()(std::uint64_t key) const {
    return spread(table_seed(), key);
  }
};

/// Of Sample::holder.
[[nodiscard]] std::string name_of_holder(const Recording& recording, std::uint32_t holder);
/// Whether objects with it may be held by any other, or be unreachable.
[[nodiscard]] bool is_open_hold(std::string_view holder);

/// Sets Sample::holder from the observations.
void name_holders(Recording& recording);

}  // namespace geiger::profile
