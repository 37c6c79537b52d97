// Observations to and from the payload of a chunk.
//
// The payload is a protocol buffer (observation_chunk.cc names the fields), so that
// fields can be added without a new version. Samples are named by their record's
// reference in the image: it stays what it is when images are packed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/profile/recording/observations.h"
#include "trace/format.h"

namespace geiger::ingest {

/// `SampleResidency::sample`, `SampleWaste::sample` and `SampleType::sample` hold references here,
/// in rising order.
[[nodiscard]] std::string encode_observations(const profile::Observations& observations);

/// From a reference to the index of its sample, profile::kNone where there is none.
using SampleOf = std::function<std::uint32_t(trace::Ref)>;

/// Undoes encode_observations. Samples that are not known are left out. Nothing for
/// bytes that make no sense.
[[nodiscard]] std::optional<profile::Observations> decode_observations(std::string_view payload,
                                                                       const SampleOf& sample_of);

}  // namespace geiger::ingest
