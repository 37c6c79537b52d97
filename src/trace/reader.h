// Reads one image of a trace from untrusted bytes.
//
// Overview:
//   read_header      checks the header, says where the records and the image end
//   RecordReader     feed() a window of the records, next() until it is empty
//   RecordSink       from a record to the structure of its type
//   RecordWalk       the loop over both, which waits for writers
//
// A trace may be live, cut, or hostile. So every size is checked before it is
// used, nothing is read past a window, and the first implausible word ends the reading: after it no
// record boundary is certain, and a guessed one would turn garbage into allocations. The records
// read before stay valid.
//
// Nothing here allocates. Threads: distinct readers are independent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/units.h"
#include "trace/format.h"
#include "trace/records.h"

namespace geiger::trace {

/// Ways in which a trace can be damaged.
enum class Fault : std::uint8_t {
  kNone,
  // The image cannot be read at all.
  kTooShort,       ///< Fewer bytes than a header page; `found` = how many.
  kBlank,          ///< The header was never written.
  kForeign,        ///< Another magic: not a trace.
  kOtherVersion,   ///< Not a version this reader knows; `found` = which.
  kBadHeaderSize,  ///< Capacity, tail, sealed_end or image_bytes contradict the format.
  // The records are good up to the offset.
  kCut,          ///< The file ends before the records do; `found` = where they should end.
  kNoSize,       ///< A record of no words.
  kNoType,       ///< A header word without a type.
  kPastEnd,      ///< A record that is longer than the rest.
  kTooSmall,     ///< A record smaller than its type needs.
  kStackCount,   ///< More frames than the record holds.
  kModuleText,   ///< Build id or path exceed the record, or no path.
  kText,         ///< A text that exceeds its record.
  kEpochValues,  ///< An interval or a rate that cannot be sampled with.
};

/// A fault and where it was found.
struct TraceError {
  std::uint64_t offset = 0;  ///< Bytes from the image's start.
  Fault fault = Fault::kNone;
  std::uint64_t found = 0;  ///< The offending number, where the fault names one.
};

/// The fault in words, without numbers; static storage.
[[nodiscard]] std::string_view reason_of(Fault fault);

/// Where an image's parts end; all in bytes from the image's start.
struct ImageExtent {
  std::uint64_t records_end = kRecordsOffset;   ///< 8-byte aligned, within the file.
  std::uint64_t size = 0;                       ///< With chunks; bounded by the file.
  bool is_sealed = false;                       ///< Chunks may follow the records.
  bool is_last = true;                          ///< No image follows in the file.
  bool is_overrun = false;                      ///< Space was reserved past the capacity.
  bool is_cut = false;                          ///< The file ends before the records do.
  std::uint64_t promised_end = kRecordsOffset;  ///< Where the header says they end.
};

/// Checks an image's header. `page` holds its first bytes (kControlOffset are
/// enough, 8-byte aligned), `available` counts the bytes from its start to the
/// file's end. Fault::kNone on success, with `extent` filled in.
[[nodiscard]] TraceError read_header(std::span<const std::byte> page, std::uint64_t available,
                                     ImageExtent& extent);

/// The header in a page that read_header accepted.
[[nodiscard]] inline const FileHeader& header_of(std::span<const std::byte> page) {
  return *reinterpret_cast<const FileHeader*>(page.data());
}

/// One committed record: `words` covers it whole and has the size its type needs.
struct Record {
  RecordHeader header{};
  std::uint64_t offset = 0;  ///< From the image's start.
  std::span<const std::uint64_t> words;

  [[nodiscard]] Ref ref() const { return static_cast<Ref>(offset / 8); }

  /// The record as the structure of its type. Valid as long as the window is.
  template <class Layout>
  [[nodiscard]] const Layout& as() const {
    static_assert(alignof(Layout) <= alignof(std::uint64_t));
    return *reinterpret_cast<const Layout*>(words.data());
  }
};

/// Zero words: space reserved by a writer that wrote nothing into it (yet).
struct Hole {
  std::uint64_t offset = 0;  ///< From the image's start; of all of it, if it spans windows.
  std::uint64_t bytes = 0;
};

/// Frames of a kStack record, leaf first.
[[nodiscard]] std::span<const std::uint64_t> frames_of(const Record& stack);
/// Raw bytes of the build id and the path (without its NUL) of a kModule record.
[[nodiscard]] std::span<const std::uint8_t> build_id_of(const Record& module);
[[nodiscard]] std::string_view path_of(const Record& module);
/// The text of a kName, kMark or kObservation record.
[[nodiscard]] std::string_view text_of(const Record& record);
/// The texts of a kCode record, not checked to be UTF-8, and its line table.
[[nodiscard]] std::string_view name_of(const Record& code);
[[nodiscard]] std::string_view file_of(const Record& code);
[[nodiscard]] std::span<const std::uint8_t> lines_of(const Record& code);
/// The name of a thread.
[[nodiscard]] std::string_view name_of(const ThreadNameRecord& record);

/// The outcome of RecordReader::next().
enum class Step : std::uint8_t {
  kRecord,   ///< record() is a committed record of a known type.
  kHole,     ///< Zero words were skipped: hole().
  kPending,  ///< A record was skipped whose body is not written (yet).
  kWindow,   ///< The window is used up; feed() the next, unless is_done().
};

/// Walks the records of one image through windows of it.
///
///   RecordReader reader(extent);
///   while (!reader.is_done()) {
///     reader.feed(window read at reader.position());
///     for (Step step = reader.next(); step != Step::kWindow; step = reader.next()) ...
///   }
///
/// A window may end inside a record: the next one starts with it.
class RecordReader {
 public:
  /// `from`: where its first record starts.
  explicit RecordReader(const ImageExtent& extent, std::uint64_t from = kRecordsOffset);

  /// The bytes from position() on, 8-byte aligned in memory. A window that does not hold the whole
  /// next record means that the file ends there.
  void feed(std::span<const std::byte> window);

  [[nodiscard]] Step next();

  [[nodiscard]] const Record& record() const { return record_; }
  [[nodiscard]] const Hole& hole() const { return hole_; }
  /// Where the record of the last Step::kPending starts.
  [[nodiscard]] std::uint64_t reserved_at() const { return reserved_; }

  /// Right after Step::kHole, or after the feed() that follows a hole at the window's end: goes
  /// back to the hole's start and drops the window. For live traces: a header word may have been
  /// written after it was read as zero and before the words after it were read, which then are not
  /// a boundary.
  void retry_hole();
  /// Right after Step::kPending: the same for that record.
  void retry_reserved();

  /// Records were added to a live trace: `extent` is its new extent. A reader that was done
  /// continues.
  void extend(const ImageExtent& extent);

  [[nodiscard]] bool is_done() const { return position_ >= end_ || has_failed(); }
  [[nodiscard]] bool has_failed() const { return error_.fault != Fault::kNone; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] const TraceError& error() const { return error_; }

  /// Committed records, those of unknown types included.
  [[nodiscard]] std::uint64_t committed() const { return committed_; }
  /// Records reserved, never committed; a hole counts as one.
  [[nodiscard]] std::uint64_t uncommitted() const { return uncommitted_; }
  /// Committed records of types that this version does not know.
  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }

 private:
  [[nodiscard]] Step skip_hole();
  [[nodiscard]] bool take(const RecordHeader& header);
  void advance(std::uint64_t words);
  void fail(Fault fault, std::uint64_t found = 0);
  [[nodiscard]] Step end_window();

  std::span<const std::uint64_t> window_;
  std::uint64_t used_ = 0;  ///< Words of the window already read.
  std::uint64_t position_;
  std::uint64_t reserved_ = 0;  ///< Where the last skipped record starts.
  ImageExtent extent_;
  std::uint64_t end_ = kRecordsOffset;
  std::uint64_t committed_ = 0;
  std::uint64_t uncommitted_ = 0;
  std::uint64_t unknown_ = 0;
  Record record_;
  Hole hole_;
  TraceError error_;
};

// Everything that reads a trace is a sink: it handles the structures that it needs and ignores the
// others, so a new type of record needs a function only in the sinks that use it.

/// A sink derives from this, declares `using RecordSink::on;` and overloads `on` for the structures
/// that it needs.
struct RecordSink {
  template <class Layout>
  void on(const Record& /*record*/, const Layout& /*layout*/) {}
};

/// Hands a record to a sink. A void CarriedRecord carries nothing, so no sink sees it.
template <class Sink>
void hand_over(const Record& record, Sink& sink) {
  with_layout(record.header.type, [&](auto layout) {
    using Layout = typename decltype(layout)::type;
    constexpr bool kMayBeVoid = std::is_same_v<Layout, CarriedRecord>;
    if (kMayBeVoid && (record.header.flags & kFlagVoid) != 0) return;
    sink.on(record, record.as<Layout>());
  });
}

// Walks the records of one image, finished or growing, and hands them to a sink. The only loop
// over records, and the only place that decides what to do with an incomplete one:
//
//   of a finished image   it is skipped, and counts as uncommitted
//   of a live one         its writer may be in the middle of it: the caller's `wait` says
//                         whether to look again, to come back later or to give it up
//
// Threads: distinct walks are independent. Allocates nothing itself.

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
