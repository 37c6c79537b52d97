// Ids of stacks and program points that are equal on every host: 64 bits of XXH3, which has the
// same values on every machine. Among 10^8 stacks two share an id with probability 3e-4; stores
// refuse a stack with a known id and other locations.
#pragma once

#include <cstdint>
#include <string_view>

#include "fleet/document/document.h"

namespace geiger::fleet {

[[nodiscard]] std::uint64_t hash_of(std::string_view bytes);

/// By build id (else path) and address; for lines of interpreted programs by file, function and
/// line; for points outside every module by their name, if any.
[[nodiscard]] LocationId id_of(const Location& location);
/// By its locations, whose ids are set.
[[nodiscard]] StackId id_of(const Stack& stack);
/// Id of a process image, by host, pid, start and seed.
[[nodiscard]] std::uint64_t id_of(const profile::Process& process, std::string_view host);

}  // namespace geiger::fleet
