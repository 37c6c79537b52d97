// The note that a report shows once if some functions have only addresses, as symbols are missing.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "analysis/profile/recording.h"

namespace geiger::present {

/// "set DEBUGINFOD_URLS and run geiger symbolize --debuginfod RUN"; `run` as it is to be read, or
/// empty.
[[nodiscard]] std::string ask_debuginfod(const std::string& run);

/// The modules of functions that are called "module+0x1234". Our own library, and code without a
/// module, for which no symbols exist, are left out.
class UnnamedModules {
 public:
  /// Of a function as it was demangled; one with a name changes nothing.
  void see(std::string_view function);

  /// "git has no symbols: install its -dbgsym package"; empty where all functions have names.
  [[nodiscard]] std::string clause() const;
  /// clause() as a sentence that also suggests debuginfod. `run`: what to append to the command, or
  /// empty.
  [[nodiscard]] std::string sentence(const std::string& run = {}) const;
  /// sentence() in lines of `width`; empty where all functions have names.
  [[nodiscard]] std::string note(std::size_t width) const;

 private:
  std::set<std::string, std::less<>> modules_;
};

/// "functions of node's scripts have no names: record with geiger run --node"; empty where no stack
/// passes through code that a virtual machine compiled, or some of it has names.
[[nodiscard]] std::string compiled_code_hint(const profile::Recording& recording);

/// note() of the functions that `lines` are of, `name` of each.
template <typename Lines, typename Name>
[[nodiscard]] std::string unnamed_note(const Lines& lines, const Name& name, std::size_t width) {
  UnnamedModules unnamed;
  for (const auto& line : lines) unnamed.see(std::invoke(name, line));
  return unnamed.note(width);
}

}  // namespace geiger::present
