#include "analysis/holders/registers.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

namespace geiger::holders {

namespace {

constexpr std::uint8_t kNo = 0xff;

constexpr RegisterLayout kLayouts[] = {
    {EM_X86_64,
     27,
     19,
     16,
     21,
     {10,  12,  11,  5,   13,  14,  4,   19,  9,   8,   7,   6,   3,   2,   1,   0,
      kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo},
     7},
    {EM_AARCH64,
     34,
     31,
     32,
     std::nullopt,
     {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
      16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
     31}};

#if defined(__x86_64__)
constexpr std::uint16_t kOwnMachine = EM_X86_64;
#else
constexpr std::uint16_t kOwnMachine = EM_AARCH64;
#endif

}  // namespace

const RegisterLayout* register_layout(std::uint16_t machine) {
  const auto known = std::ranges::find(kLayouts, machine, &RegisterLayout::machine);
  return known == std::end(kLayouts) ? nullptr : known;
}

const RegisterLayout& own_register_layout() { return *register_layout(kOwnMachine); }

std::optional<Halt> halt_of(const RegisterLayout& layout, std::span<const std::uint64_t> words) {
  if (words.size() < layout.words) return std::nullopt;
  Halt halt{words[layout.stack_pointer], words[layout.program_counter], 0, {}};
  for (std::size_t i = 0; i < layout.dwarf.size(); ++i) {
    if (layout.dwarf[i] != kNo) halt.registers[i] = words[layout.dwarf[i]];
  }
  return halt;
}

std::optional<Halt> halt_of(const observe::ProcessFiles& files, pid_t tid) {
  // In this order: a thread that halts again between the two has halted once more afterwards.
  const auto call = files.read(fmt::format("task/{}/syscall", tid).c_str());
  const auto status = files.read(fmt::format("task/{}/status", tid).c_str());
  const auto place = call ? observe::parse_waiting_place(*call) : std::nullopt;
  const auto switches = status ? observe::parse_switches(*status) : std::nullopt;
  if (!place || !switches) return std::nullopt;
  Halt halt{place->stack_pointer, place->program_counter, *switches, {}};
  halt.registers[own_register_layout().dwarf_stack_pointer] = place->stack_pointer;
  return halt;
}

}  // namespace geiger::holders
