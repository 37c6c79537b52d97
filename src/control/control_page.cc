#include "control/control_page.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "foreign/open.h"

namespace geiger::control {

/// A mapping, as the handler knows it. Never freed, but used again: the handler may be reading it.
struct SharedPages::Place {
  std::atomic<std::uintptr_t> begin{0}, end{0};  ///< 0: none.
  Place* next = nullptr;
};

struct SharedPages::Places {
  std::mutex lock;  ///< Not for the handler.
  std::vector<Place*> free;
  /// Newest first. Release, as each is complete before it is listed; pairs with the acquire in the
  /// handler.
  std::atomic<Place*> all{nullptr};

  static Places& instance() {
    static auto* places = new Places;  // Faults can come until the process ends.
    return *places;
  }

  Place* take() {
    const std::lock_guard guard(lock);
    if (free.empty()) {
      auto* place = new Place;
      place->next = all.load(std::memory_order_relaxed);
      all.store(place, std::memory_order_release);
      return place;
    }
    Place* place = free.back();
    free.pop_back();
    return place;
  }

  void give_back(Place* place) {
    const std::lock_guard guard(lock);
    free.push_back(place);
  }

  [[nodiscard]] bool holds(std::uintptr_t address) const {
    for (const Place* at = all.load(std::memory_order_acquire); at != nullptr; at = at->next) {
      if (at->begin.load() <= address && address < at->end.load()) return true;
    }
    return false;
  }

  /// Puts zeros in the place of a page that the file no longer has.
  static void handle(int signal, siginfo_t* fault, void* /*context*/) {
    const auto address = reinterpret_cast<std::uintptr_t>(fault->si_addr);
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    constexpr int kHow = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    const bool is_cut = fault->si_code == BUS_ADRERR && instance().holds(address);
    void* const at = reinterpret_cast<void*>(address & ~(page - 1));
    if (is_cut && mmap(at, page, PROT_READ | PROT_WRITE, kHow, -1, 0) != MAP_FAILED) return;
    ::signal(signal, SIG_DFL);  // The instruction faults again.
  }

  static bool install() {
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    return sigaction(SIGBUS, &action, nullptr) == 0;
  }
};

std::optional<SharedPages> SharedPages::map(int fd, Bytes size) {
  Places& places = Places::instance();
  static const bool is_installed = Places::install();
  if (!is_installed) return std::nullopt;
  void* const base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return std::nullopt;
  SharedPages pages;
  pages.place_ = places.take();
  pages.place_->begin = reinterpret_cast<std::uintptr_t>(base);
  pages.place_->end = reinterpret_cast<std::uintptr_t>(base) + size;
  return pages;
}

SharedPages::~SharedPages() {
  if (place_ == nullptr) return;
  const Bytes size = place_->end.exchange(0) - place_->begin;
  munmap(begin(), size);
  Places::instance().give_back(place_);
}

char* SharedPages::begin() const {
  return place_ == nullptr ? nullptr : reinterpret_cast<char*>(place_->begin.load());
}

std::optional<Bytes> size_of_trace(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<Bytes>(status.st_size);
  if (size < trace::kRecordsOffset) return std::nullopt;
  return size;
}

std::optional<TraceFront> TraceFront::map(int fd) {
  auto pages = SharedPages::map(fd, trace::kRecordsOffset);
  if (!pages) return std::nullopt;
  TraceFront front;
  front.pages_ = std::move(*pages);
  return front;
}

base::UniqueFd open_guarded(const std::function<base::UniqueFd(int)>& open_with) {
  base::UniqueFd file = open_with(O_RDWR);
  if (file.is_open() || errno != EACCES) return file;
  const base::UniqueFd guarded = open_with(O_RDONLY);
  struct stat status {};
  const bool is_guarded = guarded.is_open() && fstat(guarded.get(), &status) == 0 &&
                          S_ISREG(status.st_mode) &&
                          (status.st_mode & 0777) == trace::kGuardedFileMode;
  if (!is_guarded || fchmod(guarded.get(), trace::kFileMode) != 0) return file;
  file = open_with(O_RDWR);
  fchmod(guarded.get(), trace::kGuardedFileMode);
  return file;
}

base::UniqueFd open_to_control(int directory, const std::string& name) {
  return open_guarded([&](int flags) { return foreign::open_entry(directory, name, flags); });
}

base::UniqueFd open_to_control(const std::string& path) {
  return open_guarded([&](int flags) { return foreign::open_regular(path, flags | O_NOFOLLOW); });
}

base::Outcome<LiveTrace> LiveTrace::open(base::UniqueFd file, std::string path) {
  LiveTrace trace;
  trace.file_ = std::move(file);
  trace.path_ = std::move(path);
  if (!trace.file_.is_open() || !size_of_trace(trace.fd())) {
    return base::Failure{trace.path_ + " is not a trace"};
  }
  if (auto front = TraceFront::map(trace.fd())) trace.front_ = std::move(*front);
  if (!trace.front_.is_mapped() ||
      std::memcmp(trace.header().magic, trace::kMagic, sizeof trace::kMagic) != 0 ||
      trace.header().version != trace::kVersion) {
    return base::Failure{trace.path_ + " is not a trace of this version"};
  }
  return trace;
}

base::Outcome<LiveTrace> LiveTrace::again() const {
  return open(base::UniqueFd(fcntl(fd(), F_DUPFD_CLOEXEC, 0)), path_);
}

bool LiveTrace::is_open() const {
  const trace::State state = header().state.load(std::memory_order_acquire);
  return state == trace::State::kStarting || state == trace::State::kSampling;
}

Bytes LiveTrace::size() const {
  return std::min(header().tail.load(std::memory_order_relaxed), header().capacity);
}

// Writes the header word last: until then the space is reserved, and readers skip it.
namespace {

/// A record with a text, of no thread. `number` is what follows the text's size in it.
template <class Layout>
std::string text_record(Nanoseconds time, std::string_view text, std::uint32_t Layout::*member,
                        std::uint32_t number) {
  std::string bytes(sizeof(Layout) + (text.size() + 7) / 8 * 8, '\0');
  auto& record = *reinterpret_cast<Layout*>(bytes.data());
  record.header = trace::RecordHeader{.type = trace::type_of<Layout>(),
                                      .flags = 0,
                                      .words = static_cast<std::uint16_t>(bytes.size() / 8),
                                      .cpu = trace::kUnknownCpu,
                                      .thread = 0}
                      .pack();
  record.time = time;
  record.text_bytes = static_cast<std::uint32_t>(text.size());
  record.*member = number;
  text.copy(bytes.data() + sizeof record, text.size());
  return bytes;
}

}  // namespace

/// The first word last: until then a reader waits for all of them.
bool LiveTrace::append(std::string_view records) {
  trace::FileHeader& own = front_.header();
  const Bytes begin = own.tail.fetch_add(records.size(), std::memory_order_seq_cst);
  const Bytes end = begin + records.size();
  constexpr Bytes kWord = 8;
  const auto write = [&](std::string_view part, Bytes at) {
    return pwrite(fd(), part.data(), part.size(), static_cast<off_t>(at)) ==
           static_cast<ssize_t>(part.size());
  };
  const bool is_written = end <= own.capacity && write(records.substr(kWord), begin + kWord) &&
                          write(records.substr(0, kWord), begin);
  return is_written && end <= own.capacity;  // It may have been cut to size meanwhile.
}

bool LiveTrace::write_mark(Nanoseconds time, std::string_view name) {
  using trace::MarkRecord;
  return is_open() &&
         append(text_record(time, name.substr(0, kMostMarkBytes), &MarkRecord::reserved, 0));
}

bool LiveTrace::write_observation(Nanoseconds time, std::string_view payload) {
  using trace::ObservationRecord;
  constexpr std::size_t kPart = trace::kMaxRecordWords * 8 - sizeof(ObservationRecord);
  std::string records;
  for (std::string_view rest = payload; !rest.empty();
       rest.remove_prefix(std::min(rest.size(), kPart))) {
    const auto left = static_cast<std::uint32_t>((rest.size() - 1) / kPart);
    records += text_record(time, rest.substr(0, kPart), &ObservationRecord::left, left);
  }
  const bool has_room = size() + records.size() <= header().capacity / 2;
  return is_open() && has_room && append(records);
}

bool TraceTally::update(Nanoseconds now) {
  return image_.update(now, *this) != ingest::GrowingImage::Progress::kUnreadable;
}

}  // namespace geiger::control
