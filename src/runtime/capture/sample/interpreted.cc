#include "runtime/capture/sample/interpreted.h"

#include <string.h>

#include <algorithm>

#include "base/attributes.h"
#include "base/clock.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/python/code.h"
#include "runtime/python/interpreter.h"
#include "runtime/python/walk.h"
#include "trace/append.h"

namespace geiger::capture {

struct InterpretedWalk {
  static constexpr std::size_t kName = 1024;
  static constexpr std::size_t kPath = 4096;
  static constexpr std::size_t kKnownBits = 9;

  /// Code that the thread has seen before, with its record. While it is still at its address, a
  /// frame costs a comparison instead of a hash. Address 0: none.
  struct Known {
    python::Code code;
    trace::Ref ref;
  };

  std::uint64_t native[trace::kMaxFrames];
  std::uint64_t stack_pointers[trace::kMaxFrames];
  python::Frame frames[trace::kMaxFrames];
  std::uint64_t merged[trace::kMaxFrames];
  char name[kName];
  char file[kPath];
  std::uint32_t known_in;  ///< Segment::number of the records in `known`.
  Known known[1 << kKnownBits];
};

namespace {

using trace::CodeRecord;
using trace::InterpretedFrame;
using trace::InterpreterRecord;

static_assert(python::kNotBegun == InterpretedFrame::kNotBegun);

constexpr std::size_t kMostCodeBytes = trace::kMaxRecordWords * 8 - sizeof(CodeRecord);

/// The record of the interpreter in this segment; written again when its state changes.
trace::Ref interpreter_record(Segment& segment, const python::Interpreter& interpreter) {
  const auto frames = interpreter.frames.load(std::memory_order_relaxed);
  const auto objects = interpreter.small_objects.load(std::memory_order_relaxed);
  const std::uint32_t told =
      1 + (static_cast<std::uint32_t>(frames) << 8 | static_cast<std::uint32_t>(objects));
  const trace::Ref known = segment.interpreter.load(std::memory_order_acquire);
  if (known != 0 && segment.interpreter_told.load(std::memory_order_relaxed) == told) return known;
  const auto written =
      trace::append<InterpreterRecord>(segment.writer, {}, [&](InterpreterRecord& record) {
        record.time = base::monotonic_now();
        record.start = interpreter.start;
        record.version = interpreter.version;
        record.frames = frames;
        record.small_objects = objects;
      });
  if (!written) return known;
  segment.interpreter_told.store(told, std::memory_order_relaxed);
  segment.interpreter.store(written.ref, std::memory_order_release);
  return written.ref;
}

/// Finds or writes the records of the code objects of one walk.
class CodeWriter {
 public:
  CodeWriter(Segment& segment, const python::Interpreter& interpreter, InterpretedWalk& walk,
             python::Trust trust)
      : segment_(segment), interpreter_(interpreter), walk_(walk), trust_(trust), memory_(trust) {
    const std::uint32_t number = segment.number.load(std::memory_order_relaxed);
    if (walk.known_in != number) [[unlikely]]
      forget_slow(number);
  }

  /// 0: unreadable, or no room.
  GEIGER_FAST_PATH trace::Ref find_or_write(Address address) {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;
    InterpretedWalk::Known& known =
        walk_.known[address * kSpread >> (64 - InterpretedWalk::kKnownBits)];
    if (known.code.address == address && trust_ == python::Trust::kDirect &&
        python::is_still_there(interpreter_.layout, known.code)) [[likely]] {
      return known.ref;
    }
    return find_or_write_slow(address, known);
  }

 private:
  GEIGER_SLOW_PATH void forget_slow(std::uint32_t number) {
    for (InterpretedWalk::Known& known : walk_.known) known.code.address = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    walk_.known_in = number;
  }

  GEIGER_SLOW_PATH trace::Ref find_or_write_slow(Address address, InterpretedWalk::Known& known) {
    python::Code code;
    if (!python::read_code(interpreter_.layout, memory_, address, code)) return 0;
    const std::uint64_t key = code.key();
    trace::Ref ref = segment_.codes.find(key);
    if (ref == 0) {
      ref = write(code);
      if (ref == 0) return 0;
      segment_.codes.insert(key, ref);
    }
    remember(known, code, ref);
    return ref;
  }

  /// The entry is consistent at every instant: a handler may jump out of here.
  static void remember(InterpretedWalk::Known& known, const python::Code& code, trace::Ref ref) {
    known.code.address = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    known = {{0, code.first_line, code.file, code.name, code.lines}, ref};
    std::atomic_signal_fence(std::memory_order_seq_cst);
    known.code.address = code.address;
  }

  GEIGER_SLOW_PATH trace::Ref write(const python::Code& code) {
    const python::Layout& layout = interpreter_.layout;
    bool is_cut = false;
    const std::size_t name_bytes =
        python::copy_text(layout, memory_, code.name, walk_.name, sizeof walk_.name, is_cut);
    const std::size_t file_bytes =
        python::copy_text(layout, memory_, code.file, walk_.file, sizeof walk_.file, is_cut);
    const python::Contents lines = python::contents_of(memory_, code.lines);
    const std::size_t lines_bytes = std::min(lines.bytes, kMostCodeBytes - name_bytes - file_bytes);
    is_cut = is_cut || lines_bytes < lines.bytes;
    const trace::Ref interpreter = interpreter_record(segment_, interpreter_);
    if (name_bytes == 0 || interpreter == 0) return 0;
    const trace::Heading heading{.flags = is_cut ? trace::kFlagCutCode : std::uint8_t{0},
                                 .more_bytes = name_bytes + file_bytes + lines_bytes};
    return trace::append<CodeRecord>(segment_.writer, heading,
                                     [&](CodeRecord& record) {
                                       record.interpreter = interpreter;
                                       record.first_line = code.first_line;
                                       record.name_bytes = static_cast<std::uint32_t>(name_bytes);
                                       record.file_bytes = static_cast<std::uint32_t>(file_bytes);
                                       record.lines_bytes = static_cast<std::uint32_t>(lines_bytes);
                                       auto* text = reinterpret_cast<char*>(&record + 1);
                                       memcpy(text, walk_.name, name_bytes);
                                       text += name_bytes;
                                       memcpy(text, walk_.file, file_bytes);
                                       // If it can no longer be read, it stays 0: an empty table.
                                       (void)memory_.read(lines.start, text + file_bytes,
                                                          lines_bytes);
                                     })
        .ref;
  }

  Segment& segment_;
  const python::Interpreter& interpreter_;
  InterpretedWalk& walk_;
  python::Trust trust_;
  python::Memory memory_;
};

/// Identifies code by its reference in the previous segment, so it may be written twice.
void carry_code(Segment& segment, const Segment& from, trace::Ref before) {
  const std::uint64_t key = carried_key(before);
  if (segment.codes.find(key) != 0) return;
  const auto& code = from.writer.at<CodeRecord>(before);
  const auto last = trace::RecordHeader::unpack(code.header);
  const trace::Ref interpreter = interpreter_record(segment, *python::interpreter());
  const trace::Heading heading{.flags = last.flags,
                               .more_bytes = last.words * 8 - sizeof(CodeRecord)};
  const auto written = trace::append<CodeRecord>(segment.writer, heading, [&](CodeRecord& record) {
    trace::copy_body(record, code);
    record.interpreter = interpreter;
    memcpy(&record + 1, &code + 1, heading.more_bytes);
  });
  if (written) segment.codes.insert(key, written.ref);
}

/// Builds the words of a stack from native and interpreted frames.
class Merged {
 public:
  Merged(InterpretedWalk& walk, std::size_t room) : words_(walk.merged), room_(room) {}

  void put(std::uint64_t word) {
    if (count_ == room_) {
      is_cut_ = true;
    } else {
      words_[count_++] = word;
    }
  }
  void put_interpreted(std::uint64_t word) {
    put(word);
    hash_ = ((hash_ << 5 | hash_ >> 59) ^ word ^ count_ << 51) * 0x9fb21c651e98df25U;
  }
  void cut() { is_cut_ = true; }

  [[nodiscard]] unwind::Trace finish(const unwind::Trace& native) const {
    unwind::Trace all = native;
    all.frames = words_;
    all.count = count_;
    all.truncated = native.truncated || is_cut_;
    all.hash = native.hash ^ (hash_ ^ hash_ >> 32) * 0xff51afd7ed558ccdU;
    return all;
  }

 private:
  std::uint64_t* words_;
  const std::size_t room_;
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0;
  bool is_cut_ = false;
};

}  // namespace

void find_interpreter() {
  if (image.settings.python != Settings::Python::kOff) python::look_at_modules();
}

InterpretedWalk* interpreted_walk(ThreadState& state) {
  if (python::interpreter() == nullptr) [[likely]]
    return nullptr;
  if (state.interpreted == nullptr) {
    state.interpreted = static_cast<InterpretedWalk*>(map_pages(sizeof(InterpretedWalk)));
  }
  return state.interpreted;
}

/// Each frame of the program takes several native ones.
unwind::Trace native_part(InterpretedWalk& walk) {
  constexpr std::size_t kUsual = 1023;
  return {.frames = walk.native,
          .capacity = std::clamp(std::size_t{image.settings.frames}, kUsual, trace::kMaxFrames),
          .stack_pointers = walk.stack_pointers};
}

unwind::Trace with_interpreted(Segment& segment, ThreadState& state, const unwind::Trace& native) {
  python::Interpreter& interpreter = *python::interpreter();
  InterpretedWalk& walk = *state.interpreted;
  interpreter_record(segment, interpreter);
  python::Frames frames{.frames = walk.frames, .capacity = native.capacity};
  python::Trust trust{};
  const python::Walked walked = python::collect(interpreter, native, frames, trust);
  state.holds_interpreter = frames.is_own;
  if (walked == python::Walked::kUnreadable) {
    segment.writer.header()->unread_stacks.fetch_add(1, std::memory_order_relaxed);
  }
  if (frames.count == 0) return native;
  Merged merged(walk, native.capacity);
  CodeWriter codes(segment, interpreter, walk, trust);
  if (frames.is_cut) merged.cut();
  python::merge(
      interpreter, native, frames, [&](std::size_t i) { merged.put(native.frames[i]); },
      [&](const python::Frame& frame) {
        const trace::Ref code = codes.find_or_write(frame.code);
        if (code == 0) return merged.cut();
        merged.put_interpreted(InterpretedFrame{code, frame.offset}.pack());
      });
  return merged.finish(native);
}

void carry_codes(Segment& segment, const Segment& from, const std::uint64_t* words,
                 std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const trace::Ref code = InterpretedFrame::unpack(words[i]).code;
    if (InterpretedFrame::is_one(words[i]) && code != 0) carry_code(segment, from, code);
  }
}

std::uint64_t carried_word(const Segment& segment, std::uint64_t word) {
  if (!InterpretedFrame::is_one(word)) return word;
  InterpretedFrame frame = InterpretedFrame::unpack(word);
  frame.code = frame.code == 0 ? 0 : segment.codes.find(carried_key(frame.code));
  return frame.pack();
}

}  // namespace geiger::capture
