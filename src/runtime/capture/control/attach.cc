#include "runtime/capture/control/attach.h"

#include <atomic>
#include <cstdint>

#include "runtime/capture/image/image.h"

extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming): a C name.
[[gnu::visibility("default")]] constinit geiger::base::Attachment geiger_attachment_v1{};
}

namespace geiger::capture {

void report_state(base::AttachState state) {
  std::atomic_ref(geiger_attachment_v1.state)
      .store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

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
