// Reads the files of one module in a confined process (worker.h).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "analysis/symbolize/elf/debug_file.h"
#include "analysis/symbolize/module_names.h"

namespace geiger::symbolize {

/// What `work` answers. Nothing if the process ended before it did: the file is damaged, or reading
/// it takes too much. Its limits are those of looking up `most` addresses. Forks.
[[nodiscard]] std::optional<ModuleAnswer> ask_confined(
    const ModuleJob& job, std::size_t most, bool reads_dwarf,
    const std::function<ModuleAnswer(const ModuleJob&, const SearchOptions&)>& work);

}  // namespace geiger::symbolize
