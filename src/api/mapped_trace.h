// The trace of this process, read while threads write it.
//
// Writers may be in the middle of a record. Readers wait briefly for them, so that a profile of
// [begin, end) contains all records reserved in it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "api/connection.h"
#include "base/units.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace geiger::api {

/// A view of one mapped trace.
struct MappedTrace {
  const char* base = nullptr;
  Bytes end = 0;  ///< End of the reserved records, at the time of the view.
  const trace::FileHeader* header = nullptr;
  std::uint32_t image = 0;  ///< Number of its segment.

  template <typename Layout>
  [[nodiscard]] const Layout& at(trace::Ref ref) const {
    return *reinterpret_cast<const Layout*>(base + Bytes{ref} * 8);
  }
  /// The sample in a SampleRecord or CarriedRecord. For its header use header_of().
  [[nodiscard]] const trace::SampleRecord& sample(trace::Ref ref) const {
    const bool is_carried = header_of(ref).type == trace::RecordType::kCarried;
    return is_carried ? at<trace::CarriedRecord>(ref).sample : at<trace::SampleRecord>(ref);
  }
  [[nodiscard]] trace::RecordHeader header_of(trace::Ref ref) const {
    return trace::RecordHeader::unpack(at<std::uint64_t>(ref));
  }
  /// The record at a reference, which must be committed.
  [[nodiscard]] trace::Record record(trace::Ref ref) const {
    const trace::RecordHeader found = header_of(ref);
    return {found, Bytes{ref} * 8, {&at<std::uint64_t>(ref), found.words}};
  }
  [[nodiscard]] bool is_pure() const { return (header->mode & trace::kModePure) != 0; }
};

/// A view of the capture's trace.
[[nodiscard]] MappedTrace mapped_trace(const capture::TraceView& view);

/// Keeps a trace of this process mapped during its lifetime. Otherwise the recording, which
/// continues in the next trace, would eventually reuse its place.
class HeldTrace {
 public:
  HeldTrace() = default;
  HeldTrace(const HeldTrace&) = delete;
  HeldTrace& operator=(const HeldTrace&) = delete;
  ~HeldTrace();

  /// Holds the trace being written. GEIGER_OK also for a stopped one, which can still be read, but
  /// not for an aggregated one, which has no samples.
  [[nodiscard]] geiger_status hold_current();
  /// Holds the trace of this number. GEIGER_OVERWRITTEN: it is gone; GEIGER_OTHER_PROCESS: it was
  /// the parent's.
  [[nodiscard]] geiger_status hold(std::uint32_t number);

  /// Number of the first segment of its process.
  [[nodiscard]] std::uint32_t first_image() const { return first_image_; }
  [[nodiscard]] const MappedTrace& operator*() const { return trace_; }
  [[nodiscard]] const MappedTrace* operator->() const { return &trace_; }

 private:
  MappedTrace trace_;  ///< Image 0: none is held.
  std::uint32_t first_image_ = 0;
};

/// A position in the stream of samples, which continues from trace to trace.
struct Position {
  std::uint32_t image = 0;
  Bytes at = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const Position&) const = default;
};

/// Gets the current end of the stream.
[[nodiscard]] geiger_status position_now(Position& position);

/// The total time to wait for writers before their records count as unfinished: a writer may have
/// been killed, or jumped out of its handler.
class Patience {
 public:
  /// Waits .1 ms. False: waited long enough.
  [[nodiscard]] bool wait();

 private:
  int moments_ = 100;
};

/// The source for trace::RecordWalk: the mapped bytes below `end`.
struct MappedWindow {
  const char* base;
  Bytes end;

  [[nodiscard]] std::span<const std::byte> window(std::uint64_t offset) const {
    return std::as_bytes(std::span(base + offset, end - offset));
  }
  [[nodiscard]] bool is_zero(std::uint64_t offset, std::uint64_t bytes) const;
};

/// Passes every committed record in [begin, end) to a sink; returns the number of uncommitted ones.
template <class Sink>
std::uint64_t walk(const MappedTrace& trace, Bytes begin, Bytes end, Sink& sink) {
  trace::ImageExtent extent;
  extent.records_end = extent.promised_end = end;
  trace::RecordWalk records(extent, true, begin);
  MappedWindow mapped{trace.base, end};
  Patience patience;
  const auto wait = [&](std::uint64_t) {
    return patience.wait() ? trace::Wait::kLookAgain : trace::Wait::kGiveUp;
  };
  const auto progress = records.run(mapped, wait, sink);
  return records.reader().uncommitted() + (progress == trace::Progress::kUnreadable ? 1 : 0);
}

}  // namespace geiger::api
