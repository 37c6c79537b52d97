// The text of schema.sql.
#pragma once

namespace geiger::fleet {
extern const char* const kSchema;
}  // namespace geiger::fleet
