// `geiger collect`: receives documents of agents into a store.
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

#include "base/clock.h"
#include "base/text.h"
#include "cli/options/parsed_option.h"
#include "cli/verbs/commands.h"
#include "fleet/push/collector.h"
#include "fleet/store/store.h"
#include "http/client.h"
#include "serve/http_server.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

constexpr int kDefaultCollectPort = 8437;
constexpr std::int64_t kSecondsOfDay = 86'400;

struct CollectArguments {
  std::string store, token_file;
  int port = kDefaultCollectPort;
  int keep_days = 90;
};

/// The port of 127.0.0.1:PORT.
base::Outcome<int> parse_listen(const std::string& text) {
  constexpr std::string_view kAddress = "127.0.0.1:";
  constexpr int kLastPort = 65535;
  if (text.starts_with(kAddress)) {
    const auto port = base::number_in<int>(std::string_view(text).substr(kAddress.size()));
    if (port && *port >= 0 && *port <= kLastPort) return *port;
  }
  return base::Failure{"expected 127.0.0.1:PORT; for other hosts put a TLS proxy in front of it"};
}

int status_of(fleet::Verdict::What what) {
  using What = fleet::Verdict::What;
  switch (what) {
    case What::kTaken:
      return 200;
    case What::kMalformed:
      return 400;
    case What::kTooOld:
    case What::kTooNew:
      return 422;
    case What::kConflict:
      return 409;
    case What::kFull:
      return 429;
    case What::kLater:
      break;
  }
  return 503;
}

serve::Response line(int status, std::string text) {
  serve::Response response;
  response.status = status;
  response.body = std::move(text) + "\n";
  if (status == 429) response.headers["Retry-After"] = "5";
  if (status == 401) response.headers["WWW-Authenticate"] = "Bearer";
  return response;
}

serve::Receiver receiver_of(fleet::Collector& collector, fleet::Tokens& tokens, bool has_tokens) {
  const auto refuse = [&collector](int status, const char* name, std::string text) {
    collector.count_refusal(name);
    return line(status, std::move(text));
  };
  serve::Receiver receiver;
  receiver.most_bytes = fleet::kMostPackedBytes;
  receiver.is_open = !has_tokens;
  receiver.answer_early =
      [=, &tokens](const serve::Posting& posting) -> std::optional<serve::Response> {
    if (has_tokens && !tokens.admit(posting.bearer)) {
      constexpr const char* kWhy = "the token is missing, unknown or revoked";
      return posting.is_post ? refuse(401, "no valid token", kWhy) : line(401, kWhy);
    }
    if (!posting.is_post) return line(200, "geiger collects here: POST documents");
    if (posting.bytes > fleet::kMostPackedBytes) {
      return refuse(413, "too large", "it is too large for a document");
    }
    return std::nullopt;
  };
  receiver.reserve = [&collector](std::size_t bytes) { return collector.reserve(bytes); };
  receiver.release = [&collector](std::size_t bytes) { collector.release(bytes); };
  const auto answer_full = [=] {
    return refuse(429, "too many at once", "too many documents are waiting; try again");
  };
  receiver.answer_full = answer_full;
  receiver.take = [=, &collector](std::optional<std::string> body) {
    if (!body) return refuse(400, "cut off", "the document is incomplete");
    const fleet::Verdict verdict = collector.take(std::move(*body));
    if (verdict.what == fleet::Verdict::What::kFull) return answer_full();
    return line(status_of(verdict.what), verdict.why.empty() ? "taken" : verdict.why);
  };
  return receiver;
}

base::Outcome<int> collect(const CollectArguments& options) {
  const auto path = fleet::path_of_url(options.store);
  if (!path) {
    return usage_failure(options.store +
                         ": not a file; agents send to a database themselves (--to)");
  }
  const bool has_tokens = !options.token_file.empty();
  if (has_tokens) GEIGER_TRY(http::read_tokens(options.token_file));
  auto store = GEIGER_TRY(fleet::open_sqlite(*path, true));
  fleet::Collector::Limits limits;
  limits.keep_seconds = options.keep_days * kSecondsOfDay;
  limits.now = [] { return static_cast<std::int64_t>(base::realtime_now() / 1'000'000'000); };
  fleet::Tokens tokens(options.token_file);
  fleet::Collector collector(std::move(store), std::move(limits));
  const auto server =
      GEIGER_TRY(serve::load_http_receiver(receiver_of(collector, tokens, has_tokens))
                     .with_prefix("cannot start the HTTP server: "));
  const auto port = server->bind(options.port);
  if (!port) {
    return base::Failure{fmt::format("port {}: {} (--listen 127.0.0.1:0 picks a free one)",
                                     options.port, std::strerror(errno))};
  }
  terminal::heed_signals();
  GEIGER_TRY(server->start());
  fmt::print("http://127.0.0.1:{}/ takes documents into {}\n", *port, options.store);
  std::fflush(stdout);
  constexpr std::chrono::milliseconds kLookForSignals{200};
  while (!terminal::was_interrupted()) std::this_thread::sleep_for(kLookForSignals);
  server->stop();
  return kExitOk;
}

}  // namespace

void register_collect(CLI::App& app, Work& work) {
  auto options = std::make_shared<CollectArguments>();
  CLI::App* verb = app.add_subcommand("collect", "Receive documents of agents into a store");
  verb->add_option("--store", options->store, "Store; created if missing")
      ->type_name("FILE")
      ->required();
  add_parsed(*verb, "--listen", "ADDRESS",
             "127.0.0.1:PORT (default 127.0.0.1:8437; port 0: a free one)", parse_listen,
             [options](int port) { options->port = port; });
  verb->add_option("--token-file", options->token_file,
                   "File with the tokens that agents send, one per line; read again when it\n"
                   "changes (default: none, and only this host can send)")
      ->type_name("FILE");
  add_number(*verb, "--keep-days", "N", options->keep_days,
             "Refuse documents that are older than this (default 90)", 1, 3650);
  verb->footer(
      "\nAgents on other hosts need a TLS proxy in front of it (docs/guide/fleet-agent.md). A\n"
      "document that was answered with 200 survives a crash.\n"
      "\nExit code: 0 ended by ^C or SIGTERM, 1 failure (port in use, store cannot be\n"
      "opened), 2 usage error.\n"
      "\nExamples:\n"
      "  geiger collect --store fleet.db --token-file tokens\n"
      "  geiger push --service shop RUN http://127.0.0.1:8437/");
  verb->callback([options, &work] { work = [options] { return collect(*options); }; });
}

}  // namespace geiger::cli
