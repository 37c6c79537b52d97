// The whole way of a trace file: images, records, chunks, names, every report.
#include "every_report.h"
#include "read_bytes.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  ingest::Ingested ingested = fuzz::read_bytes(fuzz::text_of(data, size));
  for (const std::string& warning : ingested.recording.warnings) {
    fuzz::require(warning.find('\n') == std::string::npos, "a warning is one line");
  }
  fuzz::give_names(ingested);
  fuzz::draw_part(ingested.recording, size + (size > 0 ? data[size / 2] : 0));
  return 0;
}
