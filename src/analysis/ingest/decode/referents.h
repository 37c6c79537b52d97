// What samples refer to within one image: stacks with their native and interpreted frames,
// intervals, labels, types and heaps.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ingest/decode/interner.h"
#include "analysis/ingest/decode/interpreted_code.h"
#include "analysis/ingest/decode/module_map.h"
#include "analysis/ingest/decode/ref_index.h"
#include "analysis/profile/hash.h"
#include "analysis/profile/recording.h"
#include "trace/record_sink.h"

namespace geiger::ingest {

/// Samples and what they refer to whose contents make no sense; each count is a warning.
struct ReferenceOddities {
  std::uint64_t samples_without_interval = 0;
  std::uint64_t samples_without_stack = 0;
  std::uint64_t corrected_rates = 0;
  std::uint64_t unknown_names = 0;
  std::uint64_t impossible_tallies = 0;
  std::uint64_t unknown_code = 0;
};

class Referents : public trace::RecordSink {
 public:
  using RecordSink::on;

  /// For the image of `process` that begins with `interval`. Recording and interner must outlive
  /// it.
  Referents(profile::Recording& recording, Interner& interner, std::uint32_t process,
            Bytes interval);

  void on(const trace::Record& record, const trace::StackRecord& layout);
  void on(const trace::Record& record, const trace::ModuleRecord& layout);
  void on(const trace::Record& record, const trace::EpochRecord& layout);
  void on(const trace::Record& record, const trace::NameRecord& layout);
  void on(const trace::Record& record, const trace::InterpreterRecord& layout);
  void on(const trace::Record& record, const trace::CodeRecord& layout);

  /// Its thread and the one that frees it stay numbers of the trace. Nothing where a sample has
  /// no inclusion probability, so that it cannot be weighted.
  [[nodiscard]] std::optional<profile::Sample> sample_from(const trace::SampleRecord& layout,
                                                           const trace::RecordHeader& header);
  /// The tally with its present counts.
  [[nodiscard]] std::optional<profile::Tally> tally_from(const trace::TallyRecord& layout,
                                                         const trace::RecordHeader& header);

  /// The stack of a record's reference; kNone of 0 and of what was never written.
  [[nodiscard]] std::uint32_t stack_of(trace::Ref ref);
  /// The type of a record's reference; kNone of 0 and of what was never written.
  [[nodiscard]] std::uint32_t type_of(trace::Ref ref) {
    return name_of(ref, trace::NameKind::kType);
  }

  [[nodiscard]] const ReferenceOddities& oddities() const { return oddities_; }

 private:
  void take_label(trace::Ref ref, trace::Ref around, const std::string& text);

  [[nodiscard]] std::uint32_t location_of(std::uint64_t word);
  [[nodiscard]] std::uint32_t native_location(Address address);
  [[nodiscard]] std::uint32_t interpreted_location(const trace::InterpretedFrame& frame);
  void mark_interpreters();
  [[nodiscard]] bool is_in_runtime(std::uint32_t location) const;
  [[nodiscard]] std::uint32_t epoch_of(trace::Ref ref);
  [[nodiscard]] std::uint32_t add_epoch(Bytes interval, double lambda);
  [[nodiscard]] std::uint32_t name_of(trace::Ref ref, trace::NameKind kind);
  [[nodiscard]] std::uint32_t heap_of(std::uint16_t id);
  [[nodiscard]] std::uint32_t untold_stack();

  profile::Recording& recording_;
  Interner& interner_;
  std::uint32_t process_;
  std::uint32_t first_epoch_ = profile::kNone;  ///< Of the header's interval.
  std::uint32_t untold_stack_ = profile::kNone;
  RefIndex stacks_;
  RefIndex epochs_;
  ModuleMap modules_;
  tsl::robin_map<Address, std::uint32_t, profile::SpreadHash>
      locations_;  ///< By word of a stack. Valid until the next module.
  InterpretedCode code_;
  std::vector<Address> interpreters_;  ///< Where those lie whose module is not known yet.
  /// A name's record, decoded: its kind, and the index of the label or type.
  struct KnownName {
    trace::NameKind kind;
    std::uint32_t index;
    std::uint32_t depth = 0;  ///< Of a label: those around it.
  };
  tsl::robin_map<trace::Ref, KnownName, profile::SpreadHash> names_;
  tsl::robin_map<std::uint32_t, std::uint32_t, profile::SpreadHash> heaps_;  ///< By heap id.
  ReferenceOddities oddities_;
};

}  // namespace geiger::ingest
