#include "runtime/capture/sample/record_stack.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"
#include "base/loader.h"
#include "base/raw_syscall.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/write.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/capture/thread/thread_state.h"
#include "runtime/python/interpreter.h"
#include "runtime/python/walk.h"
#include "trace/writer.h"

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
trace::Ref interpreter_record(Segment& segment, python::Interpreter& interpreter, bool is_loaded) {
  const auto frames = interpreter.frames.load(std::memory_order_relaxed);
  const auto objects = interpreter.small_objects.load(std::memory_order_relaxed);
  const Nanoseconds finalizing_from = is_loaded ? python::finalizing_from(interpreter) : 0;
  const bool is_finalizing = finalizing_from != 0;
  const std::uint32_t told =
      1 + (std::uint32_t{is_finalizing} << 16 | static_cast<std::uint32_t>(frames) << 8 |
           static_cast<std::uint32_t>(objects));
  const trace::Ref known = segment.interpreter.load(std::memory_order_acquire);
  if (known != 0 && segment.interpreter_told.load(std::memory_order_relaxed) == told) return known;
  const auto written =
      trace::append<InterpreterRecord>(segment.writer, {}, [&](InterpreterRecord& record) {
        record.time = is_finalizing ? finalizing_from : base::monotonic_now();
        record.start = interpreter.start;
        record.version = interpreter.version;
        record.frames = frames;
        record.small_objects = objects;
        record.is_finalizing = is_finalizing;
      });
  if (!written) return known;
  segment.interpreter_told.store(told, std::memory_order_relaxed);
  segment.interpreter.store(written.ref, std::memory_order_release);
  return written.ref;
}

/// Finds or writes the records of the code objects of one walk.
class CodeWriter {
 public:
  CodeWriter(Segment& segment, python::Interpreter& interpreter, InterpretedWalk& walk,
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
    const trace::Ref interpreter = interpreter_record(segment_, interpreter_, true);
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
  python::Interpreter& interpreter_;
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
  python::Interpreter& known = *python::interpreter();
  const trace::Ref interpreter = interpreter_record(segment, known, python::is_loaded(known));
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

void look_at_finalization(Segment& segment) {
  python::Interpreter* interpreter = python::interpreter();
  if (interpreter != nullptr) [[unlikely]]
    interpreter_record(segment, *interpreter, python::is_loaded(*interpreter));
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
  if (!python::is_loaded(interpreter)) return native;
  interpreter_record(segment, interpreter, true);
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

namespace {

using trace::RecordHeader;

/// Most frames of a sample in a handler that interrupted its own thread's walk: few enough for any
/// alternate signal stack.
constexpr std::size_t kNestedFrames = 24;

/// Prefetching more cache lines at once than this does not help.
constexpr std::size_t kMaxExpected = 32;

/// A stack pointer further below the top than this is not on that stack.
constexpr std::uint64_t kLargestStack = std::uint64_t{256} << 20;

/// Longest path that still fits a module record.
constexpr std::size_t kMaxPath = 4096;

unwind::StackBounds stack_bounds(const ThreadState& state, std::uint64_t sp) {
  std::uint64_t high = tls.stack_high;
  if (high == 0 && !state.is_foreign) high = reinterpret_cast<std::uint64_t>(base::first_stack());
  const bool is_inside = sp < high && high - sp < kLargestStack;
  return is_inside ? unwind::StackBounds{sp, high} : unwind::StackBounds{sp, 0};
}

/// Used when attaching loads the runtime from a descriptor: readers recognise our frames by this
/// name.
constexpr char kOwnPath[] = "/libgeiger-preload.so";

const char* module_path(const unwind::Module& module) {
  const auto own = reinterpret_cast<std::uint64_t>(&record_stack);
  const bool is_own = own - module.start < module.end - module.start;
  constexpr char kDescriptors[] = "/proc/";
  if (is_own && strncmp(module.path, kDescriptors, sizeof kDescriptors - 1) == 0) return kOwnPath;
  // glibc does not name the executable, musl names it as in the command line.
  return module.link_map == base::first_module() ? executable_path() : module.path;
}

/// Build id, then the path with its NUL, padded to a word.
bool write_module(Segment& segment, const unwind::Module& module) {
  const char* path = module_path(module);
  const std::size_t path_bytes = strnlen(path, kMaxPath) + 1;
  const trace::Heading heading{.more_bytes = module.build_id_bytes + path_bytes};
  const auto written =
      trace::append<trace::ModuleRecord>(segment.writer, heading, [&](trace::ModuleRecord& record) {
        record.start = module.start;
        record.end = module.end;
        record.bias = module.bias;
        record.time = base::monotonic_now();
        record.build_id_bytes = module.build_id_bytes;
        record.path_bytes = static_cast<std::uint32_t>(path_bytes);
        auto* text = reinterpret_cast<char*>(&record + 1);
        memcpy(text, module.build_id, module.build_id_bytes);
        memcpy(text + module.build_id_bytes, path, path_bytes - 1);
      });
  return static_cast<bool>(written);
}

/// Module records precede the stacks that need them. Two threads may both write the same one;
/// readers use the later.
void write_new_modules(Segment& segment) {
  const std::uint32_t known = unwind::modules_known();
  std::uint32_t written = segment.modules_written.load(std::memory_order_acquire);
  if (written >= known) return;
  find_interpreter();
  for (std::uint32_t id = written + 1; id <= known; ++id) {
    if (!write_module(segment, unwind::module(id))) return;
  }
  while (written < known && !segment.modules_written.compare_exchange_weak(
                                written, known, std::memory_order_acq_rel)) {
  }
}

unwind::Mode walk_mode() {
  return image.settings.use_frame_pointers ? unwind::Mode::kFramePointers : unwind::Mode::kAuto;
}

trace::Ref write_stack(Segment& segment, const std::uint64_t* frames, std::uint64_t count,
                       std::uint8_t flags) {
  write_new_modules(segment);
  const trace::Heading heading{.flags = flags, .more_bytes = count * sizeof(std::uint64_t)};
  return trace::append<trace::StackRecord>(segment.writer, heading,
                                           [&](trace::StackRecord& record) {
                                             record.count = count;
                                             memcpy(&record + 1, frames,
                                                    count * sizeof(std::uint64_t));
                                           })
      .ref;
}

trace::Ref find_or_write(Segment& segment, const unwind::Trace& walked) {
  const std::uint64_t hash = walked.hash + (walked.truncated ? 1 : 0);
  if (const trace::Ref known = segment.stacks.find(hash); known != 0) return known;
  if (!wants_new_stacks(segment)) return 0;
  const unsigned flags = (walked.truncated ? trace::kFlagTruncated : 0U) |
                         (walked.folded != 0 ? trace::kFlagFolded : 0U);
  const trace::Ref ref =
      write_stack(segment, walked.frames, walked.count, static_cast<std::uint8_t>(flags));
  if (ref != 0) segment.stacks.insert(hash, ref);
  return ref;
}

trace::Ref walk_into(unwind::Trace& walked, Segment& segment, const ThreadState& state,
                     const unwind::Registers& caller) {
  unwind::walk(caller, stack_bounds(state, caller.sp), walk_mode(), walked);
  return find_or_write(segment, walked);
}

GEIGER_SLOW_PATH trace::Ref record_nested(Segment& segment, ThreadState& state,
                                          const unwind::Registers& caller) {
  std::uint64_t frames[kNestedFrames];
  state.last_count = 0;
  unwind::Trace walked{.frames = frames, .capacity = kNestedFrames};
  return walk_into(walked, segment, state, caller);
}

/// An empty trace in the thread's memory; more than the usual frames take pages from the kernel,
/// once per thread.
unwind::Trace own_trace(ThreadState& state) {
  const std::size_t asked = image.settings.frames;
  if (asked > vocabulary::kUsualFrames) [[unlikely]] {
    if (state.deep_frames == nullptr) {
      constexpr std::size_t kBytes = trace::kMaxFrames * sizeof(std::uint64_t);
      state.deep_frames = static_cast<std::uint64_t*>(map_pages(kBytes));
    }
    if (state.deep_frames != nullptr) {
      return {.frames = state.deep_frames,
              .capacity = std::min(asked, trace::kMaxFrames),
              .most = asked};
    }
  }
  return {.frames = state.frames, .capacity = vocabulary::kUsualFrames};
}

/// Includes an interpreter's frames if there is memory for its walk.
trace::Ref record(Segment& segment, ThreadState& state, const unwind::Registers& caller,
                  InterpretedWalk* interpreted) {
  const void* frame = __builtin_frame_address(0);
  // A frame deeper than the walking one interrupted it; a shallower one means that a handler jumped
  // out of the walk.
  state.holds_interpreter = false;
  if (state.walking_frame != nullptr && frame < state.walking_frame) {
    return record_nested(segment, state, caller);
  }
  state.walking_frame = frame;
  unwind::Trace walked = interpreted != nullptr ? native_part(*interpreted) : own_trace(state);
  unwind::walk(caller, stack_bounds(state, caller.sp), walk_mode(), walked);
  state.last_frames = walked.frames;
  state.last_count = static_cast<std::uint32_t>(walked.count);
  if (interpreted != nullptr) walked = with_interpreted(segment, state, walked);
  const trace::Ref ref = find_or_write(segment, walked);
  state.walking_frame = nullptr;
  return ref;
}

}  // namespace

trace::Ref record_stack(Segment& segment, ThreadState& state, const unwind::Registers& caller) {
  return record(segment, state, caller, interpreted_walk(state));
}

unwind::Registers caller_of(const ThreadState& state, const unwind::Registers& inside,
                            const unwind::AddressRange& runtime,
                            const unwind::AddressRange& allocator) {
  return unwind::leave(inside, stack_bounds(state, inside.sp), runtime, allocator);
}

trace::Ref record_native_stack(Segment& segment, ThreadState& state,
                               const unwind::Registers& caller) {
  return record(segment, state, caller, nullptr);
}

trace::Ref record_frames(Segment& segment, const std::uint64_t* frames, std::uint64_t count) {
  return write_stack(segment, frames, count, trace::kFlagTruncated);
}

void expect_stack(const ThreadState& state) {
  unwind::expect(state.last_frames, std::min<std::size_t>(state.last_count, kMaxExpected));
}

// A walk's hash includes the ids of modules, which the record does not contain. So carried stacks
// are identified by their reference in the previous segment, and may be written twice.
trace::Ref carry_stack(Segment& segment, const Segment& from, trace::Ref before,
                       const trace::StackRecord& record) {
  const std::uint64_t key = carried_key(before);
  if (const trace::Ref known = segment.stacks.find(key); known != 0) return known;
  const auto* words = reinterpret_cast<const std::uint64_t*>(&record + 1);
  write_new_modules(segment);
  carry_codes(segment, from, words, record.count);
  const trace::Heading heading{.flags = RecordHeader::unpack(record.header).flags,
                               .more_bytes = record.count * sizeof(std::uint64_t)};
  const trace::Ref ref =
      trace::append<trace::StackRecord>(segment.writer, heading, [&](trace::StackRecord& carried) {
        carried.count = record.count;
        auto* to = reinterpret_cast<std::uint64_t*>(&carried + 1);
        for (std::uint64_t i = 0; i < record.count; ++i) to[i] = carried_word(segment, words[i]);
      }).ref;
  if (ref != 0) segment.stacks.insert(key, ref);
  return ref;
}

}  // namespace geiger::capture
