#include "runtime/python/walk.h"

#include <algorithm>

#include "base/check.h"

namespace geiger::python {

namespace {

// Offsets in objects, the same in 3.8 to 3.14.
constexpr Address kSize = 16;  ///< Of bytes: their number. Of a string: its characters.
constexpr Address kBytesData = 32;
constexpr Address kStringState = 32;  ///< u32: kind in bits 2 to 4, compact bit 5, ASCII bit 6.
constexpr std::uint64_t kLongestTable = std::uint64_t{1} << 20;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9fb21c651e98df25U;
  return hash ^ hash >> 29;
}

std::size_t put_utf8(std::uint32_t character, char* to, std::size_t room) {
  const std::size_t length = character < 0x80      ? 1
                             : character < 0x800   ? 2
                             : character < 0x10000 ? 3
                                                   : 4;
  if (length > room) return 0;
  if (length == 1) {
    *to = static_cast<char>(character);
    return 1;
  }
  for (std::size_t i = length - 1; i > 0; --i, character >>= 6) {
    to[i] = static_cast<char>(0x80 | (character & 0x3f));
  }
  to[0] = static_cast<char>((0xf00U >> length & 0xf0U) | character);
  return length;
}

}  // namespace

std::uint64_t Code::key() const {
  std::uint64_t hash = mix(address, static_cast<std::uint32_t>(first_line));
  hash = mix(hash, file);
  hash = mix(hash, name);
  hash = mix(hash, lines);
  return hash == 0 ? 1 : hash;
}

std::size_t copy_text(const Layout& layout, const Memory& memory, Address object, char* to,
                      std::size_t room, bool& is_cut) {
  std::uint64_t length = 0;
  std::uint32_t state = 0;
  if (!memory.read(object + kSize, length) || !memory.read(object + kStringState, state)) return 0;
  const std::uint32_t kind = state >> 2 & 7;
  const bool is_compact = (state >> 5 & 1) != 0;
  const bool is_ascii = (state >> 6 & 1) != 0;
  if (!is_compact || (kind != 1 && kind != 2 && kind != 4)) return 0;
  const Address data = object + (is_ascii ? layout.ascii_data : layout.other_data);
  std::size_t written = 0;
  for (std::uint64_t i = 0; i < length; ++i) {
    std::uint32_t character = 0;
    if (!memory.read(data + i * kind, &character, kind)) return 0;
    const std::size_t added = put_utf8(character, to + written, room - written);
    if (added == 0) {
      is_cut = true;
      break;
    }
    written += added;
  }
  return written;
}

Contents contents_of(const Memory& memory, Address object) {
  std::uint64_t bytes = 0;
  if (!memory.read(object + kSize, bytes) || bytes > kLongestTable) return {0, 0};
  return {object + kBytesData, bytes};
}

namespace {

/// Limit of shims and frames without code: a longer chain is assumed to be circular. A chain of
/// frames with code ends when there is no more room.
constexpr std::size_t kLongestChain = 4096;
constexpr Address kTypeOfObject = 8;
constexpr Address kTagBits = 7;

/// How far to follow a chain. Until walks through several runs were tested, only walks within one
/// run may be direct, once those were tested.
enum class Reach : std::uint8_t { kAll, kFirstRun };

/// The way to read memory and to end runs are template parameters, so that a frame costs few
/// instructions: about 40 with direct reads.
template <Trust kTrust, Runs kRuns>
class Chain {
 public:
  Chain(const Interpreter& interpreter, const Frames& out, Reach reach)
      : layout_(interpreter.layout),
        code_type_(interpreter.code_type),
        start_(out.frames),
        end_(out.frames + out.capacity),
        reach_(reach) {}

  /// False: could not be followed to its end, or is longer than its reach.
  bool walk(Address state, Frames& out) {
    const bool is_whole = begin(state) && follow();
    end_run(kRuns == Runs::kShim ? 0 : link_);
    out.count = static_cast<std::size_t>(at_ - start_);
    out.is_cut = is_cut_;
    out.without_code = without_code_;
    return is_whole || is_cut_;
  }

 private:
  bool begin(Address state) {
    if (layout_.chain != 0 && !memory().read(state + layout_.chain, link_)) return false;
    if (!layout_.is_frame_in_chain) return memory().read(state + layout_.frame, frame_);
    if (link_ == 0) return true;  // The thread is starting.
    return memory().read(link_ + layout_.frame, frame_);
  }

  bool follow() {
    while (frame_ != 0) {
      if (!Memory::is_plausible(frame_)) return false;
      if constexpr (kRuns == Runs::kShim) {
        std::uint8_t owner = 0;
        if (!member(layout_.owner, owner)) return false;
        if (owner >= kShimOwner) {
          if (!pass_shim()) return false;
          continue;
        }
      }
      if (!take()) return false;
    }
    return true;
  }

  /// A shim ends its run, and is in the native frame that ran it.
  bool pass_shim() {
    end_run(frame_);
    return ++shims_ < kLongestChain && member(layout_.previous, frame_) && reaches(frame_);
  }

  bool take() {
    Address code = 0;
    Address type = 0;
    Address previous = 0;
    if (!member(layout_.code, code) || !member(layout_.previous, previous)) return false;
    code &= ~kTagBits;
    // A frame that is being cleared no longer has code.
    const bool is_code = Memory::is_plausible(code) &&
                         memory().read_member(code, kTypeOfObject, type) && type == code_type_;
    if (is_code) [[likely]] {
      if (!add(code)) return false;
    } else if (++without_code_ == kLongestChain) {
      return false;
    }
    if (!end_frame(previous)) return false;
    frame_ = previous;
    return true;
  }

  bool add(Address code) {
    is_cut_ = at_ == end_;
    if (is_cut_ || !find_offset(code, at_->offset)) return false;
    at_->code = code;
    at_->native = kSameRun;
    ++at_;
    return true;
  }

  bool find_offset(Address code, std::uint32_t& offset) const {
    if constexpr (kRuns == Runs::kPerFrame || kRuns == Runs::kCframePerFrame) {
      std::int32_t at = 0;
      if (!member(layout_.instruction, at)) return false;
      offset = at < 0 ? kNotBegun : static_cast<std::uint32_t>(at) / kInstructionBytes;
    } else {
      Address at = 0;
      if (!member(layout_.instruction, at)) return false;
      // An address before the first one is far after the last one.
      const Address unit = (at - (code + layout_.bytecode)) / 2;
      offset = unit < kNotBegun ? static_cast<std::uint32_t>(unit) : kNotBegun;
    }
    return true;
  }

  /// Continues in the next run if this frame ends one.
  bool end_frame(Address previous) {
    if constexpr (kRuns == Runs::kShim) return true;
    std::uint8_t is_entry = 1;
    if constexpr (kRuns == Runs::kCframePerEntry) {
      if (!member(layout_.owner, is_entry)) return false;
    }
    if (is_entry == 0) return true;
    end_run(link_);
    if (kRuns == Runs::kPerFrame) return true;
    return memory().read(link_ + layout_.chain_next, link_) && reaches(previous);
  }

  /// After the end of a run: whether the next frame may be read.
  [[nodiscard]] bool reaches(Address next) const { return reach_ == Reach::kAll || next == 0; }

  void end_run(Address native) {
    if (first_ != at_) first_->native = native;
    first_ = at_;
  }

  [[nodiscard]] Memory memory() const {
    if constexpr (kTrust == Trust::kDirect) return Memory(Trust::kDirect);
    return memory_;
  }

  template <typename Value>
  bool member(std::uint16_t offset, Value& value) const {
    return memory().read_member(frame_, offset, value);
  }

  static constexpr std::uint32_t kInstructionBytes = kRuns == Runs::kPerFrame ? 2 : 1;

  const Layout& layout_;
  const Memory memory_{kTrust};
  const Address code_type_;
  Frame* const start_;
  Frame* const end_;
  Frame* at_ = start_;
  Frame* first_ = start_;  ///< First frame of this run.
  const Reach reach_;
  Address frame_ = 0;
  Address link_ = 0;  ///< The chain of addresses, at this run; 0 if none.
  std::size_t shims_ = 0;
  std::size_t without_code_ = 0;
  bool is_cut_ = false;
};

template <Trust kTrust>
bool walk_chain(const Interpreter& interpreter, Address state, Reach reach, Frames& out) {
  switch (interpreter.layout.runs) {
    case Runs::kPerFrame:
      return Chain<kTrust, Runs::kPerFrame>(interpreter, out, reach).walk(state, out);
    case Runs::kCframePerFrame:
      return Chain<kTrust, Runs::kCframePerFrame>(interpreter, out, reach).walk(state, out);
    case Runs::kCframePerEntry:
      return Chain<kTrust, Runs::kCframePerEntry>(interpreter, out, reach).walk(state, out);
    case Runs::kShim:
      break;
  }
  return Chain<kTrust, Runs::kShim>(interpreter, out, reach).walk(state, out);
}

/// Whether each run is on the walked stack, above the previous one.
bool lies_on(const unwind::Trace& native, const Frames& frames) {
  Address last = native.stack_pointers[native.handler_frames];
  for (std::size_t i = 0; i < frames.count; ++i) {
    const Address address = frames.frames[i].native;
    if (address == kSameRun || address == 0) continue;
    if (address < last) return false;
    last = address;
  }
  return true;
}

/// Number of checked walks that test an interpreter, and how many of them may fail. A walk through
/// a frame without code fails too: such frames exist for instants, while frames are cleared, but
/// with wrong offsets all frames look like that. Only a walk through several runs follows every
/// kind of link; a walk through a single run follows those that others of a single run need.
constexpr std::uint32_t kTrial = 32;
constexpr std::uint32_t kMostFailed = 8;

bool is_tried(const std::atomic<std::uint32_t>& walks) {
  return walks.load(std::memory_order_relaxed) >= kTrial;
}

bool has_several_runs(const Frames& frames) {
  std::size_t runs = 0;
  for (std::size_t i = 0; i < frames.count; ++i) runs += frames.frames[i].native != kSameRun;
  return runs > 1 && frames.count > 2;
}

void count_trial(Interpreter& interpreter, const Frames& frames, bool makes_sense) {
  if (makes_sense) {
    if (has_several_runs(frames)) interpreter.tried.fetch_add(1, std::memory_order_relaxed);
    if (frames.count > 1) interpreter.tried_in_runs.fetch_add(1, std::memory_order_relaxed);
  } else if (interpreter.failed.fetch_add(1, std::memory_order_relaxed) >= kMostFailed) {
    interpreter.frames.store(InterpretedFrames::kImplausible, std::memory_order_relaxed);
  }
}

bool walk_checked(Interpreter& interpreter, const unwind::Trace& native, Address state,
                  Frames& out) {
  const bool is_trial = out.is_own && !is_tried(interpreter.tried);
  const bool makes_sense = walk_chain<Trust::kChecked>(interpreter, state, Reach::kAll, out) &&
                           lies_on(native, out) && (!is_trial || out.without_code == 0);
  if (is_trial) count_trial(interpreter, out, makes_sense);
  return makes_sense;
}

}  // namespace

Walked collect(Interpreter& interpreter, const unwind::Trace& native, Frames& out, Trust& trust) {
  if (interpreter.frames.load(std::memory_order_relaxed) != InterpretedFrames::kRecorded ||
      native.handler_frames >= native.count) {
    return Walked::kFrames;
  }
  const OwnState own = own_state(interpreter);
  if (own.state == 0) return Walked::kFrames;
  out.is_own = own.trust == Trust::kDirect && native.handler_frames == 0;
  const Reach reach = is_tried(interpreter.tried) ? Reach::kAll : Reach::kFirstRun;
  bool makes_sense = false;
  trust = Trust::kDirect;
  if (out.is_own && (reach == Reach::kAll || is_tried(interpreter.tried_in_runs))) {
    makes_sense = walk_chain<Trust::kDirect>(interpreter, own.state, reach, out);
  }
  if (!makes_sense && (!out.is_own || reach == Reach::kFirstRun)) {
    trust = Trust::kChecked;
    makes_sense = walk_checked(interpreter, native, own.state, out);
  }
  if (makes_sense) return Walked::kFrames;
  out.count = 0;
  return Walked::kUnreadable;
}

}  // namespace geiger::python
