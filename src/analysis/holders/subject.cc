#include "analysis/holders/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "analysis/observe/allocator_heaps.h"
#include "base/clock.h"
#include "base/text.h"

namespace geiger::holders {

using observe::Mapping;

namespace {

/// Those that replace the C library's malloc.
bool is_other_allocator(std::string_view path) {
  constexpr std::string_view kNames[] = {"libjemalloc", "libmimalloc", "libtcmalloc"};
  const std::string_view file = base::file_name_of(path);
  return observe::is_geiger_heap(path) ||
         std::ranges::any_of(kNames, [&](std::string_view name) { return file.starts_with(name); });
}

base::Outcome<std::vector<Mapping>> mappings_of(const observe::ProcessFiles& files) {
  const auto maps = files.read("maps");
  if (!maps) return base::Failure{fmt::format("maps: {}", std::strerror(errno))};
  if (maps->empty()) return base::Failure{"the process has ended"};
  return observe::parse_smaps(*maps);
}

void leave_out_ranges(const trace::FileHeader& header, Layout& layout) {
  for (const observe::Range& range : observe::runtime_ranges(header)) {
    layout.leave_out({range.start, range.end()});
  }
}

}  // namespace

base::Outcome<void> RunningProcess::open(const std::string& trace) {
  if (!files_.is_open()) return base::Failure{"the process has ended"};
  return follower_.open(trace);
}

base::Outcome<std::vector<Mapping>> RunningProcess::look() {
  std::vector<Mapping> mappings = GEIGER_TRY(mappings_of(files_));
  GEIGER_TRY(follow());
  if (!follower_.is_shown_by(mappings)) {
    return base::Failure{"it does not write this trace any more"};
  }
  return mappings;
}

std::vector<Span> RunningProcess::mapped_since(std::span<const Mapping> mappings) const {
  std::vector<Span> since;
  const auto now = mappings_of(files_);
  if (!now.has_value()) return since;
  auto before = mappings.begin();
  for (const Mapping& mapping : now.value()) {
    if (!mapping.is_readable || !mapping.is_writable) continue;
    if (mapping.inode == follower_.inode()) continue;
    Address at = mapping.start;
    while (before != mappings.end() && before->end <= at) ++before;
    for (auto old = before; old != mappings.end() && old->start < mapping.end; ++old) {
      if (!old->is_writable) continue;
      if (at < old->start) since.push_back({at, old->start});
      at = std::max(at, old->end);
    }
    if (at < mapping.end) since.push_back({at, mapping.end});
  }
  return since;
}

std::unique_ptr<Memory> RunningProcess::memory(std::span<const Mapping> mappings) const {
  return std::make_unique<ProcessMemory>(pid_, files_, files_, mappings,
                                         follower_.header().page_size);
}

void RunningProcess::leave_out_runtime(Layout& layout) const {
  leave_out_ranges(follower_.header(), layout);
  for (const Mapping& mapping : layout.mappings) {
    if (mapping.inode == follower_.inode()) layout.leave_out({mapping.start, mapping.end});
  }
}

void RunningProcess::read_registers(std::vector<Thread>& threads) const {
  if (!read_registers_) return;
  for (ThreadRegisters& read : read_registers_(pid_)) {
    const auto thread = std::ranges::find(threads, read.tid, &Thread::tid);
    if (thread != threads.end()) thread->registers = std::move(read.words);
  }
}

base::Outcome<void> RunningProcess::check_still_there() const {
  const auto mappings = mappings_of(files_);
  if (!files_.status() || !mappings.has_value() || !follower_.is_shown_by(mappings.value())) {
    return base::Failure{"the process ended while it was scanned"};
  }
  return {};
}

base::Outcome<void> RunningProcess::follow() {
  if (follower_.follow_to_end()) return {};
  return base::Failure{"its trace grows faster than it is read"};
}

namespace {

/// The memory of a copy, which has not all that its process has (MADV_DONTFORK).
class CopiedMemory : public ProcessMemory {
 public:
  CopiedMemory(pid_t pid, const observe::ProcessFiles& files, const observe::ProcessFiles& original,
               std::span<const Mapping> mappings, Bytes page_bytes, std::vector<Span> left_out)
      : ProcessMemory(pid, files, original, mappings, page_bytes), left_out_(std::move(left_out)) {}
  [[nodiscard]] Bytes lacks(Span span) const override {
    Bytes bytes = 0;
    for (const Span& part : left_out_) {
      if (span.start <= part.start && part.end <= span.end) bytes += part.end - part.start;
    }
    return bytes;
  }

 private:
  std::vector<Span> left_out_;
};

}  // namespace

base::Outcome<void> CopiedProcess::open(const std::string& trace) {
  trace_ = trace;
  GEIGER_TRY(RunningProcess::open(trace));
  const std::vector<Mapping> mappings = GEIGER_TRY(mappings_of(files_));
  const bool shares = std::ranges::any_of(mappings, [&](const Mapping& mapping) {
    return mapping.is_shared && mapping.is_writable && mapping.inode != follower_.inode();
  });
  is_still_ = !shares && threads_of(files_).size() == 1;
  return {};
}

base::Outcome<std::vector<Mapping>> CopiedProcess::look() {
  copy_ = {};
  const std::vector<Mapping> all = GEIGER_TRY(mappings_of(files_));
  threads_ = threads_of(files_);
  copy_ = GEIGER_TRY(make_(pid_));
  if (is_still_ && !copy_.is_of_one_instant) {
    return base::Failure{"it started a thread while it was to be copied; try again"};
  }
  for (Thread& thread : threads_) {
    if (thread.tid == copy_.borrowed.tid) {
      thread.stack_pointer = copy_.borrowed.stack_pointer;
      thread.registers = copy_.borrowed.registers;
      thread.halt = holders::halt_of(own_register_layout(), thread.registers);
    } else if (thread.halt != holders::halt_of(files_, thread.tid)) {
      thread.halt.reset();  // It ran meanwhile.
    }
  }
  copy_files_.emplace(copy_.pid);
  std::vector<Mapping> mappings = GEIGER_TRY(mappings_of(*copy_files_));
  left_out_.clear();
  for (const Mapping& mapping : all) {
    const bool is_copied = std::ranges::any_of(
        mappings, [&](const Mapping& each) { return each.holds(mapping.start); });
    if (is_copied || !mapping.is_writable || !mapping.is_readable) continue;
    left_out_.push_back({mapping.start, mapping.end});
    mappings.push_back(mapping);
  }
  std::ranges::sort(mappings, {}, &Mapping::start);
  follower_ = {};
  GEIGER_TRY(follower_.open(trace_));
  follower_.show_between(copy_.begun, copy_.done);
  GEIGER_TRY(RunningProcess::follow());
  if (!follower_.is_shown_by(mappings)) {
    return base::Failure{"it does not write this trace any more"};
  }
  return mappings;
}

std::unique_ptr<Memory> CopiedProcess::memory(std::span<const Mapping> mappings) const {
  return std::make_unique<CopiedMemory>(copy_.pid, *copy_files_, files_, mappings,
                                        follower_.header().page_size, left_out_);
}

base::Outcome<void> CopiedProcess::check_still_there() const {
  const auto mappings = mappings_of(*copy_files_);
  if (!copy_files_->status() || !mappings.has_value() || !follower_.is_shown_by(mappings.value())) {
    return base::Failure{"the copy of the process was killed while it was scanned"};
  }
  return {};
}

DumpedProcess::DumpedProcess(const CoreFile& core, const ingest::InputFile* trace,
                             const ingest::Image* image)
    : core_(core), image_(image) {
  if (image == nullptr) {
    for (const Mapping& mapping : core.mappings()) {
      const bool is_one = is_other_allocator(mapping.path) ||
                          (allocator_.empty() && observe::is_glibc(mapping.path));
      if (is_one) allocator_ = mapping.path;
    }
    return;
  }
  const trace::FileHeader& header = image->header();
  allocator_ = header.allocator;
  time_ = core.written() - header.start_realtime + header.start_monotonic;
  live_.show_between(time_, time_);
  trace::RecordWalk walk(image->extent(), false);
  constexpr std::size_t kWindow = 512 * kKiB;
  ingest::ImageWindows windows(trace->descriptor(), image->offset(), kWindow);
  const auto give_up = [](std::uint64_t) { return trace::Wait::kGiveUp; };
  static_cast<void>(walk.run(windows, give_up, live_));
}

bool DumpedProcess::is_of_image() const {
  const trace::FileHeader& header = image_->header();
  const auto ranges = observe::runtime_ranges(header);
  const bool is_here = std::ranges::all_of(ranges, [&](const observe::Range& range) {
    return std::ranges::any_of(core_.mappings(),
                               [&](const Mapping& mapping) { return mapping.holds(range.start); });
  });
  const auto pid = static_cast<std::uint32_t>(core_.pid());
  const bool is_its = pid == header.pid || pid == image_->pid();
  return is_its && is_here && !ranges.empty() && header.start_monotonic <= time_;
}

base::Outcome<void> DumpedProcess::check_samples(std::size_t unmatched, std::size_t all) const {
  constexpr std::size_t kFew = 3, kPart = 100;  // Of threads that were in malloc.
  if (!observe::is_glibc(allocator_) || unmatched <= kFew + all / kPart) return {};
  return base::Failure{
      fmt::format("{} of {} objects that were live when {} was written are no blocks in it: its "
                  "time is another than that of "
                  "its content; copy core files with 'cp -p'",
                  unmatched, all, core_.path())};
}

std::unique_ptr<Memory> DumpedProcess::memory(std::span<const Mapping> /*mappings*/) const {
  return core_.memory();
}

void DumpedProcess::leave_out_runtime(Layout& layout) const {
  if (image_ != nullptr) leave_out_ranges(image_->header(), layout);
}

}  // namespace geiger::holders
