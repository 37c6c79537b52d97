// For tests only: builds images of traces in memory, valid or damaged.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format.h"

namespace geiger::trace {

class TestTrace {
 public:
  explicit TestTrace(std::uint64_t interval = 1024) : words_(kRecordsOffset / 8, 0) {
    std::memcpy(header().magic, kMagic, sizeof kMagic);
    header().version = kVersion;
    header().machine = 62;
    header().capacity = kMiB;
    header().state = State::kExited;
    header().pid = 100;
    header().parent_pid = 1;
    header().start_monotonic = 1000;
    header().stop_monotonic = 9000;
    header().seed = 7;
    header().interval = interval;
    std::strcpy(header().executable, "/bin/target");
    std::strcpy(header().started_as, "started");
    std::strcpy(header().allocator, "/lib/libc.so.6");
  }

  FileHeader& header() { return *reinterpret_cast<FileHeader*>(words_.data()); }
  std::uint64_t* word_at(std::uint64_t offset) { return &words_[offset / 8]; }
  /// Offset of the next record; as a Ref, / 8.
  [[nodiscard]] std::uint64_t end() const { return words_.size() * 8; }

  Ref append(RecordType type, std::span<const std::uint64_t> body, std::uint8_t flags = 0,
             std::uint32_t thread = 0) {
    const Ref ref = static_cast<Ref>(words_.size());
    words_.push_back(
        RecordHeader{type, flags, static_cast<std::uint16_t>(body.size() + 1), kUnknownCpu, thread}
            .pack());
    words_.insert(words_.end(), body.begin(), body.end());
    return ref;
  }

  Ref epoch(std::uint64_t interval, std::uint64_t time = 1000) {
    const double lambda = interval == 1 ? std::numeric_limits<double>::infinity()
                                        : -std::log1p(-1.0 / static_cast<double>(interval));
    const std::uint64_t body[] = {time, interval, std::bit_cast<std::uint64_t>(lambda)};
    return append(RecordType::kEpoch, body);
  }

  Ref stack(std::vector<std::uint64_t> frames, bool is_truncated = false) {
    frames.insert(frames.begin(), frames.size());
    return append(RecordType::kStack, frames, is_truncated ? kFlagTruncated : 0);
  }

  Ref module(std::string_view path, std::string_view build_id, Address start, Address end,
             Address bias) {
    std::vector<std::uint64_t> body = {start, end, bias, 1000,
                                       build_id.size() | (path.size() + 1) << 32};
    std::string text = std::string(build_id) + std::string(path) + '\0';
    text.resize((text.size() + 7) / 8 * 8);
    body.resize(body.size() + text.size() / 8);
    std::memcpy(&body[5], text.data(), text.size());
    return append(RecordType::kModule, body);
  }

  Ref interpreter(std::uint32_t version, Address start,
                  vocabulary::InterpretedFrames frames = vocabulary::InterpretedFrames::kRecorded,
                  vocabulary::SmallObjects small = vocabulary::SmallObjects::kSampled,
                  std::uint64_t time = 1500) {
    const std::uint64_t body[] = {time, start,
                                  version | std::uint64_t{static_cast<std::uint32_t>(frames)} << 32,
                                  static_cast<std::uint32_t>(small)};
    return append(RecordType::kInterpreter, body);
  }

  struct CodeText {
    std::string_view name, file;
    std::int32_t first_line = 1;
    std::string_view lines = {};  ///< Bytes of the line table.
  };
  Ref code(Ref interpreter, const CodeText& code, std::uint8_t flags = 0) {
    const std::uint64_t fixed[] = {
        interpreter | std::uint64_t{static_cast<std::uint32_t>(code.first_line)} << 32,
        code.name.size() | std::uint64_t{code.file.size()} << 32, code.lines.size()};
    std::string text(code.name);
    text += code.file;
    text += code.lines;
    return append_text(RecordType::kCode, fixed, text, 0, flags);
  }

  struct Drawn {
    std::uint64_t time = 2000;
    Ref stack = 0;
    Ref epoch = 0;
    Address address = 0x5000;
    Bytes requested = 64;
    std::uint32_t thread = 0;
    bool is_certain = false;
    Ref label = 0;
    Ref type = 0;
    std::uint16_t heap = 0;
    std::uint64_t offset = 0;  ///< Of the drawn byte.
    EntryPoint entry_point = EntryPoint::kMalloc;
    /// Of a record: requested:48 | entry point:8 | log2 alignment:8.
    [[nodiscard]] std::uint64_t requested_kind() const {
      return requested | std::uint64_t{static_cast<std::uint8_t>(entry_point)} << 48 |
             std::uint64_t{4} << 56;
    }
  };
  Ref sample(const Drawn& drawn) {
    const std::uint64_t body[] = {drawn.time,
                                  drawn.stack | std::uint64_t{drawn.epoch} << 32,
                                  drawn.address,
                                  drawn.requested_kind(),
                                  drawn.requested | std::uint64_t{drawn.heap} << 48,
                                  drawn.offset,
                                  drawn.label | std::uint64_t{drawn.type} << 32};
    return append(RecordType::kSample, body, drawn.is_certain ? kFlagCertain : 0, drawn.thread);
  }

  Ref free(Ref sample, std::uint64_t time, std::uint8_t flags = 0, std::uint32_t thread = 0,
           Ref stack = 0) {
    const std::uint64_t body[] = {time, sample | std::uint64_t{stack} << 32};
    return append(RecordType::kFree, body, flags, thread);
  }

  /// A sample of the previous segment, whose record there was `previous`.
  Ref carried(const Drawn& drawn, Ref previous, std::uint8_t flags = 0) {
    const std::uint64_t body[] = {0,
                                  drawn.time,
                                  drawn.stack | std::uint64_t{drawn.epoch} << 32,
                                  drawn.address,
                                  drawn.requested_kind(),
                                  drawn.requested | std::uint64_t{drawn.heap} << 48,
                                  0,
                                  drawn.label | std::uint64_t{drawn.type} << 32,
                                  previous};
    const auto certain = drawn.is_certain ? kFlagCertain : std::uint8_t{0};
    return append(RecordType::kCarried, body, flags | certain, drawn.thread);
  }

  Ref checkpoint(std::uint64_t carried, std::uint64_t lost = 0, std::uint64_t time = 1000) {
    const std::uint64_t body[] = {time, carried, lost};
    return append(RecordType::kCheckpoint, body);
  }

  Ref thinning(std::uint32_t level, std::uint64_t time = 2000) {
    const std::uint64_t body[] = {time, level};
    return append(RecordType::kThinning, body);
  }

  struct Tallied {
    Ref stack = 0;
    Ref epoch = 0;
    Bytes requested = 64;
    Bytes usable = 64;
    std::uint64_t allocated = 1, freed = 0;
    bool is_certain = false;
    bool is_tracked = true;
    std::uint64_t first = 2000, last = 2500;
  };
  Ref tally(const Tallied& tallied) {
    const std::uint64_t body[] = {tallied.first,
                                  tallied.stack | std::uint64_t{tallied.epoch} << 32,
                                  tallied.requested,
                                  tallied.usable,
                                  0,
                                  tallied.allocated,
                                  tallied.freed,
                                  tallied.last,
                                  0};
    const int flags =
        (tallied.is_certain ? kFlagCertain : 0) | (tallied.is_tracked ? 0 : kFlagUntracked);
    return append(RecordType::kTally, body, static_cast<std::uint8_t>(flags));
  }

  /// Makes it segment `number` of an image that began at `began`.
  void be_segment(std::uint32_t number, std::uint64_t start, std::uint64_t stop,
                  State state = State::kContinued, std::uint64_t began = 1000) {
    header().image_start = began;
    header().segment = number;
    header().start_monotonic = start;
    header().start_realtime = start;
    header().stop_monotonic = stop;
    header().state = state;
    if (number > 0) header().mode |= kModeContinued;
  }

  struct Totals {
    std::uint64_t end = 0, bytes = 0, trials = 0, hits = 0, certain_bytes = 0, certain_count = 0,
                  tail_bytes = 0, armed = 0, pending = 0, calls = 0;
  };
  Ref thread(std::uint32_t index, std::uint64_t tid, const Totals& totals, std::uint8_t flags = 0) {
    const std::uint64_t body[] = {1000,
                                  tid,
                                  totals.end,
                                  totals.bytes,
                                  totals.trials,
                                  totals.hits,
                                  totals.certain_bytes,
                                  totals.certain_count,
                                  totals.tail_bytes,
                                  totals.armed,
                                  totals.pending,
                                  totals.calls};
    return append(RecordType::kThread, body, flags, index);
  }

  Ref thread_name(std::uint32_t index, std::string_view name) {
    std::uint64_t body[3] = {1500, 0, 0};
    std::memcpy(&body[1], name.data(), std::min<std::size_t>(name.size(), 16));
    return append(RecordType::kThreadName, body, 0, index);
  }

  /// `owner`: the label around a label, the number of a heap.
  Ref name(NameKind kind, std::uint32_t owner, std::string_view text) {
    const std::uint64_t fixed[] = {static_cast<std::uint32_t>(kind) | std::uint64_t{owner} << 32,
                                   text.size()};
    return append_text(RecordType::kName, fixed, text, 0);
  }

  Ref mark(std::string_view text, std::uint64_t time, std::uint32_t thread = 0) {
    const std::uint64_t fixed[] = {time, text.size()};
    return append_text(RecordType::kMark, fixed, text, thread);
  }

  struct Mapped {
    std::uint64_t time = 2000;
    Ref stack = 0;
    MappingKind kind = MappingKind::kMap;
    Address address = 0x7f0000000000;
    Bytes bytes = 65536;
    Address old_address = 0;
    Bytes old_bytes = 0;
    std::uint32_t protection = 3, flags = 0x22;
    std::uint32_t thread = 0;
  };
  Ref mapping(const Mapped& mapped) {
    const std::uint64_t body[] = {
        mapped.time,
        mapped.stack | std::uint64_t{static_cast<std::uint32_t>(mapped.kind)} << 32,
        mapped.address,
        mapped.bytes,
        mapped.old_address,
        mapped.old_bytes,
        mapped.protection | std::uint64_t{mapped.flags} << 32};
    return append(RecordType::kMapping, body, 0, mapped.thread);
  }

  Ref utilization(Ref sample, Bytes slab, Bytes free, std::uint64_t time = 2500) {
    const std::uint64_t body[] = {time, sample, slab, free};
    return append(RecordType::kUtilization, body);
  }
  Ref residency(Ref sample, Bytes resident, std::uint64_t time = 2600) {
    const std::uint64_t body[] = {time, sample, resident};
    return append(RecordType::kResidency, body);
  }
  Ref object_type(Ref sample, Ref type) {
    return append(RecordType::kObjectType, {{sample | std::uint64_t{type} << 32}});
  }

  void hole(std::size_t words) { words_.resize(words_.size() + words, 0); }
  void reserved(std::uint16_t words) {
    std::vector<std::uint64_t> body(words - 1U, 0xabcdefabcdefabcd);
    append(RecordType::kSample, body, kReserved);
  }

  /// Sets the tail to the end of the records, and returns the image up to there.
  std::vector<std::byte> bytes() {
    header().tail = end();
    return raw();
  }
  /// The image with the header as the test left it.
  std::vector<std::byte> raw() {
    std::vector<std::byte> copy(end());
    std::memcpy(copy.data(), words_.data(), copy.size());
    return copy;
  }

 private:
  Ref append_text(RecordType type, std::span<const std::uint64_t> fixed, std::string_view text,
                  std::uint32_t thread, std::uint8_t flags = 0) {
    std::vector<std::uint64_t> body(fixed.begin(), fixed.end());
    body.resize(body.size() + (text.size() + 7) / 8, 0);
    std::memcpy(body.data() + fixed.size(), text.data(), text.size());
    return append(type, body, flags, thread);
  }

  std::vector<std::uint64_t> words_;
};

}  // namespace geiger::trace
