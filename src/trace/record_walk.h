// Walks the records of one image, finished or growing, and hands them to a sink. The only loop
// over records, and the only place that decides what to do with an incomplete one:
//
//   of a finished image   it is skipped, and counts as uncommitted
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

/// What to do about an incomplete record.
enum class Wait : std::uint8_t {
  kGiveUp,     ///< It counts as uncommitted; reading continues after it.
  kLookAgain,  ///< Read it again at once.
  kComeBack,   ///< End this run; the next one begins with it.
};

/// The outcome of a run.
enum class Progress : std::uint8_t {
  kCaughtUp,    ///< Everything written so far was read.
  kBehind,      ///< There is more.
  kUnreadable,  ///< Not a trace, or not a trace from some record on.
};

class RecordWalk {
 public:
  /// `is_live`: a process may be writing the image.
  RecordWalk(const ImageExtent& extent, bool is_live, std::uint64_t from = kRecordsOffset)
      : reader_(extent, from), is_live_(is_live) {}

  /// Records were added: the image's new extent.
  void extend(const ImageExtent& extent) { reader_.extend(extent); }

  /// Reads on, at most about `most` bytes (whole windows).
  ///
  /// Source: `window(offset)` is a span of the image's bytes from there on, which may end anywhere
  /// after the next record; `is_zero(offset, bytes)` is true if these bytes, as far as the image
  /// has them, are zero now.
  /// wait(offset): a Wait for the record there. Only asked about live images.
  template <class Source, class WaitAt, class Sink>
  [[nodiscard]] Progress run(Source& source, const WaitAt& wait, Sink& sink,
                             Bytes most = kMaxCapacity);

  [[nodiscard]] const RecordReader& reader() const { return reader_; }

 private:
  /// A live writer fills a hole within microseconds; one that was stopped or killed never does. So
  /// a few repeated reads suffice.
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
    // The hole at the last window's end may have been written since, so that this window begins
    // inside a record.
    if (is_live_ && is_in_hole() && was_filled(source)) {
      reader_.retry_hole();
    } else if (!drain(source, wait, sink)) {
      return Progress::kCaughtUp;
    }
  }
  return reader_.has_failed() ? Progress::kUnreadable : Progress::kCaughtUp;
}

/// Hands over the records of a window. False: the next run continues it.
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

/// Before a hole is given up it must still be one: its header word may have been written after it
/// was read as zero and before the words after it were read, which then are not a boundary.
template <class Source, class WaitAt>
Wait RecordWalk::decide(Step step, Source& source, const WaitAt& wait) {
  const bool is_hole = step == Step::kHole;
  const Wait answer = wait(is_hole ? reader_.hole().offset : reader_.reserved_at());
  if (answer != Wait::kGiveUp || !is_hole) return answer;
  return was_filled(source) ? Wait::kLookAgain : Wait::kGiveUp;
}

/// Whether a writer has meanwhile written into words that were read as zero. A record that reaches
/// beyond the hole begins in the hole's last words: no record is larger.
template <class Source>
bool RecordWalk::was_filled(Source& source) {
  const Hole& hole = reader_.hole();
  const std::uint64_t bytes = std::min(hole.bytes, kMaxRecordWords * sizeof(std::uint64_t));
  if (looks_left_ == 0 || source.is_zero(hole.offset + hole.bytes - bytes, bytes)) return false;
  --looks_left_;
  return true;
}

}  // namespace geiger::trace
