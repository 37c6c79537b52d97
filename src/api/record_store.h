// Copies of samples and of what they refer to, so that a profile outlives the traces that it was
// read from. Equal records are stored once. Laid out as a trace, references included.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "api/mapped_trace.h"

namespace geiger::api {

class RecordStore {
 public:
  /// What is added from here on is in this trace, which must stay for as long.
  void read_from(const MappedTrace& trace);

  /// Copies a sample; the reference of the copy. Moves what was copied before.
  [[nodiscard]] trace::Ref add(trace::Ref sample);

  /// Copies a stack; the reference of the copy, 0 for no stack.
  [[nodiscard]] trace::Ref add_stack(trace::Ref stack) { return copied(stack); }

  /// All copies. Valid until the next addition.
  [[nodiscard]] MappedTrace view() const;

 private:
  trace::Ref copied(trace::Ref ref);
  trace::Ref copied_name(trace::Ref ref);
  trace::Ref unique(std::vector<std::uint64_t> record);
  trace::Ref append(const std::uint64_t* words, std::size_t count);

  MappedTrace from_;
  std::vector<std::uint64_t> words_;
  std::unordered_map<trace::Ref, trace::Ref> known_;                ///< Of from_.
  std::unordered_multimap<std::uint64_t, trace::Ref> by_contents_;  ///< By their hash.
};

}  // namespace geiger::api
