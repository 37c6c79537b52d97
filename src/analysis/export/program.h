// The program of a recording, for formats that name only one.
#pragma once

#include <string>

#include "analysis/profile/recording.h"

namespace geiger::exports {

/// The process that started first, and so started the others; null for an empty recording.
[[nodiscard]] const profile::Process* first_process(const profile::Recording& recording);

/// Path of its executable; "?" for an empty recording.
[[nodiscard]] std::string program_of(const profile::Recording& recording);

}  // namespace geiger::exports
