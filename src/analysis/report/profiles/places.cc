#include "analysis/report/profiles/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/present/json.h"
#include "analysis/profile/select/kind_rules.h"
#include "base/utf8_text.h"

namespace geiger::report {

namespace {

bool has_line(const TableLine& line) { return !line.where.file.empty() && line.where.line != 0; }

/// What the row says of its line.
std::string note_of(const TableReport& report, const TableLine& line) {
  const bool is_allocated = report.kind == profile::Kind::kAllocated;
  return fmt::format(
      "{} {}allocated here by {}, {}",
      present::figure(present::shown_bytes(line.self), present::Quantity::kBytes).text(),
      is_allocated ? "" : present::text_of(report.options.scope, report.kind) + ", ",
      present::printable(line.name), present::plural(line.self.samples, "sample"));
}

/// The path below the root, if it is there.
std::string_view below(std::string_view path, std::string_view root) {
  if (root.empty() || !path.starts_with(root)) return path;
  std::string_view rest = path.substr(root.size());
  if (!root.ends_with('/') && !rest.starts_with('/')) return path;
  while (rest.starts_with('/')) rest.remove_prefix(1);
  return rest;
}

/// A path as a part of a URI (RFC 3986).
std::string uri_of(std::string_view path) {
  std::string uri;
  for (const char c : to_valid_utf8(path)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') ||
                          std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

void write_result(present::JsonWriter& json, const PlacedTable& table, const TableLine& line) {
  constexpr std::string_view kRoot = "SRCROOT";
  const std::string_view file = below(line.where.file, table.root);
  const bool is_absolute = file.starts_with('/');
  json.field("ruleId", profile::name_of(table.report.kind)).field("level", "note");
  json.object("message", [&] { json.field("text", note_of(table.report, line)); });
  json.key("locations").begin_array().begin_object();
  json.object("physicalLocation", [&] {
    json.object("artifactLocation", [&] {
      json.field("uri", (is_absolute ? "file://" : "") + uri_of(file));
      if (!is_absolute) json.field("uriBaseId", kRoot);
    });
    json.object("region", [&] { json.field("startLine", line.where.line); });
  });
  json.key("logicalLocations").begin_array().begin_object();
  json.field("fullyQualifiedName", line.name).field("kind", "function");
  json.end_object().end_array().end_object().end_array();
  // The same where the line moves.
  json.object("partialFingerprints",
              [&] { json.field("function/v1", fmt::format("{}:{}", file, line.name)); });
  json.object("properties", [&] { json.field("bytes", present::shown_bytes(line.self)); });
}

}  // namespace

std::size_t count_without_line(const TableReport& report) {
  return report.lines.size() -
         static_cast<std::size_t>(std::ranges::count_if(report.lines, has_line));
}

std::string to_gcc(const PlacedTable& table) {
  std::string text;
  for (const TableLine& line : table.report.lines) {
    if (!has_line(line)) continue;
    text += fmt::format("{}:{}: note: {}\n", present::printable(below(line.where.file, table.root)),
                        line.where.line, note_of(table.report, line));
  }
  return text;
}

std::string to_sarif(const PlacedTable& table) {
  present::JsonWriter json;
  const std::string kind = std::string(profile::name_of(table.report.kind));
  json.begin_object()
      .field("$schema", "https://json.schemastore.org/sarif-2.1.0.json")
      .field("version", "2.1.0");
  json.key("runs").begin_array().begin_object();
  json.object("tool", [&] {
    json.object("driver", [&] {
      json.field("name", "geiger");
      json.key("rules").begin_array().begin_object().field("id", kind);
      json.object("shortDescription", [&] {
        json.field("text", "Memory by source line, estimated from samples: " +
                               present::text_of(table.report.options.scope, table.report.kind));
      });
      json.end_object().end_array();
    });
  });
  json.object("originalUriBaseIds", [&] {
    json.object("SRCROOT", [&] { json.field("uri", "file://" + uri_of(table.root) + "/"); });
  });
  json.key("results").begin_array();
  for (const TableLine& line : table.report.lines) {
    if (!has_line(line)) continue;
    json.begin_object();
    write_result(json, table, line);
    json.end_object();
  }
  json.end_array().end_object().end_array().end_object();
  return json.take();
}

}  // namespace geiger::report
