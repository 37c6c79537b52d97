// Ranges of anonymous memory whose owner is known: of the runtime, which lists its own in
// its trace's header, of the program, whose calls of mmap the trace records, and of sampled
// objects. The kernel shows no owner, may join neighbours to one mapping, and splits a mapping
// where madvise, mprotect or mlock change a part of it.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "analysis/observe/pagemap.h"
#include "analysis/observe/proc_text.h"
#include "analysis/profile/memory/observations.h"
#include "trace/format.h"

namespace geiger::observe {

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

}  // namespace geiger::observe
