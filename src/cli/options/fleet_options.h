// The options of `geiger fleet`: which store, and which part of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile/select/kind_rules.h"
#include "base/outcome.h"
#include "fleet/ask/ask.h"
#include "fleet/document/cut.h"
#include "fleet/store/store.h"
#include "query/selection.h"

namespace CLI {
class App;
}

namespace geiger::cli {

// The options of verbs that send windows or choose them: labels, and the host when none is named.

/// --label NAME=VALUE, which may be given several times.
void add_label_option(CLI::App& verb, std::vector<std::string>& labels, const char* help);

/// The labels as typed, by name. A failure is of usage.
base::Outcome<std::map<std::string, std::string>> labels_of(const std::vector<std::string>& typed);

/// The name of this host; "localhost" if it is unknown.
[[nodiscard]] std::string this_host();

/// What runs are called where they are sent; as typed.
struct OriginOptions {
  std::string service, version, host;
  std::vector<std::string> labels;
};
/// --service, --version, --host.
void add_origin_options(CLI::App& verb, OriginOptions& options);
/// What options leave open, by OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, for OTLP.
void add_environment(OriginOptions& options);
/// What options leave open: the main process says it. The version is empty where its executable has
/// no build id either.
base::Outcome<fleet::Origin> origin_of(const OriginOptions& options,
                                       const profile::Recording& recording);
/// As above; fails without a version.
base::Outcome<fleet::Origin> versioned_origin_of(const OriginOptions& options,
                                                 const profile::Recording& recording);

/// As typed; empty: not given.
struct FleetOptions {
  std::string store, token_file;
  std::string service, host, from, to;
  std::vector<std::string> labels;  ///< "zone=b"
  profile::Kind kind = profile::Kind::kAllocated;
  double level = 0.95;
  bool is_json = false;
  query::FrameOptions frames;
};

/// --store, --token-file.
void add_store_location(CLI::App& verb, FleetOptions& options);
/// These, --ci and --json.
void add_store_options(CLI::App& verb, FleetOptions& options);
/// The options that choose windows: --service, --host, --label, --from, --to.
void add_part_options(CLI::App& verb, FleetOptions& options);
/// --kind allocated|live.
void add_fleet_kind_option(CLI::App& verb, FleetOptions& options);

/// What names the store: --store, else GEIGER_STORE.
base::Outcome<std::string> store_url(const FleetOptions& options);
/// That store.
base::Outcome<std::unique_ptr<fleet::Store>> open_store(const FleetOptions& options);

/// The Unix seconds that --from or --to names.
base::Outcome<std::int64_t> time_of(const std::string& text);

/// A part of a store.
struct StorePart {
  std::unique_ptr<fleet::Store> store;
  fleet::Filter filter;
};
/// The part that the options choose, of one version, or of all if `version` is empty.
base::Outcome<StorePart> open_part(const FleetOptions& options, const std::string& version = "");

/// The filter of it; `options` may name no service if the store has one only.
base::Outcome<fleet::Filter> filter_of(fleet::Store& store, const FleetOptions& options,
                                       const std::string& version = "");

/// fleet::ask(), with the names that this machine has.
base::Outcome<fleet::Fleet> ask_named(fleet::Store& store, const fleet::Filter& filter,
                                      const FleetOptions& options, fleet::Unit unit);

/// "shop 1.1, host web-2, zone=b, since ...": what a filter chooses.
[[nodiscard]] std::string text_of(const fleet::Filter& filter);

}  // namespace geiger::cli
