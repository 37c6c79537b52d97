// Files of /proc/PID: written by the kernel, but with names that any user may choose.
#include "analysis/observe/proc_files.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  const std::string_view text = fuzz::text_of(data, size);
  static_cast<void>(observe::parse_status(text));
  static_cast<void>(observe::parse_waiting_place(text));
  static_cast<void>(observe::parse_switches(text));
  Address last = 0;
  for (const observe::Mapping& mapping : observe::parse_smaps(text)) {
    fuzz::require(mapping.start >= last && mapping.end > mapping.start,
                  "mappings stand in order and do not overlap");
    last = mapping.end;
  }
  return 0;
}
