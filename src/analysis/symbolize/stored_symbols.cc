// Names to and from the payload of a symbols chunk.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/profile/stack_references.h"
#include "analysis/symbolize/frame_table.h"
#include "analysis/symbolize/symbolize.h"

namespace geiger::symbolize {
namespace {

using profile::Location;
using profile::Recording;

/// Path and build id: what makes two modules the same file.
using Identity = std::pair<std::string_view, std::string_view>;

Identity identity_of(const profile::Module& module) { return {module.path, module.build_id}; }

bool is_outside(const Recording& recording, const Location& location) {
  return location.module >= recording.modules.size();
}

void mark_stack(const Recording& recording, std::uint32_t stack, std::vector<bool>& used) {
  if (stack >= recording.stacks.size()) return;
  for (const std::uint32_t location : recording.stacks[stack].locations) {
    if (location < used.size()) used[location] = true;
  }
}

/// Which locations the stacks of `process` go through. (Location::process is
/// just one of those that use it.)
std::vector<bool> locations_of(const Recording& recording, std::uint32_t process) {
  std::vector<bool> used(recording.locations.size());
  std::vector<bool> is_done(recording.stacks.size());
  profile::for_each_stack(recording, [&](std::uint32_t stack, std::uint32_t user) {
    if (user != process || stack >= is_done.size() || is_done[stack]) return;
    is_done[stack] = true;
    mark_stack(recording, stack, used);
  });
  return used;
}

NamedAddress named(const Recording& recording, const Location& location,
                   SymbolSetBuilder& builder) {
  NamedAddress named{location.vaddr, {}};
  for (const std::uint32_t index : location.frames) {
    const profile::Frame& frame = recording.frames[index];
    const std::uint32_t function = builder.string(frame.function);
    const std::uint32_t system_name = builder.string(frame.system_name);
    named.frames.push_back(
        builder.frame({function, system_name, builder.string(frame.file), frame.line}));
  }
  return named;
}

void sort_distinct(std::vector<NamedAddress>& addresses) {
  const auto address = [](const NamedAddress& a, const NamedAddress& b) {
    return a.address < b.address;
  };
  const auto same = [](const NamedAddress& a, const NamedAddress& b) {
    return a.address == b.address;
  };
  std::stable_sort(addresses.begin(), addresses.end(), address);
  addresses.erase(std::unique(addresses.begin(), addresses.end(), same), addresses.end());
}

}  // namespace

std::string encode_symbols(const Recording& recording, std::uint32_t process) {
  SymbolSetBuilder builder;
  std::map<Identity, std::vector<NamedAddress>> modules;
  std::vector<NamedAddress> outside;
  const std::vector<bool> used = locations_of(recording, process);
  for (std::size_t i = 0; i < used.size(); ++i) {
    const Location& location = recording.locations[i];
    // The trace itself has the names of interpreted code.
    if (!used[i] || location.frames.empty() || recording.is_source(location)) continue;
    std::vector<NamedAddress>& list =
        is_outside(recording, location) ? outside
                                        : modules[identity_of(recording.modules[location.module])];
    list.push_back(named(recording, location, builder));
  }
  SymbolSet set = std::move(builder).take();
  for (auto& [identity, addresses] : modules) {
    sort_distinct(addresses);
    set.modules.push_back(
        {std::string(identity.first), std::string(identity.second), std::move(addresses)});
  }
  sort_distinct(outside);
  set.outside = std::move(outside);
  return encode(set);
}

base::Outcome<void> apply_symbols(std::string_view payload, std::uint32_t process,
                                  Recording& recording) {
  const SymbolSet set = GEIGER_TRY(decode(payload));
  std::map<Identity, const std::vector<NamedAddress>*> modules;
  for (const ModuleNames& module : set.modules) {
    modules.try_emplace(Identity{module.path, module.build_id}, &module.addresses);
  }
  std::vector<const std::vector<NamedAddress>*> names_of_module;
  for (const profile::Module& module : recording.modules) {
    const auto found = modules.find(identity_of(module));
    names_of_module.push_back(found == modules.end() ? nullptr : found->second);
  }
  FrameTable table(recording);
  FrameImport frames(set, table);
  bool is_complete = true;
  for (Location& location : recording.locations) {
    if (location.frames.empty()) {
      const bool is_in_image = location.process == process;
      const auto* names = !is_outside(recording, location) ? names_of_module[location.module]
                          : is_in_image                    ? &set.outside
                                                           : nullptr;
      const NamedAddress* named = names == nullptr ? nullptr : find_address(*names, location.vaddr);
      if (named != nullptr) location.frames = frames.import(*named);
    }
    is_complete = is_complete && !location.frames.empty();
  }
  recording.is_symbolized = is_complete;
  return {};
}

}  // namespace geiger::symbolize
