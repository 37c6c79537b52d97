// Code objects: the function that a frame runs, and the data to find its lines.
//
// Code objects are freed and their addresses reused, so one is identified by its address and a
// fingerprint of the objects that it refers to.
//
// Threads, signals: as memory.h. Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "runtime/python/layout.h"
#include "runtime/python/memory.h"

namespace geiger::python {

struct Code {
  Address address;
  std::int32_t first_line;
  Address file, name, lines;  ///< Strings, and the bytes of the line table.

  /// Differs for different code, also at the address of a freed code object.
  [[nodiscard]] std::uint64_t key() const;
};

[[nodiscard]] inline bool read_code(const Layout& layout, const Memory& memory, Address address,
                                    Code& code) {
  code.address = address;
  return Memory::is_plausible(address) &&
         memory.read_member(address, layout.first_line, code.first_line) &&
         memory.read_member(address, layout.file, code.file) &&
         memory.read_member(address, layout.name, code.name) &&
         memory.read_member(address, layout.lines, code.lines);
}

/// Whether the code object at its address, which may be read directly, is still the same.
[[nodiscard]] inline bool is_still_there(const Layout& layout, const Code& code) {
  const auto has = [&](std::uint16_t offset, auto value) {
    decltype(value) now{};
    return Memory(Trust::kDirect).read_member(code.address, offset, now) && now == value;
  };
  return has(layout.first_line, code.first_line) && has(layout.file, code.file) &&
         has(layout.name, code.name) && has(layout.lines, code.lines);
}

/// Writes a string object as UTF-8 and returns its length in bytes; cuts the text at a character
/// and sets `is_cut` if it does not fit. 0 if it is not a string.
[[nodiscard]] std::size_t copy_text(const Layout& layout, const Memory& memory, Address object,
                                    char* to, std::size_t room, bool& is_cut);

/// Address and size of the contents of a bytes object; 0 and 0 if it cannot be read.
struct Contents {
  Address start;
  std::size_t bytes;
};
[[nodiscard]] Contents contents_of(const Memory& memory, Address object);

}  // namespace geiger::python
