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

void write_field(present::JsonWriter& json, const std::optional<profile::PythonTyping>& python) {
  if (!python) return;
  json.key("python_objects").begin_object().field("samples", python->samples);
  json.field("typed", python->typed).field("is_at_end", python->is_at_end);
  json.field("fault", python->fault).end_object();
}

}  // namespace geiger::report
