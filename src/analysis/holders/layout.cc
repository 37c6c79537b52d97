#include "analysis/holders/layout.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"

namespace geiger::holders {

void find_modules(Layout& layout, ModuleFiles& files, Bytes page_bytes) {
  std::vector<observe::Mapping> mappings;
  std::map<std::string, std::uint32_t> latest;  // By path.
  const auto add = [&](observe::Mapping mapping, std::uint32_t module) {
    mappings.push_back(std::move(mapping));
    layout.modules.push_back(module);
  };
  for (const observe::Mapping& mapping : layout.mappings) {
    const auto here = static_cast<std::uint32_t>(mappings.size());
    const std::uint32_t before = here == 0 ? kNoMapping : layout.modules.back();
    const bool continues = before != kNoMapping && mapping.path.empty() && mapping.is_writable &&
                           mappings.back().end == mapping.start && !mappings.back().path.empty();
    if (mapping.path.starts_with('/') && !mapping.is_shared) {
      const bool begins = mapping.offset == 0 && !mapping.is_writable;
      const auto [at, is_new] = latest.try_emplace(mapping.path, here);
      if (begins && !is_new) at->second = here;
      add(mapping, at->second);
    } else if (continues) {
      const Bytes bytes = files.headers(mappings[before]).bytes;
      const Address end =
          (mappings[before].start + bytes + page_bytes - 1) / page_bytes * page_bytes;
      if (bytes == 0 || end >= mapping.end) {
        add(mapping, before);
        continue;
      }
      observe::Mapping own = mapping, rest = mapping;
      own.end = rest.start = std::max(mapping.start, end);
      if (own.start < own.end) add(std::move(own), before);
      add(std::move(rest), kNoMapping);
    } else {
      add(mapping, kNoMapping);
    }
  }
  layout.mappings = std::move(mappings);
}

void leave_out_modules(Layout& layout, ModuleFiles& files, std::string_view name) {
  for (const observe::Mapping& mapping : layout.mappings) {
    const bool is_one = !name.empty() && mapping.offset == 0 && !mapping.is_shared &&
                        base::file_name_of(mapping.path).starts_with(name);
    if (!is_one) continue;
    const Bytes bytes = std::max(files.headers(mapping).bytes, mapping.end - mapping.start);
    layout.leave_out({mapping.start, mapping.start + bytes});
  }
}

void Layout::add_mapping(Span span) {
  observe::Mapping mapping;
  mapping.start = span.start;
  mapping.end = span.end;
  mapping.is_readable = mapping.is_writable = true;
  const auto at = std::ranges::lower_bound(mappings, span.start, {}, &observe::Mapping::start);
  const auto index = static_cast<std::uint32_t>(at - mappings.begin());
  mappings.insert(at, std::move(mapping));
  for (std::uint32_t& module : modules) {
    if (module != kNoMapping && module >= index) ++module;
  }
  modules.insert(modules.begin() + index, kNoMapping);
}

std::optional<Span> Layout::late_at(Address target, Span free) const {
  for (const auto& part : late) {
    if (auto block = part->at(target, free)) return block;
  }
  return std::nullopt;
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
