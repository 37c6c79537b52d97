// The trace of this process, read by itself while threads write it.
//
// Not trace/reader.h: that reads what anybody may have written and may lie. Here the
// writers are known, but may be in the middle of a record: those are waited for, a
// little, so that a profile of [begin, end) has all that was reserved in it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.h"
#include "runtime/api/connection.h"
#include "trace/format.h"

namespace geiger::api {

/// As it is mapped now. Earlier ones stay valid for what they could show.
struct LiveTrace {
  const char* base = nullptr;
  Bytes end = 0;  ///< Of what has been reserved, as of the question.
  const trace::FileHeader* header = nullptr;
  std::uint32_t image = 0;

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
  [[nodiscard]] bool is_pure() const { return (header->mode & trace::kModePure) != 0; }
};

/// GEIGER_OK also for a trace that has stopped: what is in it can be read. Not for one that
/// counts samples and keeps none.
[[nodiscard]] geiger_status live_trace(LiveTrace& trace);

/// How long to wait for writers in all, before their records count as unfinished: one
/// may have been killed, or jumped out of its handler.
class Patience {
 public:
  /// Waits a moment. False: enough.
  [[nodiscard]] bool wait();

 private:
  int moments_ = 100;
};

/// The header word of a record once it is written and committed; 0 or with kReserved
/// where patience ended first.
[[nodiscard]] std::uint64_t await_header(const char* record, Patience& patience);

/// Where reading goes on behind space that a writer reserved and left as zeros.
[[nodiscard]] Bytes end_of_hole(const char* base, Bytes begin, Bytes end);

/// Calls visit(ref, header) with every committed record in [begin, end); returns the
/// number of those that are not.
template <typename Visit>
std::uint64_t walk(const LiveTrace& trace, Bytes begin, Bytes end, const Visit& visit) {
  Patience patience;
  std::uint64_t unfinished = 0;
  for (Bytes at = begin; at < end;) {
    const std::uint64_t word = await_header(trace.base + at, patience);
    if (word == 0) {
      const Bytes behind = end_of_hole(trace.base, at, end);
      unfinished += behind != at;
      at = behind;
      continue;
    }
    const auto header = trace::RecordHeader::unpack(word);
    if ((header.flags & trace::kReserved) != 0) {
      ++unfinished;
    } else {
      visit(static_cast<trace::Ref>(at / 8), header);
    }
    at += Bytes{header.words} * 8;
  }
  return unfinished;
}

}  // namespace geiger::api
