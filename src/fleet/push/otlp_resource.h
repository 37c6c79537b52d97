// What OTLP calls the resource: which service on which host profiles are of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fleet/document/cut.h"
#include "otlp/writer.h"

namespace geiger::fleet {

/// A process image, by its id (document.h) and its executable.
struct Instance {
  std::uint64_t process = 0;
  std::string executable;
};

/// The version of a service that nothing names.
inline constexpr const char* kUnknownVersion = "unknown";

/// Attributes as semantic conventions name them. A label is an attribute of its own name and wins
/// over what is derived; at most 20 in all, as stores make a label of each.
[[nodiscard]] otlp::Attributes resource_of(const Origin& origin, const Instance& instance);

}  // namespace geiger::fleet
