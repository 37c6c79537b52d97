#include "analysis/follow/follower.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "analysis/ingest/decode/image.h"
#include "analysis/profile/recording/cut.h"
#include "analysis/profile/select/profile.h"
#include "analysis/symbolize/symbol_set.h"
#include "analysis/symbolize/symbolize.h"
#include "base/check.h"

namespace geiger::follow {

namespace {

/// Debug information of this many bytes is read in some tenths of a second.
constexpr Bytes kSmall = 32 * kMiB;

template <typename Result>
bool is_done(const std::future<Result>& future) {
  return future.valid() && future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

/// The futures wait for their threads.
Naming::~Naming() { stop_.request_stop(); }

void Naming::update(profile::Recording& recording) {
  for (Lane* lane : {&small_, &large_}) {
    if (is_done(lane->under_way)) take(recording, *lane);
  }
  sort_in(recording);
  start(recording, small_, std::numeric_limits<std::size_t>::max());
  start(recording, large_, 1);
}

void Naming::wait(NamesOf which, std::chrono::milliseconds most) const {
  constexpr std::chrono::milliseconds kLookAgain{5};
  const auto latest = std::chrono::steady_clock::now() + most;
  while (missing(which) > 0 && !is_ready() && std::chrono::steady_clock::now() < latest) {
    const Lane& lane = small_.under_way.valid() ? small_ : large_;
    lane.under_way.wait_for(std::min(most, kLookAgain));
  }
}

bool Naming::is_ready() const { return is_done(small_.under_way) || is_done(large_.under_way); }

/// Locations only grow, so those not sorted in yet stand at the end.
void Naming::sort_in(const profile::Recording& recording) {
  for (; looked_at_ < recording.locations.size(); ++looked_at_) {
    const profile::Location& location = recording.locations[looked_at_];
    if (!location.frames.empty()) continue;
    Lane& lane = lane_of(recording, location.module);
    lane.waiting[location.module].push_back(static_cast<std::uint32_t>(looked_at_));
    ++lane.missing;
  }
}

Naming::Lane& Naming::lane_of(const profile::Recording& recording, std::uint32_t index) {
  if (index >= recording.modules.size()) return small_;
  const auto [known, is_new] = is_large_.try_emplace(index, false);
  if (is_new) {
    const profile::Module& module = recording.modules[index];
    known->second = symbolize::bytes_to_read(module.path, module.build_id, {}) > kSmall;
  }
  return known->second ? large_ : small_;
}

/// So many modules at most: they get their names together.
void Naming::start(const profile::Recording& recording, Lane& lane, std::size_t modules) {
  if (lane.under_way.valid() || lane.waiting.empty()) return;
  Batch batch;
  for (; modules > 0 && !lane.waiting.empty(); --modules) {
    const auto first = lane.waiting.begin();
    for (const std::uint32_t location : first->second) {
      batch.locations.push_back(location);
      batch.recording.locations.push_back(recording.locations[location]);
    }
    lane.waiting.erase(first);
  }
  batch.recording.modules = recording.modules;
  batch.recording.processes = recording.processes;
  symbolize::Options options;
  options.stop = stop_.get_token();
  lane.under_way = std::async(std::launch::async, [batch = std::move(batch), options]() mutable {
    static_cast<void>(symbolize::symbolize(batch.recording, options));
    return std::move(batch);
  });
}

void Naming::take(profile::Recording& recording, Lane& lane) {
  const Batch batch = lane.under_way.get();
  symbolize::FrameTable table(recording);
  for (std::size_t i = 0; i < batch.locations.size(); ++i) {
    auto& frames = recording.locations[batch.locations[i]].frames;
    for (const std::uint32_t frame : batch.recording.locations[i].frames) {
      frames.push_back(table.add(batch.recording.frames[frame]));
    }
  }
  lane.missing -= batch.locations.size();
}

Follower::Follower(Detail detail)
    : interner_(recording_),
      tallies_(recording_),
      shared_{recording_, interner_, tallies_, detail == Detail::kSamplesOnly} {}

Follower::~Follower() = default;

void Follower::add(const std::string& path, const std::string& shown,
                   const std::optional<OnlyProcess>& only) {
  if (known_.contains(path)) return;
  auto file = std::make_unique<ingest::InputFile>();
  if (file->open(path).has_value()) add(std::move(file), shown, only);
}

void Follower::add(std::unique_ptr<ingest::InputFile> file, const std::string& shown,
                   const std::optional<OnlyProcess>& only) {
  ingest::Image image;
  if (!image.read(*file, 0, 0).has_value()) return;  // The header may come later.
  if (!known_.insert(file->path()).second) return;
  const trace::FileHeader& header = image.header();
  const std::uint64_t start = header.image_start != 0 ? header.image_start : header.start_monotonic;
  if (only && (header.pid != only->pid || start < only->since)) return;
  auto& follower = images_[{header.pid, start, header.seed}];
  if (!follower) follower = std::make_unique<ImageFollower>(shared_);
  follower->add({shown, std::move(file), header.segment});
}

void Follower::add_all_in(const std::string& directory, const std::string& shown,
                          const std::optional<OnlyProcess>& only) {
  std::error_code code;
  for (std::filesystem::directory_iterator entry(directory, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::filesystem::path& path = entry->path();
    if (path.extension() == ".geiger") {
      add(path, shown + "/" + path.filename().string(), only);
    }
  }
}

bool Follower::update(Nanoseconds now, Bytes most) {
  bool has_all = true;
  for (auto& [identity, image] : images_) {
    if (image->update(now, most) == ImageFollower::Progress::kBehind) has_all = false;
  }
  return has_all;
}

/// Marks the picture as symbolized, so readers skip the look-up.
profile::Recording Follower::finished(profile::Recording picture) const {
  picture.is_symbolized = true;
  profile::trim(picture, symbolize::leading_runtime_frames);
  return picture;
}

profile::Recording Follower::picture() {
  for (auto& [identity, image] : images_) image->refresh();
  naming_.update(recording_);
  return finished(recording_);
}

const profile::Recording& Follower::recorded() {
  for (auto& [identity, image] : images_) image->refresh();
  return recording_;
}

bool Follower::await_names(NamesOf which, std::chrono::milliseconds most) {
  const auto latest = std::chrono::steady_clock::now() + most;
  naming_.update(recording_);
  while (naming_.missing(which) > 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        latest - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    naming_.wait(which, left);
    naming_.update(recording_);
  }
  return true;
}

Baseline Follower::baseline() const {
  Baseline baseline{shared_.samples, {}, {}, thinnings()};
  baseline.allocated.reserve(recording_.tallies.size());
  baseline.live.reserve(recording_.tallies.size());
  for (const profile::Tally& tally : recording_.tallies) {
    baseline.allocated.push_back(tally.allocated);
    baseline.live.push_back(count_of(tally, profile::Kind::kLiveAtEnd));
  }
  return baseline;
}

std::uint64_t Follower::thinnings() const {
  std::uint64_t sum = 0;
  for (const auto& [identity, image] : images_) sum += image->thinning();
  return sum;
}

bool Follower::can_compare(const Baseline& baseline) const {
  return !has_aggregated() && thinnings() == baseline.thinnings;
}

Change Follower::change_since(const Baseline& baseline) const {
  GEIGER_CHECK(can_compare(baseline));
  const std::size_t size = recording_.tallies.size();
  Change change{std::vector<std::uint64_t>(size), std::vector<std::uint64_t>(size)};
  for (const auto& [identity, image] : images_) {
    image->count_live_since(baseline.samples, change.came);
  }
  for (std::size_t i = 0; i < size; ++i) {
    const profile::Tally& tally = recording_.tallies[i];
    const std::uint64_t stayed = count_of(tally, profile::Kind::kLiveAtEnd) - change.came[i];
    const std::uint64_t before = i < baseline.live.size() ? baseline.live[i] : 0;
    change.went[i] = before - std::min(stayed, before);
    // Older than the trace that is read: it may have been live before.
    if (!is_allocation_seen(tally.alike)) change.came[i] = 0;
  }
  return change;
}

profile::Recording Follower::picture_since(const Baseline& baseline) {
  for (auto& [identity, image] : images_) image->refresh();
  std::vector<std::uint64_t> live(recording_.tallies.size());
  for (const auto& [identity, image] : images_) image->count_live_since(baseline.samples, live);
  profile::Recording picture = recording_;
  for (std::size_t i = 0; i < picture.tallies.size(); ++i) {
    profile::Tally& tally = picture.tallies[i];
    const std::uint64_t before = i < baseline.allocated.size() ? baseline.allocated[i] : 0;
    // A thinning in between took some of them away.
    tally.allocated -= std::min(before, tally.allocated);
    tally.freed = tally.allocated - std::min(live[i], tally.allocated);
  }
  std::erase_if(picture.tallies, [](const profile::Tally& tally) { return tally.allocated == 0; });
  return finished(std::move(picture));
}

bool Follower::has_aggregated() const {
  return std::ranges::any_of(images_, [](const auto& each) { return each.second->is_counting(); });
}

bool Follower::has_ended() const {
  return std::ranges::all_of(images_, [](const auto& each) {
    const trace::State state = each.second->state();
    return state == trace::State::kExited || state == trace::State::kStopped ||
           state == trace::State::kOff;
  });
}

Bytes Follower::position() const {
  Bytes bytes = 0;
  for (const auto& [identity, image] : images_) bytes += image->position();
  return bytes;
}

Bytes Follower::end() const {
  Bytes bytes = 0;
  for (const auto& [identity, image] : images_) bytes += image->end();
  return bytes;
}

}  // namespace geiger::follow
