// Records behind a header that is sound, so that no input is lost on the header.
#include <cstring>
#include <string>

#include "every_report.h"
#include "read_bytes.h"
#include "target.h"
#include "trace/test_trace.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  constexpr std::size_t kMost = std::size_t{1} << 16;
  if (size > kMost) return 0;
  trace::TestTrace trace(64);
  trace.epoch(64);
  const std::size_t first = trace.end();
  trace.hole(size / 8);
  trace.header().tail = trace.end();
  auto bytes = trace.raw();
  std::memcpy(bytes.data() + first, data, size / 8 * 8);
  auto ingested = fuzz::read_bytes(
      fuzz::text_of(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  fuzz::give_names(ingested);
  fuzz::draw_part(ingested.recording, size + (size > 0 ? data[size / 2] : 0));
  return 0;
}
