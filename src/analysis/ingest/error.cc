#include "analysis/ingest/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace geiger::ingest {

std::string Error::text() const {
  if (!offset) return fmt::format("{}: {}", path, reason);
  return fmt::format("{}: offset {}: {}", path, *offset, reason);
}

Error system_error(const std::string& path, const char* tried) {
  const int code = errno;
  const std::string cause = std::generic_category().message(code);
  return {path, std::nullopt, fmt::format("{}: {}", tried, cause), code == ENOENT};
}

Error trace_fault(const std::string& path, std::uint64_t image_offset,
                  const trace::TraceError& fault) {
  std::string reason{trace::reason_of(fault.fault)};
  switch (fault.fault) {
    case trace::Fault::kTooShort:
      reason = fmt::format("{} ({} bytes)", reason, fault.found);
      break;
    case trace::Fault::kOtherVersion:
      reason = fmt::format("unknown trace format version {}: this geiger reads version {}",
                           fault.found, trace::kVersion);
      break;
    case trace::Fault::kBadHeaderSize:
      reason = fmt::format("{} ({})", reason, fault.found);
      break;
    case trace::Fault::kCut:
      reason = fmt::format("{}: its records should end at {}", reason, image_offset + fault.found);
      break;
    default:
      break;
  }
  return {path, image_offset + fault.offset, reason};
}

}  // namespace geiger::ingest
