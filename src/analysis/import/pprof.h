// Heap profiles in pprof's format: profile.proto decoded, and the samples of its rows recovered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/import/foreign_process.h"
#include "analysis/ingest/files.h"
#include "base/outcome.h"
#include "base/units.h"
#include "estimation/counts.h"

namespace geiger::imports {

// pprof's profile.proto, decoded as far as heap profiles need it.

/// Texts are views into the message.
struct PprofValueType {
  std::string_view type, unit;
};
struct PprofLabel {
  std::string_view key;
  std::string_view text;    ///< Of labels that are texts.
  std::int64_t number = 0;  ///< Of others.
};
struct PprofSample {
  std::vector<std::uint64_t> locations;  ///< Ids, leaf first.
  std::vector<std::int64_t> values;
  std::vector<PprofLabel> labels;
};
struct PprofLine {
  std::uint64_t function = 0;  ///< Id.
  std::int64_t line = 0;
};
struct PprofLocation {
  std::uint64_t id = 0, mapping = 0;
  Address address = 0;
  std::vector<PprofLine> lines;  ///< Innermost first.
};
struct PprofFunction {
  std::uint64_t id = 0;
  std::string_view name, system_name, file;
};
struct PprofMapping {
  std::uint64_t id = 0;
  Address start = 0, end = 0;
  std::uint64_t offset = 0;
  std::string_view file, build_id;
};

struct PprofMessage {
  std::vector<PprofValueType> sample_types;
  std::vector<PprofSample> samples;
  std::vector<PprofMapping> mappings;
  std::vector<PprofLocation> locations;
  std::vector<PprofFunction> functions;
  PprofValueType period_type;
  std::int64_t period = 0;
  std::int64_t time = 0, duration = 0;  ///< Nanoseconds; 0 = unknown.
};

/// The labels that the program set, outermost first (pprof/profile_proto.h).
[[nodiscard]] std::vector<std::string> labels_of(const PprofSample& sample);

/// Whether bytes may be the beginning of such a message: fields that it has, of their types.
[[nodiscard]] bool is_pprof(std::string_view head);

/// The message in `bytes`, which it points into. Fails on bad protobuf, a text that is not in its
/// table, samples whose values do not match the types.
base::Outcome<PprofMessage> decode_pprof(std::string_view bytes);

// Recovers the samples of a row of a pprof profile: from its sums where geiger wrote them, else
// from its value.

/// The sums of a row for one kind of profile.
struct RowSums {
  Bytes size = 0;  ///< Of each object.
  std::uint64_t samples = 0;
  double objects = 0, bytes = 0, bytes_variance = 0;  ///< Estimates, rounded to whole numbers.
};

/// Kinds of samples with the row's number, bytes and variance. Where all were drawn with `lambda`,
/// that is their kind. Rows that mix rates (of a writer that does not distinguish them, or merged
/// by a tool) become two kinds at most with the same three sums.
[[nodiscard]] std::vector<estimation::Count> samples_behind(const RowSums& row, double lambda);

/// How many samples a value was estimated from, where it is count / pi, rounded down (Go) or to
/// the nearest. 0 of a value below one sample's share.
[[nodiscard]] std::uint64_t unscaled(std::int64_t value, double pi);

// Heap profiles in pprof's format: of Go, tcmalloc, node, jemalloc's converters, geiger.

/// Reads the message `bytes` into `process`. Its values are estimates. If it names a period in
/// bytes, the sampled numbers are recovered from them (unscaled()), and the values get intervals.
/// Otherwise, and where samples of that period cannot give these values, they are taken as they
/// are.
[[nodiscard]] ingest::FileOutcome read_pprof(std::string_view bytes, ForeignProcess& process,
                                             Origin& origin);

}  // namespace geiger::imports
