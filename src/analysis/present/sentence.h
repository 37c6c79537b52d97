// Clauses as sentences: reports and the page print what `run` ends with.
#pragma once

#include <string>

namespace geiger::present {

/// With a capital letter and a full stop.
[[nodiscard]] std::string as_sentence(std::string clause);

}  // namespace geiger::present
