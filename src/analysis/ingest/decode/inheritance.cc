#include "analysis/ingest/decode/inheritance.h"

namespace geiger::ingest {

trace::Survivors<SamplePlace> Inheritance::survivors(profile::Recording& recording) const {
  trace::Survivors<SamplePlace> survivors;
  const auto add = [&](trace::Ref ref, const SamplePlace& place) {
    const profile::Sample& sample = place.in(recording);
    if (sample.free_time == 0) survivors.add(ref, sample.time, sample.address, place);
  };
  samples.for_each([&](trace::Ref ref, std::uint32_t index) { add(ref, {index, true}); });
  heap_samples.for_each([&](trace::Ref ref, std::uint32_t index) { add(ref, {index, false}); });
  for (const SamplePlace& place : older) add(0, place);
  return survivors;
}

}  // namespace geiger::ingest
