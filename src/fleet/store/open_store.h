// Stores by their URLs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/outcome.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

struct StoreOptions {
  std::string token_file =
      {};  ///< With the password of a server's user; empty: $GEIGER_TOKEN_FILE.
  std::function<bool()> stops = {};  ///< Polled while waiting for a server: true gives up.
};

/// How a store can be named, for help and complaints; docs/guide/clickhouse.md has the whole form.
inline constexpr const char* kStoreForms = "a path, file://PATH or clickhouse+https://HOST/DB";

/// Of a store that is a file: a path names itself. Nothing for URLs of other kinds.
[[nodiscard]] std::optional<std::string> path_of_url(const std::string& url);

/// For queries. Fails if it does not exist.
[[nodiscard]] base::Outcome<std::unique_ptr<Store>> open_store(const std::string& url,
                                                               const StoreOptions& options);
/// For inserts. Creates the file if it does not exist.
[[nodiscard]] base::Outcome<std::unique_ptr<Store>> open_store_to_fill(const std::string& url,
                                                                       const StoreOptions& options);
/// Makes what is missing of a store: the file, the database, its tables.
[[nodiscard]] base::Outcome<void> prepare_store(const std::string& url,
                                                const StoreOptions& options);

/// The file of a token that options or else the environment name; empty: none.
[[nodiscard]] std::string token_file_of(const std::string& option);

}  // namespace geiger::fleet
