// A process with geiger loaded: its state, and the requests that a controller can make.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/outcome.h"
#include "base/units.h"
#include "control/control_page.h"
#include "control/target_process.h"
#include "control/waking.h"

namespace geiger::control {

enum class Standing : std::uint8_t {
  kRecording,
  kPaused,     ///< Samples, but records nothing.
  kDormant,    ///< Waits for a request to record.
  kReporting,  ///< As kDormant, and samples for a tracing tool, without a trace.
  kEnded,      ///< Its recording has ended; the trace has the reason.
  kInert,      ///< The library is loaded and does nothing.
};
[[nodiscard]] std::string_view name_of(Standing standing);
[[nodiscard]] constexpr bool waits_for_request(Standing standing) {
  return standing == Standing::kDormant || standing == Standing::kReporting;
}

/// What `status` reports of a process.
struct ProcessStatus {
  pid_t pid = 0;
  std::string program;
  Standing standing = Standing::kInert;
  Bytes interval = 0;  ///< In force, or the first of a new recording; 0 = unknown.
  /// Path of its trace, if it has one.
  std::string trace;
  Bytes trace_bytes = 0;
  RecordCounts records;
  std::uint64_t dropped = 0;
  std::uint32_t segment = 0;
  /// A request that the program has not carried out yet: to record, or to stop.
  std::optional<bool> pending;
  /// Why a dormant process cannot be started; empty if it can.
  std::string obstacle;
};

/// How long to wait for a program's answer.
inline constexpr std::chrono::milliseconds kPatience{2000};

class Controlled {
 public:
  /// Fails if the process does not exist, belongs to another user or has not loaded geiger.
  [[nodiscard]] static base::Outcome<Controlled> open(pid_t pid);
  /// Gives a process that has just started the time to load its libraries: before that, geiger is
  /// not loaded or not initialized.
  [[nodiscard]] static base::Outcome<Controlled> open_started(pid_t pid);

  [[nodiscard]] Standing standing() const;
  /// With `counts_records` it reads the whole trace.
  [[nodiscard]] ProcessStatus status(bool counts_records) const;
  [[nodiscard]] std::string shown() const { return target_->shown(); }
  [[nodiscard]] const TargetProcess& target() const { return *target_; }
  /// Moves the process out; nothing else may be called afterwards.
  [[nodiscard]] TargetProcess take_target() { return std::move(*target_); }
  /// Null if it has none.
  [[nodiscard]] const LiveTrace* trace() const { return trace_ ? &*trace_ : nullptr; }

  /// Each returns the message for the user; a failure's reason is one line that names the process.
  /// `order.directory` must exist; empty: the program's own, else a new one here.
  [[nodiscard]] base::Outcome<std::string> start(Order order, std::chrono::milliseconds patience);
  /// As start() of a dormant process, without waiting: it begins when it next looks.
  [[nodiscard]] base::Outcome<void> call(Order order);
  [[nodiscard]] base::Outcome<std::string> stop(std::chrono::milliseconds patience);
  [[nodiscard]] base::Outcome<std::string> set_interval(Bytes interval,
                                                        std::chrono::milliseconds patience);
  /// `setting`: trace::ControlPage::requested_guard. Only of processes that began in guard mode.
  [[nodiscard]] base::Outcome<std::string> set_guard(std::uint32_t setting,
                                                     std::chrono::milliseconds patience);
  [[nodiscard]] base::Outcome<std::string> mark(std::string_view name);
  [[nodiscard]] base::Outcome<std::string> begin_segment(std::chrono::milliseconds patience);

 private:
  Controlled() = default;
  base::Outcome<void> look();
  void find_trace();
  void find_tool();
  [[nodiscard]] bool has_gone_on() const;
  template <typename Act>
  bool reach(const Act& act);
  [[nodiscard]] bool can_be_called() const { return files_.bell.has_value(); }
  [[nodiscard]] std::string obstacle() const;
  /// Fails if opening a trace could end the process, or for another obstacle().
  [[nodiscard]] base::Outcome<void> check_start(bool despite_seccomp) const;
  [[nodiscard]] bool is_out_of_reach() const;
  [[nodiscard]] base::Outcome<std::string> start_on_thread(const Order& order);
  [[nodiscard]] base::Outcome<Answer> ask_once(Order& order, std::chrono::milliseconds patience);
  [[nodiscard]] base::Outcome<Answer> ask_to_record(Order& order,
                                                    std::chrono::milliseconds patience);
  [[nodiscard]] base::Outcome<std::string> wake(Order order, std::chrono::milliseconds patience);
  [[nodiscard]] base::Outcome<std::string> reply_to(const base::Outcome<Answer>& answer,
                                                    std::string_view wish, std::string done) const;
  [[nodiscard]] base::Outcome<std::string> no_trace(std::string_view wish) const;

  std::unique_ptr<TargetProcess> target_;
  GeigerFiles files_;
  std::optional<LiveTrace> trace_;
  Bytes tool_interval_ = 0;  ///< Of samples for a tracing tool; 0: it takes none.
};

/// The processes of this user that have loaded geiger, in order of their ids.
[[nodiscard]] std::vector<ProcessStatus> controlled_processes();

}  // namespace geiger::control
