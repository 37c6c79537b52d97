// What one or several traces hold, decoded: the input of every view and export.
// Pure data; ingest fills it, symbolize adds names, views only read it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile/observations.h"
#include "base/units.h"

namespace geiger::profile {

/// Index types: positions in the vectors of Recording. kNone = absent.
inline constexpr std::uint32_t kNone = 0xffffffff;

/// A mapped executable or shared object of one process image.
struct Module {
  std::string path;
  std::string build_id;  ///< Lower-case hex, may be empty.
  Address start = 0, end = 0;
  Address bias = 0;  ///< Run-time address minus ELF vaddr.
};

/// A symbolized frame; a location has one or more, inlined callee first.
struct Frame {
  std::string function;     ///< Demangled; "module+0x1234" when unknown.
  std::string system_name;  ///< As in the symbol table (mangled), may be empty.
  std::string file;         ///< Source file, may be empty.
  std::uint32_t line = 0;   ///< 0 = unknown.
};

/// A program point: a module and an ELF vaddr, unique in a Recording.
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
  std::uint64_t offset = 0;  ///< Drawn byte; no meaning if certain.
  std::uint16_t cpu = 0xfff;
  std::uint8_t entry_point = 0;  ///< trace::EntryPoint.
  std::uint8_t log2_alignment = 0;
  bool is_certain = false;   ///< pi = 1.
  bool free_unseen = false;  ///< Its free was inferred, not seen.
};

struct Thread {
  std::uint32_t process = 0;
  std::uint64_t tid = 0;
  std::string name;
  Nanoseconds start = 0, end = 0;
  Bytes bytes = 0, trials = 0, certain_bytes = 0, tail_bytes = 0, armed = 0;
  std::uint64_t hits = 0, certain_count = 0, slow_calls = 0;
};

/// How the image's recording ended.
enum class Ending : std::uint8_t { kExited, kKilled, kStillOpen, kSwitchedOff };

/// One process image: one trace.
struct Process {
  std::string trace_path;
  std::string executable;
  std::string allocator;
  std::uint32_t pid = 0, parent_pid = 0;
  bool is_fork_child = false;
  bool is_pure = false;
  Nanoseconds start = 0, end = 0;  ///< CLOCK_MONOTONIC; end = last thing recorded.
  Nanoseconds start_realtime = 0;
  std::uint64_t seed = 0;
  Bytes interval = 0;  ///< T of the first epoch.
  Ending ending = Ending::kStillOpen;
  std::uint32_t stop_reason = 0;  ///< trace::StopReason.
  std::int32_t stop_errno = 0;
  std::array<std::uint64_t, 16> drops{};  ///< By trace::DropCause.
  Bytes trace_bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t uncommitted = 0;  ///< Records reserved but never committed.
};

struct Recording {
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<Module> modules;
  std::vector<Epoch> epochs;
  std::vector<Frame> frames;
  std::vector<Location> locations;
  std::vector<Stack> stacks;
  std::vector<Sample> samples;             ///< In order of (process, record).
  std::vector<Observations> observations;  ///< In order of processes; not of all.
  std::vector<std::string> warnings;       ///< One line each: damaged places, losses.
  bool is_symbolized = false;
};

}  // namespace geiger::profile
