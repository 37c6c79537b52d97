#include "fleet/document/document.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/utf8_text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace geiger::fleet {

namespace {

static_assert(std::endian::native == std::endian::little);  // What is hashed is in memory order.

class Hash {
 public:
  Hash() { XXH3_64bits_reset(&state_); }

  /// Hashes the length too, so that adjacent texts do not hash as one.
  Hash& add(std::string_view text) {
    add(std::uint64_t{text.size()});
    XXH3_64bits_update(&state_, text.data(), text.size());
    return *this;
  }
  Hash& add(std::uint64_t number) {
    XXH3_64bits_update(&state_, &number, sizeof number);
    return *this;
  }
  /// As if each was added.
  Hash& add(const std::vector<std::uint64_t>& numbers) {
    XXH3_64bits_update(&state_, numbers.data(), numbers.size() * sizeof numbers[0]);
    return *this;
  }
  [[nodiscard]] std::uint64_t digest() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_{};
};

}  // namespace

std::uint64_t hash_of(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

LocationId id_of(const Location& location) {
  Hash hash;
  hash.add(static_cast<std::uint64_t>(location.kind));
  hash.add(location.build_id.empty() ? location.module : location.build_id);
  const bool has_name = !location.frames.empty() &&
                        (location.kind == profile::ModuleKind::kSource || location.module.empty());
  if (has_name) {
    const profile::Frame& frame = location.frames.front();
    hash.add(frame.function).add(std::uint64_t{frame.line});
  } else {
    hash.add(location.address);
  }
  return hash.digest();
}

StackId id_of(const Stack& stack) {
  return Hash().add(std::uint64_t{stack.is_truncated}).add(stack.locations).digest();
}

std::uint64_t id_of(const profile::Process& process, std::string_view host) {
  return Hash()
      .add(host)
      .add(std::uint64_t{process.pid})
      .add(process.start_realtime)
      .add(process.seed)
      .digest();
}

namespace {

constexpr std::size_t kMostName = 200;
/// Above the counts of any process. Samples times milliseconds stay below 2^60, so that sums over a
/// fleet stay below 2^63.
constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 50;
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 28;
constexpr std::uint64_t kMostMilliseconds = std::uint64_t{1} << 32;
/// From 2001 to 2286: refuses milliseconds.
constexpr std::int64_t kFirstSecond = 1'000'000'000, kLastSecond = 9'999'999'999;

bool has_key_order(const std::vector<CountRow>& rows) {
  const auto key = [](const CountRow& row) {
    return std::tie(row.stack, row.size, row.interval, row.thinning, row.is_certain);
  };
  return std::ranges::adjacent_find(rows, [&](const CountRow& a, const CountRow& b) {
           return !(key(a) < key(b));
         }) == rows.end();
}

bool is_possible(const CountRow& row) {
  return row.interval >= 1 && std::max(row.size, row.interval) <= kMostNumber &&
         std::max(row.allocated, row.live) <= kMostSamples;
}

bool has_too_many_names(const std::vector<Location>& locations) {
  std::size_t frames = 0, bytes = 0;
  for (const Location& location : locations) {
    bytes += location.module.size() + location.build_id.size();
    frames += location.frames.size();
    for (const profile::Frame& frame : location.frames) {
      bytes += frame.function.size() + frame.system_name.size() + frame.file.size();
    }
  }
  return frames > kMostFrames || bytes > kMostTextBytes;
}

base::Outcome<void> check_limits(const Window& window) {
  for (const std::string* name : {&window.key.service, &window.key.version, &window.key.host}) {
    GEIGER_TRY(check_name(*name));
  }
  if (window.key.started < kFirstSecond || window.key.started > kLastSecond) {
    return base::Failure{"its time is not in seconds since 1970"};
  }
  if (window.began_ms < kFirstSecond * 1000 || window.began_ms > kLastSecond * 1000) {
    return base::Failure{"its beginning is not in milliseconds since 1970"};
  }
  if (window.labels.size() > kMostLabels) return base::Failure{"it has too many labels"};
  if (window.recorded_ms > window.alive_ms)
    return base::Failure{"it was recorded for longer than it ran"};
  if (window.alive_ms > kMostMilliseconds) return base::Failure{"its window is too long"};
  const auto largest =
      std::max({window.interval, window.exact_bytes.value_or(0), window.unsettled_bytes,
                window.unsettled_before, window.rss_byte_seconds, window.trials, window.hits,
                window.dropped, window.sequence});
  if (largest > kMostNumber) return base::Failure{"it has numbers out of range"};
  return {};
}

}  // namespace

std::string document_text(std::string_view text) {
  std::string valid = to_valid_utf8(text, kMostText);
  std::ranges::replace(valid, '\0', ' ');
  return valid;
}

base::Outcome<void> check_name(std::string_view text) {
  if (text.empty()) return base::Failure{"a name is empty"};
  if (text.size() > kMostName) return base::Failure{"a name is longer than 200 bytes"};
  const bool has_controls = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
  if (has_controls) return base::Failure{"a name has control characters"};
  return {};
}

base::Outcome<void> check_limits(const Document& document) {
  GEIGER_TRY(check_limits(document.window));
  if (document.counts.size() > kMostRows) return base::Failure{"it has too many rows"};
  std::size_t positions = 0;
  for (const Stack& stack : document.stacks) positions += stack.locations.size();
  const bool has_too_many_stacks = document.stacks.size() > kMostStacks ||
                                   document.locations.size() > kMostLocations ||
                                   positions > kMostPositions;
  if (has_too_many_stacks) return base::Failure{"it has too many stacks"};
  if (has_too_many_names(document.locations)) return base::Failure{"it has too many names"};
  if (!has_key_order(document.counts)) return base::Failure{"its rows are not in order"};
  if (!std::ranges::all_of(document.counts, is_possible)) {
    return base::Failure{"it has numbers out of range"};
  }
  return {};
}

}  // namespace geiger::fleet
