#include "analysis/ingest/decode/segment_sink.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/text.h"
#include "estimation/sums.h"

namespace geiger::ingest {

namespace {

using profile::kNone;
using trace::Record;

}  // namespace

Referents::Referents(profile::Recording& recording, Interner& interner, std::uint32_t process,
                     Bytes interval)
    : recording_(recording), interner_(interner), process_(process) {
  if (interval < 1) return;
  first_epoch_ =
      interner_.epoch(interval, estimation::rate_of_interval(static_cast<double>(interval)));
}

/// Nothing where a sample has no inclusion probability, so that it cannot be weighted.
std::optional<profile::Sample> Referents::sample_from(const trace::SampleRecord& layout,
                                                      const trace::RecordHeader& header) {
  profile::Sample sample;
  sample.epoch = epoch_of(layout.epoch);
  if (sample.epoch == kNone) {
    ++oddities_.samples_without_interval;
    return std::nullopt;
  }
  sample.process = process_;
  sample.thread = header.thread;
  sample.stack = stack_of(layout.stack);
  sample.time = layout.time;
  sample.free_thread = 0;
  sample.address = layout.address;
  sample.requested = layout.requested();
  sample.usable = layout.usable();
  sample.offset = layout.offset;
  sample.cpu = header.cpu;
  sample.entry_point = layout.entry_point();
  sample.log2_alignment = static_cast<std::uint8_t>(layout.log2_alignment());
  sample.is_certain = (header.flags & trace::kFlagCertain) != 0;
  sample.label = name_of(layout.label, trace::NameKind::kLabel);
  sample.type = type_of(layout.type);
  sample.heap = heap_of(layout.heap());
  return sample;
}

/// 0 means the process's own heap; any other id is a heap even if no record names it.
std::uint32_t Referents::heap_of(std::uint16_t id) {
  if (id == 0) return profile::kProcessHeap;
  const auto known = heaps_.find(id);
  if (known != heaps_.end()) return known->second;
  return heaps_[id] = interner_.heap(fmt::format("heap {}", id));
}

std::uint32_t Referents::name_of(trace::Ref ref, trace::NameKind kind) {
  if (ref == 0) return kNone;
  const auto known = names_.find(ref);
  if (known != names_.end() && known->second.kind == kind) return known->second.index;
  ++oddities_.unknown_names;
  return kind == trace::NameKind::kLabel ? interner_.lost_label() : kNone;
}

/// Code that walks the labels around a label may rely on there being few.
void Referents::take_label(trace::Ref ref, trace::Ref around, const std::string& text) {
  constexpr std::uint32_t kDeepest = 63;
  std::uint32_t parent = name_of(around, trace::NameKind::kLabel);
  std::uint32_t depth = 0;
  if (parent != kNone) depth = recording_.labels[parent].is_lost ? 1 : names_[around].depth + 1;
  if (depth > kDeepest) {
    ++oddities_.unknown_names;
    parent = interner_.lost_label();
    depth = 1;
  }
  names_[ref] = {trace::NameKind::kLabel, interner_.label(text, parent), depth};
}

void Referents::on(const Record& record, const trace::NameRecord& layout) {
  const std::string text(trace::text_of(record));
  switch (layout.kind) {
    case trace::NameKind::kLabel:
      return take_label(record.ref(), layout.owner, text);
    case trace::NameKind::kType:
      names_[record.ref()] = {layout.kind, interner_.type(text), 0};
      return;
    case trace::NameKind::kHeap:
      heaps_[layout.owner] = interner_.heap(text);
      return;
  }
  ++oddities_.unknown_names;
}

/// Our own frames say nothing about the program: the entry points above the caller,
/// and the trampoline below a thread's function.
bool Referents::is_in_runtime(std::uint32_t location) const {
  const std::uint32_t module = recording_.locations[location].module;
  return module != kNone && recording_.modules[module].path.ends_with("/libgeiger-preload.so");
}

void Referents::on(const Record& record, const trace::StackRecord& /*layout*/) {
  profile::Stack stack;
  stack.is_truncated = (record.header.flags & trace::kFlagTruncated) != 0;
  stack.is_folded = (record.header.flags & trace::kFlagFolded) != 0;
  const auto frames = trace::frames_of(record);
  stack.locations.reserve(frames.size());
  for (const std::uint64_t word : frames) {
    const std::uint32_t location = location_of(word);
    if (!is_in_runtime(location)) stack.locations.push_back(location);
  }
  stacks_.add(record.ref(), interner_.stack(stack));
}

void Referents::on(const Record& record, const trace::ModuleRecord& layout) {
  profile::Module module;
  module.path = trace::path_of(record);
  module.build_id = base::hex_of(trace::build_id_of(record));
  module.start = layout.start;
  module.end = layout.end;
  module.bias = layout.bias;
  modules_.insert(layout.start, {layout.end, layout.bias, interner_.module(module)});
  mark_interpreters();
  // Not clear(), whose cost is that of the largest size the table ever had.
  locations_ = {};
}

void Referents::on(const Record& record, const trace::InterpreterRecord& layout) {
  code_.add_interpreter(record.ref(), layout.version);
  interner_.interpreter({process_, layout.start, layout.version, layout.frames,
                         layout.small_objects, layout.is_finalizing != 0 ? layout.time : 0});
  constexpr std::size_t kMostWaiting = 64;
  const bool is_recorded = layout.frames == vocabulary::InterpretedFrames::kRecorded;
  if (is_recorded && interpreters_.size() < kMostWaiting) {
    interpreters_.push_back(layout.start);
    mark_interpreters();
  }
}

/// The record of an interpreter and the one of its module come in either order.
void Referents::mark_interpreters() {
  std::erase_if(interpreters_, [this](Address start) {
    const Mapping* mapping = modules_.find(start);
    if (mapping != nullptr) {
      recording_.modules[mapping->module].kind = profile::ModuleKind::kInterpreter;
    }
    return mapping != nullptr;
  });
}

void Referents::on(const Record& record, const trace::CodeRecord& layout) {
  if (!code_.add(record, layout)) ++oddities_.unknown_code;
}

std::uint32_t Referents::location_of(std::uint64_t word) {
  const auto known = locations_.find(word);
  if (known != locations_.end()) return known->second;
  const std::uint32_t location = trace::InterpretedFrame::is_one(word)
                                     ? interpreted_location(trace::InterpretedFrame::unpack(word))
                                     : native_location(word);
  locations_.emplace(word, location);
  return location;
}

std::uint32_t Referents::interpreted_location(const trace::InterpretedFrame& frame) {
  auto found = code_.frame_of(frame);
  if (!found) {
    ++oddities_.unknown_code;
    found = {std::string(kUnknownCode), {}, std::string(kUnknownCode), 0};
  }
  return interner_.source_line(*found, process_);
}

std::uint32_t Referents::native_location(Address address) {
  // A call can be the last instruction of its module: look at the call, not at
  // the return address.
  const Mapping* mapping = address == 0 ? nullptr : modules_.find(address - 1);
  return mapping == nullptr
             ? interner_.location(kNone, address, process_)
             : interner_.location(mapping->module, address - mapping->bias, process_);
}

std::uint32_t Referents::stack_of(trace::Ref ref) {
  const std::uint32_t stack = ref == 0 ? kNone : stacks_.find(ref);
  if (ref != 0 && stack == kNone) ++oddities_.samples_without_stack;
  return stack;
}

std::uint32_t Referents::epoch_of(trace::Ref ref) {
  return ref == 0 ? first_epoch_ : epochs_.find(ref);
}

/// The rate follows from the interval; a recorded one is taken to the bit, so
/// that weights invert exactly what drew, unless it belongs to another interval.
std::uint32_t Referents::add_epoch(Bytes interval, double lambda) {
  constexpr double kTolerance = 1e-9;
  const double expected = estimation::rate_of_interval(static_cast<double>(interval));
  const bool belongs = lambda == expected || std::abs(lambda - expected) <= kTolerance * expected;
  if (!belongs || std::isinf(lambda) != std::isinf(expected)) {
    ++oddities_.corrected_rates;
    lambda = expected;
  }
  return interner_.epoch(interval, lambda);
}

void Referents::on(const Record& record, const trace::EpochRecord& layout) {
  epochs_.add(record.ref(), add_epoch(layout.interval, std::bit_cast<double>(layout.lambda_bits)));
}

/// Of samples whose stacks the runtime had no room to record: a node of that name.
std::uint32_t Referents::untold_stack() {
  if (untold_stack_ != kNone) return untold_stack_;
  constexpr Address kNowhere = ~Address{0};
  const std::uint32_t location = interner_.location(kNone, kNowhere, process_);
  recording_.locations[location].frames = {static_cast<std::uint32_t>(recording_.frames.size())};
  recording_.frames.push_back({std::string(profile::kUntoldStacks), {}, {}, 0});
  profile::Stack stack;
  stack.locations.push_back(location);
  return untold_stack_ = interner_.stack(stack);
}

/// A tally is written to without a lock: what is freed may be newer than what is allocated.
std::optional<profile::Tally> Referents::tally_from(const trace::TallyRecord& layout,
                                                    const trace::RecordHeader& header) {
  trace::SampleRecord alike{};
  alike.time = layout.first;
  alike.stack = layout.stack;
  alike.epoch = layout.epoch;
  alike.requested_kind = layout.requested_kind;
  alike.usable_heap = layout.usable_heap;
  alike.label = layout.label;
  alike.type = layout.type;
  const auto sample = sample_from(alike, header);
  if (!sample) return std::nullopt;
  profile::Tally tally{*sample, layout.allocated.load(std::memory_order_relaxed),
                       layout.freed.load(std::memory_order_relaxed),
                       layout.last.load(std::memory_order_relaxed),
                       (header.flags & trace::kFlagUntracked) == 0};
  if (layout.stack == 0) tally.alike.stack = untold_stack();
  tally.alike.thread = tally.alike.free_thread = kNone;
  if (tally.freed > tally.allocated) {
    ++oddities_.impossible_tallies;
    tally.freed = tally.allocated;
  }
  return tally;
}

}  // namespace geiger::ingest
