// Writes OpenTelemetry's profiles (OTLP), as bytes or as JSON.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/export/profile_rows.h"
#include "analysis/export/streams/sink.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "base/units.h"
#include "otlp/writer.h"

namespace geiger::exports {

// One profile per sample type, as OTLP wants it: alloc_space/bytes, alloc_objects/count,
// inuse_space/bytes, inuse_objects/count, and, if asked for, the variance of each behind them
// (alloc_space_variance/By2, ...). Values are those that write_pprof writes; zeros and profiles
// without any sample are left out. Each total's interval is in attributes of its profile, since
// those of samples are part of a sample's identity.

struct OtlpOptions {
  otlp::Attributes resource = {};
  RowExtent extent = {};
  bool is_live_first = false;  ///< Viewers show the first profile.
  bool has_variances = false;
  std::optional<double> level = 0.95;  ///< Of totals' intervals; nothing: they have none.
  Nanoseconds begin = 0, end = 0;      ///< Of the window, since 1970.
  std::vector<std::string> comments = {};
  std::map<std::string, std::string> file_ids = {};  ///< By build id; empty: not known.
  std::size_t most_frames = 0;                       ///< Of a stack, from the leaf; 0: no limit.
};

/// ProfilesData, which is the body of a request too. Empty if no profile has a sample.
[[nodiscard]] std::string otlp_data(const profile::Recording& recording,
                                    const profile::Profile& allocated, const profile::Profile& live,
                                    const OtlpOptions& options);

/// Such data as OTLP's JSON: proto3's rules, without ids of profiles, which readers disagree about.
void write_otlp_json(std::string_view data, const Sink& sink);

}  // namespace geiger::exports
