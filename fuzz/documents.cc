// Reads what is posted to a collector: documents and gaps.
#include "fleet/document/encoding.h"
#include "fleet/push/parcel.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace geiger;
  const auto parcel = fleet::open_parcel(fuzz::text_of(data, size));
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
