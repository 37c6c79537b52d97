#include "control/waking.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "base/text.h"
#include "control/trace_feeder.h"
#include "foreign/open.h"

namespace geiger::control {
namespace {

using foreign::ActingWith;
using foreign::Links;
using foreign::open_below;
using foreign::open_entry;
using std::chrono::milliseconds;
using trace::Bell;
using trace::Presence;
using trace::Rendezvous;
using trace::RendezvousPlace;

/// How long until a call that another controller's call may have overwritten is repeated.
constexpr milliseconds kRingAgain{100};

constexpr mode_t kOthers = 077;

bool is_trusted(int fd, mode_t kind, std::uint32_t user) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || (status.st_mode & S_IFMT) != kind) return false;
  const bool is_owned = status.st_uid == user || (kind == S_IFREG && status.st_uid == 0);
  const bool has_page =
      kind != S_IFREG || static_cast<Bytes>(status.st_size) >= trace::kRendezvousBytes;
  return is_owned && has_page && (status.st_mode & kOthers) == 0;
}

// The functions from here to create() act with the process's rights: its user may own every
// directory on the way.

/// The directory, closed unless only its user may write to it.
base::UniqueFd trusted_directory(base::UniqueFd directory, const TargetProcess& target) {
  const bool is_its =
      directory.is_open() && is_trusted(directory.get(), S_IFDIR, target.facts().uid);
  return is_its ? std::move(directory) : base::UniqueFd();
}

/// A place for rendezvous, below the program's root.
base::UniqueFd open_place(const TargetProcess& target, const RendezvousPlace& place) {
  const base::UniqueFd parent =
      open_below(target.root().fd(), place.parent, O_PATH | O_DIRECTORY, Links::kBelow);
  struct stat status {};
  if (!parent.is_open() || fstat(parent.get(), &status) != 0) return {};
  if (!place.parent_is_shared && status.st_uid != target.facts().uid) return {};
  return trusted_directory(open_entry(parent.get(), place.name, O_RDONLY | O_DIRECTORY), target);
}

/// The directory of its bell. The environment does not always give this directory: programs
/// overwrite it with their titles.
base::UniqueFd open_place_of(const TargetProcess& target, const MappedFile& bell) {
  const std::string path = target.root().path_inside(bell.path);
  base::UniqueFd directory = open_below(target.root().fd(), path.substr(0, path.rfind('/')),
                                        O_RDONLY | O_DIRECTORY, Links::kBelow);
  const base::UniqueFd its = directory.is_open()
                                 ? open_entry(directory.get(), trace::kBellName, O_PATH)
                                 : base::UniqueFd();
  struct stat status {};
  const bool is_it = its.is_open() && fstat(its.get(), &status) == 0 && status.st_ino == bell.inode;
  if (!is_it && !bell.is_deleted) return {};
  return trusted_directory(std::move(directory), target);
}

/// The places where the program looks for its rendezvous, in any order: there is one at most.
std::vector<base::UniqueFd> places_of(const TargetProcess& target, const MappedFile& bell) {
  std::vector<base::UniqueFd> places;
  const auto add = [&places](base::UniqueFd directory) {
    if (directory.is_open()) places.push_back(std::move(directory));
  };
  add(open_place_of(target, bell));
  for (int i = 0; i < trace::kRendezvousPlaces; ++i) {
    RendezvousPlace place{};
    if (trace::rendezvous_place(i, nullptr, target.facts().uid, place)) {
      add(open_place(target, place));
    }
  }
  return places;
}

/// If a process changed its user, the new user may have no place yet.
base::UniqueFd make_place(const TargetProcess& target) {
  for (int i = 0; i < trace::kRendezvousPlaces; ++i) {
    RendezvousPlace place{};
    if (!trace::rendezvous_place(i, nullptr, target.facts().uid, place)) continue;
    const base::UniqueFd parent =
        open_below(target.root().fd(), place.parent, O_PATH | O_DIRECTORY, Links::kNone);
    if (!parent.is_open() || mkdirat(parent.get(), place.name, 0700) != 0) continue;
    base::UniqueFd directory = open_place(target, place);
    if (directory.is_open()) return directory;
    unlinkat(parent.get(), place.name, AT_REMOVEDIR);
  }
  return {};
}

/// The facts that name its rendezvous: without /proc the process cannot read its start.
inject::ProcessFacts facts_as_seen_by(const TargetProcess& target) {
  inject::ProcessFacts facts = target.facts();
  if (!target.root().has_proc()) facts.start = 0;
  return facts;
}

std::string name_of(const inject::ProcessFacts& facts) {
  char name[32];
  trace::rendezvous_name(facts.inner_pid, facts.start, name);
  return name;
}

/// Creates the rendezvous under a temporary name, so that it is complete when it gets its own.
base::UniqueFd create(const base::UniqueFd& place, const inject::ProcessFacts& facts) {
  const std::string name = name_of(facts);
  const std::string draft = fmt::format("{}.new.{}", name, getpid());
  base::UniqueFd file = open_entry(place.get(), draft, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (!file.is_open()) return {};
  alignas(Rendezvous) std::array<char, trace::kRendezvousBytes> page{};
  trace::begin_rendezvous(*reinterpret_cast<Rendezvous*>(page.data()), facts.inner_pid,
                          facts.start);
  const bool is_whole =
      pwrite(file.get(), page.data(), page.size(), 0) == static_cast<ssize_t>(page.size());
  const bool is_named =
      is_whole && linkat(place.get(), draft.c_str(), place.get(), name.c_str(), 0) == 0;
  unlinkat(place.get(), draft.c_str(), 0);
  return is_named ? std::move(file) : base::UniqueFd();
}

base::UniqueFd open_known(const base::UniqueFd& place, const inject::ProcessFacts& facts) {
  base::UniqueFd file = open_entry(place.get(), name_of(facts), O_RDWR);
  if (!file.is_open() || !is_trusted(file.get(), S_IFREG, facts.uid)) return {};
  return file;
}

/// The rendezvous that the program polls already: it may have moved since it came. Null: none.
const MappedFile* polled_of(const GeigerFiles& files, const inject::ProcessFacts& facts) {
  const auto found = std::ranges::find(files.rendezvous, name_of(facts), [](const auto& file) {
    return base::file_name_of(file.path);
  });
  return found == files.rendezvous.end() ? nullptr : &*found;
}

base::UniqueFd open_polled(const TargetProcess& target, const GeigerFiles& files,
                           const inject::ProcessFacts& facts) {
  const MappedFile* polled = polled_of(files, facts);
  return polled == nullptr ? base::UniqueFd() : target.open_mapped(*polled);
}

base::UniqueFd find_known(const std::vector<base::UniqueFd>& places,
                          const inject::ProcessFacts& facts) {
  for (const auto& place : places) {
    base::UniqueFd file = open_known(place, facts);
    if (file.is_open()) return file;
  }
  return {};
}

/// The meaning of an error that made a recording fail to start.
std::string refusal(int error) {
  if (error == ENOENT) return "its trace directory does not exist";
  return fmt::format("it cannot write a trace there: {}", std::strerror(error));
}

std::optional<MappedPage<Rendezvous>> meet(base::UniqueFd file, const inject::ProcessFacts& facts) {
  auto mapped = MappedPage<Rendezvous>::map(std::move(file));
  if (!mapped || !trace::is_rendezvous_of(**mapped, facts.inner_pid, facts.start)) {
    return std::nullopt;
  }
  return mapped;
}

/// The rendezvous of a process that may have none yet; closed, with errno, if it cannot be made.
base::UniqueFd find_or_create(const TargetProcess& target, const MappedFile& bell,
                              const inject::ProcessFacts& facts) {
  const ActingWith acting(target.root().rights());
  if (!acting.is_in_force()) return {};
  auto places = places_of(target, bell);
  if (places.empty()) places.push_back(make_place(target));
  if (!places.front().is_open()) return {};
  base::UniqueFd file = find_known(places, facts);
  if (!file.is_open()) file = create(places.front(), facts);
  if (!file.is_open()) file = find_known(places, facts);  // Another controller was faster.
  return file;
}

/// The process may hold the lock itself: a controller does not wait for it for ever.
bool lock(int fd) {
  constexpr milliseconds kStep{10};
  constexpr int kSteps = 200;
  for (int i = 0; i < kSteps; ++i) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    std::this_thread::sleep_for(kStep);
  }
  return false;
}

}  // namespace

bool Waking::can_meet(const TargetProcess& target, const GeigerFiles& files) {
  const inject::ProcessFacts facts = facts_as_seen_by(target);
  return polled_of(files, facts) != nullptr || find_or_create(target, *files.bell, facts).is_open();
}

std::optional<Waking> Waking::look(const TargetProcess& target, const GeigerFiles& files) {
  Waking waking(target);
  const inject::ProcessFacts facts = facts_as_seen_by(target);
  base::UniqueFd file = open_polled(target, files, facts);
  if (!file.is_open()) {
    const ActingWith acting(target.root().rights());
    if (acting.is_in_force()) file = find_known(places_of(target, *files.bell), facts);
  }
  auto page = meet(std::move(file), facts);
  if (!page) return std::nullopt;
  waking.page_ = std::move(*page);
  return waking;
}

base::Outcome<Waking> Waking::open(const TargetProcess& target, const GeigerFiles& files) {
  const MappedFile& bell = *files.bell;
  Waking waking(target);
  auto bell_page = MappedPage<Bell>::map(target.open_mapped(bell));
  if (!bell_page && bell.is_deleted) {
    return base::Failure{target.shown() + ": " + target.loss_of(bell)};
  }
  if (!bell_page || !trace::is_bell(**bell_page)) {
    return base::Failure{fmt::format(
        "{}: {} cannot be opened, so the process cannot be woken{}", target.shown(), bell.path,
        geteuid() == 0 ? "" : " (if it was started by root, root can wake it)")};
  }
  waking.bell_ = std::move(*bell_page);
  const inject::ProcessFacts facts = facts_as_seen_by(target);
  base::UniqueFd file = open_polled(target, files, facts);
  if (!file.is_open()) {
    if (const MappedFile* polled = polled_of(files, facts); polled && polled->is_deleted) {
      return base::Failure{target.shown() + ": " + target.loss_of(*polled)};
    }
    file = find_or_create(target, bell, facts);
  }
  auto page = meet(std::move(file), facts);
  if (!page) {
    return base::Failure{fmt::format("{}: the file that wakes it cannot be created with its rights",
                                     target.shown())};
  }
  waking.page_ = std::move(*page);
  waking.page_->wants_bell = bell.is_deleted ? 1 : 0;
  if (!lock(waking.page_.fd())) {
    return base::Failure{target.shown() + ": another geiger is controlling it; try again"};
  }
  return waking;
}

Bytes Waking::interval() const {
  const Bytes wanted = page_->wanted_interval.load();
  if (wanted != 0) return wanted;
  return presence() == Presence::kAbsent ? 0 : page_->own_interval;
}

std::optional<bool> Waking::pending() const {
  const std::uint32_t wanted = page_->wanted.load(std::memory_order_acquire);
  if (wanted == page_->served.load(std::memory_order_acquire)) return std::nullopt;
  return trace::wants_recording(wanted);
}

/// Whether the program polls its rendezvous now. What the page says of its presence may be about a
/// program that the process executed earlier.
bool Waking::is_polled() const {
  const auto files = target_->geiger_files();
  return files.has_value() && polled_of(files.value(), facts_as_seen_by(*target_)) != nullptr;
}

Answer Waking::wait_for(std::uint32_t request, milliseconds patience) {
  const auto begun = std::chrono::steady_clock::now();
  const auto served = [&] { return page_->served.load(std::memory_order_acquire) == request; };
  auto last_ring = begun - kRingAgain;
  while (!served()) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ring >= kRingAgain) {
      if (!target_->is_alive()) return Answer::kLate;
      if (target_->has_moved() && !is_polled()) {
        page_->wanted.store(page_->served.load(), std::memory_order_release);
        return Answer::kMoved;
      }
      call();
      last_ring = now;
    }
    if (now - begun >= patience) return served() ? Answer::kServed : Answer::kLate;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return Answer::kServed;
}

base::Outcome<Answer> Waking::request(const Order& order, milliseconds patience) {
  const std::uint32_t request = trace::next_request(page_->wanted.load(), order.records);
  if (order.records) {
    std::memset(page_->directory, 0, sizeof page_->directory);
    order.directory.copy(page_->directory, sizeof page_->directory - 1);
    page_->prefers_own = order.prefers_own ? 1 : 0;
    if (order.interval != 0) set_interval(order.interval);
  }
  page_->wanted.store(request, std::memory_order_release);
  const Answer answer = wait_for(request, patience);
  if (answer == Answer::kLate && !target_->is_alive()) {
    return base::Failure{target_->shown() + " has ended"};
  }
  if (answer != Answer::kServed) return answer;
  if (const int error = page_->error.load(); error != 0) {
    return base::Failure{fmt::format("{}: {}", target_->shown(), refusal(error))};
  }
  return answer;
}

namespace {

/// Whether it is the name of a rendezvous, of no process that exists in this pid namespace.
bool is_stale(const char* name) {
  if (!trace::is_rendezvous_name(name)) return false;
  const long pid = std::strtol(name, nullptr, 10);
  return pid > 0 && kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

void remove_stale_in(const RendezvousPlace& place) {
  const std::string path = fmt::format("{}/{}", place.parent, place.name);
  base::UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.is_open() || !is_trusted(directory.get(), S_IFDIR, geteuid())) return;
  const int copy = dup(directory.get());
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : fdopendir(copy),
                                                    &closedir);
  for (const dirent* entry = entries ? readdir(entries.get()) : nullptr; entry != nullptr;
       entry = readdir(entries.get())) {
    if (!is_stale(entry->d_name)) continue;
    // The process may be in another pid namespace.
    if (is_being_written(path + "/" + entry->d_name, 0)) continue;
    unlinkat(directory.get(), entry->d_name, 0);
  }
}

}  // namespace

void remove_stale_rendezvous() {
  for (int i = 0; i < trace::kRendezvousPlaces; ++i) {
    RendezvousPlace place{};
    if (trace::rendezvous_place(i, std::getenv("XDG_RUNTIME_DIR"), geteuid(), place)) {
      remove_stale_in(place);
    }
  }
}

}  // namespace geiger::control
