// The chunks of a heap in another process, whose memory holds anything.
#include <algorithm>
#include <cstring>
#include <vector>

#include "analysis/observe/allocator_heaps.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  constexpr Address kStart = 0x55550000;
  const Address end = kStart + size / 16 * 16;
  const observe::ReadMemory read = [&](Address address, void* into, std::size_t bytes) {
    if (address < kStart || address > end || bytes > end - address) return false;
    std::memcpy(into, data + (address - kStart), bytes);
    return true;
  };
  std::vector<observe::LiveSample> samples;
  for (Address at = kStart + 0x20; at + 0x40 < end; at += 0x100) {
    samples.push_back({static_cast<trace::Ref>(at), at, 24, 24});
  }
  observe::HeapWalk walk{.occupancy = observe::PageOccupancy(4096), .unmatched = {}, .in_use = {}};
  static_cast<void>(observe::walk_heap(read, kStart, end, samples, walk));
  return 0;
}
