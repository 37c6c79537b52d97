// Whose frame a word of a thread's stack is in: the functions that the thread has halted in, as far
// as that is proved.
//
// Each step from a function to its caller follows the rules that the compiler wrote for that
// instruction (CFI), from registers that are known: those that the thread's halt tells, and those
// that a frame before has saved. Where a rule is missing, or needs another register, the walk ends;
// nothing is guessed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/holders/layout.h"
#include "analysis/holders/module_files.h"
#include "analysis/holders/registers.h"
#include "base/units.h"

namespace geiger::holders {

class StackFrames {
 public:
  StackFrames(const Layout& layout, ModuleFiles& files) : layout_(layout), files_(files) {}

  /// The stack of a thread as it was when that had halted, up to `end`.
  struct Stack {
    Address end = 0;
    std::function<std::uint64_t(Address)> word;
  };
  void walk(const Halt& halt, const Stack& stack);

  /// The function whose frame the word at `at` is in, with its file: "main (shop.cc)"; empty:
  /// not known. A register that a function saved for its caller is its caller's.
  [[nodiscard]] std::string function_at(Address at);

 private:
  struct Frame {
    Address end = 0;
    Address at = 0;  ///< In the instruction: a call, but of the first frame.
    const symbolize::CallerRules* rules = nullptr;
  };
  struct Saved {
    std::size_t frame = 0, number = 0;  ///< Who saved which register.
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  [[nodiscard]] const symbolize::CallerRules* rules_at(Address address, const Stack& stack);
  /// ELF vaddrs of the module that words of the stack may return to, less 1.
  [[nodiscard]] std::vector<Address> code_addresses(const observe::Mapping& module,
                                                    const Stack& stack);
  [[nodiscard]] std::size_t frame_of(Address word) const;
  [[nodiscard]] std::size_t owner_of(const Saved& saved) const;
  /// The module with code at `address`, by its first mapping; null: none.
  [[nodiscard]] const observe::Mapping* module_at(Address address) const;
  void read_names();

  const Layout& layout_;
  ModuleFiles& files_;
  Address begin_ = 0;
  std::vector<Frame> frames_;       ///< The one that has halted first.
  bool is_whole_ = false;           ///< They reach the thread's first function.
  std::map<Address, Saved> saved_;  ///< By place.
  std::vector<std::string> names_;  ///< By frame; empty: not read yet.
};

}  // namespace geiger::holders
