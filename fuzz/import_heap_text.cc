// Reads heap profiles of jemalloc, gperftools and tcmalloc, compressed or not.
#include "foreign.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  return fuzz::read_foreign(fuzz::text_of(data, size), imports::Format::kHeapText);
}
