// geiger-fleet-study: writes a store of a fleet whose truth is known, and the truth as JSON.
// tests/fleet_simulation.py compares `geiger fleet` with it (research/README.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/ingest/ingest.h"
#include "analysis/present/json.h"
#include "fleet/document/encoding.h"
#include "fleet/store/store.h"
#include "research/fleet/fleet_of_recordings.h"

namespace geiger::research {
namespace {

struct Arguments {
  std::string store;
  std::vector<std::string> traces;
  Design design;
};

/// Truth of a part of the fleet: by version and group.
using Part = std::pair<std::string, std::uint32_t>;
struct Totals {
  std::map<Part, std::map<std::string, Truth>> truth;
  std::uint64_t documents = 0, rows = 0, samples = 0, packed_bytes = 0;
};

void write_truth(const FleetOfRecordings& fleet, const Totals& totals) {
  present::JsonWriter json("fleet-study");
  json.field("changed_site", fleet.changed_site()).field("changed_share", fleet.changed_share());
  json.field("interval", fleet.interval()).field("documents", totals.documents);
  json.field("rows", totals.rows).field("samples", totals.samples);
  json.field("packed_bytes", totals.packed_bytes);
  json.objects("parts", totals.truth, [&](const auto& part) {
    json.field("version", part.first.first).field("group", part.first.second);
    json.objects("sites", part.second, [&](const auto& site) {
      json.field("name", site.first).field("all", site.second.all);
      json.field("recorded", site.second.recorded);
    });
  });
  json.end_object();
  fmt::print("{}\n", json.take());
}

/// As agents and collectors do: packed, unpacked, kept.
base::Outcome<Totals> fill(fleet::Store& store, const FleetOfRecordings& fleet,
                           const Design& design) {
  constexpr std::size_t kAtOnce = 500;
  Totals totals;
  std::vector<fleet::Document> waiting;
  const auto put = [&]() -> base::Outcome<void> {
    const auto receipts = GEIGER_TRY(store.put_all(waiting));
    for (const fleet::Receipt receipt : receipts) {
      if (receipt != fleet::Receipt::kStored) return base::Failure{"a document was not stored"};
    }
    waiting.clear();
    return {};
  };
  for (std::uint32_t host = 0; host < design.hosts; ++host) {
    auto& truth = totals.truth[{fleet.version_of(host), fleet.group_of(host)}];
    for (const fleet::Document& document : fleet.host(host, truth)) {
      const std::string packed = fleet::pack(document);
      auto unpacked = GEIGER_TRY(fleet::unpack(packed));
      ++totals.documents;
      totals.packed_bytes += packed.size();
      totals.rows += document.counts.size();
      for (const fleet::CountRow& row : document.counts) totals.samples += row.allocated;
      waiting.push_back(std::move(unpacked));
    }
    if (waiting.size() < kAtOnce && host + 1 != design.hosts) continue;
    GEIGER_TRY(put());
  }
  return totals;
}

base::Outcome<void> run(const Arguments& options) {
  std::vector<profile::Recording> recordings;
  for (const std::string& trace : options.traces) {
    const std::string paths[] = {trace};
    ingest::Ingested read = ingest::read_recording(paths);
    if (read.recording.processes.empty()) return base::Failure{trace + ": nothing was recorded"};
    recordings.push_back(std::move(read.recording));
  }
  const FleetOfRecordings fleet(recordings, options.design);
  auto store = GEIGER_TRY(fleet::open_sqlite(options.store, true));
  const auto totals = GEIGER_TRY(fill(*store, fleet, options.design));
  write_truth(fleet, totals);
  return {};
}

}  // namespace
}  // namespace geiger::research

int main(int count, char** words) {
  using namespace geiger::research;
  Arguments options;
  Design& design = options.design;
  CLI::App app("Writes a store of a fleet whose truth is known, and the truth as JSON");
  app.add_option("STORE", options.store, "A new store")->required();
  app.add_option("TRACE", options.traces, "Recordings whose allocations the hosts repeat")
      ->required();
  app.add_option("--hosts", design.hosts)->capture_default_str();
  app.add_option("--hours", design.hours)->capture_default_str();
  app.add_option("--groups", design.groups, "Values of the label group")->capture_default_str();
  app.add_option("--share", design.share, "Of the hosts, recorded in an hour")
      ->capture_default_str();
  app.add_option("--samples", design.samples, "Of a host in an hour")->capture_default_str();
  app.add_option("--sites", design.sites)->capture_default_str();
  app.add_option("--host-spread", design.host_spread)->capture_default_str();
  app.add_option("--site-spread", design.site_spread)->capture_default_str();
  app.add_option("--changed-share", design.changed_share, "Of the site that changes")
      ->capture_default_str();
  app.add_option("--change", design.change, "Factor of that site")->capture_default_str();
  app.add_option("--seed", design.seed)->capture_default_str();
  CLI11_PARSE(app, count, words);
  const auto done = run(options);
  if (!done.has_value()) fmt::print(stderr, "geiger-fleet-study: {}\n", done.reason());
  return done.has_value() ? 0 : 1;
}
