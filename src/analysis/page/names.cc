#include "analysis/page/names.h"

#include <fmt/format.h>

#include "analysis/present/format.h"

namespace geiger::page {

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  // Not within a character: bytes 10xxxxxx go on with one.
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
  return fmt::format("{}… (+{} bytes)", text.substr(0, most),
                     present::exact_count(text.size() - most));
}

std::vector<std::string> UsedNames::texts(std::size_t most, std::uint64_t& cut) const {
  std::vector<std::string> texts;
  texts.reserve(used_.size());
  for (const NameIndex name : used_) {
    cut += all_[name].size() > most ? 1 : 0;
    texts.push_back(shortened(all_[name], most));
  }
  return texts;
}

}  // namespace geiger::page
