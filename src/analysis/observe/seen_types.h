// The types of Python's objects in another process: at one instant, and of live samples as far as
// snapshots saw them.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/observe/live_set.h"
#include "analysis/observe/proc_files.h"
#include "analysis/observe/process_memory.h"
#include "analysis/profile/recording/observations.h"
#include "base/units.h"
#include "object_types/object_types.h"

namespace geiger::observe {

// The types of Python's objects in another process, at one instant: types come and go.

class PythonTypes {
 public:
  /// `version` as Py_Version; requires object_types::has_known_types(version).
  PythonTypes(std::uint32_t version, ReadMemory read);
  PythonTypes(const PythonTypes&) = delete;
  PythonTypes& operator=(const PythonTypes&) = delete;

  /// The name of the type of the object in a block, with its module if it is known; nullptr where
  /// the block does not look like an object. Valid as long as this is.
  [[nodiscard]] const std::string* type_of(Address block, Bytes requested);

  struct Type {
    std::string name;
    object_types::Placement place;
  };
  /// Null: not a type. Valid as long as this is.
  [[nodiscard]] const Type* type_at(Address address);

  /// Of the dictionary at an address; nothing if they are not known.
  [[nodiscard]] object_types::Entries entries_of(Address dictionary) const;
  /// Of a str object, if it is short and of ASCII; else empty.
  [[nodiscard]] std::string text_of(Address string) const;

 private:
  [[nodiscard]] std::optional<Type> read_type(Address address) const;

  ReadMemory read_;
  object_types::Reader reader_;
  std::map<Address, std::optional<Type>> types_;
};

/// The version of the process's interpreters, which determines the layout of objects; nothing if it
/// has none, they differ, or their objects are not known.
[[nodiscard]] std::optional<std::uint32_t> python_version_of(const LiveSet& live);

// The types of a process's live samples of Python objects, as far as snapshots have seen them.

/// What an object is does not change, so each sample is read until its type is known. Samples that
/// are freed keep theirs, for profiles of earlier instants, up to a limit.
class SeenTypes {
 public:
  /// Reads the types of those `samples` that have none; they are kept by keep().
  void read(const ProcessFiles& files, Pagemap& pagemap, std::span<const LiveSample> samples,
            const TraceFollower& follower);
  /// Keeps what was read of those samples that are still alive: the memory of others may have held
  /// another object already. Drops it if the trace cannot be read to its end.
  void keep(TraceFollower& follower, Nanoseconds now);
  /// Why nothing can be read.
  void refuse(std::string reason) { fault_ = std::move(reason); }

  /// In order of references.
  [[nodiscard]] profile::ObjectTypes take();

 private:
  [[nodiscard]] std::uint32_t number(const std::string& name);
  void make_room(const LiveSet& live);

  tsl::robin_map<trace::Ref, std::uint32_t> types_;  ///< Into names_.
  std::vector<std::pair<trace::Ref, std::uint32_t>> read_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t> numbers_;
  std::string fault_;
};

}  // namespace geiger::observe
