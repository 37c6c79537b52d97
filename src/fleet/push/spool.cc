#include "fleet/push/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "fleet/document/document.h"

namespace geiger::fleet {

namespace {

constexpr const char* kTemporary = ".tmp";
constexpr mode_t kOwnerOnly = 0600;

base::Failure failure_at(const std::string& path) {
  return base::Failure{path + ": " + std::strerror(errno)};
}

}  // namespace

base::Outcome<DurableDirectory> DurableDirectory::open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failure_at(path);
  return checked(path, base::UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                 Sharing::kAsTmp);
}

base::Outcome<DurableDirectory> DurableDirectory::open_inside(const std::string& name) const {
  if (mkdirat(directory_.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
    return failure_of(name);
  }
  return checked(path_of(name),
                 base::UniqueFd(openat(directory_.get(), name.c_str(),
                                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
                 Sharing::kNone);
}

base::Outcome<DurableDirectory> DurableDirectory::checked(std::string path,
                                                          base::UniqueFd directory,
                                                          Sharing sharing) {
  struct stat status {};
  if (!directory.is_open() || fstat(directory.get(), &status) != 0) return failure_at(path);
  if (geteuid() == 0) {
    if (status.st_uid != 0) return base::Failure{path + ": is not root's"};
    const bool is_as_tmp = sharing == Sharing::kAsTmp && (status.st_mode & S_ISVTX) != 0;
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_as_tmp) {
      return base::Failure{path + ": other users can write it; chmod go-w " + path};
    }
  }
  return DurableDirectory(std::move(path), std::move(directory));
}

base::Failure DurableDirectory::failure_of(const std::string& name) const {
  return failure_at(path_of(name));
}

base::Outcome<void> DurableDirectory::write(const std::string& name, std::string_view bytes) const {
  const std::string temporary = name + kTemporary;
  auto written = write_new(temporary, bytes);
  if (written.has_value()) written = move(temporary, *this, name);
  if (!written.has_value()) remove(temporary);
  return written;
}

base::Outcome<void> DurableDirectory::write_new(const std::string& name,
                                                std::string_view bytes) const {
  const base::UniqueFd file(openat(directory_.get(), name.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                                   kOwnerOnly));
  if (!file.is_open()) return failure_of(name);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failure_of(name);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(file.get()) != 0) return failure_of(name);
  return {};
}

base::Outcome<void> DurableDirectory::move(const std::string& name, const DurableDirectory& to,
                                           const std::string& new_name) const {
  const bool is_done =
      renameat(directory_.get(), name.c_str(), to.directory_.get(), new_name.c_str()) == 0 &&
      fsync(to.directory_.get()) == 0;
  return is_done ? base::Outcome<void>() : to.failure_of(new_name);
}

base::Outcome<std::string> DurableDirectory::read(const std::string& name, std::size_t most) const {
  const base::UniqueFd file(
      openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) return failure_of(name);
  if (!S_ISREG(status.st_mode)) return base::Failure{path_of(name) + ": is not a regular file"};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > most) return base::Failure{path_of(name) + ": it is larger than it can be"};
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_of(name);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

bool DurableDirectory::has(const std::string& name) const {
  return faccessat(directory_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void DurableDirectory::remove(const std::string& name) const {
  unlinkat(directory_.get(), name.c_str(), 0);
}

std::map<std::string, Bytes> DurableDirectory::tidied() const {
  std::map<std::string, Bytes> sizes;
  // Of its own: reading moves the place in the directory.
  base::UniqueFd again(openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(again.get()), closedir);
  if (!entries) return sizes;
  static_cast<void>(again.release());
  while (const dirent* entry = readdir(entries.get())) {
    const std::string name = entry->d_name;
    struct stat status {};
    if (name.ends_with(kTemporary)) {
      remove(name);
    } else if (fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISREG(status.st_mode)) {
      sizes[name] = static_cast<Bytes>(status.st_size);
    }
  }
  return sizes;
}

base::Outcome<base::UniqueFd> DurableDirectory::lock(const std::string& name) const {
  base::UniqueFd file(openat(directory_.get(), name.c_str(),
                             O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  if (!file.is_open()) return failure_of(name);
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) file.reset();
  return file;
}

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
