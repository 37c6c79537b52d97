#include "fleet/push/process_context.h"

#include <sys/uio.h>

#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <protozero/pbf_message.hpp>

#include "base/text.h"
#include "fleet/document/document.h"
#include "otlp/messages.h"

namespace geiger::fleet {

namespace {

namespace field = otlp::field;

constexpr std::size_t kMostContext = std::size_t{64} << 10;
/// Processes with more mappings are not searched further.
constexpr int kMostMappings = 100'000;

struct ContextHeader {
  std::array<char, 8> signature;
  std::uint32_t version, size;
  std::uint64_t published;  ///< 0: it is being changed.
  std::uint64_t payload;
};
static_assert(sizeof(ContextHeader) == 32);

bool read_memory(std::uint32_t pid, std::uint64_t address, void* into, std::size_t size) {
  const iovec here{into, size};
  const iovec there{reinterpret_cast<void*>(address), size};
  return process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0) ==
         static_cast<ssize_t>(size);
}

std::optional<ContextHeader> read_header(std::uint32_t pid, std::uint64_t address) {
  constexpr std::string_view kSignature = "OTEL_CTX";
  constexpr std::uint32_t kVersion = 2;
  ContextHeader header;
  const bool is_one =
      read_memory(pid, address, &header, sizeof header) &&
      std::string_view(header.signature.data(), header.signature.size()) == kSignature &&
      header.version == kVersion && header.published != 0;
  return is_one ? std::optional(header) : std::nullopt;
}

/// Names that the mapping has, by what the kernel and its filters allowed the SDK.
bool is_context(std::string_view name) {
  return name.starts_with("[anon_shmem:OTEL_CTX]") || name.starts_with("[anon:OTEL_CTX]") ||
         name.starts_with("/memfd:OTEL_CTX");
}

std::optional<std::uint64_t> context_address(std::uint32_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::string line;
  for (int i = 0; i < kMostMappings && std::getline(maps, line); ++i) {
    const std::size_t name = line.find_first_of("[/");
    if (name == std::string::npos || !is_context(std::string_view(line).substr(name))) continue;
    return base::number_in<std::uint64_t>(std::string_view(line).substr(0, line.find('-')), 16);
  }
  return std::nullopt;
}

std::optional<std::string> text_of_value(protozero::pbf_message<field::AnyValue> value) {
  while (value.next()) {
    if (value.tag() == field::AnyValue::kString) return document_text(value.get_string());
    if (value.tag() == field::AnyValue::kInt) return std::to_string(value.get_int64());
    value.skip();
  }
  return std::nullopt;
}

void add_attribute(ResourceTexts& texts, protozero::pbf_message<field::KeyValue> pair) {
  std::string key;
  std::optional<std::string> value;
  while (pair.next()) {
    if (pair.tag() == field::KeyValue::kKey) {
      key = document_text(pair.get_string());
    } else if (pair.tag() == field::KeyValue::kValue) {
      value = text_of_value(pair.get_message());
    } else {
      pair.skip();
    }
  }
  if (!key.empty() && value) texts.emplace(key, *value);
}

}  // namespace

ResourceTexts resource_in_context(std::string_view context) {
  ResourceTexts texts;
  try {
    protozero::pbf_message<field::Context> reader(context.data(), context.size());
    while (reader.next(field::Context::kResource)) {
      protozero::pbf_message<field::Resource> resource(reader.get_message());
      while (resource.next(field::Resource::kAttributes)) {
        if (texts.size() == kMostLabels / 2) return texts;
        add_attribute(texts, resource.get_message());
      }
    }
  } catch (const protozero::exception&) {  // What was read up to there is not trusted either.
    return {};
  }
  return texts;
}

ResourceTexts published_resource(std::uint32_t pid) {
  const auto address = context_address(pid);
  if (!address) return {};
  const auto before = read_header(pid, *address);
  if (!before || before->size > kMostContext) return {};
  std::string payload(before->size, '\0');
  if (!read_memory(pid, before->payload, payload.data(), payload.size())) return {};
  const auto after = read_header(pid, *address);
  const bool is_consistent = after && after->published == before->published;
  return is_consistent ? resource_in_context(payload) : ResourceTexts{};
}

}  // namespace geiger::fleet
