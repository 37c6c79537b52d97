// What an agent does for programs besides following their traces (fleet/turns).
#pragma once

#include <cstdint>

#include "fleet/push/followed_process.h"

namespace geiger::fleet {

class Duty {
 public:
  Duty() = default;
  virtual ~Duty() = default;
  Duty(const Duty&) = delete;
  Duty& operator=(const Duty&) = delete;

  /// Called at every round. Returns when to call again, in Unix nanoseconds.
  virtual std::int64_t look(const Now& now) = 0;
  /// Called once, when the agent ends, before it reads the traces a last time.
  virtual void end() = 0;
};

}  // namespace geiger::fleet
