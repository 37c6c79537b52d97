// The memory of an interpreter that holds anything: blocks, types, strings and dictionaries.
#include <cstring>
#include <string>

#include "analysis/observe/seen_types.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  constexpr Address kStart = 0x7f0000000000;
  constexpr std::size_t kLongest = 401;  // Module and qualified name.
  const observe::ReadMemory read = [&](Address address, void* into, std::size_t bytes) {
    if (address < kStart || address - kStart > size) return false;
    if (bytes > size - (address - kStart)) return false;
    std::memcpy(into, data + (address - kStart), bytes);
    return true;
  };
  for (const std::uint32_t version : {0x030900f0U, 0x030d00f0U}) {
    observe::PythonTypes types(version, read);
    for (Address block = kStart; block + 64 < kStart + size; block += 16) {
      const std::string* name = types.type_of(block, 40);
      fuzz::require(name == nullptr || (!name->empty() && name->size() <= kLongest),
                    "a name is not empty, and short");
    }
  }
  return 0;
}
