// Reads what is posted to a collector: documents and gaps.
#include <cstring>
#include <string>

#include "fleet/document/document.h"
#include "fleet/document/encoding.h"
#include "fleet/push/parcel.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  // With the right hash, which no mutation would find.
  constexpr std::size_t kHash = 12, kFrame = 20;
  std::string bytes(fuzz::text_of(data, size));
  if (bytes.size() >= kFrame) {
    const std::uint64_t hash = fleet::hash_of(std::string_view(bytes).substr(kFrame));
    if (!bytes.starts_with("geiggap1")) std::memcpy(&bytes[kHash], &hash, sizeof hash);
  }
  const auto parcel = fleet::open_parcel(bytes);
  if (!parcel.has_value()) {
    fuzz::require(!parcel.reason().empty(), "a failure has a reason");
    return 0;
  }
  if (const auto* document = std::get_if<fleet::Document>(&parcel.value())) {
    const auto again = fleet::unpack(fleet::pack(*document));
    fuzz::require(again.has_value(), "what was read can be written and read again");
    fuzz::require(fleet::content_of(again.value()) == fleet::content_of(*document),
                  "and says the same");
  } else {
    const auto& gap = std::get<fleet::GapRow>(parcel.value());
    fuzz::require(fleet::open_parcel(fleet::pack(gap)).has_value(), "gaps are written and read");
  }
  return 0;
}
