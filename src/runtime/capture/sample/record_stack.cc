#include "runtime/capture/sample/record_stack.h"

#include <link.h>
#include <string.h>

#include <algorithm>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/loader.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/interpreted.h"
#include "runtime/capture/sample/write.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/capture/thread/thread_state.h"
#include "trace/append.h"

namespace geiger::capture {
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
  const auto* map = static_cast<const link_map*>(module.link_map);
  if (map == nullptr || map->l_name == nullptr) return "";
  const auto own = reinterpret_cast<std::uint64_t>(&record_stack);
  const bool is_own = own - module.start < module.end - module.start;
  constexpr char kDescriptors[] = "/proc/";
  if (is_own && strncmp(map->l_name, kDescriptors, sizeof kDescriptors - 1) == 0) return kOwnPath;
  // glibc does not name the executable, musl names it as in the command line.
  return map == base::first_module() ? executable_path() : map->l_name;
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
