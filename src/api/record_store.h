// Copies of samples and the records they refer to, so that a profile outlives the traces it was
// read from. Equal records are stored once. Has the layout of a trace, including references.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "api/mapped_trace.h"

namespace geiger::api {

class RecordStore {
 public:
  /// Sets the trace of the following additions, which must stay valid until then.
  void read_from(const MappedTrace& trace);

  /// Copies a sample and returns the reference of the copy. Invalidates views.
  [[nodiscard]] trace::Ref add(trace::Ref sample);

  /// Copies a stack and returns the reference of the copy, 0 for no stack.
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
