#include "fleet/push/otlp_resource.h"

#include <fmt/format.h>

#include <filesystem>

#include "fleet/document/document.h"

namespace geiger::fleet {

namespace {

constexpr std::size_t kMostAttributes = 20;

/// A UUID of version 8 (RFC 9562): two hashes, the same wherever they are computed.
std::string instance_id(std::uint64_t process, const std::string& host) {
  const std::uint64_t high = process;
  const std::uint64_t low = hash_of(fmt::format("{}{}{:016x}", host, '\0', process));
  constexpr std::uint64_t kVariant = std::uint64_t{1} << 63, kBelowVariant = kVariant / 2 - 1;
  return fmt::format("{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xfff, ((low & kBelowVariant) | kVariant) >> 48,
                     low & 0xffff'ffff'ffff);
}

}  // namespace

otlp::Attributes resource_of(const Origin& origin, const Instance& instance) {
  const std::string file = std::filesystem::path(instance.executable).filename();
  otlp::Attributes attributes;
  for (const auto& [key, value] :
       {std::pair<const char*, std::string>("service.name", origin.service),
        {"service.version", origin.version == kUnknownVersion ? "" : origin.version},
        {"service.instance.id", instance_id(instance.process, origin.host)},
        {"host.name", origin.host},
        {"process.executable.name", file},
        {"process.executable.path", instance.executable}}) {
    const auto label = origin.labels.find(key);
    const std::string& known = label != origin.labels.end() ? label->second : value;
    if (!known.empty()) attributes.emplace(key, known);
  }
  for (const auto& [key, value] : origin.labels) {
    if (!key.empty() && attributes.size() < kMostAttributes) attributes.emplace(key, value);
  }
  return attributes;
}

}  // namespace geiger::fleet
