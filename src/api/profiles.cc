#include "api/profiles.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "api/connection.h"
#include "api/profile.h"
#include "api/session.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "runtime/capture/image/image.h"

namespace geiger::api {

// Which pages of this process are in memory.

/// Queries ranges of pages, so that neighbours need no further call: /proc/self/pagemap, or mincore
/// if that cannot be read. Call look() in the order of addresses.
class Residency {
 public:
  Residency();

  struct Found {
    Bytes resident = 0, swapped = 0;
    Bytes untouched = 0;  ///< Never written, or given back: not in any page.
  };
  /// The states of the bytes [address, address + bytes). Without the pagemap only `resident` is
  /// known.
  [[nodiscard]] Found look(Address address, Bytes bytes);

 private:
  enum class State : std::uint8_t { kUnknown, kUntouched, kSwapped, kResident };

  [[nodiscard]] State state_of(std::uint64_t page);
  void load(std::uint64_t page);
  bool load_from_pagemap();
  void load_by_mincore();

  base::UniqueFd pagemap_;
  std::uint64_t first_ = 0;  ///< Page number of states_[0].
  std::vector<State> states_;
};

namespace {

constexpr std::size_t kStretch = 512;
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kSwapped = std::uint64_t{1} << 62;

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

Residency::Residency() : pagemap_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

Residency::Found Residency::look(Address address, Bytes bytes) {
  Found found;
  base::for_each_page(address, bytes, page_bytes(), [&](std::uint64_t page, Bytes on_it) {
    const State state = state_of(page);
    if (state == State::kResident) found.resident += on_it;
    if (state == State::kSwapped) found.swapped += on_it;
    if (state == State::kUntouched) found.untouched += on_it;
  });
  return found;
}

Residency::State Residency::state_of(std::uint64_t page) {
  if (page < first_ || page - first_ >= states_.size()) load(page);
  return states_[page - first_];
}

void Residency::load(std::uint64_t page) {
  first_ = page;
  states_.assign(kStretch, State::kUnknown);
  if (!pagemap_.is_open() || !load_from_pagemap()) load_by_mincore();
}

bool Residency::load_from_pagemap() {
  std::array<std::uint64_t, kStretch> entries{};
  const ssize_t got = pread(pagemap_.get(), entries.data(), sizeof entries,
                            static_cast<off_t>(first_ * sizeof entries[0]));
  if (got < static_cast<ssize_t>(sizeof entries[0])) return false;
  const auto count = static_cast<std::size_t>(got) / sizeof entries[0];
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_swapped = (entries[i] & kSwapped) != 0;
    states_[i] = (entries[i] & kPresent) != 0 ? State::kResident
                 : is_swapped                 ? State::kSwapped
                                              : State::kUntouched;
  }
  return true;
}

/// Page by page, because mincore fails for a range with a hole.
void Residency::load_by_mincore() {
  for (std::size_t i = 0; i < kStretch; ++i) {
    unsigned char state = 0;
    auto* address = reinterpret_cast<void*>((first_ + i) * page_bytes());
    const bool is_resident = mincore(address, page_bytes(), &state) == 0 && (state & 1) != 0;
    states_[i] = is_resident ? State::kResident : State::kUnknown;
  }
}

namespace {

/// Reads the samples of a stopped token at the first access.
geiger_status read(Session& now, Profile& profile) {
  if (profile.is_read) return GEIGER_OK;
  const geiger_status status = read_token(profile, now.directory);
  if (status != GEIGER_OK) return status;
  keep_references(profile, now.directory);
  profile.is_read = true;
  return GEIGER_OK;
}

geiger_status describe(const Profile& profile, geiger_profile_info& info) {
  info.kind = profile.kind;
  info.samples = profile.samples.size();
  info.from = profile.from;
  info.to = profile.to;
  info.interval = profile.largest_interval;
  info.unfinished = profile.unfinished;
  return GEIGER_OK;
}

}  // namespace

std::uint64_t add_profile(Session& now, std::shared_ptr<Profile> profile) {
  now.profiles.emplace(now.last_id + 1, std::move(profile));
  return ++now.last_id;
}

geiger_status find_profile(geiger_profile handle, std::shared_ptr<Profile>& found) {
  const Gate gate;
  if (gate.status() != GEIGER_OK) return gate.status();
  Session& now = session();
  const auto at = now.profiles.find(handle.id);
  if (at == now.profiles.end()) return status_of_unknown(handle.id);
  found = at->second;
  return read(now, *found);
}

}  // namespace geiger::api

using namespace geiger::api;  // NOLINT: the C names below live outside.

geiger_status geiger_free_profile(geiger_profile profile) {
  std::shared_ptr<Profile> freed;  // Destroyed after the lock is released, as that may take long.
  return guarded_by_gate([&] {
    Session& now = session();
    const auto at = now.profiles.find(profile.id);
    if (at == now.profiles.end()) return status_of_unknown(profile.id);
    freed = std::move(at->second);
    now.profiles.erase(at);
    return GEIGER_OK;
  });
}

geiger_status geiger_get_profile_info(geiger_profile profile, geiger_profile_info* info) {
  if (info == nullptr) return GEIGER_BAD_ARGUMENT;
  *info = {};
  return guarded([&] {
    std::shared_ptr<Profile> found;
    const geiger_status status = find_profile(profile, found);
    return status == GEIGER_OK ? describe(*found, *info) : status;
  });
}

geiger_status geiger_visit_samples(geiger_profile profile, geiger_visitor visit, void* context) {
  if (visit == nullptr) return GEIGER_BAD_ARGUMENT;
  return guarded([&] {
    std::shared_ptr<Profile> found;
    const geiger_status status = find_profile(profile, found);
    if (status != GEIGER_OK) return status;
    for (const Drawn& drawn : found->samples) {
      const geiger_sample sample = sample_of(*found, drawn);
      if (visit(context, &sample) != 0) break;
    }
    return GEIGER_OK;
  });
}

namespace geiger::api {

// Profiles that run from a start to a stop.
//
//   token = [begin, end) in the stream of samples: starting and stopping read a
//   position and, if the interval changes, write one epoch; the cost does not depend on
//   the number of running tokens or of their samples.

namespace {

bool can_run(geiger_profile_kind kind) {
  return kind == GEIGER_ALLOCATIONS || kind == GEIGER_LIFETIMES ||
         kind == GEIGER_COMPLETE_LIFETIMES;
}

/// Makes the process draw finely enough for the token.
geiger_status ask_for_interval(Session& now, Token& token) {
  const std::uint64_t own = now.demand.own();
  if (token.interval == 0) token.interval = own;
  if (token.interval >= own) return GEIGER_OK;
  token.demand = token.interval;
  return now.demand.want(token.demand);
}

void release(Session& now, const Token& token) {
  if (token.is_parents) return;  // It has no requests here.
  if (token.demand != 0) now.demand.want_no_more(token.demand);
  now.demand.remove_user();
}

geiger_status start(geiger_profile_kind kind, std::uint64_t interval, geiger_token& out) {
  capture::Status status{};
  const geiger_status recording = recorder(status);
  if (recording != GEIGER_OK) return recording;
  Session& now = session();
  Token token;
  token.kind = kind;
  token.interval = interval;
  const auto [at, is_new] = now.tokens.try_emplace(++now.last_id);
  now.demand.add_user();
  geiger_status result = ask_for_interval(now, token);
  if (result == GEIGER_OK) result = position_now(token.begin);
  if (result != GEIGER_OK) {
    release(now, token);
    now.tokens.erase(at);
    return result;
  }
  token.largest_interval = largest_interval_in_use();
  token.from = base::monotonic_now();
  at->second = token;
  out.id = at->first;
  return GEIGER_OK;
}

std::shared_ptr<Profile> profile_of(const Token& token, const Position& end) {
  auto profile = std::make_shared<Profile>();
  profile->kind = token.kind;
  profile->started = token.begin;
  profile->stopped = end;
  profile->interval = token.interval;
  profile->largest_interval = std::max(token.interval, token.largest_interval);
  profile->from = token.from;
  profile->to = base::monotonic_now();
  return profile;
}

/// GEIGER_OK if the token's samples are those of this process.
geiger_status end_of(const Token& token, Position& end) {
  capture::Status status{};
  static_cast<void>(recorder(status));  // Recorded samples can always be read.
  const bool is_own = status.header != nullptr && token.begin.image >= status.first_image;
  return is_own ? position_now(end) : GEIGER_OTHER_PROCESS;
}

geiger_status stop(geiger_token id, geiger_profile* out) {
  Session& now = session();
  const auto at = now.tokens.find(id.id);
  if (at == now.tokens.end()) return status_of_unknown(id.id);
  const Token token = at->second;
  Position end;
  const geiger_status status = end_of(token, end);
  if (status == GEIGER_OK && out != nullptr) out->id = add_profile(now, profile_of(token, end));
  now.tokens.erase(at);
  release(now, token);
  return status;
}

}  // namespace

}  // namespace geiger::api

using namespace geiger::api;  // NOLINT: the C names below live outside.

geiger_status geiger_start_profile(geiger_profile_kind kind, uint64_t interval,
                                   geiger_token* token) {
  if (token == nullptr) return GEIGER_BAD_ARGUMENT;
  *token = {};
  if (!can_run(kind)) return GEIGER_BAD_ARGUMENT;
  if (interval > GEIGER_MAX_INTERVAL) return GEIGER_BAD_INTERVAL;
  return guarded_by_gate([&] { return start(kind, interval, *token); });
}

geiger_status geiger_stop_profile(geiger_token token, geiger_profile* profile) {
  if (profile != nullptr) *profile = {};
  return guarded_by_gate([&] { return stop(token, profile); });
}

namespace geiger::api {

// Profiles of live objects, read from the capture's table while all threads keep running.

namespace {

/// A live sample: its record, and the record's trace, which may not be the current one while
/// samples are being carried.
struct Live {
  std::uint32_t image;
  trace::Ref ref;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const Live&) const = default;
};

/// Collects the table's samples; an exception must not pass through the capture.
struct Collected {
  std::vector<Live> found;
  const MappedTrace& trace;
  bool is_out_of_memory = false;
};

void collect(void* context, std::uint64_t, std::uint32_t image, trace::Ref sample) {
  auto& collected = *static_cast<Collected*>(context);
  // A sample reserved after the end came after the snapshot began, unless it was carried there: a
  // segment comes into use before the live samples are carried into it.
  const MappedTrace& trace = collected.trace;
  const bool is_behind = image == trace.image && Bytes{sample} * 8 >= trace.end;
  const bool is_late = is_behind && trace.header_of(sample).type != trace::RecordType::kCarried;
  if (is_late || collected.is_out_of_memory) return;
  try {
    collected.found.push_back({image, sample});
  } catch (const std::bad_alloc&) {
    collected.is_out_of_memory = true;
  }
}

/// Copies the samples of one trace. If the trace is gone, they count as unfinished.
void read_live_of(Profile& profile, const HeldTrace& present, std::span<const Live> found) {
  HeldTrace other;
  const bool is_present = found.front().image == present->image;
  if (!is_present && other.hold(found.front().image) != GEIGER_OK) {
    profile.unfinished += found.size();
    return;
  }
  const MappedTrace& trace = is_present ? *present : *other;
  profile.records.read_from(trace);
  for (const Live& live : found) {
    Drawn drawn = as_recorded(trace, live.ref);
    drawn.until = profile.to;
    drawn.ref = profile.records.add(live.ref);
    profile.samples.push_back(drawn);
  }
}

void read_live(Profile& profile, const HeldTrace& present, std::size_t expected) {
  Collected collected{{}, *present};
  collected.found.reserve(expected + expected / 8 + 64);
  connection()->for_each_live(collect, &collected);
  if (collected.is_out_of_memory) throw std::bad_alloc();
  // In the order of the stream, so that the same live heap always gives the same profile.
  std::ranges::sort(collected.found);
  profile.samples.reserve(collected.found.size());
  profile.records.read_from(*present);
  for (auto at = collected.found.begin(); at != collected.found.end();) {
    const auto next =
        std::ranges::upper_bound(at, collected.found.end(), at->image, {}, &Live::image);
    read_live_of(profile, present, {at, next});
    at = next;
  }
  profile.trace = profile.records.view();
}

void measure_fragmentation(Profile& profile) {
  for (Drawn& drawn : profile.samples) {
    const trace::SampleRecord& record = profile.trace.sample(drawn.ref);
    drawn.value = std::max(record.usable(), record.requested()) - record.requested();
  }
}

void measure_residency(Profile& profile) {
  std::erase_if(profile.samples,
                [&](const Drawn& drawn) { return profile.trace.sample(drawn.ref).heap() != 0; });
  std::vector<Drawn*> by_address;
  by_address.reserve(profile.samples.size());
  for (Drawn& drawn : profile.samples) by_address.push_back(&drawn);
  std::ranges::sort(by_address, {},
                    [&](const Drawn* drawn) { return profile.trace.sample(drawn->ref).address; });
  Residency residency;
  for (Drawn* drawn : by_address) {
    const trace::SampleRecord& record = profile.trace.sample(drawn->ref);
    const Residency::Found found = residency.look(record.address, record.requested());
    drawn->value = found.resident;
    drawn->swapped = found.swapped;
    drawn->untouched = found.untouched;
  }
}

void read_peak_of(Profile& profile, const HeldTrace& present) {
  profile.trace = *present;
  profile.begin = trace::kRecordsOffset;
  profile.end = present->end;
  profile.counts_carried = true;
  read_peak(profile);
  keep_records(profile);
}

void read_kind(Profile& profile, const HeldTrace& present, std::size_t live_samples) {
  if (profile.kind == GEIGER_PEAK) return read_peak_of(profile, present);
  read_live(profile, present, live_samples);
  if (profile.kind == GEIGER_FRAGMENTATION) measure_fragmentation(profile);
  if (profile.kind == GEIGER_RESIDENCY) measure_residency(profile);
}

geiger_status take(geiger_profile_kind kind, geiger_profile& out) {
  capture::Status status{};
  const geiger_status recording = recorder(status);
  // Allocations since the end of recording are unknown, and so is the current heap.
  if (recording != GEIGER_OK) return recording;
  if (status.is_paused) return GEIGER_NOT_RECORDING;
  HeldTrace present;
  const geiger_status readable = present.hold_current();
  if (readable != GEIGER_OK) return readable;
  auto profile = std::make_shared<Profile>();
  profile->kind = kind;
  profile->from = profile->to = base::monotonic_now();
  Session& now = session();
  read_kind(*profile, present, status.live_samples);
  now.directory.read(*present, present.first_image());
  keep_references(*profile, now.directory);
  // Live objects may be as old as the recording. For a peak, only a part of the samples estimates.
  const auto largest = static_cast<double>(now.demand.largest_interval(status.largest_interval));
  profile->largest_interval = static_cast<std::uint64_t>(std::ceil(largest / profile->rate_factor));
  profile->is_read = true;
  out.id = add_profile(now, std::move(profile));
  return GEIGER_OK;
}

}  // namespace

}  // namespace geiger::api

geiger_status geiger_take_snapshot(geiger_profile_kind kind, geiger_profile* profile) {
  if (profile == nullptr) return GEIGER_BAD_ARGUMENT;
  *profile = {};
  if (kind < GEIGER_LIVE || kind > GEIGER_RESIDENCY) return GEIGER_BAD_ARGUMENT;
  return geiger::api::guarded_by_gate([&] { return geiger::api::take(kind, *profile); });
}
