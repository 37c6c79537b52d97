#include "control/control_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace geiger::control {
namespace {

bool has_both_pages(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && static_cast<Bytes>(status.st_size) >= trace::kRecordsOffset;
}

/// Claims a slot by making its sequence odd. A controller that died while filling a slot leaves it
/// claimed for ever; there are others.
bool claim(trace::ControlMark& mark, std::uint32_t& sequence) {
  sequence = mark.sequence.load(std::memory_order_acquire);
  const bool is_free = sequence % 2 == 0 && mark.taken.load(std::memory_order_acquire) == sequence;
  return is_free &&
         mark.sequence.compare_exchange_strong(sequence, sequence + 1, std::memory_order_acq_rel);
}

}  // namespace

std::optional<PostedMark> post_mark(trace::ControlPage& page, Nanoseconds time,
                                    std::string_view name) {
  for (std::size_t slot = 0; slot < trace::kControlMarks; ++slot) {
    trace::ControlMark& mark = page.marks[slot];
    std::uint32_t sequence = 0;
    if (!claim(mark, sequence)) continue;
    mark.time = time;
    mark.text_bytes = static_cast<std::uint32_t>(std::min(name.size(), kMostMarkBytes));
    std::memcpy(mark.text, name.data(), mark.text_bytes);
    mark.sequence.store(sequence + 2, std::memory_order_release);
    page.posted_marks.fetch_add(1, std::memory_order_release);  // Last: it tells to look.
    return PostedMark{slot, sequence + 2};
  }
  return std::nullopt;
}

bool is_taken(const trace::ControlPage& page, const PostedMark& mark) {
  return page.marks[mark.slot].taken.load(std::memory_order_acquire) == mark.sequence;
}

void* map_trace_page(int fd, int protection, Bytes offset) {
  void* page =
      mmap(nullptr, trace::kControlOffset, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
  return page == MAP_FAILED ? nullptr : page;
}

base::UniqueFd open_to_control(int directory, const std::string& path) {
  constexpr int kFlags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  base::UniqueFd file(openat(directory, path.c_str(), O_RDWR | kFlags));
  if (file.is_open() || errno != EACCES) return file;
  const base::UniqueFd guarded(openat(directory, path.c_str(), O_RDONLY | kFlags));
  struct stat status {};
  const bool is_guarded = guarded.is_open() && fstat(guarded.get(), &status) == 0 &&
                          S_ISREG(status.st_mode) &&
                          (status.st_mode & 0777) == trace::kGuardedFileMode;
  if (!is_guarded || fchmod(guarded.get(), trace::kFileMode) != 0) return file;
  file = base::UniqueFd(openat(directory, path.c_str(), O_RDWR | kFlags));
  fchmod(guarded.get(), trace::kGuardedFileMode);
  return file;
}

base::Outcome<LiveTrace> LiveTrace::open(base::UniqueFd file, std::string path) {
  LiveTrace trace;
  trace.file_ = std::move(file);
  trace.path_ = std::move(path);
  if (!trace.file_.is_open() || !has_both_pages(trace.fd())) {
    return base::Failure{trace.path_ + " is not a trace"};
  }
  trace.header_ = static_cast<const trace::FileHeader*>(map_trace_page(trace.fd(), PROT_READ, 0));
  trace.control_ = static_cast<trace::ControlPage*>(
      map_trace_page(trace.fd(), PROT_READ | PROT_WRITE, trace::kControlOffset));
  if (trace.header_ == nullptr || trace.control_ == nullptr ||
      std::memcmp(trace.header_->magic, trace::kMagic, sizeof trace::kMagic) != 0 ||
      trace.header_->version != trace::kVersion) {
    return base::Failure{trace.path_ + " is not a trace of this version"};
  }
  return trace;
}

LiveTrace::~LiveTrace() {
  if (header_ != nullptr) munmap(const_cast<trace::FileHeader*>(header_), trace::kControlOffset);
  if (control_ != nullptr) munmap(control_, trace::kControlOffset);
}

void LiveTrace::swap(LiveTrace& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(path_, other.path_);
  std::swap(header_, other.header_);
  std::swap(control_, other.control_);
}

bool LiveTrace::is_open() const {
  const trace::State state = header_->state.load(std::memory_order_acquire);
  return state == trace::State::kStarting || state == trace::State::kSampling;
}

Bytes LiveTrace::size() const {
  return std::min(header_->tail.load(std::memory_order_relaxed), header_->capacity);
}

}  // namespace geiger::control
