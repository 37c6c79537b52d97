#include "fleet/push/store_sink.h"

#include <utility>

#include "fleet/push/parcel.h"
#include "fleet/store/open_store.h"
#include "fleet/store/store.h"

namespace geiger::fleet {
namespace {

class StoreSink final : public Sink {
 public:
  explicit StoreSink(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Delivery send(std::string_view packed) override {
    using What = Delivery::What;
    const auto parcel = open_parcel(packed);
    if (!parcel.has_value()) return {What::kRefused, parcel.reason(), {}, {}};
    if (const auto* gap = std::get_if<GapRow>(&parcel.value())) {
      const auto put = store_->put(*gap);
      if (!put.has_value()) return {What::kLater, put.reason(), {}, {}};
      return {};
    }
    const auto receipt = store_->put(std::get<Document>(parcel.value()));
    if (!receipt.has_value()) return {What::kLater, receipt.reason(), {}, {}};
    const bool is_kept = receipt.value() == Receipt::kStored || receipt.value() == Receipt::kKnown;
    if (is_kept) return {};
    return {What::kRefused, std::string(text_of(receipt.value())), {}, {}};
  }

  std::optional<std::int64_t> time() override { return store_->time(); }

 private:
  std::unique_ptr<Store> store_;
};

}  // namespace

base::Outcome<std::unique_ptr<Sink>> open_store_sink(const std::string& url,
                                                     const SinkOptions& options) {
  auto store = GEIGER_TRY(open_store_to_fill(url, {options.token_file, options.stops}));
  return std::unique_ptr<Sink>(std::make_unique<StoreSink>(std::move(store)));
}

}  // namespace geiger::fleet
