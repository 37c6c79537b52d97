// `geiger serve`: profiles of a running program over HTTP, as Go programs serve theirs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/present/text.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"
#include "live/followed_run.h"
#include "live/served_run.h"
#include "serve/http_module.h"
#include "serve/http_server.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct ServeArguments {
  std::string word;
  int port = 0;
  std::string token;
  double level = 0.95;
  query::FrameOptions frames;
};

constexpr int kHighestPort = 65535;

base::Outcome<std::string> parse_token(const std::string& text) {
  if (serve::is_token(text)) return text;
  return base::Failure{"8 to 128 letters, digits, '-' and '_'"};
}

/// Where everything is, and what to type.
void print_addresses(const ServeArguments& options, const std::string& shown, int port) {
  const std::string base = fmt::format("http://127.0.0.1:{}/{}/", port, options.token);
  fmt::print(
      "{}\n  {}\n  {}debug/pprof/heap     live memory\n"
      "  {}debug/pprof/allocs   all allocations\n"
      "  {}metrics              OpenMetrics, for Prometheus\n"
      "Next: go tool pprof {}debug/pprof/heap\n"
      "Anyone who has the token can read these addresses. ^C stops.\n",
      present::printable(shown), base, base, base, base, base);
  std::fflush(stdout);
}

base::Outcome<int> serve_run(ServeArguments options) {
  std::vector<std::string> remarks;
  auto read = query::frame_rules_of(options.frames, remarks);
  for (const std::string& remark : remarks) terminal::complain(remark);
  auto rules = GEIGER_TRY(std::move(read).failing_as(base::Fault::kUsage));
  auto run = GEIGER_TRY(
      live::FollowedRun::open(options.word)
          .failing_as(options.word.empty() ? base::Fault::kRequest : base::Fault::kInput));
  if (options.token.empty()) options.token = serve::random_token();
  if (options.token.empty()) {
    return base::Failure{"the system provides no random numbers for a token: use --token TOKEN"};
  }
  const std::string shown = run.shown();
  live::ServedRun served(std::move(run), options.level,
                         {std::move(rules), preset_of(options.frames)},
                         live::read_served_template());
  const auto server =
      GEIGER_TRY(serve::load_http_server(options.token, [&served](const serve::Request& request) {
                   return served.answer(request);
                 }).with_prefix("cannot start the HTTP server: "));
  const auto port = server->bind(options.port);
  if (!port) {
    return base::Failure{
        fmt::format("port {}: {} (--port 0 picks a free one)", options.port, std::strerror(errno))};
  }
  terminal::heed_signals();
  GEIGER_TRY(server->start());
  print_addresses(options, shown, *port);
  while (!terminal::was_interrupted()) {
    served.look();
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  served.stop();
  server->stop();
  return kExitOk;
}

}  // namespace

void register_serve(CLI::App& app, Work& work) {
  auto options = std::make_shared<ServeArguments>();
  CLI::App* verb = app.add_subcommand("serve", "Serve a program's profiles over HTTP");
  verb->add_option("PID", options->word,
                   "A recorded process, its run directory or FILE (default: the only one)")
      ->type_name("");
  add_number(*verb, "--port", "PORT", options->port, "Port on 127.0.0.1 (default 0: a free one)", 0,
             kHighestPort);
  add_parsed(*verb, "--token", "TOKEN", "Token that requests must carry (default: a random one)",
             parse_token, [options](const std::string& token) { options->token = token; });
  add_level_option(*verb, options->level);
  add_frame_options(*verb, options->frames);
  verb->footer(
      "\nAnswers only requests from this machine that carry the token, as the first part\n"
      "of the path or as ?token=TOKEN. /debug/pprof/heap and allocs work as in Go\n"
      "programs, also with ?seconds=N (allocations of the next N seconds) and ?debug=1\n"
      "(text). /metrics has the live heap with its interval, exact allocated bytes and\n"
      "more, for Prometheus.\n"
      "\nExit code: 0 ended by ^C, 1 failure (no such process, port in use), 2 usage\n"
      "error.\n"
      "\nExamples:\n"
      "  geiger serve $(pidof redis-server)\n"
      "  geiger serve --port 8123 --token $(cat secret) 4711\n"
      "  go tool pprof -http : http://127.0.0.1:8123/TOKEN/debug/pprof/heap");
  verb->callback([options, &work] { work = [options] { return serve_run(*options); }; });
}

}  // namespace geiger::cli
