#include "analysis/report/profiles/python_objects.h"

#include <fmt/format.h>

#include "analysis/present/format.h"
#include "analysis/present/text.h"

namespace geiger::report {

std::string text_of(const profile::PythonTyping& python) {
  if (python.typed == python.samples) return {};
  const std::string reason =
      python.fault.empty() ? "the others are parts of objects, or their types could not be read"
                           : present::printable(python.fault);
  return fmt::format("{} of {}{} have a type: {}.\n", present::exact_count(python.typed),
                     present::plural(python.samples, "sampled Python object"),
                     python.is_at_end ? " live at the end" : "", reason);
}

}  // namespace geiger::report

namespace geiger::present {

using profile::PythonTyping;

const Fields<PythonTyping>& fields_of(Of<PythonTyping> /*type*/) {
  static const auto kFields =
      Fields<PythonTyping>("python_objects", "How many of them have a known type.")
          .field("samples", "", &PythonTyping::samples)
          .field("typed", "of `samples`", &PythonTyping::typed)
          .field("is_at_end", "only samples that were live at the end count; else all",
                 &PythonTyping::is_at_end)
          .field("fault", "why types of a process could not be read; empty if they could",
                 &PythonTyping::fault);
  return kFields;
}

}  // namespace geiger::present
