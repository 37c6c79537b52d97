#include "fleet/push/file_sink.h"

#include <utility>

#include "fleet/push/parcel.h"
#include "fleet/store/store.h"

namespace geiger::fleet {
namespace {

class FileSink final : public Sink {
 public:
  explicit FileSink(std::unique_ptr<Store> store) : store_(std::move(store)) {}

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

 private:
  std::unique_ptr<Store> store_;
};

}  // namespace

std::optional<std::string> path_of_url(const std::string& url) {
  constexpr std::string_view kFile = "file://";
  if (url.starts_with(kFile)) return url.substr(kFile.size());
  if (url.find("://") != std::string::npos) return std::nullopt;
  return url;
}

base::Outcome<std::unique_ptr<Sink>> open_file_sink(const std::string& path,
                                                    const SinkOptions& /*options*/) {
  auto store = open_sqlite(path, true);
  if (!store.has_value()) return store.failure();
  return std::unique_ptr<Sink>(std::make_unique<FileSink>(std::move(store.value())));
}

}  // namespace geiger::fleet
