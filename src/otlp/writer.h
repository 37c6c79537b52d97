// Writes OpenTelemetry's profiles: a dictionary of what they refer to, each item once, profiles
// with one sample type each, and a resource that they are of.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/units.h"

namespace geiger::otlp {

/// An item's place in its table of the dictionary; 0: none.
using Index = std::int32_t;

using Value = std::variant<std::string, std::int64_t, double, std::vector<std::string>>;
/// Attributes of a resource, by key.
using Attributes = std::map<std::string, Value>;

/// "key=value,key=value" with escapes such as %2C, as OTEL_RESOURCE_ATTRIBUTES and headers have
/// it. What is not of that form is left out.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view text);

struct Line {
  Index function = 0;
  std::int64_t number = 0;
};

/// The tables that profiles refer to. An item is what it is encoded to, so that none is there
/// twice; the first of each is the empty one. Texts become valid UTF-8.
class Dictionary {
 public:
  [[nodiscard]] Index text(std::string_view text);
  [[nodiscard]] Index attribute(std::string_view key, const Value& value,
                                std::string_view unit = "");
  [[nodiscard]] Index mapping(Address start, Address limit, std::string_view file,
                              std::span<const Index> attributes);
  [[nodiscard]] Index function(std::string_view name, std::string_view system_name,
                               std::string_view file);
  [[nodiscard]] Index location(Index mapping, Address address, std::span<const Line> lines,
                               std::span<const Index> attributes);
  /// Leaf first.
  [[nodiscard]] Index stack(std::span<const Index> locations);

  [[nodiscard]] std::string encode() const;

 private:
  class Table {
   public:
    [[nodiscard]] Index place_of(std::string item);
    [[nodiscard]] const std::vector<const std::string*>& items() const { return items_; }

   private:
    std::unordered_map<std::string, Index> places_;
    std::vector<const std::string*> items_;  // Keys of a map stay where they are.
  };

  Table mappings_, locations_, functions_, texts_, attributes_, stacks_;
};

struct Sample {
  Index stack = 0;
  std::span<const Index> attributes;
  std::int64_t value = 0;
};

/// A profile under construction.
class Profile {
 public:
  /// `time`: of its begin, since 1970. `period`: mean bytes between samples, at least 1.
  Profile(Dictionary& dictionary, std::string_view type, std::string_view unit, Nanoseconds time,
          Nanoseconds duration, Bytes period);

  void add(const Sample& sample);
  /// Adds what is known of the whole, and its id of 16 bytes; then it is complete.
  [[nodiscard]] std::string finish(std::span<const Index> attributes, std::string_view id);

 private:
  std::string bytes_;
};

/// ProfilesData, which is a request too. The profiles are geiger's.
[[nodiscard]] std::string encode(const Attributes& resource, std::span<const std::string> profiles,
                                 const Dictionary& dictionary);

}  // namespace geiger::otlp
