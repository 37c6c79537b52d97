#include "runtime/capture/control/attach.h"

#include "base/attachment.h"
#include "runtime/capture/image/image.h"

namespace geiger::capture {

bool may_attach() {
  const Phase phase = image.phase.load(std::memory_order_acquire);
  return phase == Phase::kUninitialised || phase == Phase::kDetached;
}

int attach(const char* lines) {
  Settings settings;
  if (!read_settings_from(lines, settings)) return base::kBadSettings;
  return start_attached(settings);
}

const char* trace_directory() {
  return image.settings.directory == nullptr ? "" : image.settings.directory;
}

}  // namespace geiger::capture
