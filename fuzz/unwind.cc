// Unwind tables of a module, as the runtime reads them inside the target: nothing may
// be read outside of them, whatever they hold. The first 8 bytes are the pc.
#include <cstring>

#include "runtime/unwind/cfi.h"
#include "runtime/unwind/rules.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  std::uint64_t distance = 0;
  if (size < sizeof distance + 1) return 0;
  std::memcpy(&distance, data, sizeof distance);
  const std::uint8_t* const tables = data + sizeof distance;
  const unwind::ByteRange range{tables, data + size};
  const auto header = reinterpret_cast<std::uint64_t>(tables);
  unwind::FoundRow found;
  for (const std::uint64_t pc : {header + distance, header + distance % (2 * size), distance}) {
    static_cast<void>(unwind::find_row({range, header}, pc, found));
  }
  unwind::Term term;
  static_cast<void>(unwind::evaluate(unwind::Cursor(range, header), header, term));
  return 0;
}
