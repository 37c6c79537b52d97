// Walks the records of one image, finished or growing, and hands them to a sink. The only loop
// over records, and the only place that decides what becomes of one that is not whole:
//
//   of a finished image   it is passed over, and counts as uncommitted
//   of a live one         its writer may be in the middle of it: the caller's `wait` says
//                         whether to look again, to come back later or to give it up
//
// Threads: distinct walks are independent. Allocates nothing itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "trace/reader.h"
#include "trace/record_sink.h"

namespace geiger::trace {

/// What to do about a record that is not whole.
enum class Wait : std::uint8_t {
  kGiveUp,     ///< It counts as uncommitted; reading goes on behind it.
  kLookAgain,  ///< Read it again at once.
  kComeBack,   ///< End this run; the next one begins with it.
};

/// The outcome of a run.
enum class Progress : std::uint8_t {
  kCaughtUp,    ///< All that was there has been read.
  kBehind,      ///< There is more.
  kUnreadable,  ///< What is there cannot be read as a trace, or not from some record on.
};

class RecordWalk {
 public:
  /// `is_live`: a process may be writing the image.
  RecordWalk(const ImageExtent& extent, bool is_live, std::uint64_t from = kRecordsOffset)
      : reader_(extent, from), is_live_(is_live) {}

  /// Records were added: the image's extent is this now.
  void extend(const ImageExtent& extent) { reader_.extend(extent); }

  /// Reads on, at most about `most` bytes (whole windows).
  ///
  /// Source: `window(offset)` is a span of the image's bytes from there on, which may end
  /// anywhere behind the next record; `is_zero(offset, bytes)` says whether these bytes are zero
  /// now, as far as the image has them.
  /// wait(offset): a Wait for the record there. Only asked about live images.
  template <class Source, class WaitAt, class Sink>
  [[nodiscard]] Progress run(Source& source, const WaitAt& wait, Sink& sink,
                             Bytes most = kMaxCapacity);

  [[nodiscard]] const RecordReader& reader() const { return reader_; }

 private:
  /// A live writer fills a hole within microseconds; one that was stopped or killed never does.
  /// So few second looks suffice.
  static constexpr int kSecondLooks = 1000;

  template <class Source, class WaitAt, class Sink>
  [[nodiscard]] bool drain(Source& source, const WaitAt& wait, Sink& sink);
  template <class Source, class WaitAt>
  [[nodiscard]] Wait decide(Step step, Source& source, const WaitAt& wait);
  template <class Source>
  [[nodiscard]] bool was_filled(Source& source);
  [[nodiscard]] bool is_in_hole() const {
    const Hole& hole = reader_.hole();
    return hole.bytes != 0 && hole.offset + hole.bytes == reader_.position();
  }

  RecordReader reader_;
  bool is_live_;
  int looks_left_ = kSecondLooks;
};

template <class Source, class WaitAt, class Sink>
Progress RecordWalk::run(Source& source, const WaitAt& wait, Sink& sink, Bytes most) {
  const std::uint64_t stop = reader_.position() + std::min(most, kMaxCapacity);
  while (!reader_.is_done()) {
    if (reader_.position() >= stop) return Progress::kBehind;
    reader_.feed(source.window(reader_.position()));
    // What was a hole at the last window's end may be written by now, and this window begin
    // inside a record.
    if (is_live_ && is_in_hole() && was_filled(source)) {
      reader_.retry_hole();
    } else if (!drain(source, wait, sink)) {
      return Progress::kCaughtUp;
    }
  }
  return reader_.has_failed() ? Progress::kUnreadable : Progress::kCaughtUp;
}

/// Hands over the records of a window. False: to be continued by the next run.
template <class Source, class WaitAt, class Sink>
bool RecordWalk::drain(Source& source, const WaitAt& wait, Sink& sink) {
  for (Step step = reader_.next(); step != Step::kWindow; step = reader_.next()) {
    if (step == Step::kRecord) {
      hand_over(reader_.record(), sink);
      continue;
    }
    const Wait answer = is_live_ ? decide(step, source, wait) : Wait::kGiveUp;
    if (answer == Wait::kGiveUp) continue;
    step == Step::kHole ? reader_.retry_hole() : reader_.retry_reserved();
    return answer == Wait::kLookAgain;
  }
  return true;
}

/// A hole that is given up must still be one: its header word may have been written after it was
/// read as zero and before the words behind it were read, which then are not a boundary.
template <class Source, class WaitAt>
Wait RecordWalk::decide(Step step, Source& source, const WaitAt& wait) {
  const bool is_hole = step == Step::kHole;
  const Wait answer = wait(is_hole ? reader_.hole().offset : reader_.reserved_at());
  if (answer != Wait::kGiveUp || !is_hole) return answer;
  return was_filled(source) ? Wait::kLookAgain : Wait::kGiveUp;
}

/// Whether a writer has meanwhile written into what was read as zero. The record that goes on
/// behind a hole begins in its last words: no record is larger.
template <class Source>
bool RecordWalk::was_filled(Source& source) {
  const Hole& hole = reader_.hole();
  const std::uint64_t bytes = std::min(hole.bytes, kMaxRecordWords * sizeof(std::uint64_t));
  if (looks_left_ == 0 || source.is_zero(hole.offset + hole.bytes - bytes, bytes)) return false;
  --looks_left_;
  return true;
}

}  // namespace geiger::trace
