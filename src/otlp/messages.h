// The messages of OpenTelemetry's profiles that geiger writes and reads, by number and by name:
// opentelemetry.proto.{profiles,collector.profiles,processcontext}.v1development of
// opentelemetry-proto 1.11, whose layout is that of 1.10. Alpha: numbers may change, and then
// kDevelopmentVersion does.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace geiger::otlp {

/// The layout below, as requests say it in their header OTLP-Profiles-Development-Version.
inline constexpr int kDevelopmentVersion = 1;

namespace field {

/// ProfilesData in files, ExportProfilesServiceRequest in requests.
enum class Data : std::uint32_t { kResourceProfiles = 1, kDictionary = 2 };
enum class ResourceProfiles : std::uint32_t { kResource = 1, kScopeProfiles = 2 };
enum class Resource : std::uint32_t { kAttributes = 1 };
enum class KeyValue : std::uint32_t { kKey = 1, kValue = 2 };
enum class AnyValue : std::uint32_t { kString = 1, kBool = 2, kInt = 3, kDouble = 4, kArray = 5 };
enum class ArrayValue : std::uint32_t { kValues = 1 };
enum class ScopeProfiles : std::uint32_t { kScope = 1, kProfiles = 2 };
enum class Scope : std::uint32_t { kName = 1, kVersion = 2 };
enum class Profile : std::uint32_t {
  kSampleType = 1,
  kSamples = 2,
  kTime = 3,
  kDuration = 4,
  kPeriodType = 5,
  kPeriod = 6,
  kId = 7,
  kAttributes = 11,
};
enum class ValueType : std::uint32_t { kType = 1, kUnit = 2 };
enum class Sample : std::uint32_t { kStack = 1, kAttributes = 2, kValues = 4 };
enum class Dictionary : std::uint32_t {
  kMappings = 1,
  kLocations = 2,
  kFunctions = 3,
  kLinks = 4,
  kTexts = 5,
  kAttributes = 6,
  kStacks = 7,
};
enum class Mapping : std::uint32_t { kStart = 1, kLimit = 2, kFile = 4, kAttributes = 5 };
enum class Location : std::uint32_t { kMapping = 1, kAddress = 2, kLines = 3, kAttributes = 4 };
enum class Line : std::uint32_t { kFunction = 1, kLine = 2 };
enum class Function : std::uint32_t { kName = 1, kSystemName = 2, kFile = 3 };
enum class Attribute : std::uint32_t { kKey = 1, kValue = 2, kUnit = 3 };
enum class Stack : std::uint32_t { kLocations = 1 };

/// ProcessContext, which SDKs publish in memory.
enum class Context : std::uint32_t { kResource = 1 };
/// ExportProfilesServiceResponse, google.rpc.Status.
enum class Response : std::uint32_t { kPartialSuccess = 1 };
enum class PartialSuccess : std::uint32_t { kRejectedProfiles = 1, kMessage = 2 };
enum class Status : std::uint32_t { kMessage = 2 };

}  // namespace field

/// How JSON writes the values of a field.
enum class Shape : std::uint8_t {
  kMessage,
  kText,
  kSmallInteger,  ///< Of 32 bits.
  kInteger,
  kUnsigned,
  kFixed,
  kDouble,
  kBool,
  kLeftOut,
};

struct Message;
struct Field {
  std::uint32_t number = 0;
  std::string_view name;  ///< In JSON.
  Shape shape = Shape::kText;
  bool is_repeated = false;
  const Message* message = nullptr;  ///< Of kMessage.
};
struct Message {
  std::span<const Field> fields;
};

/// The description of what writer.h makes, for its JSON.
[[nodiscard]] const Message& data_message();

}  // namespace geiger::otlp
