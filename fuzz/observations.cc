// The payload of an observations chunk.
#include <string>

#include "analysis/ingest/observation_chunk.h"
#include "analysis/profile/recording/recording.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  const auto known = [](trace::Ref ref) { return ref % 2 == 0 ? ref : profile::kNone; };
  const auto decoded = ingest::decode_observations(fuzz::text_of(data, size), known);
  if (decoded) static_cast<void>(ingest::encode_observations(*decoded));
  return 0;
}
