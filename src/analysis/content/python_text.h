// The str and bytes objects of CPython in memory: what of them makes two equal.
//
// Source of the layout: the structures PyASCIIObject, PyCompactUnicodeObject and PyBytesObject of
// CPython 3.8 to 3.13.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "analysis/content/contents.h"
#include "base/units.h"

namespace geiger::content {

enum class TextType : std::uint8_t { kStr = 1, kBytes = 2 };

/// The first words of an object: references, type, length, hash, and the state of a str.
using TextHead = std::array<std::uint64_t, 5>;

/// Two are equal if they have the same face and the same payload: references and cached hashes may
/// differ.
struct PythonText {
  Face face;
  Bytes before = 0;  ///< From the object to its payload.
  Bytes bytes = 0;   ///< Of the payload.
};

/// Nothing if this is not an object with references, or a str that stores its characters elsewhere.
/// A freed block has the address of the next one, or 0, in place of the references. `version` as
/// Py_Version.
[[nodiscard]] std::optional<PythonText> text_of(TextType type, const TextHead& head,
                                                std::uint32_t version);

}  // namespace geiger::content
