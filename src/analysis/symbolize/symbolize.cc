#include "analysis/symbolize/symbolize.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/profile/frames/frame_rules.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/symbolize/outside_names.h"
#include "analysis/symbolize/symbol_set.h"
#include "analysis/symbolize/worker.h"
#include "base/index_of.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "foreign/process_root.h"

namespace geiger::symbolize {

namespace {

constexpr std::string_view kRuntimeModule = "libgeiger-preload.so";

bool is_runtime_frame(const profile::Recording& recording, const profile::Location& location,
                      const profile::Frame& frame) {
  if (recording.is_source(location)) return false;
  const bool has_module = location.module < recording.modules.size();
  if (has_module && location.process < recording.processes.size() &&
      is_allocator_module(recording.modules[location.module].path,
                          recording.processes[location.process])) {
    return true;
  }
  return profile::is_allocation_function(frame.function);
}

}  // namespace

bool is_c_library(std::string_view path) {
  const std::string_view base = base::file_name_of(path);
  return base.starts_with("libc.") || base.starts_with("libc-") || base.starts_with("ld-") ||
         base.starts_with("ld.");
}

bool is_allocator_module(std::string_view path, const profile::Process& process) {
  const std::string_view file = base::file_name_of(path);
  if (file == kRuntimeModule) return true;
  return path == process.allocator && path != process.executable && !is_c_library(path);
}

std::size_t leading_runtime_frames(const profile::Recording& recording,
                                   const profile::Stack& stack) {
  std::size_t leading = 0;
  std::size_t total = 0;
  for (const std::uint32_t index : stack.locations) {
    total += recording.locations[index].frames.size();
  }
  for (const std::uint32_t index : stack.locations) {
    const profile::Location& location = recording.locations[index];
    for (const std::uint32_t frame : location.frames) {
      if (leading + 1 >= total) return leading;
      if (!is_runtime_frame(recording, location, recording.frames[frame])) return leading;
      ++leading;
    }
  }
  return leading;
}

// Overview:
//   symbolize
//     plan               locations -> one job per module file
//     run_jobs           jobs -> results, in a worker process
//     name_outside       perf maps for what no module holds
//     store              results -> frames of the recording, in order of locations

namespace {

using profile::kNone;
using profile::Location;
using profile::Recording;

/// The files of modules as their processes see them, which may be in containers: kept open, so that
/// they have paths here.
class FilesInside {
 public:
  explicit FilesInside(const Options& options) : given_(options.root) {}

  /// A path of ours; empty: the process sees the same file there as we do, or none.
  std::string find(const profile::Process& process, const std::string& path) {
    const foreign::ProcessRoot* root = given_ != nullptr ? given_ : root_of(process.pid);
    if (root == nullptr || root->sees_same(path)) return "";
    base::UniqueFd file = root->open_readable(path);
    if (!file.is_open()) return "";
    files_.push_back(std::move(file));
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(files_.back().get());
  }
  /// Whether it is the file that ran even if it has no build id.
  [[nodiscard]] bool is_certain() const { return given_ != nullptr; }

 private:
  const foreign::ProcessRoot* root_of(std::uint32_t pid) {
    const auto [known, is_new] = roots_.try_emplace(pid);
    if (is_new && pid != 0) known->second = foreign::ProcessRoot::open(static_cast<pid_t>(pid));
    return known->second ? &*known->second : nullptr;
  }

  const foreign::ProcessRoot* given_;
  std::map<std::uint32_t, std::optional<foreign::ProcessRoot>> roots_;
  std::vector<base::UniqueFd> files_;
};

struct Plan {
  std::vector<ModuleJob> jobs;
  std::vector<std::uint32_t> job_of_module;  ///< By module of the recording; kNone = no file.
  std::size_t locations = 0;                 ///< That wait for names.
  Nanoseconds unchanged_since = 0;           ///< SearchOptions::unchanged_since.
};

/// What a job yielded.
struct JobResult {
  std::optional<ModuleAnswer> answer;  ///< None = the worker died of it twice.
  std::string fault;                   ///< Why it died; empty: it did not.
};
using Results = std::vector<JobResult>;  ///< By job.

/// Lines inside the C library help no one who looks for their own, and Debian compresses its debug
/// information: reading it takes longer than all other names together.
bool reads_lines_of(const ModuleJob& job) { return !is_c_library(job.path); }

/// Interpreted code has its names in the trace, and nowhere else.
bool is_pending(const Recording& recording, const Location& location, const Options& options) {
  return location.frames.empty() || (options.refresh && !recording.is_source(location));
}

/// Where the file of a module is; empty: the vdso and its like have none. A program that opened
/// "./plugin.so" did so in its own directory, which is not known: ours may be the same, and the
/// build id is known.
std::string file_of(const profile::Module& module) {
  if (module.path.starts_with('/')) return module.path;
  const bool is_relative = module.path.find('/') != std::string::npos && !module.build_id.empty();
  std::error_code error;
  return is_relative ? std::filesystem::absolute(module.path, error).string() : "";
}

/// Looks for the job's file, and for its debug files, where the process sees them.
void look_inside(const profile::Process& process, FilesInside& inside, ModuleJob& job,
                 Options& options) {
  std::string file = inside.find(process, job.path);
  if (file.empty()) return;
  if (job.build_id.empty()) {
    if (inside.is_certain()) job.file = std::move(file);
    return;
  }
  options.kept_files.emplace(job.build_id, std::move(file));
  for (const std::string& directory : options.debug_dirs) {
    file = inside.find(process, build_id_path(directory, job.build_id));
    if (!file.empty()) options.kept_files.emplace(job.build_id, std::move(file));
  }
}

/// Adds the files of `inside` to the kept ones.
Plan make_plan(const Recording& recording, FilesInside& inside, Options& options) {
  Plan plan;
  plan.unchanged_since = latest_start(recording);
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> known;
  for (const profile::Module& module : recording.modules) {
    const std::string file = file_of(module);
    if (file.empty()) {
      plan.job_of_module.push_back(kNone);
      continue;
    }
    plan.job_of_module.push_back(base::index_of(known, {module.path, module.build_id}, plan.jobs,
                                                {file, module.build_id, {}}));
  }
  for (const Location& location : recording.locations) {
    if (!is_pending(recording, location, options)) continue;
    ++plan.locations;
    // No call ends at 0; one byte before it addresses would no longer ascend.
    if (location.module >= recording.modules.size() || location.vaddr == 0) continue;
    const std::uint32_t job = plan.job_of_module[location.module];
    if (job == kNone) continue;
    const bool is_first = plan.jobs[job].addresses.empty();
    plan.jobs[job].addresses.push_back(location.vaddr);
    if (is_first && location.process < recording.processes.size()) {
      look_inside(recording.processes[location.process], inside, plan.jobs[job], options);
    }
  }
  for (ModuleJob& job : plan.jobs) {
    std::sort(job.addresses.begin(), job.addresses.end());
    job.addresses.erase(std::unique(job.addresses.begin(), job.addresses.end()),
                        job.addresses.end());
  }
  return plan;
}

class JobRunner {
 public:
  JobRunner(const Plan& plan, const Options& options)
      : plan_(plan), options_(options), results_(plan.jobs.size()) {}

  Results run() {
    const auto is_empty = [](const ModuleJob& job) { return job.addresses.empty(); };
    if (std::all_of(plan_.jobs.begin(), plan_.jobs.end(), is_empty)) return std::move(results_);
    std::size_t next = 0;
    bool is_retry = false;
    while (next < plan_.jobs.size() && !options_.stop.stop_requested()) {
      const std::size_t stopped = run_worker(next, is_retry);
      // It died of a debug file: once more without, then never mind.
      is_retry = stopped != next || !is_retry;
      next = is_retry ? stopped : stopped + 1;
    }
    return std::move(results_);
  }

 private:
  /// Works from job `first` on; returns the job that it died of, or the end.
  std::size_t run_worker(std::size_t first, bool is_retry) {
    const std::span<const ModuleJob> jobs = std::span(plan_.jobs).subspan(first);
    const ModuleJob* const without_dwarf = is_retry ? &jobs.front() : nullptr;
    const auto work = [&](const ModuleJob& job, const std::function<void(std::size_t)>& progress) {
      return do_job(job, &job != without_dwarf && reads_lines_of(job), progress);
    };
    WorkerLimits limits;
    limits.silence = options_.patience;
    limits.stop = options_.stop;
    limits.may_use_network = options_.use_debuginfod;
    limits.of_job = [&](const ModuleJob& job) { return limits_of(job, &job != without_dwarf); };
    Worker worker(jobs, work, limits);
    std::size_t job = first;
    while (job < plan_.jobs.size()) {
      auto message = worker.receive();
      if (!message) {
        results_[job].fault = worker.end(plan_.jobs[job]);
        return job;
      }
      report(job, message->done);
      if (!message->answer) continue;
      results_[job].answer = *std::move(message->answer);
      done_ += plan_.jobs[job].addresses.size();
      ++job;
    }
    return job;
  }

  /// By what there is to read. Servers may send anything, and take their time.
  [[nodiscard]] JobLimits limits_of(const ModuleJob& job, bool reads_dwarf) const {
    if (options_.use_debuginfod) return job_limits(kGiB, job.addresses.size(), reads_dwarf);
    const Bytes bytes = bytes_to_read(job.opened(), job.build_id, options_);
    return job_limits(bytes, job.addresses.size(), reads_dwarf);
  }

  /// In the worker process.
  [[nodiscard]] ModuleAnswer do_job(const ModuleJob& job, bool read_dwarf,
                                    const std::function<void(std::size_t)>& progress) const {
    if (job.addresses.empty()) return {};
    // libdw asks servers by itself wherever this is set.
    if (!options_.use_debuginfod) ::unsetenv("DEBUGINFOD_URLS");
    return symbolize_module(job,
                            {options_.debug_dirs, options_.kept_files, options_.use_debuginfod,
                             read_dwarf, plan_.unchanged_since},
                            progress);
  }

  void report(std::size_t job, std::size_t done) const {
    if (!options_.progress) return;
    const std::size_t limited = std::min(done, plan_.jobs[job].addresses.size());
    options_.progress(std::min(done_ + limited, plan_.locations), plan_.locations);
  }

  const Plan& plan_;
  const Options& options_;
  Results results_;
  std::size_t done_ = 0;
};

/// Locations to name that no module holds.
std::vector<std::uint32_t> pending_outside(const Recording& recording, const Options& options) {
  std::vector<std::uint32_t> pending;
  for (std::uint32_t i = 0; i < recording.locations.size(); ++i) {
    const Location& location = recording.locations[i];
    const bool has_module = location.module < recording.modules.size();
    if (!has_module && is_pending(recording, location, options)) pending.push_back(i);
  }
  return pending;
}

/// Moves what was found into the recording.
class Store {
 public:
  Store(Recording& recording, const Plan& plan, const Results& results, const OutsideNames& outside)
      : recording_(recording), plan_(plan), outside_(outside), table_(recording) {
    for (const JobResult& result : results) {
      found_.emplace_back();
      if (!result.answer || result.answer->names.modules.empty()) continue;
      const SymbolSet& names = result.answer->names;
      found_.back().emplace(Found{&names.modules.front().addresses, FrameImport(names, table_)});
    }
  }

  /// Whether the location got the name of a function.
  bool name(std::uint32_t index) {
    Location& location = recording_.locations[index];
    std::vector<std::uint32_t> frames = frames_of(index, location);
    const bool is_resolved = !frames.empty();
    if (is_resolved) location.frames = std::move(frames);
    if (location.frames.empty()) {
      location.frames = {table_.add({profile::address_name(recording_, location), "", "", 0})};
    }
    return is_resolved;
  }

 private:
  std::vector<std::uint32_t> frames_of(std::uint32_t index, const Location& location) {
    if (location.module >= recording_.modules.size()) {
      const auto found = outside_.find(index);
      if (found == outside_.end()) return {};
      return {table_.add(jit_frame(found->second))};
    }
    const std::uint32_t job = plan_.job_of_module[location.module];
    if (job == kNone || !found_[job]) return {};
    const NamedAddress* const named = find_address(*found_[job]->addresses, location.vaddr);
    return named == nullptr ? std::vector<std::uint32_t>{} : found_[job]->frames.import(*named);
  }

  /// What a job found.
  struct Found {
    const std::vector<NamedAddress>* addresses;
    FrameImport frames;
  };

  Recording& recording_;
  const Plan& plan_;
  const OutsideNames& outside_;
  FrameTable table_;
  std::vector<std::optional<Found>> found_;  ///< By job; those without names have nothing.
};

/// What helps where the file that ran is not at its place any more.
std::string advice_for_another(const ModuleJob& job) {
  return job.build_id.empty() ? "" : "; 'geiger symbolize --debug-dir' takes a kept copy of it";
}

/// Of debug information that is complete but for a file that it refers to.
std::string hint_for_missing(const std::string& file, const std::string& path,
                             const std::string& name) {
  if (file.empty()) return "";
  if (!file.ends_with(".dwo")) {
    return "debug info of " + name + " is incomplete: " + file +
           " was not found, to which dwz moved a part of it; names of inlined calls may be "
           "missing. Install the package that has it, or put it at that path";
  }
  const std::string package = path + ".dwp";
  return "debug info of " + name + " is incomplete: " + file +
         " was not found, so there are no inlined calls. " +
         (bytes_on_disk(package) > 0
              ? package + " is not read by this version of elfutils: keep the .dwo files"
              : "Keep the .dwo files where the compiler wrote them") +
         ", or build without -gsplit-dwarf";
}

/// The line for a user whose module could not be named in full; empty = none.
std::string hint_for(const ModuleJob& job, const JobResult& result, bool asked_servers) {
  const std::string name(base::file_name_of(job.path));
  const auto& answer = result.answer;
  if (!answer) {
    return "symbols of " + job.path + " could not be read (" + result.fault + "): frames show as " +
           name + "+0x...";
  }
  if (!result.fault.empty()) {
    return "debug info of " + job.path + " could not be read (" + result.fault +
           "): no lines and no inlined calls";
  }
  const std::string id = job.build_id.empty() ? "no build id" : "build id " + job.build_id;
  switch (answer->file_state) {
    case FileState::kDebugInfo:
      return hint_for_missing(answer->missing, job.path, name);
    case FileState::kSymbolsOnly:
      if (!reads_lines_of(job)) return "";
      return "no debug info for " + name + " (" + id + "): install its -dbgsym package" +
             (asked_servers ? "; no server in DEBUGINFOD_URLS has it"
                            : ", or set DEBUGINFOD_URLS and run 'geiger symbolize --debuginfod'");
    case FileState::kMissing:
      return job.path + " was not found (" + id + "): frames show as " + name + "+0x..." +
             advice_for_another(job);
    case FileState::kChanged:
      if (job.build_id.empty()) {
        return job.path +
               " has no build id and was changed after the program started: frames show " + "as " +
               name + "+0x...";
      }
      return job.path + " has changed since the run (recorded " + id + ", found " +
             (answer->found_build_id.empty() ? "none" : answer->found_build_id) +
             "): frames show as " + name + "+0x..." + advice_for_another(job);
    case FileState::kUnreadable:
      break;
  }
  return job.path + " is not a readable ELF file: frames show as " + name + "+0x...";
}

/// Our runtime stands on every stack, and its frames are cut off.
bool is_own_library(const ModuleJob& job) {
  return base::file_name_of(job.path).starts_with("libgeiger");
}

void add_hints(const Plan& plan, const Results& results, const Options& options, Outcome& outcome) {
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    if (plan.jobs[i].addresses.empty() || is_own_library(plan.jobs[i])) continue;
    std::string hint = hint_for(plan.jobs[i], results[i], options.use_debuginfod);
    if (hint.empty()) continue;
    ++outcome.modules_without_debug_info;
    // What ended its reader comes first: only a few hints are shown.
    const bool is_fault = !results[i].fault.empty();
    if (is_fault) outcome.faults.push_back(hint);
    outcome.hints.insert(is_fault ? outcome.hints.begin() : outcome.hints.end(), std::move(hint));
  }
}

}  // namespace

Nanoseconds latest_start(const Recording& recording) {
  Nanoseconds latest = 0;
  for (const profile::Process& process : recording.processes) {
    latest = std::max(latest, process.start_realtime);
  }
  return latest;
}

Bytes bytes_to_read(const std::string& path, const std::string& build_id, const Options& options) {
  Bytes bytes = bytes_on_disk(path);
  for (const std::string& directory : options.debug_dirs) {
    bytes += bytes_on_disk(build_id_path(directory, build_id));
  }
  const auto [first, end] = options.kept_files.equal_range(build_id);
  for (auto kept = first; kept != end; ++kept) bytes += bytes_on_disk(kept->second);
  return bytes;
}

Outcome symbolize(Recording& recording, const Options& given) {
  FilesInside inside(given);
  Options options = given;
  const Plan plan = make_plan(recording, inside, options);
  const Results results = JobRunner(plan, options).run();
  const OutsideNames outside =
      name_outside(recording, options.perf_map_dir, pending_outside(recording, options));
  Store store(recording, plan, results, outside);
  Outcome outcome;
  for (std::uint32_t i = 0; i < recording.locations.size(); ++i) {
    if (!is_pending(recording, recording.locations[i], options)) continue;
    ++(store.name(i) ? outcome.resolved : outcome.unresolved);
  }
  for (std::size_t i = 0; i < recording.modules.size(); ++i) {
    const std::uint32_t job = plan.job_of_module[i];
    const bool is_known = job != kNone && results[job].answer && !plan.jobs[job].addresses.empty();
    if (!is_known) continue;
    recording.modules[i].is_absent = results[job].answer->file_state == FileState::kMissing;
  }
  add_hints(plan, results, options, outcome);
  recording.warnings.insert(recording.warnings.end(), outcome.faults.begin(), outcome.faults.end());
  recording.is_symbolized = true;
  if (options.progress) options.progress(plan.locations, plan.locations);
  return outcome;
}

// Names to and from the payload of a symbols chunk.

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

/// What was not found may be later, where the file is.
bool has_no_file(const Recording& recording, const Location& location) {
  return !is_outside(recording, location) && recording.modules[location.module].is_absent &&
         profile::is_address_name(recording.frames[location.frames.front()].function);
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
    if (has_no_file(recording, location)) continue;
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
