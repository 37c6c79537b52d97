#include "analysis/ingest/decode/interner.h"

#include <bit>
#include <iterator>
#include <utility>

#include "analysis/profile/recording/recording.h"
#include "base/index_of.h"

namespace geiger::ingest {

void ModuleMap::insert(Address start, const Mapping& mapping) {
  if (start >= mapping.end) return;
  auto next = by_start_.lower_bound(start);
  if (next != by_start_.begin()) {
    Mapping& before = std::prev(next)->second;
    const Mapping rest = before;
    if (before.end > start) before.end = start;
    if (rest.end > mapping.end) next = by_start_.insert_or_assign(mapping.end, rest).first;
  }
  while (next != by_start_.end() && next->first < mapping.end) {
    const Mapping covered = next->second;
    next = by_start_.erase(next);
    if (covered.end > mapping.end) next = by_start_.insert_or_assign(mapping.end, covered).first;
  }
  by_start_.insert_or_assign(start, mapping);
}

const Mapping* ModuleMap::find(Address address) const {
  auto after = by_start_.upper_bound(address);
  if (after == by_start_.begin()) return nullptr;
  const Mapping& mapping = std::prev(after)->second;
  return address < mapping.end ? &mapping : nullptr;
}

using profile::spread;
using profile::table_seed;

Interner::Interner(profile::Recording& recording)
    : recording_(recording),
      stacks_(64, StackHash{recording.stacks}, StackSame{recording.stacks}) {}

std::uint32_t Interner::module(const profile::Module& module) {
  const bool is_source = module.kind == profile::ModuleKind::kSource;
  return base::index_of(modules_, {module.path, module.build_id, is_source}, recording_.modules,
                        module);
}

std::uint32_t Interner::location(std::uint32_t module, Address vaddr, std::uint32_t process) {
  const Point point{vaddr, module, module == profile::kNone ? process : 0};
  return base::index_of(points_, point, recording_.locations, {module, vaddr, process, {}});
}

std::uint32_t Interner::source_line(const profile::Frame& frame, std::uint32_t process) {
  profile::Module source;
  source.path = frame.file;
  source.kind = profile::ModuleKind::kSource;
  const std::uint32_t file = module(source);
  const auto next = static_cast<std::uint32_t>(recording_.locations.size());
  const auto [place, is_new] =
      source_lines_.try_emplace(std::tuple(file, frame.function, frame.line), next);
  if (is_new) {
    const auto index = static_cast<std::uint32_t>(recording_.frames.size());
    recording_.frames.push_back(frame);
    recording_.locations.push_back({file, 0, process, {index}});
  }
  return place->second;
}

std::uint32_t Interner::stack(profile::Stack& stack) {
  // The set compares indexes, so the candidate must be in the vector.
  const auto next = static_cast<std::uint32_t>(recording_.stacks.size());
  recording_.stacks.push_back(std::move(stack));
  const auto [place, is_new] = stacks_.insert(next);
  if (is_new) return next;
  stack = std::move(recording_.stacks.back());
  recording_.stacks.pop_back();
  return *place;
}

void Interner::interpreter(const profile::Interpreter& interpreter) {
  const std::size_t index = base::index_of(interpreters_, {interpreter.process, interpreter.start},
                                           recording_.interpreters, interpreter);
  recording_.interpreters[index] = interpreter;
}

std::uint32_t Interner::epoch(Bytes interval, double lambda) {
  return base::index_of(epochs_, {interval, std::bit_cast<std::uint64_t>(lambda)},
                        recording_.epochs, {interval, lambda});
}

std::uint32_t Interner::label(const std::string& text, std::uint32_t parent) {
  return base::index_of(labels_, {parent, text}, recording_.labels, {text, parent});
}

std::uint32_t Interner::lost_label() {
  if (lost_label_ == profile::kNone) {
    lost_label_ = static_cast<std::uint32_t>(recording_.labels.size());
    recording_.labels.push_back({"[lost label]", profile::kNone, true});
  }
  return lost_label_;
}

std::uint32_t Interner::type(const std::string& text) {
  return base::index_of(types_, text, recording_.types, {text});
}

std::uint32_t Interner::heap(const std::string& text) {
  return base::index_of(heaps_, text, recording_.heaps, {text});
}

std::size_t Interner::PointHash::operator()(const Point& point) const {
  return spread(spread(spread(table_seed(), point.module), point.vaddr), point.process);
}

std::size_t Interner::StackHash::operator()(std::uint32_t index) const {
  const profile::Stack& stack = stacks.get()[index];
  std::uint64_t hash = spread(table_seed(), stack.is_truncated);
  for (const std::uint32_t location : stack.locations) hash = spread(hash, location);
  return hash;
}

bool Interner::StackSame::operator()(std::uint32_t a, std::uint32_t b) const {
  const profile::Stack& left = stacks.get()[a];
  const profile::Stack& right = stacks.get()[b];
  return left.is_truncated == right.is_truncated && left.is_folded == right.is_folded &&
         left.locations == right.locations;
}

}  // namespace geiger::ingest
