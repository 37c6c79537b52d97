// What stands for a processor's folder in the models: the filter's byte is a relaxed load there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::capture::machine {

template <unsigned kLog2BlockBytes, unsigned kLog2Slots, class Byte>
bool is_slot_used(const Byte* table, const void* address) {
  const auto slot = reinterpret_cast<std::uintptr_t>(address) >> kLog2BlockBytes;
  return table[slot % (std::size_t{1} << kLog2Slots)].load(std::memory_order_relaxed) != 0;
}

}  // namespace geiger::capture::machine
