// Ids of stacks and program points that every host computes alike: 64 bits of XXH3, whose values
// are the same on every machine. Among 10^8 stacks two share an id with probability 3e-4; stores
// refuse a stack that comes with other locations under a known id.
#pragma once

#include <cstdint>
#include <string_view>

#include "fleet/document/document.h"

namespace geiger::fleet {

[[nodiscard]] std::uint64_t hash_of(std::string_view bytes);

/// By build id (else path) and address; lines of interpreted programs by file, function and line;
/// points outside every module by their name, if they have one.
[[nodiscard]] LocationId id_of(const Location& location);
/// By its locations, which have their ids.
[[nodiscard]] StackId id_of(const Stack& stack);
/// Of a process image: by host, pid, start and seed.
[[nodiscard]] std::uint64_t id_of(const profile::Process& process, std::string_view host);

}  // namespace geiger::fleet
