// Follows the traces that appear in directories, and sends what they count, window by window.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fleet/push/followed_process.h"
#include "fleet/push/sender.h"

namespace geiger::fleet {

// What an agent does for programs besides following their traces (fleet/turns).

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

struct AgentOptions {
  std::vector<std::string> watched;  ///< Directories, which need not be there yet.
  FollowedProcess::Names names;
  std::int64_t grid = 600;  ///< Seconds.
  /// Traces in this directory, one of those below `watched`, are removed once all that they count
  /// is in the spool; may be empty.
  std::string fleeting;
  Duty* duty = nullptr;  ///< May be null.
};

/// Nothing is sent but what is in the spool, and what leads to the next document is in the spool's
/// state: an agent that is killed at any point goes on where it was. Memory grows with what is
/// reported apart in the processes that run, not with their samples.
class Agent {
 public:
  Agent(AgentOptions options, Spool& spool, Sink& sink, Spool::Log log);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Until `stops`; then what was counted by then is in the spool, and was offered to the sink.
  [[nodiscard]] base::Outcome<void> run(const std::function<bool()>& stops);
  /// Pushes what there is now, once. False: not all of it was taken.
  [[nodiscard]] base::Outcome<bool> run_once(const std::function<bool()>& stops);

 private:
  struct Trace;
  struct Image;

  [[nodiscard]] base::Outcome<void> begin();
  void find_traces();
  void take_trace(const std::string& path);
  void forget_ended();
  void remove_fleeting(const Image& image) const;
  [[nodiscard]] base::UniqueFd open_watched(const std::string& path, int flags) const;
  void look();
  /// Whether the last document of some process was made.
  bool cut(bool is_last);
  void send(const std::function<bool()>& stops);
  [[nodiscard]] Now now() const;
  void wait_until(std::int64_t next_event, const std::function<bool()>& stops) const;

  AgentOptions options_;
  Spool& spool_;
  Spool::Log log_;
  Sender sender_;
  std::map<std::string, std::unique_ptr<Image>> images_;  ///< By name of their states.
  std::map<std::string, std::string> known_;              ///< Image of each trace's path.
  std::uint64_t oom_kills_ = 0;                           ///< At the latest look.
};

}  // namespace geiger::fleet
