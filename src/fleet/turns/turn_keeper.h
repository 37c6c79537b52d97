// Records programs that sleep, in the turns of their host, and reports to a fleet that they ran
// (docs/guide/fleet-agent.md).
//
// All that is needed to go on after a crash is where traces are: programs whose trace is in the
// directory of the turns record because of a turn, and no others are ever stopped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/outcome.h"
#include "control/controlled.h"
#include "fleet/document/document.h"
#include "fleet/push/agent.h"
#include "fleet/push/spool.h"

namespace geiger::fleet {

// When a host records programs that sleep otherwise. Hosts agree without talking to each other:
// whether one records in a period, and when, is a hash of its name and the period.

struct Schedule {
  std::int64_t length = 0, period = 0;  ///< Seconds; 0 < length <= period.
  double share = 1;                     ///< Of the hosts that record in a period.
  std::string salt;                     ///< Schedules with different ones choose independently.
};

/// A stretch of Unix seconds in which a host records: [begin, end).
struct Turn {
  std::int64_t begin = 0, end = 0;
};

/// Reads the length and period of "2m/1h".
[[nodiscard]] base::Outcome<Schedule> parse_schedule(std::string_view text);
/// Reads a share such as "5%": more than 0 % and at most 100 %.
[[nodiscard]] base::Outcome<double> parse_host_share(std::string_view text);

/// The turn of the host in the period that `second` belongs to, if it has one. It lies within the
/// period; each second of a period is as likely as any other to be recorded, but for its ends.
[[nodiscard]] std::optional<Turn> turn_in_period(const Schedule& schedule, std::string_view host,
                                                 std::int64_t second);

class TurnKeeper final : public Duty {
 public:
  /// Makes `directory`, where the traces of turns go.
  [[nodiscard]] static base::Outcome<void> prepare(const std::string& directory);
  TurnKeeper(Schedule schedule, std::string directory, FollowedProcess::Names names, Spool& spool,
             Spool::Log log);

  std::int64_t look(const Now& now) override;
  void end() override { end_turn(); }

 private:
  /// Distinguishes processes that had the same id.
  using Identity = std::pair<pid_t, std::uint64_t>;
  /// Of a process, looked up once.
  struct Known {
    ProcessNames names;
    std::string executable;
  };

  void begin_turn();
  void end_turn();
  void record_unrecorded_runs(const Now& now);
  void record_unrecorded_run(pid_t pid, std::int64_t step, const Now& now,
                             std::map<Identity, Known>& still_there);
  [[nodiscard]] bool is_in_turn(const control::ProcessStatus& status) const;

  Schedule schedule_;
  std::string directory_;
  FollowedProcess::Names names_;
  Spool& spool_;
  Spool::Log log_;
  /// Nothing: what an earlier agent began may go on.
  std::optional<bool> is_turn_;
  std::optional<std::int64_t> step_;  ///< Of the grid, at the latest look.
  std::set<pid_t> called_;            ///< In this turn.
  std::map<Identity, Known> known_;
};

}  // namespace geiger::fleet
