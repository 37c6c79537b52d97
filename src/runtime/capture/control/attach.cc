#include "runtime/capture/control/attach.h"

#include "base/attachment.h"
#include "runtime/capture/image/image.h"

namespace geiger::capture {

bool may_attach() { return can_attach_in(image.phase.load(std::memory_order_acquire)); }

bool was_prepared() { return image.phase.load(std::memory_order_acquire) == Phase::kDormant; }

int attach(const char* lines) {
  Settings settings;
  if (!read_settings_from(lines, settings)) return base::kBadSettings;
  return start_attached(settings);
}

const char* trace_directory() {
  return image.settings.directory == nullptr ? "" : image.settings.directory;
}

}  // namespace geiger::capture
