// One process of a recording, made of a file that another profiler wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/ingest/decode/interner.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::imports {

/// What a file is, and what its numbers rest on: for people.
struct Origin {
  std::string path;
  std::string what;                ///< "heap profile of jemalloc, ..."
  std::vector<std::string> notes;  ///< A clause each.
};

/// Alike objects of a row: sampled ones, or all if nothing was sampled.
struct CountedObjects {
  std::uint64_t count = 0;
  Bytes bytes = 0;  ///< All of them together.
  bool is_freed = false;
  bool is_certain = false;               ///< Recorded whatever the interval.
  bool is_live_only = false;             ///< Another file has the allocated objects.
  std::uint32_t epoch = profile::kNone;  ///< That drew them; kNone: the process's.
};

class ForeignProcess {
 public:
  /// Adds a process to `recording`, which both outlive it.
  ForeignProcess(profile::Recording& recording, ingest::Interner& interner, std::string path);

  [[nodiscard]] profile::Process& process() { return recording_.processes[index_]; }
  [[nodiscard]] std::uint32_t index() const { return index_; }

  /// From here on objects are samples of a Poisson process with this many bytes between its
  /// points on average, or of byte-wise trials with the rate `lambda`. 1 and less: all of them were
  /// recorded.
  void set_interval(double interval, std::optional<double> lambda = {});

  /// How far its values are from the truth is not known (profile::lacks_errors).
  void lacks_errors();

  /// Only what was live is known: nothing is counted as allocated.
  void set_live_only() { has_live_only_ = true; }

  /// A file mapped from `start` on, its bytes from `offset`.
  void map_file(const std::string& path, const std::string& build_id, Address start, Address end,
                std::uint64_t offset);
  /// The program point that a call returns to.
  std::uint32_t location_of_return(Address address);
  /// A program point known only by its names, numbered by the file within a module, which may
  /// be empty.
  std::uint32_t named_location(const std::string& module, std::uint64_t number);
  /// Innermost first; a location that has names keeps them.
  void name(std::uint32_t location, std::vector<profile::Frame> frames);
  [[nodiscard]] bool has_names(std::uint32_t location) const;

  /// The stack of these locations, leaf first. A root "[truncated]" says that it was cut.
  std::uint32_t stack(std::vector<std::uint32_t> locations, bool is_truncated = false);

  /// From here on objects are allocated under these labels, outermost first.
  void set_labels(std::span<const std::string> labels);

  /// Objects that only their row is known of: they are taken to be as alike in size as whole
  /// bytes allow. Objects of no bytes do not count.
  void add(std::uint32_t stack, const CountedObjects& objects);

  /// The epoch of samples drawn at another rate than the process's.
  [[nodiscard]] std::uint32_t epoch_of(double interval, double lambda);

  /// The epoch of the process's interval; without an interval everything was recorded.
  [[nodiscard]] std::uint32_t epoch();

  static constexpr Nanoseconds kStart = 1'000'000'000;  ///< Start of the process.

 private:
  [[nodiscard]] bool is_named(std::uint32_t location, std::string_view name) const;
  void add_tally(std::uint32_t stack, Bytes size, std::uint64_t count,
                 const CountedObjects& objects);

  profile::Recording& recording_;
  ingest::Interner& interner_;
  std::uint32_t index_ = 0;
  std::uint32_t epoch_ = profile::kNone;
  bool is_exact_ = true;
  bool has_live_only_ = false;
  std::uint32_t label_ = profile::kNone;  ///< The innermost that is set.
  ingest::ModuleMap modules_;
};

}  // namespace geiger::imports
