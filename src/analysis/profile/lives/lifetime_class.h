// Lifetimes by powers of ten: what views group by.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/profile/recording.h"

namespace geiger::profile {

/// 0: freed within 1 us; then decades, from 1 us on; the last but one: after 1000 s and
/// more; the last: alive at the end.
using LifetimeClass = std::uint8_t;
inline constexpr LifetimeClass kLifetimeClasses = 12;
inline constexpr LifetimeClass kAliveAtEnd = kLifetimeClasses - 1;

/// The class of a sample. A life of exactly 10 us is one of "10-100 us".
[[nodiscard]] LifetimeClass lifetime_class_of(const Sample& sample);

/// "< 1 us", "1-10 us", ..., ">= 1000 s", "alive at end". Requires a class.
[[nodiscard]] std::string_view name_of_lifetime(LifetimeClass lifetime);

}  // namespace geiger::profile
