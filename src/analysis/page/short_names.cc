#include "analysis/page/short_names.h"

#include "analysis/naming/display_name.h"

namespace geiger::page {

ShortNames::ShortNames(const CallTree& tree, const Names& names) : texts_(names.size()) {
  std::vector<bool> is_met(names.size(), false);
  std::vector<NameIndex> functions;
  std::vector<naming::Named> named;
  for (const Frame& frame : tree.frames()) {
    const auto name = static_cast<std::size_t>(frame.name);
    // Remarks are shown as they are, and a place without a symbol has no function.
    if (frame.name == kNoName || is_met[name] || (frame.flags & (kRemark | kUnknown)) != 0)
      continue;
    is_met[name] = true;
    functions.push_back(frame.name);
    named.push_back({.demangled = names[frame.name]});
  }
  std::vector<std::string> shown = naming::distinct_names(named);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (shown[i] == names[functions[i]]) continue;
    texts_[static_cast<std::size_t>(functions[i])] = std::move(shown[i]);
  }
}

std::vector<std::string> ShortNames::of(const UsedNames& names, std::size_t most) const {
  std::vector<std::string> texts;
  for (const NameIndex name : names.used()) {
    const auto index = static_cast<std::size_t>(name);
    texts.push_back(index < texts_.size() ? shortened(texts_[index], most) : "");
  }
  return texts;
}

}  // namespace geiger::page
