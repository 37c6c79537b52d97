// The trace of this process, read by itself while threads write it.
//
// Writers may be in the middle of a record: those are waited for, a little, so that a profile
// of [begin, end) has all that was reserved in it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "api/connection.h"
#include "base/units.h"
#include "trace/format.h"
#include "trace/record_walk.h"

namespace geiger::api {

/// A view of one trace as it is mapped now.
struct MappedTrace {
  const char* base = nullptr;
  Bytes end = 0;  ///< Of what has been reserved, as of the question.
  const trace::FileHeader* header = nullptr;
  std::uint32_t image = 0;  ///< Number of its segment.

  template <typename Layout>
  [[nodiscard]] const Layout& at(trace::Ref ref) const {
    return *reinterpret_cast<const Layout*>(base + Bytes{ref} * 8);
  }
  /// Of a sample that lived when this trace began, too. Its header is header_of().
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

/// A trace as the capture shows it.
[[nodiscard]] MappedTrace mapped_trace(const capture::TraceView& view);

/// Keeps a trace of this process where it is for as long as it lives: the recording goes on in
/// the next one meanwhile, and would use its place in the end.
class HeldTrace {
 public:
  HeldTrace() = default;
  HeldTrace(const HeldTrace&) = delete;
  HeldTrace& operator=(const HeldTrace&) = delete;
  ~HeldTrace();

  /// The one that is written. GEIGER_OK also for one that has stopped: what is in it can be
  /// read. Not for one that counts samples and keeps none.
  [[nodiscard]] geiger_status hold_current();
  /// The one of this number. GEIGER_OVERWRITTEN: it is gone; GEIGER_OTHER_PROCESS: it was the
  /// parent's.
  [[nodiscard]] geiger_status hold(std::uint32_t number);

  /// Number of the first segment of its process.
  [[nodiscard]] std::uint32_t first_image() const { return first_image_; }
  [[nodiscard]] const MappedTrace& operator*() const { return trace_; }
  [[nodiscard]] const MappedTrace* operator->() const { return &trace_; }

 private:
  MappedTrace trace_;  ///< Image 0: none is held.
  std::uint32_t first_image_ = 0;
};

/// A place in the one stream of samples, which goes from trace to trace.
struct Position {
  std::uint32_t image = 0;
  Bytes at = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const Position&) const = default;
};

/// Where the stream ends now.
[[nodiscard]] geiger_status position_now(Position& position);

/// How long to wait for writers in all, before their records count as unfinished: one
/// may have been killed, or jumped out of its handler.
class Patience {
 public:
  /// Waits a moment. False: enough.
  [[nodiscard]] bool wait();

 private:
  int moments_ = 100;
};

/// What trace::RecordWalk reads from: the mapped bytes below `end`.
struct MappedWindow {
  const char* base;
  Bytes end;

  [[nodiscard]] std::span<const std::byte> window(std::uint64_t offset) const {
    return std::as_bytes(std::span(base + offset, end - offset));
  }
  [[nodiscard]] bool is_zero(std::uint64_t offset, std::uint64_t bytes) const;
};

/// Hands every committed record in [begin, end) to a sink; returns the number of those that
/// are not.
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
