// /tmp/perf-PID.map, which a JIT or any other program may have written.
#include <array>

#include "analysis/symbolize/outside_names.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  constexpr std::array<Address, 7> kAddresses{
      1, 0x1000, 0x1010, 0x7f0000000000, 0x7f0000001000, ~Address{1}, ~Address{0}};
  const auto names = symbolize::look_up_perf_map(fuzz::text_of(data, size), kAddresses);
  fuzz::require(names.size() == kAddresses.size(), "every address gets an answer");
  return 0;
}
