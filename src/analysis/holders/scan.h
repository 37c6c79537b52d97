// One scan of a process: its layout, roots and marks. For holders.cc alone.
#pragma once

#include <fmt/format.h>
#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/holders/holders.h"
#include "analysis/holders/layout.h"
#include "analysis/holders/marker.h"
#include "analysis/holders/memory.h"
#include "analysis/holders/paths.h"
#include "analysis/holders/python_objects.h"
#include "analysis/holders/roots.h"
#include "analysis/holders/stack_frames.h"
#include "analysis/holders/subject.h"
#include "analysis/observe/allocator_heaps.h"
#include "analysis/observe/heap_walks.h"
#include "analysis/observe/live_set.h"
#include "analysis/observe/proc_files.h"
#include "analysis/observe/seen_types.h"
#include "base/clock.h"
#include "base/text.h"

namespace geiger::holders {

using observe::LiveSample;
using observe::Mapping;
using profile::HeldBlocks;
using profile::Hold;
using profile::HolderPath;
using profile::Holders;
using profile::HolderStep;
using profile::SampleHold;

/// What the files of geiger's runtime are called: preloaded, and loaded by attaching.
inline constexpr std::string_view kRuntimes[] = {"libgeiger-preload", "memfd:geiger"};

inline bool is_runtime(const Mapping& mapping) {
  return std::ranges::any_of(kRuntimes, [&](std::string_view name) {
    return base::file_name_of(mapping.path).starts_with(name);
  });
}

inline Nanoseconds processor_time() { return base::clock_now(CLOCK_PROCESS_CPUTIME_ID); }

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

/// One scan.
class Scan {
 public:
  Scan(Subject& subject, ModuleFiles& modules, RootNames& names, const Effort& effort)
      : subject_(subject), modules_(modules), names_(names), effort_(effort) {}

  base::Outcome<void> take(Bytes step) {
    layout_.mappings = GEIGER_TRY(subject_.look());
    samples_ = subject_.live().by_address();
    memory_ = subject_.memory(layout_.mappings);
    find_modules(layout_, modules_, memory_->page_bytes());
    subject_.leave_out_runtime(layout_);
    for (const std::string_view name : kRuntimes) leave_out_modules(layout_, modules_, name);
    add_blocks();
    find_python_objects();
    const auto unmatched = std::ranges::count_if(samples_, [&](const LiveSample& sample) {
      const auto block = block_of(sample);
      return !block || block->start != sample.address;
    });
    GEIGER_TRY(subject_.check_samples(static_cast<std::size_t>(unmatched), samples_.size()));
    settle(layout_.not_roots);
    threads_ = subject_.threads();
    find_control_blocks(layout_, *memory_, threads_);
    const Mapping* executable = executable_in(layout_, subject_.executable());
    names_.use(layout_, threads_, executable, *memory_);
    const Bytes thread_locals = look_at_thread_locals();
    roots_ = roots_of(layout_, threads_, thread_locals);
    names_.use(roots_);
    subject_.read_registers(threads_);
    layout_.blocks.finish();
    is_complete_ = mark({.step = step});
    GEIGER_TRY(subject_.follow());
    return subject_.check_still_there();
  }

  [[nodiscard]] const std::vector<LiveSample>& samples() const { return samples_; }
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] Bytes unread() const {
    Bytes bytes = memory_->unread();
    for (const Roots& roots : roots_) bytes += memory_->lacks(roots.span);
    for (const Area& area : layout_.blocks.areas()) bytes += memory_->lacks(area.span());
    return bytes;
  }
  /// Threads without registers.
  [[nodiscard]] std::uint32_t unread_registers() const {
    return static_cast<std::uint32_t>(std::ranges::count_if(
        threads_, [](const Thread& thread) { return thread.registers.empty(); }));
  }

  /// The block of a sample, if it has one.
  [[nodiscard]] std::optional<BlockMap::Block> block_of(const LiveSample& sample) const {
    const auto block = layout_.blocks.block_at(sample.address);
    return block && !block->is_free ? block : std::nullopt;
  }
  [[nodiscard]] const Marker& marker() const { return *marker_; }
  /// Of a reached block: whether its root has no better name.
  [[nodiscard]] bool is_through_new_memory(const BlockMap::Block& block) {
    return marker_->group_of(block.number) == names_.group_of_mapped_since();
  }
  /// A hash of what a block has in it, at its beginning.
  [[nodiscard]] std::size_t content_of(const BlockMap::Block& block) {
    constexpr Bytes kMost = 1024;
    std::array<char, kMost> bytes{};
    const Piece piece{block.start, std::min(kMost, layout_.blocks.end_of(block) - block.start)};
    memory_->read({&piece, 1}, reinterpret_cast<std::byte*>(bytes.data()));
    return std::hash<std::string_view>{}({bytes.data(), piece.bytes});
  }

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

  /// Of unreached blocks, those that another unreached block points to. Groups the unreached blocks
  /// that are linked.
  [[nodiscard]] tsl::robin_set<std::uint32_t> referred(
      const tsl::robin_set<std::uint32_t>& unreached) {
    tsl::robin_set<std::uint32_t> found;
    if (unreached.empty()) return found;
    Words words(*memory_);
    marker_->begin_groups();
    each_block([&](Address start, Bytes bytes, std::uint32_t number) {
      if (marker_->is_reached(number)) return;
      const Area& area = *layout_.blocks.area_of(start);
      for (Address at = start; at + 8 <= start + bytes; at += 8) {
        const auto block = layout_.blocks.block_at(words.at(at, area.span().end));
        if (!block || block->is_free || block->number == number) continue;
        if (unreached.contains(block->number)) found.insert(block->number);
        const bool is_link = area.is_link(at / kGrain * kGrain);
        if (!is_link && !marker_->is_reached(block->number)) marker_->join(number, block->number);
      }
    });
    return found;
  }
  [[nodiscard]] std::uint32_t group_of(std::uint32_t unreached) {
    return marker_->group_of_unreached(unreached);
  }

  /// All blocks in use by what holds them.
  [[nodiscard]] BlockCensus count() {
    const Hold undecided = unread() > 0 ? Hold::kUnread : Hold::kTimeOver;
    const bool is_decided = is_complete_ && unread() == 0;
    tsl::robin_set<std::uint32_t> unreached;
    if (is_decided) {
      each_block([&](Address, Bytes, std::uint32_t number) {
        if (!marker_->is_reached(number)) unreached.insert(number);
      });
    }
    const tsl::robin_set<std::uint32_t> referred = this->referred(unreached);
    std::map<std::pair<Hold, RootGroup>, std::pair<HeldBlocks, std::map<Bytes, std::uint64_t>>>
        parts;
    each_block([&](Address, Bytes bytes, std::uint32_t number) {
      const bool is_reached = marker_->is_reached(number);
      const Hold hold = is_reached                  ? Hold::kReached
                        : !is_decided               ? undecided
                        : referred.contains(number) ? Hold::kUnreachable
                                                    : Hold::kUnreferenced;
      const RootGroup group = is_reached ? marker_->group_of(number) : RootGroup{0};
      auto& [part, sizes] = parts[{hold, group}];
      part.hold = hold;
      if (is_reached) part.root = names_.name_of(group);
      part.bytes += bytes;
      ++part.blocks;
      if (is_reached && marker_->is_alone(number)) part.alone += bytes;
      ++sizes[bytes];
    });
    BlockCensus census{{}, unread(), layout_.not_understood};
    for (auto& [key, found] : parts) {
      auto& [part, sizes] = found;
      for (const auto& [bytes, count] : sizes) part.sizes.push_back({bytes, count});
      std::ranges::stable_sort(part.sizes, std::ranges::greater{},
                               [](const auto& size) { return size.bytes * size.count; });
      census.parts.push_back(std::move(part));
    }
    std::ranges::stable_sort(census.parts, std::ranges::greater{}, &HeldBlocks::bytes);
    return census;
  }

  /// From the root to a reached block, without it.
  [[nodiscard]] HolderPath path_to(std::uint32_t block) {
    std::vector<std::uint32_t> chain;
    for (Parent parent = marker_->parent_of(block);
         !parent.is_root && chain.size() < profile::kMostHolderBlocks;
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
  /// Of those in use.
  template <class Visit>
  void each_block(const Visit& visit) const {
    for (const Area& area : layout_.blocks.areas()) {
      const Address first = area.span().start;
      Address start = area.is_start(first) ? first : area.end_of(first);
      for (Address next = 0; start < area.span().end; start = next) {
        next = area.end_of(start);
        const std::uint32_t number = area.number_of(start);
        if (!area.is_free(start, number)) visit(start, next - start, number);
      }
    }
  }

  void add_blocks() {
    const std::string_view allocator = subject_.allocator();
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
    const auto version = observe::python_version_of(subject_.live());
    if (!version || *version >> 16 < kFirst) {
      samples_ = observe::without_pools(samples_);
      return;
    }
    for (const Span& span : subject_.mapped_since(layout_.mappings)) layout_.add_mapping(span);
    python_.emplace(*version, *memory_);
    python_->find(layout_, *memory_, subject_.live());
  }

  [[nodiscard]] bool mark(const MarkingRules& rules) {
    Bytes bytes = 0;
    for (const Area& area : layout_.blocks.areas()) bytes += area.span().end - area.span().start;
    constexpr std::size_t kLeastPages = 16, kMostPages = 4096;
    constexpr Bytes kPart = 128;  // Of the heap.
    cache_.emplace(*memory_,
                   std::clamp(static_cast<std::size_t>(bytes / kPart) / memory_->page_bytes(),
                              kLeastPages, kMostPages));
    marker_.emplace(
        layout_.blocks, *cache_, rules, [this] { return effort_.may_go_on(); },
        [this](RootGroup a, RootGroup b) { return names_.are_of_one_stack(a, b); },
        [this](Address target, Span free) { return layout_.late_at(target, free); });
    // One after the other: what only seems to hold a block must not give it its name.
    words_.emplace(*memory_);
    std::vector<const ModuleVariables*> others;
    for (std::size_t i = 0; python_ && i < python_->variables().size(); ++i) {
      const ModuleVariables& variables = python_->variables()[i];
      if (!variables.is_imported) {
        others.push_back(&variables);
      } else {
        mark_variables(variables);
      }
    }
    for (const KernelPointer& pointer : subject_.kernel_pointers()) {
      marker_->root(pointer.word, 0, Holds::kFirmly,
                    [&](Address) { return names_.group_of_kernel(pointer); });
    }
    for (const Roots& roots : roots_) {
      if (roots.holds() == Holds::kFirmly) mark_words(roots, rules.step);
      if (roots.kind == Roots::Kind::kInterpreterStack) mark_locals(roots);
    }
    if (!marker_->run()) return false;
    if (!mark_reached(others)) return false;
    for (const Roots::Kind kind : {Roots::Kind::kInterpreterStack, Roots::Kind::kStack,
                                   Roots::Kind::kBelowStack, Roots::Kind::kStale}) {
      for (const Roots& roots : roots_) {
        if (roots.kind == kind) mark_words(roots, rules.step);
      }
      if (kind == Roots::Kind::kStack) mark_registers();
      if (!marker_->run() || !mark_reached(others)) return false;
    }
    mark_mapped_since();
    return marker_->run() && mark_reached(others);
  }

  /// New blocks may lie in it, by which older ones are reached.
  void mark_mapped_since() {
    const auto group_of = [this](Address) { return names_.group_of_mapped_since(); };
    for (const Span& span : subject_.mapped_since(layout_.mappings)) {
      for (Address at = span.start; at + 8 <= span.end; at += 8) {
        marker_->root(words_->at(at, span.end), at, Holds::kForAWhile, group_of);
      }
    }
  }

  void mark_variables(const ModuleVariables& variables) {
    const auto& [first, stride, count] = variables.entries;
    for (std::uint64_t i = 0; i < count; ++i) {
      const Address key = first + i * stride;
      const Address name = python_->word(key), value = python_->word(key + kWord);
      const auto group_of = [&](Address) {
        return names_.group_of_variable(variables.module, python_->text_of(name),
                                        python_->is_definition(value));
      };
      marker_->root(value, key + kWord, Holds::kFirmly, group_of);
      marker_->root(name, key, Holds::kFirmly, group_of);
    }
  }

  /// The variables of modules that something holds, which may hold further ones.
  [[nodiscard]] bool mark_reached(std::vector<const ModuleVariables*>& modules) {
    const auto is_reached = [&](const ModuleVariables* variables) {
      const auto block = layout_.blocks.block_at(variables->entries.first);
      return block && marker_->is_reached(block->number);
    };
    while (true) {
      const auto first = std::partition(modules.begin(), modules.end(), std::not_fn(is_reached));
      const std::vector<const ModuleVariables*> reached(first, modules.end());
      if (reached.empty()) return true;
      modules.erase(first, modules.end());
      for (const ModuleVariables* variables : reached) mark_variables(*variables);
      if (!marker_->run()) return false;
    }
  }

  /// Leaves out those of the allocator. Returns how far they reach in front of control blocks.
  Bytes look_at_thread_locals() {
    const std::string_view allocator = base::file_name_of(subject_.allocator());
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

  void mark_words(const Roots& roots, Bytes step) {
    const Bytes page = memory_->page_bytes();
    const Holds holds = roots.holds();
    const auto group_of = [this](Address at) { return names_.group_of(at); };
    const auto mark = [&](Address at) {
      marker_->root(words_->at(at, roots.span.end), at, holds, group_of);
    };
    const Address start = (roots.span.start + 7) / 8 * 8;
    if (roots.kind == Roots::Kind::kInterpreterStack) walk_frames(roots.span);
    const Address walked = roots.kind == Roots::Kind::kStack ? walk_stack(roots.span) : start;
    Address at = start;
    // What several functions of a stack point to is that of the outermost: the others end first.
    if (walked >= start + 8) {
      at = (walked - 8) / 8 * 8 + step;
      for (Address down = at; down > start; down -= step) mark(down - step);
    }
    while (at + 8 <= roots.span.end) {
      if (at % page == 0 && memory_->is_absent(at)) {
        at += page;
        continue;
      }
      mark(at);
      at += step;
    }
  }

  /// Of an interpreter's functions.
  std::vector<PythonFrame> walk_frames(const Span& span) {
    words_->load(span.start, span.end, span.end - span.start);
    auto frames = python_->frames_in(span, *words_);
    names_.use(frames);
    return frames;
  }

  /// Local variables of functions that run. Other words of their frames may be left over.
  void mark_locals(const Roots& roots) {
    const auto group_of = [this](Address at) { return names_.group_of(at); };
    for (const PythonFrame& frame : walk_frames(roots.span)) {
      for (Address at = frame.locals.start; at < frame.locals.end; at += kWord) {
        marker_->root(words_->at(at, roots.span.end), at, Holds::kFirmly, group_of);
      }
    }
  }

  /// If one thread has halted on it, and does not run while it is read. Returns up to where words
  /// are as they were then; the span's start if it is not known.
  Address walk_stack(const Span& span) {
    constexpr Bytes kMostStack = 8 * kMiB;
    names_.use(nullptr);
    const auto is_its = [&](const Thread& each) { return span.holds(each.stack_pointer); };
    const auto thread = std::ranges::find_if(threads_, is_its);
    if (thread == threads_.end() || std::ranges::count_if(threads_, is_its) != 1) {
      return span.start;
    }
    const auto before = subject_.halt_of(*thread);
    const Address end = words_->load(span.start, span.end, kMostStack);
    const bool has_stayed = before && before->stack_pointer == thread->stack_pointer &&
                            before == subject_.halt_of(*thread);
    if (!has_stayed) return span.start;
    frames_.emplace(layout_, modules_);
    frames_->walk(*before, {end, [&](Address at) { return words_->at(at, end); }});
    names_.use(&*frames_);
    return end;
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
    if (step.type.empty() && python_) step.type = python_->type_in(start, step.bytes);
    const auto sample = std::ranges::lower_bound(samples_, start, {}, &LiveSample::address);
    if (sample != samples_.end() && sample->address == start) {
      step.sample = sample->ref;
      step.is_sampled = true;
    }
    return step;
  }

  Subject& subject_;
  ModuleFiles& modules_;
  RootNames& names_;
  const Effort& effort_;
  Layout layout_;
  std::vector<LiveSample> samples_;
  std::unique_ptr<Memory> memory_;
  std::optional<PageCache> cache_;       ///< For one marking.
  std::optional<Words> words_;           ///< Of roots.
  std::optional<PythonObjects> python_;  ///< If there is an interpreter that is known.
  std::vector<Thread> threads_;
  std::vector<Roots> roots_;
  std::optional<StackFrames> frames_;  ///< Of the stack that is being marked.
  std::optional<Marker> marker_;
  bool is_complete_ = false;
};

}  // namespace geiger::holders
