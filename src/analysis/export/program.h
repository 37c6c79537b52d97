// What ran, for formats that name one program.
#pragma once

#include <string>

#include "analysis/profile/recording.h"

namespace geiger::exports {

/// The process that started first, and so started the others; null of an empty recording.
[[nodiscard]] const profile::Process* first_process(const profile::Recording& recording);

/// Path of its executable; "?" of an empty recording.
[[nodiscard]] std::string program_of(const profile::Recording& recording);

}  // namespace geiger::exports
