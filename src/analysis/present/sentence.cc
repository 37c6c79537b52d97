#include "analysis/present/sentence.h"

#include <cctype>

namespace geiger::present {

std::string as_sentence(std::string clause) {
  if (clause.empty()) return clause;
  clause[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(clause[0])));
  if (!clause.ends_with('.')) clause += '.';
  return clause;
}

}  // namespace geiger::present
