#include "analysis/holders/holders.h"

#include <fmt/format.h>
#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/holders/scan.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::holders {

namespace {

/// What the scans say of each sample.
class Verdicts {
 public:
  /// `is_still`: nothing moves, so that one scan finds all.
  explicit Verdicts(bool is_still) : is_still_(is_still) {}

  /// Scans in order. Samples that died meanwhile are left out.
  void add(Scan& scan, const Subject& subject) {
    last_.clear();
    unreached_ = unnamed_ = 0;
    missed_ = 0;
    are_doubts_ = false;
    ++scans_;
    for (const LiveSample& sample : scan.samples()) {
      if (!subject.live().contains(sample.ref)) continue;
      Seen& seen = seen_[sample.ref];
      const bool is_old = seen.scans == scans_ - 1;  // Else it was allocated after the first scan.
      seen.scans = is_old ? scans_ : kNotAll;
      const auto block = scan.block_of(sample);
      if (!block) {
        last_.push_back({sample.ref, Hold::kNoBlock});
      } else if (scan.marker().is_reached(block->number)) {
        if (seen.misses > 0) moving_.insert(sample.stack);
        seen.was_reached = true;
        seen.last_reached = scans_;
        seen.missed_until_then = seen.misses;
        // What has moved into new memory keeps the name that an earlier scan found.
        if (!scan.is_through_new_memory(*block)) seen.named = reached(scan, sample, block->number);
        unnamed_ += seen.named ? 0 : 1;
        last_.push_back(seen.named ? *seen.named : reached(scan, sample, block->number));
      } else {
        unreached_ += is_old && !seen.was_reached ? 1 : 0;
        are_doubts_ |= seen.was_reached && !moving_.contains(sample.stack);
        const std::size_t content = scan.content_of(*block);
        seen.was_written |= seen.misses > 0 && content != seen.content;
        seen.content = content;
        ++seen.misses;
        last_.push_back({sample.ref, Hold::kMoving});
      }
    }
    for (const LiveSample& sample : scan.samples()) {
      const auto seen = seen_.find(sample.ref);
      const bool counts =
          seen != seen_.end() && seen->second.scans == scans_ && seen->second.was_reached;
      if (counts) missed_ += others_missed(sample, seen->second);
    }
    beside_.clear();
    for (const RootGroup group : groups_) {
      if (const auto other = scan.marker().group_beside(group)) beside_[group] = *other;
    }
  }
  /// Whether what no scan reached is unreachable: nothing is left that moves, or less than a
  /// hundredth of an object. And whether names of roots are found, if the first scans find them.
  [[nodiscard]] bool is_settled() const {
    // An object that is missed after it was reached may be lost, or move: then others of its site
    // are found again before long.
    constexpr std::uint32_t kFewest = 3, kFewestInDoubt = 6;
    constexpr double kMostMissed = 0.01, kMostUnnamed = 0.05;
    const bool is_named =
        static_cast<double>(unnamed_) <= kMostUnnamed * static_cast<double>(last_.size());
    return is_still_ || (unreached_ == 0 && (is_named || scans_ >= kFewest)) ||
           (scans_ >= (are_doubts_ ? kFewestInDoubt : kFewest) && missed_ <= kMostMissed);
  }
  [[nodiscard]] std::uint32_t scans() const { return scans_; }

  /// What none of the scans reached, by the last one.
  base::Outcome<void> judge(Scan& scan, const Subject& subject) {
    tsl::robin_map<trace::Ref, std::uint32_t> blocks;
    tsl::robin_set<std::uint32_t> unreached;
    for (const LiveSample& sample : scan.samples()) {
      if (!subject.live().contains(sample.ref)) continue;
      const auto block = scan.block_of(sample);
      if (!block || scan.marker().is_reached(block->number)) continue;
      blocks[sample.ref] = block->number;
      unreached.insert(block->number);
    }
    if (!unreached.empty()) scan.follow_lists();
    for (auto at = unreached.begin(); at != unreached.end();) {
      at = scan.marker().is_reached(*at) ? unreached.erase(at) : std::next(at);
    }
    const tsl::robin_set<std::uint32_t> referred = scan.referred(unreached);
    // What is linked with an object that was reached before moves with it. What is written is
    // reached by what writes it.
    tsl::robin_set<std::uint32_t> moving;
    for (const auto& [sample, block] : blocks) {
      const Seen& seen = seen_[sample];
      const bool is_moving = seen.was_reached || seen.was_written;
      if (is_moving && unreached.contains(block)) moving.insert(scan.group_of(block));
    }
    for (const auto& [sample, block] : blocks) {
      const bool is_linked = unreached.contains(block) && moving.contains(scan.group_of(block));
      if (is_linked) seen_[sample].was_reached = true;
    }
    const bool widens = scan.layout().is_inferred && !unreached.empty();
    if (widens) scan.widen();
    GEIGER_TRY(subject.check_still_there());
    for (SampleHold& sample : last_) {
      if (sample.hold != Hold::kMoving) continue;
      const std::uint32_t block = blocks[sample.sample];
      const Seen& seen = seen_[sample.sample];
      const bool is_still = is_settled() && !seen.was_reached && seen.scans == scans_;
      if (!scan.is_complete() && !seen.was_reached) sample.hold = Hold::kTimeOver;
      if (is_still && scan.is_complete())
        sample.hold = unreached.contains(block)
                          ? hold_of(scan, block, referred.contains(block), widens)
                          : Hold::kListed;
    }
    return {};
  }

  /// The process ended before they could be judged.
  void break_off() {
    for (SampleHold& sample : last_) {
      const bool is_missed = sample.hold == Hold::kMoving && !seen_[sample.sample].was_reached;
      if (is_missed) sample.hold = Hold::kTimeOver;
    }
  }

  void take(const RootNames& names, Holders& found) {
    found.scans = scans_;
    std::ranges::sort(last_, {}, &SampleHold::sample);
    found.samples = std::move(last_);
    found.paths = std::move(paths_);
    // Of those that hold samples; the names of others follow.
    for (std::size_t i = 0, own = groups_.size(); i < own; ++i) {
      const auto other = beside_.find(groups_[i]);
      found.beside.push_back(other == beside_.end() ? profile::kNone : number_of(other->second));
    }
    for (const RootGroup group : groups_) found.roots.push_back(names.name_of(group));
  }

 private:
  SampleHold reached(Scan& scan, const LiveSample& sample, std::uint32_t block) {
    const RootGroup group = scan.marker().group_of(block);
    const std::uint32_t root = number_of(group);
    const auto [path, is_new_path] = path_of_.try_emplace(
        std::pair{group, sample.stack}, static_cast<std::uint32_t>(paths_.size()));
    if (is_new_path) paths_.push_back(scan.path_to(block));
    return {sample.ref, Hold::kReached, scan.marker().is_alone(block), root, path->second};
  }

  std::uint32_t number_of(RootGroup group) {
    const auto [root, is_new] =
        roots_.try_emplace(group, static_cast<std::uint32_t>(groups_.size()));
    if (is_new) groups_.push_back(group);
    return root->second;
  }

  static Hold hold_of(const Scan& scan, std::uint32_t block, bool is_referred, bool is_widened) {
    if (scan.unread() > 0) return Hold::kUnread;
    if (is_widened && scan.marker().is_reached(block)) return Hold::kNear;
    return is_referred ? Hold::kUnreachable : Hold::kUnreferenced;
  }

  static constexpr std::uint32_t kNotAll = 0xffffffff;
  struct Seen {
    std::uint32_t scans = 0;   ///< That saw it live; kNotAll: not the first one.
    std::uint32_t misses = 0;  ///< Scans that did not reach it.
    std::size_t content = 0;   ///< At the last of them.
    bool was_written = false;  ///< Between two of them.
    std::uint32_t last_reached = 0, missed_until_then = 0;
    bool was_reached = false;
    std::optional<SampleHold> named;  ///< By the last scan that found a root with a name.
  };

  /// How many objects all scans have missed for each like this one, by Horvitz and Thompson: where
  /// scans miss one with probability p, all n do with p^n, so one that was reached stands for
  /// p^n / (1 - p^n) that were not. What it was missed after it was last reached counts only if
  /// objects of its site move: else it may be lost since. Shares of misses vary more than p, which
  /// errs to more scans.
  [[nodiscard]] double others_missed(const LiveSample& sample, const Seen& seen) const {
    const bool moves = moving_.contains(sample.stack);
    const double share = static_cast<double>(moves ? seen.misses : seen.missed_until_then) /
                         (moves ? scans_ : seen.last_reached);
    const double all = std::pow(share, scans_);
    return all / (1 - all);
  }

  bool is_still_;
  std::uint32_t scans_ = 0;
  std::uint64_t unreached_ = 0;        ///< By all scans.
  std::uint64_t unnamed_ = 0;          ///< Through memory mapped during each of the scans.
  double missed_ = 0;                  ///< Estimate: unreached objects that are reachable.
  bool are_doubts_ = false;            ///< Objects were reached, and are missed now.
  tsl::robin_set<trace::Ref> moving_;  ///< Stacks of objects that were missed and reached again.
  tsl::robin_map<trace::Ref, Seen> seen_;
  std::vector<SampleHold> last_;  ///< By the last scan.
  std::map<RootGroup, std::uint32_t> roots_;
  std::vector<RootGroup> groups_;
  std::map<RootGroup, RootGroup> beside_;  ///< Marker::group_beside, by the last scan.
  std::map<std::pair<RootGroup, trace::Ref>, std::uint32_t> path_of_;
  std::vector<HolderPath> paths_;
};

/// Sooner if the process ends.
void rest(const observe::ProcessFiles& files, Nanoseconds time) {
  constexpr Nanoseconds kLook = 50'000'000;
  for (Nanoseconds rested = 0; rested < time && files.status(); rested += kLook) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLook));
  }
}

ModuleFiles modules_of(const CoreFile& core) {
  return ModuleFiles([&core](const Mapping& mapping) { return core.open_file(mapping); });
}

base::Outcome<void> scan_all(Subject& subject, ModuleFiles& modules, const Options& options,
                             const std::function<void()>& rest, profile::Observations& found) {
  const Effort effort(options);
  RootNames names(modules);
  Verdicts verdicts(subject.is_still());
  std::optional<Scan> scan;
  Holders about;  // Of the last scan.
  base::Outcome<void> outcome;
  do {
    if (verdicts.scans() > 0) rest();
    if (options.progress) options.progress(verdicts.scans(), options.most_scans);
    const Nanoseconds time = base::monotonic_now();
    // Pointers of packed structures are looked for where they are needed: that takes half as much
    // time again.
    const Bytes step = scan || subject.is_still() ? 4 : 8;
    scan.emplace(subject, modules, names, effort);
    outcome = scan->take(step);
    if (!outcome.has_value()) break;
    verdicts.add(*scan, subject);
    about.time = time;
    about.is_inferred = scan->layout().is_inferred;
    about.not_understood = scan->layout().not_understood;
    about.unread = scan->unread();
    about.has_registers = bool(options.read_registers);
    about.unread_registers = about.has_registers ? scan->unread_registers() : 0;
    about.blocks = scan->layout().blocks.blocks();
  } while (!verdicts.is_settled() && verdicts.scans() < options.most_scans && scan->is_complete());
  if (verdicts.scans() == 0) return outcome;
  if (outcome.has_value()) outcome = verdicts.judge(*scan, subject);
  if (!outcome.has_value()) verdicts.break_off();
  verdicts.take(names, about);
  about.cost = effort.taken();
  found.holders = std::move(about);
  return outcome;
}

}  // namespace

profile::Observations find_holders(Subject& subject, ModuleFiles& modules, const Options& options,
                                   const std::function<void()>& rest) {
  profile::Observations found;
  const auto outcome = scan_all(subject, modules, options, rest, found);
  if (!outcome.has_value()) found.holders_fault = outcome.reason();
  return found;
}

namespace {

template <class Process>
profile::Observations find_in(Process process, pid_t pid, const std::string& trace,
                              const Options& options) {
  const auto opened = process.open(trace);
  if (!opened.has_value()) {
    profile::Observations found;
    found.holders_fault = opened.reason();
    return found;
  }
  ModuleFiles modules(pid);
  return find_holders(process, modules, options, [&] { rest(process.files(), options.pause); });
}

}  // namespace

profile::Observations find_holders(pid_t pid, const std::string& trace, const Options& options) {
  if (options.copy) return find_in(CopiedProcess(pid, options.copy), pid, trace, options);
  return find_in(RunningProcess(pid, options.is_waiting, options.read_registers), pid, trace,
                 options);
}

std::optional<profile::Observations> find_holders(const CoreFile& core,
                                                  const ingest::InputFile& trace,
                                                  const ingest::Image& image,
                                                  const Options& options) {
  DumpedProcess process(core, &trace, &image);
  if (!process.is_of_image()) return std::nullopt;
  ModuleFiles modules = modules_of(core);
  profile::Observations found = find_holders(process, modules, options, [] {});
  if (found.holders) found.holders->time = process.time();
  return found;
}

base::Outcome<BlockCensus> count_held(const CoreFile& core, const Options& options) {
  DumpedProcess process(core, nullptr, nullptr);
  ModuleFiles modules = modules_of(core);
  RootNames names(modules);
  const Effort effort(options);
  Scan scan(process, modules, names, effort);
  GEIGER_TRY(scan.take(4));
  const bool has_heap = std::ranges::any_of(
      scan.layout().mappings, [](const Mapping& mapping) { return mapping.path == "[heap]"; });
  if (observe::is_glibc(process.allocator()) && !has_heap) {
    return base::Failure{core.path() +
                         ": it is not known where glibc's heap is: the core file does not say "
                         "which files were mapped, or lacks the C library's data"};
  }
  if (scan.layout().blocks.blocks() == 0) {
    return base::Failure{fmt::format(
        "{}: without a recording only the blocks of glibc's and geiger's malloc are known, not "
        "those of {}; name the "
        "run of the process too",
        core.path(), process.allocator().empty() ? "its allocator" : process.allocator())};
  }
  BlockCensus census = scan.count();
  census.has_runtime = std::ranges::any_of(
      scan.layout().mappings, [](const Mapping& mapping) { return is_runtime(mapping); });
  return census;
}

}  // namespace geiger::holders
