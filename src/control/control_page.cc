#include "control/control_page.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "foreign/open.h"

namespace geiger::control {

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
bool LiveTrace::write_mark(Nanoseconds time, std::string_view name) {
  if (!is_open()) return false;
  name = name.substr(0, kMostMarkBytes);
  std::string bytes(sizeof(trace::MarkRecord) + (name.size() + 7) / 8 * 8, '\0');
  auto& record = *reinterpret_cast<trace::MarkRecord*>(bytes.data());
  record.time = time;
  record.text_bytes = static_cast<std::uint32_t>(name.size());
  name.copy(bytes.data() + sizeof record, name.size());
  const std::uint64_t header =
      trace::RecordHeader{.type = trace::RecordType::kMark,
                          .flags = 0,
                          .words = static_cast<std::uint16_t>(bytes.size() / 8),
                          .cpu = trace::kUnknownCpu,
                          .thread = 0}
          .pack();
  trace::FileHeader& own = front_.header();
  const Bytes begin = own.tail.fetch_add(bytes.size(), std::memory_order_seq_cst);
  const Bytes end = begin + bytes.size();
  const auto write = [&](const void* from, std::size_t size, Bytes at) {
    return pwrite(fd(), from, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
  };
  const std::size_t body = bytes.size() - sizeof header;
  const bool is_written = end <= own.capacity &&
                          write(bytes.data() + sizeof header, body, begin + sizeof header) &&
                          write(&header, sizeof header, begin);
  return is_written && end <= own.capacity;  // It may have been cut to size meanwhile.
}

}  // namespace geiger::control
