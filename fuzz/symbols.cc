// The payload of a symbols chunk, and what the symbolizing process answers.
#include <string>

#include "analysis/profile/testing/example_recording.h"
#include "analysis/symbolize/symbol_set.h"
#include "analysis/symbolize/symbolize.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  const std::string_view payload = fuzz::text_of(data, size);
  const auto decoded = symbolize::decode(payload);
  if (decoded.has_value()) {
    const auto again = symbolize::decode(symbolize::encode(decoded.value()));
    fuzz::require(again.has_value() && again.value() == decoded.value(),
                  "what was decoded encodes to itself");
  }
  profile::example::RecordingBuilder builder;
  const auto process = builder.process("/bin/demo", 7);
  builder.stack({builder.location(builder.module("/bin/demo", 0), 0x1151, {})});
  profile::Recording recording = builder.recording();
  static_cast<void>(symbolize::apply_symbols(payload, process, recording));
  return 0;
}
