#include "analysis/profile/glob.h"

namespace geiger::profile {

bool matches_glob(std::string_view glob, std::string_view text) {
  std::size_t at = 0;
  std::size_t in_glob = 0;
  std::size_t star = std::string_view::npos;  // The last *, to be tried longer.
  std::size_t after_star = 0;
  while (at < text.size()) {
    if (in_glob < glob.size() && glob[in_glob] == '*') {
      star = in_glob++;
      after_star = at;
    } else if (in_glob < glob.size() && (glob[in_glob] == '?' || glob[in_glob] == text[at])) {
      ++in_glob;
      ++at;
    } else if (star != std::string_view::npos) {
      in_glob = star + 1;
      at = ++after_star;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', in_glob) == std::string_view::npos;
}

}  // namespace geiger::profile
