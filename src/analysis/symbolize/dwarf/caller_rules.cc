#include "analysis/symbolize/dwarf/caller_rules.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "analysis/symbolize/confined.h"
#include "analysis/symbolize/elf/debug_file.h"
#include "analysis/symbolize/symbol_set.h"

namespace geiger::symbolize {

namespace {

// They travel as texts.
static_assert(std::has_unique_object_representations_v<CallerRules>);

std::optional<std::int32_t> small(Dwarf_Word word) {
  const auto number = static_cast<std::int64_t>(word);
  if (number != static_cast<std::int32_t>(number)) return std::nullopt;
  return static_cast<std::int32_t>(number);
}

bool is_register(std::int64_t number) {
  return number >= 0 && number < static_cast<std::int64_t>(kDwarfRegisters);
}

/// A register + an offset. Other expressions are those of signal frames and of tables of jumps.
bool read_base(const Dwarf_Op* operations, std::size_t count, CallerRules& rules) {
  if (count != 1) return false;
  const Dwarf_Op& only = operations[0];
  const bool is_short = only.atom >= DW_OP_breg0 && only.atom <= DW_OP_breg31;
  if (!is_short && only.atom != DW_OP_bregx) return false;
  const auto number = small(is_short ? only.atom - DW_OP_breg0 : only.number);
  const auto offset = small(is_short ? only.number : only.number2);
  if (!number || !offset || !is_register(*number)) return false;
  rules.base_register = *number;
  rules.base_offset = *offset;
  return true;
}

/// libdw gives a rule as operations on the base.
RegisterRule rule_of(Dwarf_Frame* frame, int number) {
  Dwarf_Op room[3];
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (::dwarf_frame_register(frame, number, room, &operations, &count) != 0) return {};
  if (count == 0) {
    return {operations == nullptr ? RegisterRule::kSame : RegisterRule::kUndefined, 0};
  }
  if (operations[0].atom == DW_OP_regx && count == 1) {
    const auto other = small(operations[0].number);
    if (other && is_register(*other)) return {RegisterRule::kMoved, *other};
  }
  if (operations[0].atom != DW_OP_call_frame_cfa) return {};
  std::size_t done = 1;
  std::optional<std::int32_t> offset = 0;
  if (done < count && operations[done].atom == DW_OP_plus_uconst) {
    offset = small(operations[done++].number);
  }
  const bool is_value = done < count && operations[done].atom == DW_OP_stack_value;
  if (!offset || done + (is_value ? 1 : 0) != count) return {};
  return {is_value ? RegisterRule::kComputed : RegisterRule::kSaved, *offset};
}

std::optional<CallerRules> rules_at(Dwarf_CFI* table, Address address) {
  Dwarf_Frame* found = nullptr;
  if (table == nullptr || ::dwarf_cfi_addrframe(table, address, &found) != 0) return std::nullopt;
  const std::unique_ptr<Dwarf_Frame, decltype(&std::free)> frame(found, &std::free);
  CallerRules rules;
  bool is_of_signal = false;
  rules.return_register = ::dwarf_frame_info(frame.get(), nullptr, nullptr, &is_of_signal);
  rules.is_of_signal = is_of_signal ? 1 : 0;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  const bool has_base = is_register(rules.return_register) &&
                        ::dwarf_frame_cfa(frame.get(), &operations, &count) == 0 &&
                        read_base(operations, count, rules);
  if (!has_base) return std::nullopt;
  for (std::size_t i = 0; i < kDwarfRegisters; ++i) {
    rules.registers[i] = rule_of(frame.get(), static_cast<int>(i));
  }
  // Of registers without a rule the ABI says whether functions leave them as they are. Of x86-64
  // libdw 0.188 takes rax for rbx there.
  constexpr int kReturnOfX86 = 16, kRax = 0, kRbx = 3;
  if (rules.return_register == kReturnOfX86) {
    RegisterRule& rbx = rules.registers[kRbx];
    if (rbx.kind == RegisterRule::kUndefined) rbx.kind = RegisterRule::kSame;
    rules.registers[kRax] = {RegisterRule::kUndefined, 0};
  }
  return rules;
}

ModuleAnswer read_rules(const ModuleJob& job, const SearchOptions& options) {
  const auto file = open_debug_file(job.path, job.build_id, options);
  ModuleAnswer answer{file->file_state(), "", {}, {}};
  if (file->module() == nullptr) return answer;
  SymbolSetBuilder builder;
  const std::uint32_t none = builder.string("");
  ModuleNames& module = builder.set().modules.emplace_back();
  Dwarf_Addr bias = 0;
  Dwarf_CFI* const loaded = ::dwfl_module_eh_cfi(file->module(), &bias);
  Dwarf_CFI* const debug = file->dwarf() == nullptr ? nullptr : ::dwarf_getcfi(file->dwarf());
  for (const Address address : job.addresses) {
    auto rules = rules_at(loaded, address + file->bias() - bias);
    if (!rules) rules = rules_at(debug, address + file->bias() - file->dwarf_bias());
    if (!rules) continue;
    std::string text(sizeof *rules, '\0');
    std::memcpy(text.data(), &*rules, sizeof *rules);
    module.addresses.push_back({address, {builder.frame({builder.string(text), none, none, 0})}});
  }
  answer.names = std::move(builder).take();
  return answer;
}

bool is_sound(const CallerRules& rules) {
  for (const RegisterRule& rule : rules.registers) {
    if (rule.kind < RegisterRule::kUnknown || rule.kind > RegisterRule::kMoved) return false;
    if (rule.kind == RegisterRule::kMoved && !is_register(rule.value)) return false;
  }
  return is_register(rules.base_register) && is_register(rules.return_register);
}

}  // namespace

std::map<Address, CallerRules> caller_rules(const std::string& path,
                                            std::vector<Address> addresses) {
  std::map<Address, CallerRules> found;
  const std::size_t most = addresses.size();
  const auto answer = ask_confined({path, "", std::move(addresses)}, most, true, read_rules);
  if (!answer || answer->names.modules.empty()) return found;
  for (const NamedAddress& named : answer->names.modules[0].addresses) {
    if (named.frames.empty()) continue;
    const std::string& text = answer->names.strings[answer->names.frames[named.frames[0]].function];
    CallerRules rules;
    if (text.size() != sizeof rules) continue;
    std::memcpy(&rules, text.data(), sizeof rules);
    if (is_sound(rules)) found[named.address] = rules;
  }
  return found;
}

std::map<Address, FunctionPlace> function_places(const std::string& path,
                                                 std::vector<Address> addresses) {
  std::map<Address, FunctionPlace> found;
  const std::size_t most = addresses.size();
  const auto answer = ask_confined({path, "", std::move(addresses)}, most, true,
                                   [](const ModuleJob& job, const SearchOptions& options) {
                                     return symbolize_module(job, options, {});
                                   });
  if (!answer || answer->names.modules.empty()) return found;
  const SymbolSet& names = answer->names;
  for (const NamedAddress& named : names.modules[0].addresses) {
    if (named.frames.empty()) continue;
    const NamedFrame& outermost = names.frames[named.frames.back()];
    found[named.address] = {names.strings[outermost.function], names.strings[outermost.file],
                            outermost.line};
  }
  return found;
}

}  // namespace geiger::symbolize
