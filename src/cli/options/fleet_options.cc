#include "cli/options/fleet_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <utility>

#include "analysis/profile/frames/labels.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "fleet/store/store.h"
#include "otlp/writer.h"
#include "query/words.h"
#include "terminal/progress.h"

namespace geiger::cli {

void add_label_option(CLI::App& verb, std::vector<std::string>& labels, const char* help) {
  // One value each: the words that follow may be runs.
  verb.add_option("--label", labels, help)->type_name("NAME=VALUE")->allow_extra_args(false);
}

base::Outcome<std::map<std::string, std::string>> labels_of(const std::vector<std::string>& typed) {
  std::map<std::string, std::string> labels;
  for (const std::string& label : typed) {
    const std::size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return usage_failure(fmt::format("a label is NAME=VALUE, such as zone=b, not '{}'", label));
    }
    labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return labels;
}

std::string this_host() {
  std::array<char, 256> name{};
  const bool is_known = gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0';
  return is_known ? name.data() : "localhost";
}

void add_origin_options(CLI::App& verb, OriginOptions& options) {
  verb.add_option("--service", options.service, "Service (default: the name of the executable)")
      ->type_name("NAME");
  verb.add_option("--version", options.version,
                  "Its version (default: the first digits of its build id)")
      ->type_name("NAME");
  verb.add_option("--host", options.host, "Host (default: the name of this one)")
      ->type_name("NAME");
}

void add_environment(OriginOptions& options) {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  const auto fill = [](std::string& option, const std::string& value) {
    if (option.empty()) option = value;
  };
  fill(options.service, variable("OTEL_SERVICE_NAME"));
  std::vector<std::string> labels;
  for (const auto& [key, value] : otlp::pairs_of(variable("OTEL_RESOURCE_ATTRIBUTES"))) {
    if (key == "service.name")
      fill(options.service, value);
    else if (key == "service.version")
      fill(options.version, value);
    else if (key == "host.name")
      fill(options.host, value);
    else
      labels.push_back(key + "=" + value);
  }
  // Of one key the last counts: that of the options.
  options.labels.insert(options.labels.begin(), labels.begin(), labels.end());
}

base::Outcome<fleet::Origin> origin_of(const OriginOptions& options,
                                       const profile::Recording& recording) {
  /// The first bytes of a build id distinguish builds.
  constexpr std::size_t kVersionDigits = 12;
  fleet::Origin origin{options.service, options.version, options.host, {}};
  const std::string& executable = profile::main_process(recording).executable;
  if (origin.service.empty()) origin.service = std::filesystem::path(executable).filename();
  if (origin.host.empty()) origin.host = this_host();
  for (const profile::Module& module : recording.modules) {
    if (origin.version.empty() && module.path == executable) {
      origin.version = module.build_id.substr(0, kVersionDigits);
    }
  }
  origin.labels = GEIGER_TRY(labels_of(options.labels));
  return origin;
}

base::Outcome<fleet::Origin> versioned_origin_of(const OriginOptions& options,
                                                 const profile::Recording& recording) {
  auto origin = GEIGER_TRY(origin_of(options, recording));
  if (!origin.version.empty()) return origin;
  return usage_failure(profile::main_process(recording).executable +
                       " has no build id: name its version with --version");
}

void add_store_location(CLI::App& verb, FleetOptions& options) {
  verb.add_option(
          "--store", options.store,
          fmt::format("Store: {}\n(default: the environment's GEIGER_STORE)", fleet::kStoreForms))
      ->type_name("URL");
  verb.add_option("--token-file", options.token_file,
                  "File with the password of the database's user\n"
                  "(default: the environment's GEIGER_TOKEN_FILE)")
      ->type_name("FILE");
}

void add_store_options(CLI::App& verb, FleetOptions& options) {
  add_store_location(verb, options);
  add_report_options(verb, options.level, options.is_json);
}

void add_part_options(CLI::App& verb, FleetOptions& options) {
  verb.add_option("--service", options.service, "Service (default: the only one)")
      ->type_name("NAME");
  verb.add_option("--host", options.host, "Only this host")->type_name("NAME");
  add_label_option(verb, options.labels,
                   "Only windows with this label, such as zone=b; repeatable");
  verb.add_option("--from", options.from,
                  fmt::format("Only windows that begin then or later:\n{}", query::kDateForms))
      ->type_name("WHEN");
  verb.add_option("--to", options.to, "Only windows that begin before then")->type_name("WHEN");
}

void add_fleet_kind_option(CLI::App& verb, FleetOptions& options) {
  add_choice(verb, "--kind", "KIND",
             "allocated (default), or live: live memory, averaged over the\nrecorded time",
             Choices<profile::Kind>{{"allocated", profile::Kind::kAllocated},
                                    {"live", profile::Kind::kLiveAtEnd}},
             [&options](profile::Kind kind) { options.kind = kind; });
}

base::Outcome<std::string> store_url(const FleetOptions& options) {
  std::string url = options.store;
  const char* const from_environment = std::getenv("GEIGER_STORE");
  if (url.empty() && from_environment != nullptr) url = from_environment;
  if (url.empty()) return usage_failure("no store given: use --store URL, or set GEIGER_STORE");
  return url;
}

base::Outcome<std::unique_ptr<fleet::Store>> open_store(const FleetOptions& options) {
  const auto url = GEIGER_TRY(store_url(options));
  auto store = GEIGER_TRY(fleet::open_store(url, {options.token_file}));
  store->watch([] {
    const auto progress = std::make_shared<terminal::Progress>("asking the store");
    return [progress] { progress->update(); };
  });
  return store;
}

base::Outcome<std::int64_t> time_of(const std::string& text) {
  return query::parse_date(text, static_cast<std::int64_t>(std::time(nullptr)))
      .failing_as(base::Fault::kUsage);
}

base::Outcome<StorePart> open_part(const FleetOptions& options, const std::string& version) {
  auto store = GEIGER_TRY(open_store(options));
  auto filter = GEIGER_TRY(filter_of(*store, options, version));
  return StorePart{std::move(store), std::move(filter)};
}

base::Outcome<fleet::Filter> filter_of(fleet::Store& store, const FleetOptions& options,
                                       const std::string& version) {
  fleet::Filter filter;
  filter.service = options.service;
  if (!version.empty()) filter.version = version;
  if (filter.service.empty()) filter.service = GEIGER_TRY(fleet::only_service(store));
  if (!options.host.empty()) filter.host = options.host;
  filter.labels = GEIGER_TRY(labels_of(options.labels));
  for (const auto& [text, time] :
       {std::pair(&options.from, &filter.from), {&options.to, &filter.to}}) {
    if (text->empty()) continue;
    *time = GEIGER_TRY(time_of(*text));
  }
  return filter;
}

base::Outcome<fleet::Fleet> ask_named(fleet::Store& store, const fleet::Filter& filter,
                                      const FleetOptions& options, fleet::Unit unit) {
  auto fleet = GEIGER_TRY(fleet::ask(store, filter, options.kind, unit));
  GEIGER_TRY(name_frames(fleet.recording, options.frames));
  return fleet;
}

std::string text_of(const fleet::Filter& filter) {
  std::string text = filter.service;
  if (filter.version) text += " " + *filter.version;
  if (filter.host) text += ", host " + *filter.host;
  for (const auto& [name, value] : filter.labels) text += fmt::format(", {}={}", name, value);
  if (filter.hours_of_day) text += ", common hours of the day";
  if (filter.from) text += ", from " + query::date_text(*filter.from);
  if (filter.to) text += ", before " + query::date_text(*filter.to);
  return text;
}

}  // namespace geiger::cli
