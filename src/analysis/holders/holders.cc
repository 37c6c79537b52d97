#include "analysis/holders/holders.h"

#include <fmt/format.h>
#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/holders/layout.h"
#include "analysis/holders/marker.h"
#include "analysis/holders/memory.h"
#include "analysis/holders/roots.h"
#include "analysis/observe/allocator_heaps.h"
#include "analysis/observe/heap_walks.h"
#include "analysis/observe/live_set.h"
#include "analysis/observe/proc_files.h"
#include "analysis/observe/seen_types.h"
#include "base/clock.h"
#include "base/text.h"

namespace geiger::holders {

namespace {

using observe::LiveSample;
using observe::Mapping;
using profile::Hold;
using profile::HolderPath;
using profile::Holders;
using profile::HolderStep;
using profile::SampleHold;

constexpr Bytes kTraceAtOnce = 64 * kMiB;

Nanoseconds processor_time() { return base::clock_now(CLOCK_PROCESS_CPUTIME_ID); }

/// What all scans may take, and how fast.
class Effort {
 public:
  explicit Effort(const Options& options) : options_(options) {}

  [[nodiscard]] Nanoseconds taken() const { return processor_time() - began_; }
  /// Rests where it was too fast. False if the time is over.
  [[nodiscard]] bool may_go_on() const {
    constexpr Nanoseconds kLeastRest = 5'000'000;
    const Nanoseconds elapsed = base::monotonic_now() - start_;
    const auto due = static_cast<Nanoseconds>(static_cast<double>(taken()) / options_.share);
    if (due > elapsed + kLeastRest) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(due - elapsed));
    }
    return taken() < options_.processor;
  }

 private:
  const Options& options_;
  Nanoseconds began_ = processor_time(), start_ = base::monotonic_now();
};

bool follow_to_end(observe::TraceFollower& follower) {
  constexpr int kMost = 1024;
  for (int i = 0; i < kMost; ++i) {
    if (follower.follow(kTraceAtOnce, base::monotonic_now())) return true;
  }
  return false;
}

/// A process id may belong to another process by now; its mappings would not show the trace.
bool shows_trace(std::span<const Mapping> mappings, const observe::TraceFollower& follower) {
  return std::ranges::any_of(
      mappings, [&](const Mapping& mapping) { return mapping.inode == follower.inode(); });
}

/// One scan.
class Scan {
 public:
  Scan(pid_t pid, const observe::ProcessFiles& files, observe::TraceFollower& follower,
       ModuleFiles& modules, RootNames& names, const Options& options, const Effort& effort)
      : pid_(pid),
        files_(files),
        follower_(follower),
        modules_(modules),
        names_(names),
        options_(options),
        effort_(effort) {}

  base::Outcome<void> take(Bytes step) {
    const auto maps = files_.read("maps");
    if (!maps) return base::Failure{fmt::format("maps: {}", std::strerror(errno))};
    if (maps->empty()) return base::Failure{"the process has ended"};
    layout_.mappings = observe::parse_smaps(*maps);
    if (!follow_to_end(follower_)) return base::Failure{"its trace grows faster than it is read"};
    samples_ = follower_.live().by_address();
    if (!shows_trace(layout_.mappings, follower_)) {
      return base::Failure{"it does not write this trace any more"};
    }
    find_modules(layout_, modules_);
    memory_.emplace(pid_, files_, layout_.mappings, follower_.header().page_size);
    leave_out_runtime();
    add_blocks();
    find_python_objects();
    settle(layout_.not_roots);
    threads_ = threads_of(files_);
    find_control_blocks(layout_, *memory_, threads_);
    const Mapping* executable = executable_in(layout_, files_.link("exe"));
    names_.use(layout_, threads_, executable, *memory_);
    const Bytes thread_locals = look_at_thread_locals();
    roots_ = roots_of(layout_, threads_, thread_locals);
    names_.use(roots_);
    read_registers();
    is_complete_ = mark({.step = step});
    if (!follow_to_end(follower_)) return base::Failure{"its trace grows faster than it is read"};
    return check_still_there();
  }

  /// Fails if what was read may be the nothing that an ended process has, or another program's.
  [[nodiscard]] base::Outcome<void> check_still_there() const {
    const auto maps = files_.status() ? files_.read("maps") : std::nullopt;
    if (!maps || !shows_trace(observe::parse_smaps(*maps), follower_)) {
      return base::Failure{"the process ended while it was scanned"};
    }
    return {};
  }

  [[nodiscard]] const std::vector<LiveSample>& samples() const { return samples_; }
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] Bytes unread() const { return memory_->unread(); }
  /// Threads with registers that were not read, if any were to be.
  [[nodiscard]] std::uint32_t unread_registers() const {
    if (!options_.read_registers) return 0;
    return static_cast<std::uint32_t>(std::ranges::count_if(
        threads_, [](const Thread& thread) { return thread.registers.empty(); }));
  }

  /// The block of a sample, if it has one.
  [[nodiscard]] std::optional<BlockMap::Block> block_of(const LiveSample& sample) const {
    const auto block = layout_.blocks.block_at(sample.address);
    return block && !block->is_free ? block : std::nullopt;
  }
  [[nodiscard]] const Marker& marker() const { return *marker_; }

  /// Marks again, as if inferred blocks began a little before where they seem to: the members of an
  /// object before the first one that is pointed to are then read with it.
  void widen() {
    constexpr Bytes kWindow = 64;
    is_complete_ = mark({.window = kWindow}) && is_complete_;
  }

  /// Marks also what the lists of CPython's collector lead to.
  void follow_lists() {
    for (const Area& area : layout_.blocks.areas()) {
      if (!area.has_links()) continue;
      const Address end = area.span().end;
      for (Address at = area.span().start; at < end; at += kGrain) {
        if (!area.is_link(at)) continue;
        marker_->root(at, at, Holds::kFirmly, [](Address) { return RootGroup{0}; });
      }
    }
    is_complete_ = marker_->run() && is_complete_;
  }

  /// Of unreached blocks, those that another unreached block points to.
  [[nodiscard]] tsl::robin_set<std::uint32_t> referred(
      const tsl::robin_set<std::uint32_t>& unreached) {
    tsl::robin_set<std::uint32_t> found;
    if (unreached.empty()) return found;
    Words words(*memory_);
    for (const Area& area : layout_.blocks.areas()) {
      const Address end = area.span().end;
      Address start =
          area.is_start(area.span().start) ? area.span().start : area.end_of(area.span().start);
      for (; start < end; start = area.end_of(start)) {
        const std::uint32_t number = area.number_of(start);
        if (area.is_free(start) || marker_->is_reached(number)) continue;
        for (Address at = start, stop = area.end_of(start); at + 8 <= stop; at += 8) {
          const auto block = layout_.blocks.block_at(words.at(at, end));
          if (block && block->number != number && unreached.contains(block->number)) {
            found.insert(block->number);
          }
        }
      }
    }
    return found;
  }

  /// From the root to a reached block, without it.
  [[nodiscard]] HolderPath path_to(std::uint32_t block) {
    constexpr std::size_t kMost = 4096;
    std::vector<std::uint32_t> chain;
    for (Parent parent = marker_->parent_of(block); !parent.is_root && chain.size() < kMost;
         parent = marker_->parent_of(parent.block)) {
      chain.push_back(parent.block);
    }
    HolderPath path;
    for (std::size_t i = chain.size(); i-- > 0;) {
      HolderStep step = step_at(chain[i]);
      if (!path.steps.empty() && is_alike(path.steps.back(), step)) {
        ++path.steps.back().times;
      } else {
        path.steps.push_back(std::move(step));
      }
    }
    fold(path.steps);
    return path;
  }

 private:
  void add_blocks() {
    const std::string_view allocator = follower_.header().allocator;
    if (observe::is_glibc(allocator)) return add_glibc_blocks(layout_, *memory_);
    const std::vector<LiveSample> samples = observe::without_pools(samples_);
    leave_out_modules(layout_, modules_, base::file_name_of(allocator));
    settle(layout_.not_roots);
    const bool is_known = observe::is_geiger_heap(allocator) &&
                          add_geiger_blocks(layout_, *memory_, samples, allocator);
    if (!is_known) add_inferred_blocks(layout_, *memory_, samples);
  }

  /// Where they are not known, the interpreter's arenas are roots, and nothing in them is judged.
  void find_python_objects() {
    constexpr std::uint32_t kFirst = 0x030a;  // Its pools are larger than those before.
    constexpr std::size_t kPages = 1024;
    const auto version = observe::python_version_of(follower_.live());
    if (!version || *version >> 16 < kFirst) {
      samples_ = observe::without_pools(samples_);
      return;
    }
    python_memory_.emplace(*memory_, kPages);
    python_.emplace(*version, [this](Address address, void* into, std::size_t bytes) {
      const Piece piece{address, bytes};
      python_memory_->read({&piece, 1}, static_cast<std::byte*>(into));
      return true;
    });
    static_cast<void>(add_python_blocks(layout_, *memory_));
    std::vector<Span> variables;
    for (std::size_t i = 0; i < layout_.mappings.size(); ++i) {
      const Mapping& mapping = layout_.mappings[i];
      const bool is_its =
          layout_.modules[i] != kNoMapping && mapping.is_writable &&
          follower_.live().interpreters().contains(layout_.mappings[layout_.modules[i]].start);
      if (is_its) variables.push_back({mapping.start, mapping.end});
    }
    find_links(layout_, *python_memory_, *python_, variables);
  }

  [[nodiscard]] bool mark(const MarkingRules& rules) {
    Bytes bytes = 0;
    for (const Area& area : layout_.blocks.areas()) bytes += area.span().end - area.span().start;
    constexpr std::size_t kLeastPages = 16, kMostPages = 4096;
    constexpr Bytes kPart = 64;  // Of the heap.
    cache_.emplace(*memory_,
                   std::clamp(static_cast<std::size_t>(bytes / kPart) / memory_->page_bytes(),
                              kLeastPages, kMostPages));
    marker_.emplace(layout_.blocks, *cache_, rules, [this] { return effort_.may_go_on(); });
    mark_roots(rules.step);
    mark_registers();
    return marker_->run();
  }

  /// The runtime's own memory, the trace, and what its libraries keep.
  void leave_out_runtime() {
    for (const observe::Range& range : observe::runtime_ranges(follower_.header())) {
      layout_.leave_out({range.start, range.end()});
    }
    for (const Mapping& mapping : layout_.mappings) {
      if (mapping.inode == follower_.inode()) layout_.leave_out({mapping.start, mapping.end});
    }
    leave_out_modules(layout_, modules_, "libgeiger-preload");
  }

  /// Leaves out those of the allocator. Returns how far they reach in front of control blocks.
  Bytes look_at_thread_locals() {
    const std::string_view allocator = base::file_name_of(follower_.header().allocator);
    Bytes furthest = 0;
    for (const ThreadLocals& block : names_.thread_locals()) {
      furthest = std::max(furthest, block.before);
      const std::string& path = layout_.mappings[block.module].path;
      const bool is_its = !observe::is_glibc(allocator) && base::file_name_of(path) == allocator;
      if (!is_its) continue;
      for (const Thread& thread : threads_) {
        if (thread.control_block == 0) continue;
        const Address start = thread.control_block - block.before;
        layout_.leave_out({start, start + block.bytes});
      }
    }
    settle(layout_.not_roots);
    return furthest;
  }

  void mark_roots(Bytes step) {
    Words words(*memory_);
    const Bytes page = memory_->page_bytes();
    const auto group_of = [&](Address at) { return names_.group_of(at); };
    for (const Roots& roots : roots_) {
      const Holds holds = roots.kind == Roots::Kind::kStack ? Holds::kForAWhile : Holds::kFirmly;
      for (Address at = (roots.span.start + 7) / 8 * 8; at + 8 <= roots.span.end;) {
        if (at % page == 0 && memory_->is_absent(at)) {
          at += page;
          continue;
        }
        marker_->root(words.at(at, roots.span.end), at, holds, group_of);
        at += step;
      }
    }
  }

  void read_registers() {
    if (!options_.read_registers) return;
    for (ThreadRegisters& read : options_.read_registers(pid_)) {
      const auto thread = std::ranges::find(threads_, read.tid, &Thread::tid);
      if (thread != threads_.end()) thread->registers = std::move(read.words);
    }
  }

  void mark_registers() {
    for (const Thread& thread : threads_) {
      const auto group_of = [&](Address) { return names_.group_of_registers(thread); };
      for (const std::uint64_t word : thread.registers) {
        marker_->root(word, thread.stack_pointer, Holds::kForAWhile, group_of);
      }
    }
  }

  [[nodiscard]] HolderStep step_at(std::uint32_t block) {
    HolderStep step;
    const Address start = layout_.blocks.start_of(block);
    step.bytes = layout_.blocks.area_of(start)->end_of(start) - start;
    std::uint64_t first = 0;
    const Piece piece{start, sizeof first};
    memory_->read({&piece, 1}, reinterpret_cast<std::byte*>(&first));
    step.type = names_.class_of(first);
    if (step.type.empty() && python_) step.type = python_type_at(start, step.bytes);
    const auto sample = std::ranges::lower_bound(samples_, start, {}, &LiveSample::address);
    if (sample != samples_.end() && sample->address == start) {
      step.sample = sample->ref;
      step.is_sampled = true;
    }
    return step;
  }

  /// Of an object that the collector knows, or one whose type is its second word.
  [[nodiscard]] std::string python_type_at(Address start, Bytes bytes) {
    for (Bytes before = 0; before <= 32 && before + 16 <= bytes; before += 16) {
      std::uint64_t word = 0;
      const Piece piece{start + before + 8, sizeof word};
      python_memory_->read({&piece, 1}, reinterpret_cast<std::byte*>(&word));
      const auto* type = python_->type_at(word);
      if (type != nullptr && type->place.before == before) return type->name;
    }
    return "";
  }

  static bool is_alike(const HolderStep& a, const HolderStep& b) {
    return a.bytes == b.bytes && a.type == b.type;
  }

  /// Pairs and triples that are there several times in a row.
  static void fold(std::vector<HolderStep>& steps) {
    const auto count_at = [&](std::size_t at, std::size_t together) {
      std::uint32_t times = 1;
      const auto is_again = [&](std::size_t from) {
        for (std::size_t i = 0; i < together; ++i) {
          const bool is_same = from + i < steps.size() &&
                               is_alike(steps[at + i], steps[from + i]) &&
                               steps[at + i].times == 1 && steps[from + i].times == 1;
          if (!is_same) return false;
        }
        return true;
      };
      while (is_again(at + times * together)) ++times;
      return times;
    };
    std::vector<HolderStep> folded;
    for (std::size_t at = 0; at < steps.size();) {
      std::size_t together = 1;
      std::uint32_t times = 1;
      for (const std::size_t some : {2U, 3U}) {
        if (times == 1 && at + some <= steps.size()) {
          times = count_at(at, some);
          together = some;
        }
      }
      if (times == 1) together = 1;
      const std::size_t first = folded.size();
      for (std::size_t i = 0; i < together; ++i) folded.push_back(steps[at + i]);
      if (times > 1) {
        folded[first].times = times;
        folded[first].together = static_cast<std::uint32_t>(together);
      }
      at += times * together;
    }
    steps = std::move(folded);
  }

  pid_t pid_;
  const observe::ProcessFiles& files_;
  observe::TraceFollower& follower_;
  ModuleFiles& modules_;
  RootNames& names_;
  const Options& options_;
  const Effort& effort_;
  Layout layout_;
  std::vector<LiveSample> samples_;
  std::optional<ProcessMemory> memory_;
  std::optional<PageCache> cache_;  ///< For one marking.
  std::optional<PageCache> python_memory_;
  std::optional<observe::PythonTypes> python_;  ///< If there is an interpreter that is known.
  std::vector<Thread> threads_;
  std::vector<Roots> roots_;
  std::optional<Marker> marker_;
  bool is_complete_ = false;
};

/// What the scans say of each sample.
class Verdicts {
 public:
  /// `is_still`: nothing moves, so that one scan finds all.
  explicit Verdicts(bool is_still) : is_still_(is_still) {}

  /// Scans in order. Samples that died meanwhile are left out.
  void add(Scan& scan, const observe::TraceFollower& follower) {
    last_.clear();
    unreached_ = rescued_ = 0;
    for (const LiveSample& sample : scan.samples()) {
      if (!follower.live().contains(sample.ref)) continue;
      Seen& seen = seen_[sample.ref];
      const bool is_old = seen.scans == scans_;  // Else it was allocated after the first scan.
      seen.scans = is_old ? scans_ + 1 : kNotAll;
      const auto block = scan.block_of(sample);
      if (!block) {
        last_.push_back({sample.ref, Hold::kNoBlock});
      } else if (scan.marker().is_reached(block->number)) {
        rescued_ += is_old && !seen.was_reached && scans_ > 0 ? 1 : 0;
        seen.was_reached = true;
        last_.push_back(reached(scan, sample, block->number));
      } else {
        unreached_ += is_old && !seen.was_reached ? 1 : 0;
        last_.push_back({sample.ref, Hold::kMoving});
      }
    }
    ++scans_;
    quiet_ = scans_ > 1 && rescued_ == 0 ? quiet_ + 1 : 0;
  }
  /// Whether another scan would find nothing new: nothing is left to be found, or the last two did
  /// not. Of f objects that moved each time, with a probability of p that a scan misses one, it is
  /// wrong with p^(2 f).
  [[nodiscard]] bool is_settled() const { return is_still_ || unreached_ == 0 || quiet_ >= 2; }
  [[nodiscard]] std::uint32_t scans() const { return scans_; }

  /// What none of the scans reached, by the last one.
  base::Outcome<void> judge(Scan& scan) {
    tsl::robin_map<trace::Ref, std::uint32_t> blocks;
    tsl::robin_set<std::uint32_t> unreached;
    for (const LiveSample& sample : scan.samples()) {
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
    const bool widens = scan.layout().is_inferred && !unreached.empty();
    if (widens) scan.widen();
    GEIGER_TRY(scan.check_still_there());
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

  void take(const RootNames& names, Holders& found) {
    found.scans = scans_;
    std::ranges::sort(last_, {}, &SampleHold::sample);
    found.samples = std::move(last_);
    found.paths = std::move(paths_);
    for (const RootGroup group : groups_) found.roots.push_back(names.name_of(group));
  }

 private:
  SampleHold reached(Scan& scan, const LiveSample& sample, std::uint32_t block) {
    const RootGroup group = scan.marker().group_of(block);
    const auto [root, is_new_root] =
        roots_.try_emplace(group, static_cast<std::uint32_t>(groups_.size()));
    if (is_new_root) groups_.push_back(group);
    const auto [path, is_new_path] = path_of_.try_emplace(
        std::pair{group, sample.stack}, static_cast<std::uint32_t>(paths_.size()));
    if (is_new_path) paths_.push_back(scan.path_to(block));
    return {sample.ref, Hold::kReached, scan.marker().is_alone(block), root->second, path->second};
  }

  static Hold hold_of(const Scan& scan, std::uint32_t block, bool is_referred, bool is_widened) {
    if (scan.unread() > 0) return Hold::kUnread;
    if (is_widened && scan.marker().is_reached(block)) return Hold::kNear;
    return is_referred ? Hold::kUnreachable : Hold::kUnreferenced;
  }

  static constexpr std::uint32_t kNotAll = 0xffffffff;
  struct Seen {
    std::uint32_t scans = 0;  ///< That saw it live; kNotAll: not the first one.
    bool was_reached = false;
  };

  bool is_still_;
  std::uint32_t scans_ = 0, quiet_ = 0;
  std::uint64_t unreached_ = 0;  ///< By all scans.
  std::uint64_t rescued_ = 0;    ///< Reached by the last scan, and by none before.
  tsl::robin_map<trace::Ref, Seen> seen_;
  std::vector<SampleHold> last_;  ///< By the last scan.
  std::map<RootGroup, std::uint32_t> roots_;
  std::vector<RootGroup> groups_;
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

base::Outcome<void> scan_all(pid_t pid, const std::string& trace, const Options& options,
                             profile::Observations& found) {
  const observe::ProcessFiles files(pid);
  if (!files.is_open()) return base::Failure{"the process has ended"};
  observe::TraceFollower follower;
  GEIGER_TRY(follower.open(trace));
  const Effort effort(options);
  ModuleFiles modules(pid);
  RootNames names(modules);
  const bool is_still = options.is_waiting && threads_of(files).size() == 1;
  Verdicts verdicts(is_still);
  std::optional<Scan> scan;
  Holders about;  // Of the last scan.
  base::Outcome<void> outcome;
  do {
    if (verdicts.scans() > 0) rest(files, options.pause);
    if (options.progress) options.progress(verdicts.scans(), options.most_scans);
    const Nanoseconds time = base::monotonic_now();
    // Pointers of packed structures are looked for where they are needed: that takes half as much
    // time again.
    const Bytes step = scan || is_still ? 4 : 8;
    scan.emplace(pid, files, follower, modules, names, options, effort);
    outcome = scan->take(step);
    if (!outcome.has_value()) break;
    verdicts.add(*scan, follower);
    about.time = time;
    about.is_inferred = scan->layout().is_inferred;
    about.not_understood = scan->layout().not_understood;
    about.unread = scan->unread();
    about.has_registers = bool(options.read_registers);
    about.unread_registers = scan->unread_registers();
    about.blocks = scan->layout().blocks.blocks();
  } while (!verdicts.is_settled() && verdicts.scans() < options.most_scans && scan->is_complete());
  if (verdicts.scans() == 0) return outcome;
  if (outcome.has_value()) outcome = verdicts.judge(*scan);
  verdicts.take(names, about);
  about.cost = effort.taken();
  found.holders = std::move(about);
  return outcome;
}

}  // namespace

profile::Observations find_holders(pid_t pid, const std::string& trace, const Options& options) {
  profile::Observations found;
  const auto outcome = scan_all(pid, trace, options, found);
  if (!outcome.has_value()) found.holders_fault = outcome.reason();
  return found;
}

}  // namespace geiger::holders
