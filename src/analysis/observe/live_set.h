// The live samples of a process, and the ranges of its memory whose owner is known, from the trace
// that it writes.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/files.h"
#include "analysis/observe/proc_files.h"
#include "analysis/observe/process_memory.h"
#include "analysis/profile/recording/observations.h"
#include "base/outcome.h"
#include "base/units.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace geiger::observe {

// Ranges of anonymous memory whose owner is known: of the runtime, which lists its own in
// its trace's header, of the program, whose calls of mmap the trace records, and of sampled
// objects. The kernel shows no owner, may join neighbours to one mapping, and splits a mapping
// where madvise, mprotect or mlock change a part of it.

struct Range {
  Address start = 0;
  Bytes bytes = 0;

  [[nodiscard]] Address end() const { return start + bytes; }
};

/// The ranges that the header lists, without impossible ones, in order of addresses.
[[nodiscard]] std::vector<Range> runtime_ranges(const trace::FileHeader& header);

/// The mappings that the program made by itself and has not given back.
class OwnMappings {
 public:
  void take(const trace::MappingRecord& record);
  /// In order of addresses.
  [[nodiscard]] std::vector<Range> ranges() const;

 private:
  void add(Address start, Bytes bytes);
  void remove(Address start, Bytes bytes);

  std::map<Address, Address> ends_;  ///< By start; they do not overlap.
};

/// Moves the bytes of the ranges, which are in order of addresses and do not overlap, from the
/// kinds of the mappings they lie in to `to`; only out of anonymous memory (the allocator's,
/// stacks, other) if `only_anonymous`. The sums over all kinds stay what they are.
void move_ranges(std::span<const Range> ranges, std::span<const Mapping> mappings,
                 std::span<const profile::MapKind> kinds, profile::MapKind to, bool only_anonymous,
                 Pagemap& pagemap, profile::MapTable& maps);

// The live samples of a process, kept up to date from the trace that it writes.

/// A sampled object that has not been freed.
struct LiveSample {
  trace::Ref ref = 0;
  Address address = 0;
  Bytes requested = 0;
  Bytes usable = 0;
  trace::EntryPoint entry_point = trace::EntryPoint::kMalloc;
  bool is_typed = false;  ///< The trace has its type.
  trace::Ref stack = 0;
};

/// The memory of the objects as ranges that do not overlap, in order of addresses: an object may
/// lie inside another, as those of Python do in its arenas. `samples` are in order of addresses.
[[nodiscard]] std::vector<Range> extents_of(std::span<const LiveSample> samples);

/// What the records so far leave alive, and where the allocator has put objects.
class LiveSet : public trace::RecordSink {
 public:
  using RecordSink::on;

  /// Only samples that were allocated until `first`, and not freed until `last`.
  void show_between(Nanoseconds first, Nanoseconds last) {
    first_ = first;
    last_ = last;
  }

  void on(const trace::Record& record, const trace::SampleRecord& sample);
  void on(const trace::Record& record, const trace::CarriedRecord& carried);
  void on(const trace::Record& record, const trace::ObjectTypeRecord& type);
  void on(const trace::Record& record, const trace::FreeRecord& free);
  void on(const trace::Record& record, const trace::MappingRecord& mapping);
  void on(const trace::Record& record, const trace::InterpreterRecord& interpreter);
  void on(const trace::Record& record, const trace::EpochRecord& epoch);

  /// The interval in force; 0: none yet.
  [[nodiscard]] Bytes interval() const { return interval_; }
  [[nodiscard]] std::size_t size() const { return live_.size(); }
  [[nodiscard]] bool contains(trace::Ref ref) const { return live_.contains(ref); }
  /// In order of addresses.
  [[nodiscard]] std::vector<LiveSample> by_address() const;
  /// Whether the allocator has put objects into [start, end). Of freed objects only those
  /// count that are too small to have had a mapping of their own.
  [[nodiscard]] bool is_heap(Address start, Address end) const;
  [[nodiscard]] const OwnMappings& mappings() const { return mappings_; }
  /// The interpreters of the process: version by place; 0 of a build without the global lock.
  [[nodiscard]] const std::map<Address, std::uint32_t>& interpreters() const {
    return interpreters_;
  }

 private:
  void add(trace::Ref ref, const trace::SampleRecord& sample);

  tsl::robin_map<trace::Ref, LiveSample> live_;
  Nanoseconds first_ = ~Nanoseconds{0}, last_ = ~Nanoseconds{0};
  Bytes interval_ = 0;
  OwnMappings mappings_;
  std::map<Address, std::uint32_t> interpreters_;
  std::map<Address, Address> places_;  ///< Per 64 KiB one address that an object had.
};

/// Follows the first image of a trace while it grows.
class TraceFollower {
 public:
  /// Fails where the trace cannot be followed.
  base::Outcome<void> open(const std::string& path);

  /// Reads what was added, at most `most` bytes. True if nothing was left unread but
  /// records that are being written.
  [[nodiscard]] bool follow(Bytes most, Nanoseconds now);

  /// All that was added. False if more is added than can be read.
  [[nodiscard]] bool follow_to_end();
  /// Whether the trace is among the mappings: a process id may belong to another process by now.
  [[nodiscard]] bool is_shown_by(std::span<const Mapping> mappings) const;

  [[nodiscard]] const LiveSet& live() const { return live_; }
  /// As of LiveSet; before what is to be read.
  void show_between(Nanoseconds first, Nanoseconds last) { live_.show_between(first, last); }
  [[nodiscard]] std::uint64_t inode() const { return file_.inode(); }
  /// The header as it was at the latest follow().
  [[nodiscard]] const trace::FileHeader& header() const { return image_->header(); }

 private:
  ingest::InputFile file_;
  std::optional<ingest::GrowingImage> image_;
  LiveSet live_;
};

}  // namespace geiger::observe
