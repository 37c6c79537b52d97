#include "fleet/push/spool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fleet/document/ids.h"

namespace geiger::fleet {
namespace {

constexpr std::string_view kDocumentEnd = ".doc", kGapEnd = ".gap";

bool is_gap(std::string_view name) { return name.ends_with(kGapEnd); }

/// Times of ten digits, so that the order of names is that of times.
std::string timed_name(std::int64_t time, std::uint64_t process, std::string_view rest,
                       std::string_view end) {
  return fmt::format("{:010}-{:016x}-{:016x}{}", time, process, hash_of(rest), end);
}

std::string gap_name(const GapRow& gap) {
  return timed_name(gap.first, gap.process, gap.host, kGapEnd);
}

}  // namespace

std::string Spool::name_of(const Key& key) {
  return timed_name(key.started, key.process, key.service + '\0' + key.version + '\0' + key.host,
                    kDocumentEnd);
}

base::Outcome<Spool> Spool::open(const std::string& path, Bytes most, Log log) {
  const auto whole = GEIGER_TRY(DurableDirectory::open(path));
  auto lock = GEIGER_TRY(whole.lock("lock"));
  if (!lock.is_open()) {
    return base::Failure{path + ": another process uses it; give each agent its own with --spool"};
  }
  auto waiting = whole.open_inside("waiting");
  auto refused = whole.open_inside("refused");
  auto state = whole.open_inside("state");
  for (const auto* place : {&waiting, &refused, &state}) {
    if (!place->has_value()) return place->failure();
  }
  Spool spool(path, most, std::move(log),
              {std::move(waiting.value()), std::move(refused.value()), std::move(state.value())},
              std::move(lock));
  static_cast<void>(spool.places_.state.tidied());
  spool.read_names(spool.places_.waiting, spool.waiting_);
  spool.read_names(spool.places_.refused, spool.refused_);
  return spool;
}

void Spool::read_names(const DurableDirectory& directory, Files& files) {
  files = directory.tidied();
  for (const auto& [name, size] : files) bytes_ += size;
}

base::Outcome<void> Spool::put(const Key& key, std::string_view packed) {
  const std::string name = name_of(key);
  if (waiting_.contains(name)) {
    const auto known = GEIGER_TRY(read(name));
    if (known == packed) return {};
    return base::Failure{places_.waiting.path_of(name) + ": it exists with different contents"};
  }
  GEIGER_TRY(make_room(packed.size()));
  GEIGER_TRY(places_.waiting.write(name, packed));
  waiting_[name] = packed.size();
  bytes_ += packed.size();
  return {};
}

base::Outcome<void> Spool::put(const GapRow& gap) {
  GapRow whole = gap;
  for (const auto& [name, size] : waiting_) {
    if (!is_gap(name)) continue;
    const auto bytes = read(name);
    if (!bytes.has_value()) continue;
    const auto parcel = open_parcel(bytes.value());
    const auto* known = parcel.has_value() ? std::get_if<GapRow>(&parcel.value()) : nullptr;
    const bool is_continued = known != nullptr && known->host == gap.host &&
                              known->process == gap.process && known->reason == gap.reason &&
                              known->first <= gap.first && known->last >= gap.first;
    if (!is_continued) continue;
    whole.first = known->first;
    whole.last = std::max(known->last, gap.last);
    break;
  }
  const std::string name = gap_name(whole);
  const std::string packed = pack(whole);
  GEIGER_TRY(places_.waiting.write(name, packed));
  bytes_ += packed.size() - std::exchange(waiting_[name], packed.size());
  return {};
}

std::optional<std::string> Spool::next(const std::string& after) const {
  const auto found = waiting_.upper_bound(after);
  return found == waiting_.end() ? std::nullopt : std::optional(found->first);
}

base::Outcome<std::string> Spool::read(const std::string& name) const {
  return places_.waiting.read(name, kMostPackedBytes);
}

void Spool::remove(const std::string& name) { erase(places_.waiting, waiting_, name); }

/// A name that stays is sent again, and known to the sink.
void Spool::erase(const DurableDirectory& directory, Files& files, const std::string& name) {
  directory.remove(name);
  const auto found = files.find(name);
  if (found == files.end()) return;
  bytes_ -= found->second;
  files.erase(found);
}

base::Outcome<void> Spool::refuse(const std::string& name, const std::string& why) {
  log_(name + " was refused: " + why);
  GEIGER_TRY(record_gap(name, "refused: " + why));
  GEIGER_TRY(places_.waiting.move(name, places_.refused, name));
  const Bytes size = waiting_[name];
  waiting_.erase(name);
  bytes_ -= std::exchange(refused_[name], size);  // What was refused twice is there once.
  return {};
}

/// Before it goes, so that a crash in between loses nothing silently. A gap that is lost itself
/// leaves none.
base::Outcome<void> Spool::record_gap(const std::string& name, const std::string& reason) {
  if (is_gap(name)) return {};
  const auto bytes = read(name);
  const auto parcel = bytes.has_value() ? open_parcel(bytes.value())
                                        : base::Outcome<Parcel>(base::Failure{bytes.reason()});
  if (!parcel.has_value()) {
    log_(name + " cannot be read, and is lost: " + parcel.reason());
    return {};
  }
  const auto* document = std::get_if<Document>(&parcel.value());
  return document != nullptr ? put(gap_of(document->window, reason)) : base::Outcome<void>();
}

base::Outcome<void> Spool::make_room(Bytes bytes) {
  if (bytes > most_) return base::Failure{path_ + ": a document is larger than the whole spool"};
  while (bytes_ + bytes > most_) {
    GEIGER_TRY(give_up_oldest());
  }
  return {};
}

base::Outcome<void> Spool::give_up_oldest() {
  if (!refused_.empty()) {
    const std::string name = refused_.begin()->first;
    log_(name + " refused earlier and now dropped: the spool is full");
    erase(places_.refused, refused_, name);
    return {};
  }
  const auto oldest =
      std::ranges::find_if(waiting_, [](const auto& file) { return !is_gap(file.first); });
  const std::string name = oldest != waiting_.end() ? oldest->first : waiting_.begin()->first;
  log_(name + " dropped before it was sent: the spool is full");
  GEIGER_TRY(record_gap(name, "spool full"));
  remove(name);
  return {};
}

}  // namespace geiger::fleet
