#include "analysis/holders/stack_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "analysis/naming/display_name.h"
#include "base/text.h"

namespace geiger::holders {

using observe::Mapping;
using symbolize::CallerRules;
using symbolize::RegisterRule;

const Mapping* StackFrames::module_at(Address address) const {
  const auto after = std::ranges::upper_bound(layout_.mappings, address, {}, &Mapping::start);
  if (after == layout_.mappings.begin() || !std::prev(after)->holds(address)) return nullptr;
  const auto index = static_cast<std::size_t>(std::prev(after) - layout_.mappings.begin());
  const bool is_code = layout_.modules[index] != kNoMapping && !std::prev(after)->is_writable;
  return is_code ? &layout_.mappings[layout_.modules[index]] : nullptr;
}

std::vector<Address> StackFrames::code_addresses(const Mapping& module, const Stack& stack) {
  std::vector<Address> found;
  const Address bias = files_.bias(module);
  for (Address at = (begin_ + 7) / 8 * 8; at + 8 <= stack.end; at += 8) {
    const Address call = stack.word(at) - 1;
    if (module_at(call) == &module) found.push_back(call - bias);
  }
  return found;
}

const CallerRules* StackFrames::rules_at(Address address, const Stack& stack) {
  const Mapping* module = module_at(address);
  if (module == nullptr) return nullptr;
  const Address vaddr = address - files_.bias(*module);
  const auto& known = files_.rules(*module, {});
  auto found = known.find(vaddr);
  if (found == known.end()) {
    // Reading them forks, so also those of what may be further calls.
    std::vector<Address> wanted = code_addresses(*module, stack);
    wanted.push_back(vaddr);
    found = files_.rules(*module, wanted).find(vaddr);
  }
  return found == known.end() || !found->second ? nullptr : &*found->second;
}

void StackFrames::walk(const Halt& halt, const Stack& stack) {
  constexpr std::size_t kMostFrames = 4096;
  frames_.clear();
  saved_.clear();
  names_.clear();
  is_whole_ = false;
  begin_ = halt.stack_pointer;
  auto registers = halt.registers;
  Address at = halt.program_counter, begin = begin_;
  while (frames_.size() < kMostFrames) {
    const CallerRules* rules = rules_at(at, stack);
    if (rules == nullptr) return;
    const auto& base_register = registers[static_cast<std::size_t>(rules->base_register)];
    if (!base_register) return;
    const Address base = *base_register + static_cast<std::uint64_t>(rules->base_offset);
    // A function that has put nothing on the stack has none of it, but cannot have called another.
    const bool is_sound =
        base % 8 == 0 && base <= stack.end && (frames_.empty() ? base >= begin : base > begin);
    if (!is_sound) return;
    std::array<std::optional<std::uint64_t>, symbolize::kDwarfRegisters> callers;
    for (std::size_t i = 0; i < callers.size(); ++i) {
      const RegisterRule& rule = rules->registers[i];
      const Address place = base + static_cast<std::uint64_t>(rule.value);
      if (rule.kind == RegisterRule::kSame) callers[i] = registers[i];
      if (rule.kind == RegisterRule::kComputed) callers[i] = place;
      if (rule.kind == RegisterRule::kMoved) {
        callers[i] = registers[static_cast<std::size_t>(rule.value)];
      }
      if (rule.kind != RegisterRule::kSaved) continue;
      if (place % 8 != 0 || place < begin_ || place + 8 > stack.end) return;
      callers[i] = stack.word(place);
      saved_[place] = {frames_.size(), i};
    }
    frames_.push_back({base, at, rules});
    const auto return_register = static_cast<std::size_t>(rules->return_register);
    const std::int32_t kind = rules->registers[return_register].kind;
    is_whole_ = kind == RegisterRule::kUndefined;
    const auto& return_address = callers[return_register];
    // A call overwrites the register that has it, and what a signal has interrupted may use memory
    // beyond its stack pointer.
    const bool is_known = return_address && (frames_.size() == 1 || kind == RegisterRule::kSaved);
    if (!is_known || rules->is_of_signal != 0) return;
    at = *return_address - 1;
    begin = base;
    registers = callers;
  }
}

std::size_t StackFrames::frame_of(Address word) const {
  if (word < begin_) return kNone;
  const auto frame = std::ranges::upper_bound(frames_, word, {}, &Frame::end);
  return frame == frames_.end() ? kNone : static_cast<std::size_t>(frame - frames_.begin());
}

/// The first one among its callers that has saved the register too, and so may have used it.
std::size_t StackFrames::owner_of(const Saved& saved) const {
  for (std::size_t i = saved.frame + 1; i < frames_.size(); ++i) {
    if (frames_[i].rules->registers[saved.number].kind != RegisterRule::kSame) return i;
  }
  return is_whole_ ? frames_.size() - 1 : kNone;
}

std::string StackFrames::function_at(Address at) {
  const auto frame_at = [&](Address word) {
    const auto saved = saved_.find(word);
    return saved == saved_.end() ? frame_of(word) : owner_of(saved->second);
  };
  const std::size_t frame = frame_at(at / 8 * 8);
  // Words of packed structures may lie across two others.
  if (frame == kNone || frame != frame_at((at + 7) / 8 * 8)) return "";
  if (names_.empty()) read_names();
  return names_[frame];
}

void StackFrames::read_names() {
  std::map<const Mapping*, std::vector<Address>> addresses;
  for (const Frame& frame : frames_) {
    const Mapping* module = module_at(frame.at);
    addresses[module].push_back(frame.at + 1 - files_.bias(*module));
  }
  for (const auto& [module, of_module] : addresses) {
    static_cast<void>(files_.functions(*module, of_module));
  }
  for (const Frame& frame : frames_) {
    const Mapping& module = *module_at(frame.at);
    const Address vaddr = frame.at + 1 - files_.bias(module);
    const auto& place = files_.functions(module, {}).find(vaddr)->second;
    std::string& name = names_.emplace_back(
        place ? naming::display_name(place->function)
              : fmt::format("{}+0x{:x}", base::file_name_of(module.path), vaddr));
    // Without the line, which changes as the function goes on: it is the same root all the time.
    if (place && place->line != 0) name += fmt::format(" ({})", base::file_name_of(place->file));
  }
}

}  // namespace geiger::holders
