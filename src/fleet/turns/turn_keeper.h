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
#include <utility>

#include "control/controlled.h"
#include "fleet/document/document.h"
#include "fleet/push/duty.h"
#include "fleet/push/spool.h"
#include "fleet/turns/schedule.h"

namespace geiger::fleet {

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
