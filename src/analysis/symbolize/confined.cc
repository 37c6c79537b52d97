#include "analysis/symbolize/confined.h"

#include <span>

#include "analysis/symbolize/symbolize.h"
#include "analysis/symbolize/worker.h"

namespace geiger::symbolize {

std::optional<ModuleAnswer> ask_confined(
    const ModuleJob& job, std::size_t most, bool reads_dwarf,
    const std::function<ModuleAnswer(const ModuleJob&, const SearchOptions&)>& work) {
  const Options options;
  const SearchOptions search{options.debug_dirs, options.kept_files, false, reads_dwarf, 0};
  WorkerLimits limits;
  limits.silence = options.patience;
  limits.of_job = [&](const ModuleJob& asked) {
    return job_limits(bytes_to_read(asked.path, "", options), most, reads_dwarf);
  };
  Worker worker(
      std::span(&job, 1),
      [&](const ModuleJob& asked, const std::function<void(std::size_t)>&) {
        return work(asked, search);
      },
      limits);
  while (auto message = worker.receive()) {
    if (message->answer) return std::move(message->answer);
  }
  return std::nullopt;
}

}  // namespace geiger::symbolize
