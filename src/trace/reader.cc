#include "trace/reader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>

namespace geiger::trace {

namespace {

constexpr std::size_t kKnownTypes = static_cast<std::size_t>(RecordType::kMaxKnown) + 1;

/// Words of the fixed part of each known type.
constexpr auto kFixedWords = [] {
  std::array<std::uint64_t, kKnownTypes> words{};
  for (std::size_t type = 0; type < kKnownTypes; ++type) {
    with_layout(static_cast<RecordType>(type), [&](auto layout) {
      words[type] = sizeof(typename decltype(layout)::type) / sizeof(std::uint64_t);
    });
  }
  return words;
}();

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

/// Threads may be writing to the window's memory: pairs with the release of Writer::commit.
std::uint64_t header_word(const std::uint64_t& word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}

bool is_known(RecordType type) { return type <= RecordType::kMaxKnown; }

const std::byte* body_of(const Record& record, std::size_t fixed_bytes) {
  return reinterpret_cast<const std::byte*>(record.words.data()) + fixed_bytes;
}

template <typename Layout>
Fault check_text(const Record& record, const Layout& layout) {
  const std::uint64_t room = record.words.size_bytes() - sizeof(Layout);
  return layout.text_bytes > room ? Fault::kText : Fault::kNone;
}

/// Checks of the types beyond their fixed size.
struct BodyCheck : RecordSink {
  using RecordSink::on;

  void on(const Record& record, const StackRecord& stack) {
    const std::uint64_t room = record.words.size() - sizeof(StackRecord) / kWord;
    if (stack.count > room) fault = Fault::kStackCount;
  }
  void on(const Record& record, const ModuleRecord& module) {
    const std::uint64_t room = record.words.size_bytes() - sizeof(ModuleRecord);
    const std::uint64_t text = std::uint64_t{module.build_id_bytes} + module.path_bytes;
    if (module.path_bytes == 0 || text > room) fault = Fault::kModuleText;
  }
  void on(const Record&, const EpochRecord& epoch) {
    const bool draws = epoch.interval >= 1 && std::bit_cast<double>(epoch.lambda_bits) > 0.0;
    if (!draws) fault = Fault::kEpochValues;
  }
  void on(const Record& record, const CodeRecord& code) {
    const std::uint64_t room = record.words.size_bytes() - sizeof(CodeRecord);
    const std::uint64_t text =
        std::uint64_t{code.name_bytes} + code.file_bytes + std::uint64_t{code.lines_bytes};
    if (text > room) fault = Fault::kText;
  }
  void on(const Record& record, const NameRecord& name) { fault = check_text(record, name); }
  void on(const Record& record, const MarkRecord& mark) { fault = check_text(record, mark); }
  void on(const Record& record, const ObservationRecord& part) { fault = check_text(record, part); }

  Fault fault = Fault::kNone;
};

bool is_valid_end(std::uint64_t end, std::uint64_t limit) {
  return end >= kRecordsOffset && end <= limit && end % kWord == 0;
}

/// The first header field that contradicts the format, kNone if there is none.
TraceError check_sizes(const FileHeader& header) {
  const std::uint64_t tail = header.tail.load(std::memory_order_relaxed);
  if (!is_valid_end(header.capacity, kMaxCapacity)) {
    return {offsetof(FileHeader, capacity), Fault::kBadHeaderSize, header.capacity};
  }
  if (tail != 0 && !is_valid_end(tail, ~std::uint64_t{0})) {
    return {offsetof(FileHeader, tail), Fault::kBadHeaderSize, tail};
  }
  if (header.sealed_end != 0 && !is_valid_end(header.sealed_end, header.capacity)) {
    return {offsetof(FileHeader, sealed_end), Fault::kBadHeaderSize, header.sealed_end};
  }
  const bool is_open = header.image_bytes == 0;
  const bool is_whole = header.sealed_end != 0 && header.image_bytes >= header.sealed_end &&
                        header.image_bytes % kWord == 0;
  if (!is_open && !is_whole) {
    return {offsetof(FileHeader, image_bytes), Fault::kBadHeaderSize, header.image_bytes};
  }
  return {};
}

ImageExtent extent_of(const FileHeader& header, std::uint64_t available) {
  const std::uint64_t tail = header.tail.load(std::memory_order_relaxed);
  ImageExtent extent;
  extent.is_overrun = tail > header.capacity;
  extent.is_sealed = header.sealed_end != 0;
  extent.promised_end = std::clamp(tail, kRecordsOffset, header.capacity);
  extent.records_end = std::min(extent.promised_end, available & ~(kWord - 1));
  if (extent.is_sealed) extent.records_end = std::min(extent.records_end, header.sealed_end);
  // A cut trace that was sealed later is still detected: its tail is after the seal.
  extent.is_cut = extent.records_end < extent.promised_end;
  extent.size = available;
  if (header.image_bytes != 0) extent.size = std::min(available, header.image_bytes);
  extent.is_last = extent.size == available;
  return extent;
}

}  // namespace

std::string_view reason_of(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "no fault";
    case Fault::kTooShort:
      return "too short to be a trace";
    case Fault::kBlank:
      return "the header was never written: the program ended before its first sample";
    case Fault::kForeign:
      return "not a geiger trace";
    case Fault::kOtherVersion:
      return "unknown trace format version";
    case Fault::kBadHeaderSize:
      return "a size in the header contradicts the format";
    case Fault::kCut:
      return "the file is cut short";
    case Fault::kNoSize:
      return "a record without a size";
    case Fault::kNoType:
      return "a record without a type";
    case Fault::kPastEnd:
      return "a record that runs past the end of the records";
    case Fault::kTooSmall:
      return "a record too small for its type";
    case Fault::kStackCount:
      return "a stack with more frames than its record holds";
    case Fault::kModuleText:
      return "a module whose path or build id runs out of its record";
    case Fault::kText:
      return "a text that runs out of its record";
    case Fault::kEpochValues:
      return "an invalid sampling interval";
  }
  return "unknown fault";
}

TraceError read_header(std::span<const std::byte> page, std::uint64_t available,
                       ImageExtent& extent) {
  if (page.size() < kControlOffset || available < kControlOffset) {
    return {0, Fault::kTooShort, available};
  }
  const FileHeader& header = header_of(page);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    constexpr char kNoMagic[sizeof kMagic] = {};
    const bool is_blank = std::memcmp(header.magic, kNoMagic, sizeof kNoMagic) == 0;
    return {0, is_blank ? Fault::kBlank : Fault::kForeign, 0};
  }
  if (header.version != kVersion) {
    return {offsetof(FileHeader, version), Fault::kOtherVersion, header.version};
  }
  const TraceError error = check_sizes(header);
  if (error.fault == Fault::kNone) extent = extent_of(header, available);
  return error;
}

std::span<const std::uint64_t> frames_of(const Record& stack) {
  return stack.words.subspan(sizeof(StackRecord) / kWord, stack.as<StackRecord>().count);
}

std::span<const std::uint8_t> build_id_of(const Record& module) {
  const std::byte* text = body_of(module, sizeof(ModuleRecord));
  return {reinterpret_cast<const std::uint8_t*>(text), module.as<ModuleRecord>().build_id_bytes};
}

std::string_view text_of(const Record& record) {
  constexpr std::size_t kAt = offsetof(MarkRecord, text_bytes), kFixed = sizeof(MarkRecord);
  static_assert(kAt == offsetof(NameRecord, text_bytes) && kFixed == sizeof(NameRecord));
  static_assert(kAt == offsetof(ObservationRecord, text_bytes) &&
                kFixed == sizeof(ObservationRecord));
  return {reinterpret_cast<const char*>(body_of(record, kFixed)),
          record.as<MarkRecord>().text_bytes};
}

std::string_view name_of(const Record& code) {
  return {reinterpret_cast<const char*>(body_of(code, sizeof(CodeRecord))),
          code.as<CodeRecord>().name_bytes};
}

std::string_view file_of(const Record& code) {
  const auto& layout = code.as<CodeRecord>();
  return {reinterpret_cast<const char*>(body_of(code, sizeof layout)) + layout.name_bytes,
          layout.file_bytes};
}

std::span<const std::uint8_t> lines_of(const Record& code) {
  const auto& layout = code.as<CodeRecord>();
  const std::string_view file = file_of(code);
  return {reinterpret_cast<const std::uint8_t*>(file.data() + file.size()), layout.lines_bytes};
}

std::string_view name_of(const ThreadNameRecord& record) {
  return {record.name, strnlen(record.name, sizeof record.name)};
}

std::string_view path_of(const Record& module) {
  const auto& layout = module.as<ModuleRecord>();
  const std::byte* text = body_of(module, sizeof(ModuleRecord) + layout.build_id_bytes);
  const char* path = reinterpret_cast<const char*>(text);
  return {path, strnlen(path, layout.path_bytes)};
}

RecordReader::RecordReader(const ImageExtent& extent, std::uint64_t from)
    : position_(from), extent_(extent), end_(std::max(extent.records_end, kRecordsOffset)) {
  // The records end inside the header pages: there is nothing to read.
  if (extent.is_cut && position_ >= end_) fail(Fault::kCut, extent.promised_end);
}

void RecordReader::feed(std::span<const std::byte> window) {
  const std::uint64_t words = std::min(window.size() / kWord, (end_ - position_) / kWord);
  window_ = {reinterpret_cast<const std::uint64_t*>(window.data()), words};
  used_ = 0;
}

void RecordReader::advance(std::uint64_t words) {
  used_ += words;
  position_ += words * kWord;
}

void RecordReader::fail(Fault fault, std::uint64_t found) {
  error_ = {position_, fault, found};
  window_ = {};
  used_ = 0;
}

Step RecordReader::next() {
  while (used_ < window_.size()) {
    const std::uint64_t word = header_word(window_[used_]);
    if (word == 0) return skip_hole();
    const RecordHeader header = RecordHeader::unpack(word);
    const bool is_fed = header.words <= window_.size() - used_;
    if (!is_fed && position_ + header.words * kWord <= end_) break;
    if (!take(header)) return Step::kWindow;
    const bool is_reserved = (header.flags & kReserved) != 0;
    reserved_ = position_;
    advance(header.words);
    ++(is_reserved ? uncommitted_ : committed_);
    if (is_reserved) return Step::kPending;
    if (is_known(header.type)) return Step::kRecord;
    ++unknown_;
  }
  return end_window();
}

/// Checks the record at the position and makes it record_; false = failed.
bool RecordReader::take(const RecordHeader& header) {
  if (header.words == 0) {
    fail(Fault::kNoSize);
  } else if (position_ + header.words * kWord > end_) {
    // In a cut file this is the record that was cut.
    fail(extent_.is_cut ? Fault::kCut : Fault::kPastEnd, extent_.promised_end);
  } else if ((header.flags & kReserved) != 0) {
    return true;
  } else if (header.type == RecordType::kNone) {
    fail(Fault::kNoType);
  } else if (is_known(header.type) &&
             header.words < kFixedWords[static_cast<std::size_t>(header.type)]) {
    fail(Fault::kTooSmall);
  } else {
    record_ = {header, position_, window_.subspan(used_, header.words)};
    BodyCheck check;
    hand_over(record_, check);
    if (check.fault != Fault::kNone) fail(check.fault);
  }
  return !has_failed();
}

Step RecordReader::skip_hole() {
  const auto rest = window_.subspan(used_);
  const auto past =
      std::ranges::find_if(rest, [](const std::uint64_t& word) { return header_word(word) != 0; });
  const std::uint64_t bytes = static_cast<std::uint64_t>(past - rest.begin()) * kWord;
  const bool continues = hole_.bytes != 0 && hole_.offset + hole_.bytes == position_;
  if (continues) {
    hole_.bytes += bytes;
  } else {
    hole_ = {position_, bytes};
    ++uncommitted_;
  }
  advance(bytes / kWord);
  // The space that the last reservation left below the capacity is already counted as a drop.
  if (position_ == end_ && extent_.is_overrun) --uncommitted_;
  return Step::kHole;
}

void RecordReader::retry_hole() {
  if (position_ < end_ || !extent_.is_overrun) --uncommitted_;
  position_ = hole_.offset;
  hole_ = {};
  window_ = {};
  used_ = 0;
}

void RecordReader::retry_reserved() {
  --uncommitted_;
  position_ = reserved_;
  window_ = {};
  used_ = 0;
}

void RecordReader::extend(const ImageExtent& extent) {
  extent_ = extent;
  end_ = std::max(end_, extent.records_end);
}

/// At the window's end: finds out whether the file ends here too.
Step RecordReader::end_window() {
  if (has_failed()) return Step::kWindow;
  const bool is_at_end = position_ >= end_;
  const bool made_progress = used_ != 0;
  if (is_at_end && extent_.is_cut) fail(Fault::kCut, extent_.promised_end);
  if (!is_at_end && !made_progress) fail(Fault::kCut, end_);
  window_ = {};
  used_ = 0;
  return Step::kWindow;
}

}  // namespace geiger::trace
