#include "fleet/document/ids.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <string>
#include <type_traits>
#include <vector>

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

}  // namespace geiger::fleet
