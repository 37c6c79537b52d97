// Makes traces for processes that may not make them themselves (trace/broker.h): a thread that
// answers at once, whatever the supervisor is reading meanwhile.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/unique_fd.h"
#include "trace/broker.h"

namespace geiger::control {

class TraceBroker {
 public:
  /// For the traces in `directory`. Null where none is needed, because processes of a user who is
  /// not root stay that user's, or if no socket or thread is available.
  [[nodiscard]] static std::unique_ptr<TraceBroker> open(const std::string& directory);
  TraceBroker(const TraceBroker&) = delete;
  TraceBroker& operator=(const TraceBroker&) = delete;
  ~TraceBroker();

  /// The value of GEIGER_BROKER.
  [[nodiscard]] const std::string& digits() const { return digits_; }

 private:
  TraceBroker() = default;
  [[nodiscard]] bool listen(const std::string& directory);
  void serve() const;
  void answer(int connection) const;
  [[nodiscard]] trace::BrokerAnswer perform(const trace::BrokerRequest& request,
                                            base::UniqueFd& made) const;

  base::UniqueFd directory_, socket_;
  std::string digits_;
  std::atomic<bool> is_ending_{false};
  std::thread thread_;
};

/// Whether this is the name of a trace, and of nothing outside of its directory.
[[nodiscard]] bool is_trace_name(std::string_view name);

}  // namespace geiger::control
