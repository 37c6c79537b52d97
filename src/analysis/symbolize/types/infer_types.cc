#include "analysis/symbolize/types/infer_types.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/profile/frames/types.h"
#include "analysis/symbolize/types/new_types.h"
#include "analysis/symbolize/worker.h"

namespace geiger::symbolize {
namespace {

using profile::kNone;
using profile::Recording;
using profile::Sample;

/// A module by path and build id.
using ModuleKey = std::pair<std::string, std::string>;

class Inference {
 public:
  Inference(Recording& recording, const Options& options)
      : recording_(recording), options_(options), types_(recording) {}

  void run() {
    for_each_sample([&](const Sample& sample) { ask(sample); });
    for (auto& [module, sites] : sites_) {
      ModuleJob job{module.first, module.second, {}};
      for (auto& [address, site] : sites) job.addresses.push_back(address);
      jobs_.push_back(std::move(job));
    }
    for (std::size_t next = 0; next < jobs_.size();) next = work_from(next);
    for_each_sample([&](Sample& sample) { answer(sample); });
  }

 private:
  template <typename Visit>
  void for_each_sample(const Visit& visit) {
    for (Sample& sample : recording_.samples) visit(sample);
    for (profile::Tally& tally : recording_.tallies) visit(tally.alike);
  }

  /// The location that called operator new, if the type of its objects is not known.
  [[nodiscard]] const profile::Location* open_location(const Sample& sample) const {
    if (sample.stack == kNone || !is_new(sample.entry_point)) return nullptr;
    if (types_.of(sample.type, sample.stack) != profile::Types::kUnknown) return nullptr;
    const profile::Stack& stack = recording_.stacks[sample.stack];
    if (stack.locations.empty()) return nullptr;
    const profile::Location& location = recording_.locations[stack.locations.front()];
    const bool has_module = location.module < recording_.modules.size() && location.vaddr != 0;
    return has_module && key_of(location).first.starts_with('/') ? &location : nullptr;
  }
  [[nodiscard]] ModuleKey key_of(const profile::Location& location) const {
    const profile::Module& module = recording_.modules[location.module];
    return {module.path, module.build_id};
  }

  void ask(const Sample& sample) {
    const profile::Location* const location = open_location(sample);
    if (location == nullptr) return;
    NewSite& site = sites_[key_of(*location)][location->vaddr];
    site.is_array |= is_array_new(sample.entry_point);
    if (std::ranges::find(site.sizes, sample.requested) == site.sizes.end()) {
      site.sizes.push_back(sample.requested);
    }
  }

  /// Works from a job on; returns the one to go on with. A job that its process died of has
  /// no answers.
  std::size_t work_from(std::size_t first) {
    WorkerLimits limits;
    limits.silence = options_.patience;
    limits.may_use_network = options_.use_debuginfod;
    limits.of_job = [&](const ModuleJob& job) {
      const Bytes bytes =
          options_.use_debuginfod ? kGiB : bytes_to_read(job.path, job.build_id, options_);
      return job_limits(bytes, job.addresses.size(), true);
    };
    const auto work = [&](const ModuleJob& job, const std::function<void(std::size_t)>& progress) {
      if (!options_.use_debuginfod) ::unsetenv("DEBUGINFOD_URLS");
      return find_new_types(
          job, sites_.at({job.path, job.build_id}),
          {options_.debug_dirs, options_.use_debuginfod, true, latest_start(recording_)}, progress);
    };
    const std::span<const ModuleJob> jobs = std::span(jobs_).subspan(first);
    Worker worker(jobs, work, limits);
    for (std::size_t job = first; job < jobs_.size();) {
      const auto message = worker.receive();
      if (!message) return job + 1;
      if (!message->answer) continue;
      keep(message->answer->names);
      ++job;
      if (options_.progress) options_.progress(job, jobs_.size());
    }
    return jobs_.size();
  }

  void keep(const SymbolSet& names) {
    for (const ModuleNames& module : names.modules) {
      for (const NamedAddress& address : module.addresses) {
        const std::string& type = names.strings[names.frames[address.frames.front()].function];
        found_[{module.path, module.build_id}].emplace(address.address, number(type));
      }
    }
  }

  /// The place of a marked name in the recording's types.
  std::uint32_t number(const std::string& type) {
    const auto next = static_cast<std::uint32_t>(recording_.types.size());
    const auto [place, is_new] = numbers_.try_emplace(type, next);
    if (is_new) recording_.types.push_back({type + std::string(kInferredMark)});
    return place->second;
  }

  void answer(Sample& sample) const {
    const profile::Location* const location = open_location(sample);
    if (location == nullptr) return;
    const auto module = found_.find(key_of(*location));
    if (module == found_.end()) return;
    const auto type = module->second.find(location->vaddr);
    if (type != module->second.end()) sample.type = type->second;
  }

  Recording& recording_;
  const Options& options_;
  const profile::Types types_;  ///< Before anything is inferred.
  std::map<ModuleKey, NewSites> sites_;
  std::vector<ModuleJob> jobs_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::map<ModuleKey, std::unordered_map<Address, std::uint32_t>> found_;
};

}  // namespace

void infer_types(Recording& recording, const Options& options) {
  Inference(recording, options).run();
}

}  // namespace geiger::symbolize
