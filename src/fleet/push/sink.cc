#include "fleet/push/sink.h"

#include <utility>

#include "fleet/document/encoding.h"
#include "fleet/store/store.h"

namespace geiger::fleet {
namespace {

using What = Delivery::What;

class FileSink final : public Sink {
 public:
  explicit FileSink(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Delivery send(std::string_view packed) override {
    const auto document = unpack(packed);
    if (!document.has_value()) return {What::kRefused, document.reason(), {}};
    const auto receipt = store_->put(document.value());
    if (!receipt.has_value()) return {What::kLater, receipt.reason(), {}};
    const bool is_kept = receipt.value() == Receipt::kStored || receipt.value() == Receipt::kKnown;
    if (is_kept) return {};
    return {What::kRefused, std::string(text_of(receipt.value())), {}};
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

base::Outcome<std::unique_ptr<Sink>> open_sink(const std::string& url) {
  const auto path = path_of_url(url);
  if (!path) return base::Failure{url + ": only files can be sent to (a path, or file://PATH)"};
  auto store = open_sqlite(*path, true);
  if (!store.has_value()) return store.failure();
  return std::unique_ptr<Sink>(std::make_unique<FileSink>(std::move(store.value())));
}

}  // namespace geiger::fleet
