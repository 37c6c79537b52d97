// Demangled names, one a line: shortened, fitted, told apart.
#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "analysis/naming/display_name.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  constexpr std::size_t kMost = 1 << 16;
  constexpr std::size_t kColumns = 24;
  if (size > kMost) return 0;
  std::string_view text = fuzz::text_of(data, size);
  std::unordered_set<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.insert(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::vector<naming::Named> functions;
  for (const std::string_view line : lines) {
    const std::string name = naming::display_name(line);
    fuzz::require(!name.empty(), "a name stays");
    fuzz::require(naming::columns_of(naming::fit_name(name, kColumns)) <= kColumns, "it fits");
    functions.push_back({line, "", kColumns});
  }
  std::unordered_set<std::string> shown;
  for (std::string& name : naming::distinct_names(functions)) shown.insert(std::move(name));
  fuzz::require(shown.size() == functions.size(), "no two look the same");
  return 0;
}
