// What OpenTelemetry's SDK in a process publishes of it, for readers outside (OTEP 4719).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace geiger::fleet {

/// Attributes of a resource that are texts or integers, as texts.
using ResourceTexts = std::map<std::string, std::string>;

/// Those of a published ProcessContext, which may be any bytes.
[[nodiscard]] ResourceTexts resource_in_context(std::string_view context);

/// Those that a running process publishes, from a mapping named OTEL_CTX; empty: none, it is being
/// changed, or it may not be read. At most 64 KiB.
[[nodiscard]] ResourceTexts published_resource(std::uint32_t pid);

}  // namespace geiger::fleet
