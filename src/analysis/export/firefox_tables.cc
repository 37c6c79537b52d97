#include "analysis/export/firefox_tables.h"

#include <cmath>

#include "analysis/export/streams/json_stream.h"
#include "analysis/profile/labels.h"
#include "base/index_of.h"

namespace geiger::exports {
namespace {

using present::JsonWriter;
using profile::kNone;

constexpr int kOnlyCategory = 0;
constexpr int kLibraryResource = 1;

void empty(JsonWriter& json, const char* column) { json.key(column).begin_array().end_array(); }
JsonWriter& null(JsonWriter& json) { return json.number(HUGE_VAL); }

template <typename Items, typename WriteItem>
void column(JsonWriter& json, const char* name, const Items& items, const Sink& sink,
            const WriteItem& write_item) {
  json.array(name, items, [&](const auto& item) {
    write_item(item);
    pass_on(json, sink);
  });
}

template <typename Items>
void nulls(JsonWriter& json, const char* name, const Items& items, const Sink& sink) {
  column(json, name, items, sink, [&](const auto&) { null(json); });
}

}  // namespace

std::uint32_t ThreadTables::node_of(std::uint32_t stack) {
  const auto known = by_stack_.find(stack);
  if (known != by_stack_.end()) return known->second;
  std::uint32_t node = kNone;
  for (const std::uint32_t frame : shown_.path_of(stack)) {
    node = base::index_of(known_, {node, frame}, nodes_, {node, frame});
  }
  return by_stack_[stack] = node;
}

void ThreadTables::write(JsonWriter& json, const Sink& sink) {
  collect_libraries();
  write_frames(json, sink);
  write_functions(json, sink);
  write_resources(json);
  write_stacks(json, sink);
  json.key("nativeSymbols").begin_object();
  for (const char* column : {"address", "functionSize", "libIndex", "name"}) empty(json, column);
  json.field("length", 0).end_object();
  json.array("stringArray", strings_, [&](const std::string& text) {
    json.string(text);
    pass_on(json, sink);
  });
}

std::uint32_t ThreadTables::string(const std::string& text) {
  return base::index_of(string_ids_, text, strings_);
}

void ThreadTables::collect_libraries() {
  for (const ShownFunction& function : shown_.functions()) {
    if (function.module >= recording_.modules.size()) continue;
    if (recording_.modules[function.module].kind == profile::ModuleKind::kSource) continue;
    base::index_of(resources_, function.module, libraries_);
  }
}

void ThreadTables::write_frames(JsonWriter& json, const Sink& sink) {
  const auto& frames = shown_.frames();
  json.key("frameTable").begin_object().field("length", frames.size());
  column(json, "address", frames, sink, [&](const ShownFrame& frame) {
    const bool is_mark = frame.location == kNone;
    if (is_mark || recording_.is_source(recording_.locations[frame.location])) {
      json.signed_integer(-1);
    } else {
      json.integer(recording_.locations[frame.location].vaddr);
    }
  });
  column(json, "inlineDepth", frames, sink,
         [&](const ShownFrame& frame) { json.integer(frame.inline_depth); });
  column(json, "category", frames, sink, [&](const auto&) { json.integer(kOnlyCategory); });
  column(json, "subcategory", frames, sink, [&](const auto&) { json.integer(0); });
  column(json, "func", frames, sink,
         [&](const ShownFrame& frame) { json.integer(frame.function); });
  nulls(json, "nativeSymbol", frames, sink);
  nulls(json, "innerWindowID", frames, sink);
  nulls(json, "implementation", frames, sink);
  column(json, "line", frames, sink, [&](const ShownFrame& frame) {
    if (frame.line == 0) {
      null(json);
    } else {
      json.integer(frame.line);
    }
  });
  nulls(json, "column", frames, sink);
  json.end_object();
}

void ThreadTables::write_functions(JsonWriter& json, const Sink& sink) {
  const auto& functions = shown_.functions();
  json.key("funcTable").begin_object().field("length", functions.size());
  column(json, "name", shown_.names_of_functions(names_), sink,
         [&](const std::string& name) { json.integer(string(name)); });
  column(json, "isJS", functions, sink, [&](const auto&) { json.boolean(false); });
  column(json, "relevantForJS", functions, sink, [&](const auto&) { json.boolean(false); });
  column(json, "resource", functions, sink, [&](const ShownFunction& function) {
    const auto known = resources_.find(function.module);
    json.signed_integer(known == resources_.end() ? -1 : static_cast<int>(known->second));
  });
  column(json, "fileName", functions, sink, [&](const ShownFunction& function) {
    if (function.file.empty()) {
      null(json);
    } else {
      json.integer(string(function.file));
    }
  });
  nulls(json, "lineNumber", functions, sink);
  nulls(json, "columnNumber", functions, sink);
  json.end_object();
}

void ThreadTables::write_resources(JsonWriter& json) {
  json.key("resourceTable").begin_object().field("length", libraries_.size());
  json.key("lib").begin_array();
  for (std::size_t i = 0; i < libraries_.size(); ++i) json.integer(libraries_[i]);
  json.end_array();
  json.array("name", libraries_, [&](const std::uint32_t module) {
    json.integer(string(std::string(profile::file_name_of(recording_.modules[module].path))));
  });
  json.key("host").begin_array();
  for (std::size_t i = 0; i < libraries_.size(); ++i) null(json);
  json.end_array().key("type").begin_array();
  for (std::size_t i = 0; i < libraries_.size(); ++i) json.integer(kLibraryResource);
  json.end_array().end_object();
}

void ThreadTables::write_stacks(JsonWriter& json, const Sink& sink) {
  json.key("stackTable").begin_object().field("length", nodes_.size());
  column(json, "frame", nodes_, sink, [&](const StackNode& node) { json.integer(node.frame); });
  column(json, "category", nodes_, sink, [&](const auto&) { json.integer(kOnlyCategory); });
  column(json, "subcategory", nodes_, sink, [&](const auto&) { json.integer(0); });
  column(json, "prefix", nodes_, sink, [&](const StackNode& node) {
    if (node.prefix == kNone) {
      null(json);
    } else {
      json.integer(node.prefix);
    }
  });
  json.end_object();
}

}  // namespace geiger::exports
