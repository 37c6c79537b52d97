// OpenTelemetry's ids of executable files, by which stores find their symbols.
#pragma once

#include <map>
#include <string>

#include "analysis/profile/recording/recording.h"

namespace geiger::fleet {

/// By build id; empty where the file is not there any more, or is another one.
using FileIds = std::map<std::string, std::string>;

/// The id of a file, in hexadecimal: the first half of SHA-256 of its first and last 4096 bytes and
/// its length (`htlhash` of the semantic conventions). Empty unless it has the build id.
[[nodiscard]] std::string file_id_of(const std::string& path, const std::string& build_id);

/// Adds those of the modules of a recording that are not known yet.
void add_file_ids(FileIds& ids, const profile::Recording& recording);

}  // namespace geiger::fleet
