// `geiger agent`: sends what the programs of a host allocate to the store of a fleet.
#include "fleet/push/agent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/fleet_options.h"
#include "cli/options/parsed_option.h"
#include "cli/verbs/commands.h"
#include "fleet/document/document.h"
#include "fleet/turns/turn_keeper.h"
#include "query/words.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

struct AgentArguments {
  std::string to, token_file, spool;
  fleet::AgentOptions agent;
  std::vector<std::string> labels;
  Nanoseconds grid = 600 * kSecond;
  Bytes spool_bytes = fleet::Spool::kMostBytes;
  std::optional<fleet::Schedule> turns;
  double share = 1;
  std::string salt;
  bool has_share = false;
  bool is_once = false;
};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// systemd names the unit's, else the user's.
std::string default_spool() {
  if (const std::string state = variable("STATE_DIRECTORY"); !state.empty()) return state;
  if (const std::string state = variable("XDG_STATE_HOME"); !state.empty()) {
    return state + "/geiger-agent";
  }
  return variable("HOME") + "/.local/state/geiger-agent";
}

base::Outcome<void> complete(AgentArguments& options) {
  fleet::AgentOptions& agent = options.agent;
  if (agent.names.host.empty()) agent.names.host = this_host();
  for (const auto& [option, name] : {std::pair("--service", &agent.names.given.service),
                                     {"--version", &agent.names.given.version},
                                     {"--host", &agent.names.host}}) {
    if (name->empty()) continue;
    GEIGER_TRY(fleet::check_name(*name).failing_as(base::Fault::kUsage,
                                                   fmt::format("{} '{}': ", option, *name)));
  }
  agent.names.labels = GEIGER_TRY(labels_of(options.labels));
  agent.grid = static_cast<std::int64_t>(options.grid / kSecond);
  if (options.spool.empty()) options.spool = default_spool();
  if (agent.watched.empty() && !variable("GEIGER_DIR").empty()) {
    agent.watched.push_back(variable("GEIGER_DIR"));
  }
  if (agent.watched.empty()) {
    return usage_failure("name the directories of the traces with --watch, or by GEIGER_DIR");
  }
  if (!options.turns && (options.has_share || !options.salt.empty())) {
    return usage_failure("--share and --salt are for --record");
  }
  return {};
}

/// Makes what records in turns; null where programs are only followed.
base::Outcome<std::unique_ptr<fleet::Duty>> duty_of(AgentArguments& options, fleet::Spool& spool,
                                                    const fleet::Spool::Log& log) {
  if (!options.turns) return std::unique_ptr<fleet::Duty>();
  fleet::AgentOptions& agent = options.agent;
  // Programs get this path, and traces are known by the paths under which they are watched.
  std::error_code error;
  std::string& watched = agent.watched.front();
  watched = std::filesystem::absolute(watched, error).lexically_normal();
  agent.fleeting = watched + (watched.ends_with('/') ? "turns" : "/turns");
  GEIGER_TRY(fleet::TurnKeeper::prepare(agent.fleeting));
  options.turns->share = options.share;
  options.turns->salt = options.salt;
  return std::unique_ptr<fleet::Duty>(
      std::make_unique<fleet::TurnKeeper>(*options.turns, agent.fleeting, agent.names, spool, log));
}

/// Whole seconds that divide an hour.
base::Outcome<Nanoseconds> parse_grid(const std::string& text) {
  const Nanoseconds time = GEIGER_TRY(query::parse_positive_duration(text));
  if (time % kSecond == 0 && 3600 * kSecond % time == 0) return time;
  return base::Failure{fmt::format("'{}' does not divide an hour (example: 10m)", text)};
}

base::Outcome<int> run_agent(AgentArguments options) {
  GEIGER_TRY(complete(options));
  terminal::heed_signals();
  const auto log = [](const std::string& line) { terminal::complain(line); };
  auto spool = GEIGER_TRY(fleet::Spool::open(options.spool, options.spool_bytes, log));
  fleet::SinkOptions sink_options;
  sink_options.token_file = options.token_file;
  auto sink = GEIGER_TRY(fleet::open_sink(options.to, sink_options));
  const auto* const scheme = GEIGER_TRY(fleet::scheme_of(options.to));
  options.agent.names.has_resource = scheme != nullptr && scheme->is_otlp;
  const auto duty = GEIGER_TRY(duty_of(options, spool, log));
  log(fmt::format("follows the traces in {} and sends to {}",
                  fmt::join(options.agent.watched, ", "), options.to));
  options.agent.duty = duty.get();
  fleet::Agent agent(std::move(options.agent), spool, *sink, log);
  if (options.is_once) {
    const auto done = GEIGER_TRY(agent.run_once([] { return terminal::was_interrupted(); }));
    return done ? kExitOk : kExitFailed;
  }
  GEIGER_TRY(agent.run([] { return terminal::was_interrupted(); }));
  return kExitOk;
}

}  // namespace

void register_agent(CLI::App& app, Work& work) {
  auto options = std::make_shared<AgentArguments>();
  CLI::App* verb =
      app.add_subcommand("agent", "Send allocation counts of a host's programs to a fleet");
  verb->add_option("--to", options->to,
                   "Where to send: https://HOST/PATH of a collector (http:// on this host),\n"
                   "a FILE, clickhouse+https://HOST/DB (docs/guide/clickhouse.md), or\n"
                   "otlp+https://HOST, with addresses and build ids (docs/guide/otlp.md)")
      ->type_name("URL")
      ->required();
  verb->add_option("--watch", options->agent.watched,
                   "Directory in which traces appear, at most two levels down; repeatable\n"
                   "(default: GEIGER_DIR)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  verb->add_option("--service", options->agent.names.given.service,
                   "Service (default: OTEL_SERVICE_NAME of the program, else the name of\n"
                   "its executable)")
      ->type_name("NAME");
  verb->add_option("--version", options->agent.names.given.version,
                   "Its version (default: service.version in OTEL_RESOURCE_ATTRIBUTES of\n"
                   "the program, else the first digits of its build id)")
      ->type_name("NAME");
  verb->add_option("--host", options->agent.names.host, "Host (default: the name of this one)")
      ->type_name("NAME");
  add_label_option(*verb, options->labels, "A label of all windows, such as zone=b; repeatable");
  verb->add_option("--token-file", options->token_file,
                   "File with the token for the collector (default: GEIGER_TOKEN_FILE)")
      ->type_name("FILE");
  verb->add_option("--spool", options->spool,
                   "Directory for unsent documents (default: STATE_DIRECTORY, else\n"
                   "geiger-agent in the user's state directory)")
      ->type_name("DIR");
  add_parsed(
      *verb, "--spool-bytes", "SIZE",
      "Maximum size of the spool; beyond it the oldest documents are dropped\n(default 64MiB)",
      query::parse_size, [options](Bytes bytes) { options->spool_bytes = bytes; });
  add_parsed(*verb, "--grid", "TIME", "Length of a window; must divide an hour (default 10m)",
             parse_grid, [options](Nanoseconds time) { options->grid = time; });
  add_parsed(*verb, "--record", "TIME/PERIOD",
             "Wake sleeping programs and record them for TIME in every PERIOD, such as\n"
             "2m/1h (default: only follow what is recorded anyway)",
             fleet::parse_schedule,
             [options](const fleet::Schedule& turns) { options->turns = turns; });
  add_parsed(*verb, "--share", "SHARE",
             "Hosts that record in a period, chosen by hash (default 100%)",
             fleet::parse_host_share, [options](double share) {
               options->share = share;
               options->has_share = true;
             });
  verb->add_option("--salt", options->salt,
                   "Makes the choice of hosts independent of other agents'")
      ->type_name("TEXT");
  verb->add_flag("--once", options->is_once, "Send everything once, then exit");
  verb->footer(
      "\nOn SIGTERM or ^C the agent spools the last window and tries to send it. It may\n"
      "be killed at any point, and continues when it is started again: nothing is\n"
      "counted twice, and losses are reported as gaps. It does not look up names\n"
      "(docs/guide/fleet-agent.md).\n"
      "\nExit code: 0 ended by a signal, or all was sent with --once, 1 failure, or not\n"
      "all was sent with --once, 2 usage error.\n"
      "\nExamples:\n"
      "  geiger agent --to https://collector.example/ --watch /var/lib/geiger\n"
      "  geiger agent --to URL --watch /var/lib/geiger --record 2m/1h --share 5%\n"
      "  geiger agent --once --to fleet.db --watch traces");
  verb->callback([options, &work] { work = [options] { return run_agent(*options); }; });
}

}  // namespace geiger::cli
