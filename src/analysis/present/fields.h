// What `--json` prints, described once: a list of fields for each type of value. The documents and
// their schema (`geiger schema`, of which docs/guide/json-fields.md is made) come from these lists.
//
// A type T has a list if `const Fields<T>& fields_of(Of<T>)` is found where T or this header is
// declared, and an enumeration has names if `names_of(Of<T>)` and `name_of(T)` are.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/json.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::present {

/// What a report says, with the recording that it names things of. Getters of its fields may be of
/// either.
template <typename T>
struct InRecording {
  const T& it;
  const profile::Recording& recording;
};
/// Each of `items`, with the recording. Both outlive what is returned.
template <typename T>
[[nodiscard]] std::vector<InRecording<T>> each_of(const std::vector<T>& items,
                                                  const profile::Recording& recording) {
  std::vector<InRecording<T>> all;
  for (const T& item : items) all.push_back({item, recording});
  return all;
}
template <typename Get, typename T>
[[nodiscard]] decltype(auto) ask(const Get& get, const T& of) {
  if constexpr (std::invocable<const Get&, const T&>) {
    return std::invoke(get, of);
  } else {
    return std::invoke(get, of.it);
  }
}

/// The name of `value` among those of an enumeration that counts from 0; empty of none.
template <typename Enum, std::size_t N>
[[nodiscard]] constexpr std::string_view name_among(const std::string_view (&names)[N],
                                                    Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : std::string_view();
}

/// The texts that `name` has for the values of an enumeration, which count from 0.
template <typename Enum, typename Name>
[[nodiscard]] std::vector<std::string_view> texts_of(const Name& name) {
  constexpr unsigned kMost = 32;
  std::vector<std::string_view> texts;
  for (unsigned i = 0; i < kMost; ++i) {
    const std::string_view text = name(static_cast<Enum>(i));
    if (!text.empty() && std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

/// Stands for T where no value of it is at hand.
template <typename T>
struct Of {};

template <typename T>
class Fields;

template <typename T>
concept Described = requires {
  { fields_of(Of<T>{}) } -> std::same_as<const Fields<T>&>;
};
template <typename T>
concept Enumerated = requires {
  names_of(Of<T>{});
};

/// A bit of an enumeration of bits, which has them by `flags_of(Of<T>)`, the lowest first.
struct Flag {
  std::string_view name, meaning;
};
template <typename T>
concept Flags = requires {
  flags_of(Of<T>{});
};

/// `value`, to leave a field out where it says nothing: "if" is false.
template <typename T>
[[nodiscard]] std::optional<T> if_true(bool is_there, T value) {
  if (!is_there) return std::nullopt;
  return std::optional<T>(std::move(value));
}

/// Writes a JSON Schema: of one value after the other, and once each of what these refer to.
class SchemaWriter {
 public:
  /// Writes the member of a schema that refers to the definition `name`, which `write` writes.
  void refer(std::string_view name, void (*write)(SchemaWriter&));
  /// The object "$defs": all that was referred to since the writer was made.
  void write_definitions();

  JsonWriter json;

 private:
  std::map<std::string_view, void (*)(SchemaWriter&)> definitions_;
};

template <typename T>
struct OptionalOf : std::false_type {
  using Value = T;
};
template <typename T>
struct OptionalOf<std::optional<T>> : std::true_type {
  using Value = T;
};

/// An object whose keys are data.
template <typename T>
struct Keyed {
  std::vector<std::pair<std::string, T>> values;
};
template <typename T>
struct KeyedOf : std::false_type {};
template <typename T>
struct KeyedOf<Keyed<T>> : std::true_type {
  using Value = T;
};

template <typename T>
struct ChoiceOf : std::false_type {};
template <typename... T>
struct ChoiceOf<std::variant<T...>> : std::true_type {};

template <typename T>
void write_value(JsonWriter& json, const T& value) {
  if constexpr (KeyedOf<T>::value) {
    json.begin_object();
    for (const auto& [key, item] : value.values) write_value(json.key(key), item);
    json.end_object();
  } else if constexpr (Described<T>) {
    json.begin_object();
    fields_of(Of<T>{}).write(json, value);
    json.end_object();
  } else if constexpr (Enumerated<T>) {
    json.string(name_of(value));
  } else if constexpr (Flags<T>) {
    json.integer(static_cast<std::uint64_t>(value));
  } else if constexpr (ChoiceOf<T>::value) {
    std::visit([&](const auto& chosen) { write_value(json, chosen); }, value);
  } else if constexpr (std::same_as<T, bool>) {
    json.boolean(value);
  } else if constexpr (std::unsigned_integral<T>) {
    json.integer(value);
  } else if constexpr (std::signed_integral<T>) {
    json.signed_integer(value);
  } else if constexpr (std::floating_point<T>) {
    json.number(value);
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    json.string(value);
  } else {
    json.begin_array();
    for (const auto& item : value) write_value(json, item);
    json.end_array();
  }
}

template <typename T>
void write_schema(SchemaWriter& schema);

template <typename... T>
void write_choice_schema(SchemaWriter& schema, Of<std::variant<T...>> /*type*/) {
  schema.json.key("anyOf").begin_array();
  const auto write = [&]<typename One>(Of<One>) {
    schema.json.begin_object();
    write_schema<One>(schema);
    schema.json.end_object();
  };
  (write(Of<T>{}), ...);
  schema.json.end_array();
}

/// The members of the schema of a value of type T.
template <typename T>
void write_schema(SchemaWriter& schema) {
  JsonWriter& json = schema.json;
  if constexpr (KeyedOf<T>::value) {
    json.field("type", "object").object("additionalProperties", [&] {
      write_schema<typename KeyedOf<T>::Value>(schema);
    });
  } else if constexpr (Described<T>) {
    constexpr auto write = [](SchemaWriter& out) { fields_of(Of<T>{}).write_schema(out); };
    const std::string_view name = fields_of(Of<T>{}).name();
    name.empty() ? write(schema) : schema.refer(name, write);
  } else if constexpr (Enumerated<T>) {
    json.array("enum", names_of(Of<T>{}), [&](std::string_view name) { json.string(name); });
  } else if constexpr (Flags<T>) {
    json.field("type", "integer").objects("flags", flags_of(Of<T>{}), [&](const Flag& flag) {
      json.field("name", flag.name).field("description", flag.meaning);
    });
  } else if constexpr (ChoiceOf<T>::value) {
    write_choice_schema(schema, Of<T>{});
  } else if constexpr (std::same_as<T, bool>) {
    json.field("type", "boolean");
  } else if constexpr (std::unsigned_integral<T>) {
    json.field("type", "integer").field("minimum", 0);
  } else if constexpr (std::signed_integral<T>) {
    json.field("type", "integer");
  } else if constexpr (std::floating_point<T>) {
    json.field("type", "number");
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    json.field("type", "string");
  } else {
    json.field("type", "array");
    json.object("items", [&] { write_schema<std::ranges::range_value_t<T>>(schema); });
  }
}

/// How the text shows a field, a column of a table.
enum class Cells : std::uint8_t {
  kFigure,  ///< A value and its error.
  kNumber,  ///< One cell, to the right.
  kText,    ///< One cell, to the left, after all numbers.
  kName,    ///< As kText; cut to the room that the others leave.
};

/// Ranks of columns that are not there, and that stay.
inline constexpr int kAbsent = -1, kStays = 0;

/// What reports draw of a field. The table calls its functions for the first row.
template <typename T>
struct TextColumn {
  Cells form;
  std::function<std::string(const T&)> heading;
  /// Where the terminal is narrow the highest go first; 0 stays, and below 0 it is not there.
  std::function<int(const T&)> rank;
  std::function<Figure(const T&)> cell;
};

/// One field of a T.
template <typename T>
struct Field {
  std::string_view name = {};  ///< Of what only the text has: empty, or as pages call it.
  std::string_view meaning = {};
  bool is_optional = false;  ///< Left out where there is nothing to say.
  /// Whether a number that is not known, null in JSON, may be in it.
  bool may_be_null = false;
  /// The texts that it has, where these are known.
  std::vector<std::string_view> names = {};
  void (*write_schema)(SchemaWriter&) = nullptr;
  std::function<void(JsonWriter&, const T&)> write = {};
  std::optional<TextColumn<T>> column = {};
};

/// The fields of a T in the order of the document. Made once per type; then const, so for any
/// thread.
template <typename T>
class Fields {
 public:
  /// `name` is that of its definition in the schema: none of a type that only one place has.
  explicit Fields(std::string_view name = {}, std::string_view meaning = {})
      : name_(name), meaning_(meaning) {}

  /// A field with what `get` returns of a T, a member or a function: left out where that is an
  /// optional without a value.
  template <typename Get>
  Fields&& field(std::string_view name, std::string_view meaning, Get get) && {
    using Got = std::remove_cvref_t<decltype(ask(get, std::declval<const T&>()))>;
    using Value = typename OptionalOf<Got>::Value;
    fields_.push_back({.name = name,
                       .meaning = meaning,
                       .is_optional = OptionalOf<Got>::value,
                       .write_schema = &present::write_schema<Value>,
                       .write = [name, get](JsonWriter& json, const T& of) {
                         const auto& got = ask(get, of);
                         if constexpr (OptionalOf<Got>::value) {
                           if (got) write_value(json.key(name), *got);
                         } else {
                           write_value(json.key(name), got);
                         }
                       }});
    return std::move(*this);
  }
  /// The last field is null where its number is not known.
  Fields&& or_null() && {
    fields_.back().may_be_null = true;
    return std::move(*this);
  }
  /// The last field is one of these texts.
  Fields&& one_of(std::vector<std::string_view> names) && {
    fields_.back().names = std::move(names);
    return std::move(*this);
  }

  /// All fields of what `get` returns: none of them where that is an optional without a value.
  template <typename Get>
  Fields&& inlined(Get get) && {
    using Got = std::remove_cvref_t<decltype(ask(get, std::declval<const T&>()))>;
    using Part = typename OptionalOf<Got>::Value;
    for (const Field<Part>& field : fields_of(Of<Part>{}).all()) {
      if (!field.write) continue;
      const bool is_optional = field.is_optional || OptionalOf<Got>::value;
      fields_.push_back({field.name, field.meaning, is_optional, field.may_be_null, field.names,
                         field.write_schema, [&field, get](JsonWriter& json, const T& of) {
                           const auto& got = ask(get, of);
                           if constexpr (OptionalOf<Got>::value) {
                             if (got) field.write(json, *got);
                           } else {
                             field.write(json, got);
                           }
                         }});
    }
    return std::move(*this);
  }

  /// The last field is a column of the text too; of a field without a name it is all. `heading` and
  /// `rank` are values or functions of a T, `cell` returns its figure or text.
  template <typename Heading, typename Rank, typename Cell>
  Fields&& column(Cells form, Heading heading, Rank rank, Cell cell) && {
    const auto of_row = [](const auto& given, const T& row) {
      if constexpr (std::invocable<decltype(given), const T&>) {
        return std::invoke(given, row);
      } else {
        return given;
      }
    };
    fields_.back().column =
        TextColumn<T>{form, [=](const T& row) { return std::string(of_row(heading, row)); },
                      [=](const T& row) { return static_cast<int>(of_row(rank, row)); },
                      [=](const T& row) {
                        if constexpr (std::same_as<std::invoke_result_t<Cell, const T&>, Figure>) {
                          return std::invoke(cell, row);
                        } else {
                          return Figure{std::string(std::invoke(cell, row)), ""};
                        }
                      }};
    return std::move(*this);
  }
  /// A column that documents have no field for.
  template <typename Heading, typename Rank, typename Cell>
  Fields&& only_column(Cells form, Heading heading, Rank rank, Cell cell) && {
    fields_.emplace_back();
    return std::move(*this).column(form, std::move(heading), std::move(rank), std::move(cell));
  }

  /// Names the last field, a column that documents have no field for.
  Fields&& called(std::string_view name, std::string_view meaning) && {
    fields_.back().name = name;
    fields_.back().meaning = meaning;
    return std::move(*this);
  }

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] const std::vector<Field<T>>& all() const { return fields_; }

  /// The fields of `of` in the object that is open.
  void write(JsonWriter& json, const T& of) const {
    for (const Field<T>& field : fields_) {
      if (field.write) field.write(json, of);
    }
  }
  /// The members of the schema of an object with these fields.
  void write_schema(SchemaWriter& schema) const {
    write_schema(schema, [] {});
  }
  /// And with those that name the document that the object is.
  void write_document_schema(SchemaWriter& schema) const {
    write_schema(schema,
                 [&] { schema.json.object("schema_version", [] {}).object("report", [] {}); });
  }

 private:
  template <typename Before>
  void write_schema(SchemaWriter& schema, const Before& write_before) const {
    JsonWriter& json = schema.json;
    json.field("type", "object");
    if (!meaning_.empty()) json.field("description", meaning_);
    json.key("required").begin_array();
    for (const Field<T>& field : fields_) {
      if (field.write && !field.is_optional) json.string(field.name);
    }
    json.end_array();
    json.key("properties").begin_object();
    write_before();
    for (const Field<T>& field : fields_) {
      if (field.write) write_property(schema, field);
    }
    json.end_object();
  }

  static void write_property(SchemaWriter& schema, const Field<T>& field) {
    JsonWriter& json = schema.json;
    json.key(field.name).begin_object();
    if (!field.meaning.empty()) json.field("description", field.meaning);
    if (field.may_be_null) {
      json.array("type", std::array{"number", "null"}, [&](auto* type) { json.string(type); });
    } else if (!field.names.empty()) {
      json.array("enum", field.names, [&](std::string_view name) { json.string(name); });
    } else {
      field.write_schema(schema);
    }
    json.end_object();
  }

  std::string_view name_, meaning_;
  std::vector<Field<T>> fields_;
};

/// The fields of `of` in the object that is open.
template <Described T>
void write_fields(JsonWriter& json, const T& of) {
  fields_of(Of<T>{}).write(json, of);
}

/// A whole document of `--json`: the report's name, then the fields of `of`.
template <typename T>
[[nodiscard]] std::string document(std::string_view report, const T& of) {
  JsonWriter json(report);
  write_fields(json, of);
  return json.finish();
}

template <typename T>
[[nodiscard]] std::string document(std::string_view report, const T& of,
                                   const profile::Recording& recording) {
  return document(report, InRecording<T>{of, recording});
}

inline constexpr std::string_view kSchemaDialect = "https://json-schema.org/draft/2020-12/schema";

/// The schema of such a document.
struct DocumentSchema {
  std::string_view report;
  void (*write)(SchemaWriter&);
};
template <typename T>
[[nodiscard]] DocumentSchema document_schema(std::string_view report) {
  return {report, [](SchemaWriter& schema) { fields_of(Of<T>{}).write_document_schema(schema); }};
}

/// The schema of a value of type T alone.
template <typename T>
[[nodiscard]] std::string schema_of_value() {
  SchemaWriter schema;
  schema.json.begin_object().field("$schema", kSchemaDialect);
  write_schema<T>(schema);
  schema.write_definitions();
  schema.json.end_object();
  return schema.json.take();
}

/// The schema of all documents: draft 2020-12 of JSON Schema.
[[nodiscard]] std::string schema_of(const std::vector<DocumentSchema>& documents);

}  // namespace geiger::present
