#include "analysis/holders/layout.h"

#include <algorithm>

#include "base/text.h"

namespace geiger::holders {

void leave_out_modules(Layout& layout, ModuleFiles& files, std::string_view name) {
  for (const observe::Mapping& mapping : layout.mappings) {
    const bool is_one = !name.empty() && mapping.offset == 0 && !mapping.is_shared &&
                        base::file_name_of(mapping.path).starts_with(name);
    if (!is_one) continue;
    const Bytes bytes = std::max(files.headers(mapping).bytes, mapping.end - mapping.start);
    layout.leave_out({mapping.start, mapping.start + bytes});
  }
}

void settle(std::vector<Span>& spans) {
  std::erase_if(spans, [](const Span& span) { return span.start >= span.end; });
  std::ranges::sort(spans, {}, &Span::start);
  std::vector<Span> joined;
  for (const Span& span : spans) {
    if (!joined.empty() && span.start <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, span.end);
    } else {
      joined.push_back(span);
    }
  }
  spans = std::move(joined);
}

}  // namespace geiger::holders
