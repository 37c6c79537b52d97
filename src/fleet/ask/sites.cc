#include "fleet/ask/sites.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/compare/places.h"
#include "analysis/profile/frames/shown_path.h"

namespace geiger::fleet {
namespace {

/// Of this many stacks at once: the memory for their names is bounded.
constexpr std::size_t kStacksAtOnce = 50'000;

/// A host of each service: what their executables are decides whose code a frame is.
base::Outcome<std::vector<HostSums>> programs_in(Store& store) {
  const auto services = GEIGER_TRY(store.services());
  std::set<std::string> executables;
  std::vector<HostSums> programs;
  for (const std::string& service : services) {
    Filter filter;
    filter.service = service;
    const auto hosts = GEIGER_TRY(store.hosts(filter));
    for (const HostSums& host : hosts) {
      if (executables.insert(host.executable).second) programs.push_back(host);
    }
  }
  return programs;
}

bool has_names(const profile::Recording& recording, std::uint32_t stack) {
  return std::ranges::all_of(recording.stacks[stack].locations, [&](std::uint32_t location) {
    return !recording.locations[location].frames.empty();
  });
}

SiteRow site_of(const profile::Recording& recording, profile::ShownPath& shown, StackId id,
                std::uint32_t stack) {
  SiteRow site;
  site.stack = id;
  shown.of(stack);
  const profile::Labels& labels = shown.labels();
  for (const std::uint32_t label : shown.path()) {
    site.path.emplace_back(compare::stem_of(labels[label].name));
  }
  const std::uint32_t module = labels[shown.path().front()].module;
  site.function = site.path.front();
  if (module != profile::kNone) {
    site.module = compare::module_name(recording.modules[module].path);
  }
  site.has_names = stack == profile::kNone || has_names(recording, stack);
  return site;
}

/// The stacks as a recording with a sample each, in their order.
base::Outcome<profile::Recording> recall_stacks(Store& store, const std::vector<StackId>& stacks,
                                                const std::vector<HostSums>& programs) {
  Recall recall(profile::Kind::kAllocated);
  for (const HostSums& program : programs) recall.add_host(program);
  for (const StackId stack : stacks) {
    SummedRow row;
    row.stack = stack;
    row.size = row.interval = row.allocated = 1;
    recall.add(row);
  }
  GEIGER_TRY(store.load_stacks(stacks, recall));
  return recall.finish();
}

}  // namespace

base::Outcome<std::uint64_t> write_sites(Store& store) {
  const auto all = GEIGER_TRY(store.stacks_without_sites());
  const auto programs = GEIGER_TRY(programs_in(store));
  if (programs.empty()) return std::uint64_t{0};
  for (std::size_t first = 0; first < all.size(); first += kStacksAtOnce) {
    const std::size_t end = std::min(all.size(), first + kStacksAtOnce);
    const std::vector<StackId> stacks(all.begin() + first, all.begin() + end);
    const auto recording = GEIGER_TRY(recall_stacks(store, stacks, programs));
    profile::ShownPath shown(recording);
    std::vector<SiteRow> sites;
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      sites.push_back(site_of(recording, shown, stacks[i], recording.tallies[i].alike.stack));
    }
    GEIGER_TRY(store.put_sites(sites));
  }
  return std::uint64_t{all.size()};
}

}  // namespace geiger::fleet
