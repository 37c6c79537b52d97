#include "fleet/store/store.h"

#include <cstdlib>
#include <string_view>

#include "fleet/store/clickhouse_server.h"
#include "fleet/store/clickhouse_store.h"

namespace geiger::fleet {

namespace {

bool is_clickhouse(const std::string& url) { return url.starts_with(kClickHouseScheme); }

base::Failure unknown(const std::string& url) {
  return {url + ": not a store (" + kStoreForms + ")", base::Fault::kUsage};
}

StoreOptions with_token(StoreOptions options) {
  options.token_file = token_file_of(options.token_file);
  return options;
}

}  // namespace

std::optional<std::string> path_of_url(const std::string& url) {
  constexpr std::string_view kFile = "file://";
  if (url.starts_with(kFile)) return url.substr(kFile.size());
  if (url.find("://") != std::string::npos) return std::nullopt;
  return url;
}

std::string token_file_of(const std::string& option) {
  const char* named = std::getenv("GEIGER_TOKEN_FILE");
  return option.empty() && named != nullptr ? named : option;
}

base::Outcome<std::unique_ptr<Store>> open_store(const std::string& url,
                                                 const StoreOptions& options) {
  if (const auto path = path_of_url(url)) return open_sqlite(*path, false);
  if (is_clickhouse(url)) return open_clickhouse(url, with_token(options));
  return unknown(url);
}

base::Outcome<std::unique_ptr<Store>> open_store_to_fill(const std::string& url,
                                                         const StoreOptions& options) {
  if (const auto path = path_of_url(url)) return open_sqlite(*path, true);
  if (is_clickhouse(url)) return open_clickhouse_sink(url, with_token(options));
  return unknown(url);
}

base::Outcome<void> prepare_store(const std::string& url, const StoreOptions& options) {
  if (const auto path = path_of_url(url)) {
    GEIGER_TRY(open_sqlite(*path, true));
    return {};
  }
  if (is_clickhouse(url)) return prepare_clickhouse(url, with_token(options));
  return unknown(url);
}

std::string_view text_of(Receipt receipt) {
  switch (receipt) {
    case Receipt::kStored:
      return "stored";
    case Receipt::kKnown:
      return "known";
    case Receipt::kOtherContents:
      return "its window is stored with different contents";
    case Receipt::kOtherStack:
      return "one of its stacks is stored with different locations";
    case Receipt::kTooOld:
      return "it is older than the store keeps documents";
  }
  return {};
}

}  // namespace geiger::fleet
