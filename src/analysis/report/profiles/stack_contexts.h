// What distinguishes stacks that look alike in a table: equal functions at equal lines.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/present/style.h"
#include "analysis/profile/recording.h"
#include "analysis/report/profiles/table.h"

namespace geiger::report {

/// Sets the context of each line whose stack another one's blamed function and line are of: the
/// callers that differ; where all are the same, what the function called; where that is too, the
/// lines of the callers. Stacks that differ in addresses alone get numbers.
void distinguish_stacks(std::span<TableLine> lines, const profile::Recording& recording);

/// "… < main (leaky.cc:63)", "› string::append", "#2".
[[nodiscard]] std::string context_text(const std::vector<ContextPart>& context,
                                       const present::Style& style);

}  // namespace geiger::report
