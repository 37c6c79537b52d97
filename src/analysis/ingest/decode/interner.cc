#include "analysis/ingest/decode/interner.h"

#include <bit>
#include <utility>

#include "analysis/profile/hash.h"

namespace geiger::ingest {

using profile::spread;
using profile::table_seed;

Interner::Interner(profile::Recording& recording)
    : recording_(recording),
      stacks_(64, StackHash{recording.stacks}, StackSame{recording.stacks}) {}

std::uint32_t Interner::module(const profile::Module& module) {
  const auto next = static_cast<std::uint32_t>(recording_.modules.size());
  const bool is_source = module.kind == profile::ModuleKind::kSource;
  const auto [place, is_new] =
      modules_.try_emplace(std::tuple(module.path, module.build_id, is_source), next);
  if (is_new) recording_.modules.push_back(module);
  return place->second;
}

std::uint32_t Interner::location(std::uint32_t module, Address vaddr, std::uint32_t process) {
  const Point point{vaddr, module, module == profile::kNone ? process : 0};
  const auto next = static_cast<std::uint32_t>(recording_.locations.size());
  const auto [place, is_new] = points_.try_emplace(point, next);
  if (is_new) recording_.locations.push_back({module, vaddr, process, {}});
  return place->second;
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
  // The set compares indexes, so the candidate has to stand in the vector.
  const auto next = static_cast<std::uint32_t>(recording_.stacks.size());
  recording_.stacks.push_back(std::move(stack));
  const auto [place, is_new] = stacks_.insert(next);
  if (is_new) return next;
  stack = std::move(recording_.stacks.back());
  recording_.stacks.pop_back();
  return *place;
}

void Interner::interpreter(const profile::Interpreter& interpreter) {
  const auto [place, is_new] = interpreters_.try_emplace(
      std::pair(interpreter.process, interpreter.start), recording_.interpreters.size());
  if (is_new) recording_.interpreters.emplace_back();
  recording_.interpreters[place->second] = interpreter;
}

std::uint32_t Interner::epoch(Bytes interval, double lambda) {
  const auto next = static_cast<std::uint32_t>(recording_.epochs.size());
  const std::pair key(interval, std::bit_cast<std::uint64_t>(lambda));
  const auto [place, is_new] = epochs_.try_emplace(key, next);
  if (is_new) recording_.epochs.push_back({interval, lambda});
  return place->second;
}

std::uint32_t Interner::label(const std::string& text, std::uint32_t parent) {
  const auto next = static_cast<std::uint32_t>(recording_.labels.size());
  const auto [place, is_new] = labels_.try_emplace({parent, text}, next);
  if (is_new) recording_.labels.push_back({text, parent});
  return place->second;
}

std::uint32_t Interner::name(const std::string& text, Names& known,
                             std::vector<profile::Name>& all) {
  const auto [place, is_new] = known.try_emplace(text, static_cast<std::uint32_t>(all.size()));
  if (is_new) all.push_back({text});
  return place->second;
}

std::uint32_t Interner::type(const std::string& text) {
  return name(text, types_, recording_.types);
}

std::uint32_t Interner::heap(const std::string& text) {
  return name(text, heaps_, recording_.heaps);
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
  return left.is_truncated == right.is_truncated && left.locations == right.locations;
}

}  // namespace geiger::ingest
