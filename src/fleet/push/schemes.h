// The kinds of places that things are sent to, by the scheme of their URL. A new kind is a line in
// schemes.cc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/outcome.h"
#include "fleet/push/profile_sink.h"
#include "fleet/push/sink.h"

namespace geiger::fleet {

/// One of the two opens it: stores of a fleet take documents, others profiles. Both get the URL,
/// without what `cut` leaves out of its scheme.
struct Scheme {
  std::string_view name;  ///< Before "://".
  std::string_view rest;  ///< The rest of its URLs, for people.
  std::string_view cut;   ///< A prefix of the name.
  base::Outcome<std::unique_ptr<Sink>> (*open)(const std::string&, const SinkOptions&) = nullptr;
  OpenedProfileSink (*open_profiles)(const std::string&, const SinkOptions&) = nullptr;
};

[[nodiscard]] std::span<const Scheme> schemes();

/// Null if the URL has none, as a path. Fails for a scheme that is not known; the reason names
/// those that are.
[[nodiscard]] base::Outcome<const Scheme*> scheme_of(const std::string& url);

/// Of a URL whose scheme takes profiles.
[[nodiscard]] OpenedProfileSink open_profile_sink(const Scheme& scheme, const std::string& url,
                                                  const SinkOptions& options);

}  // namespace geiger::fleet
