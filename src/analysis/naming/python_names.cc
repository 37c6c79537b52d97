#include "analysis/naming/python_names.h"

#include <algorithm>

namespace geiger::naming {
namespace {

constexpr std::string_view kLocals = ".<locals>";

/// "<module>", "<generic parameters of f>"; no "<T as Trait>", which has a method behind it.
bool is_bracketed_word(std::string_view part) {
  if (part.size() < 3 || part.front() != '<' || part.back() != '>') return false;
  part = part.substr(1, part.size() - 2);
  return part.find_first_of("<>:&[]()*,") == part.npos && part.front() >= 'a' &&
         part.front() <= 'z' && part.find(" as ") == part.npos;
}

}  // namespace

bool is_python_name(std::string_view name) {
  if (name.find(".<locals>.") != name.npos) return true;
  const std::size_t open = name.rfind('<');
  const bool is_last = open == 0 || (open != name.npos && name[open - 1] == '.');
  return is_last && is_bracketed_word(name.substr(open));
}

std::string python_display_name(std::string_view name) {
  std::string shown;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t found = std::min(name.find(kLocals, at), name.size());
    shown += name.substr(at, found - at);
    at = std::min(found + kLocals.size(), name.size());
  }
  return shown;
}

}  // namespace geiger::naming
