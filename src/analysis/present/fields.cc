#include "analysis/present/fields.h"

#include <fmt/format.h>

#include <set>

#include "analysis/present/grid.h"

namespace geiger::present {

void SchemaWriter::refer(std::string_view name, void (*write)(SchemaWriter&)) {
  definitions_.try_emplace(name, write);
  json.field("$ref", fmt::format("#/$defs/{}", name));
}

void SchemaWriter::write_definitions() {
  json.key("$defs").begin_object();
  // What is written may refer to more.
  std::set<std::string_view> written;
  for (auto next = definitions_.begin(); next != definitions_.end();) {
    if (!written.insert(next->first).second) {
      ++next;
      continue;
    }
    json.key(next->first).begin_object();
    next->second(*this);
    json.end_object();
    next = definitions_.begin();
  }
  json.end_object();
}

const Fields<ColumnWords>& fields_of(Of<ColumnWords> /*type*/) {
  static const auto kFields = Fields<ColumnWords>("column")
                                  .field("name", "", &ColumnWords::name)
                                  .field("heading", "", &ColumnWords::heading)
                                  .field("meaning", "", &ColumnWords::meaning);
  return kFields;
}

std::string schema_of(const std::vector<DocumentSchema>& documents) {
  SchemaWriter schema;
  JsonWriter& json = schema.json;
  json.begin_object().field("$schema", kSchemaDialect);
  json.field("$id", fmt::format("urn:geiger:report:{}", kSchemaVersion));
  json.field("title", "What geiger prints with --json");
  json.field("description",
             "One document per call. Fields may be added under the same schema_version; see "
             "docs/guide/json.md.");
  json.field("type", "object");
  json.array("required", std::array{"schema_version", "report"},
             [&](auto* name) { json.string(name); });
  json.object("properties", [&] {
    json.object("schema_version", [&] { json.field("const", kSchemaVersion); });
    json.object("report", [&] {
      json.array("enum", documents, [&](const auto& document) { json.string(document.report); });
    });
  });
  json.objects("allOf", documents, [&](const DocumentSchema& document) {
    json.object("if", [&] {
      json.object("properties",
                  [&] { json.object("report", [&] { json.field("const", document.report); }); });
    });
    json.object("then", [&] { document.write(schema); });
  });
  schema.write_definitions();
  json.end_object();
  return json.take();
}

}  // namespace geiger::present
