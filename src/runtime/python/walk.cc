#include "runtime/python/walk.h"

#include "base/attributes.h"

namespace geiger::python {
namespace {

/// Frames of a chain, with those that have no code: more is a chain that goes in a circle.
constexpr std::size_t kLongestChain = 4096;
constexpr Address kTypeOfObject = 8;
constexpr Address kTagBits = 7;

class Chain {
 public:
  Chain(const Interpreter& interpreter, const Memory& memory, Frames& out)
      : interpreter_(interpreter), layout_(interpreter.layout), memory_(memory), out_(out) {}

  bool walk(Address state) {
    if (!begin(state)) return false;
    for (std::size_t i = 0; frame_ != 0; ++i) {
      if (i == kLongestChain) return false;
      if (!is_shim_passed()) return false;
      if (was_shim_) continue;
      if (!take() || out_.is_cut) return out_.is_cut;
    }
    return true;
  }

  /// Frames that were passed over.
  [[nodiscard]] std::size_t without_code() const { return without_code_; }

 private:
  bool begin(Address state) {
    if (layout_.chain != 0 && !memory_.read(state + layout_.chain, link_)) return false;
    if (!layout_.is_frame_in_chain) return memory_.read(state + layout_.frame, frame_);
    if (link_ == 0) return true;  // The thread begins.
    return memory_.read(link_ + layout_.frame, frame_);
  }

  /// A shim ends its run, and lies in the native frame that ran it.
  bool is_shim_passed() {
    was_shim_ = false;
    if (layout_.runs != Runs::kShim) return true;
    std::uint8_t owner = 0;
    if (!memory_.read(frame_ + layout_.owner, owner)) return false;
    if (owner < kShimOwner) return true;
    was_shim_ = true;
    if (first_ != out_.count) out_.frames[first_].native = frame_;
    first_ = out_.count;
    return memory_.read(frame_ + layout_.previous, frame_);
  }

  bool take() {
    Address code = 0;
    Address type = 0;
    Address previous = 0;
    if (!memory_.read(frame_ + layout_.code, code)) return false;
    code &= ~kTagBits;
    // A frame that is being cleared has no code any more.
    const bool is_code =
        code != 0 && memory_.read(code + kTypeOfObject, type) && type == interpreter_.code_type;
    if (!is_code) ++without_code_;
    if (is_code && !add(code)) return false;
    if (!memory_.read(frame_ + layout_.previous, previous)) return false;
    if (!end_frame()) return false;
    frame_ = previous;
    return true;
  }

  bool add(Address code) {
    if (out_.count == out_.capacity) {
      out_.is_cut = true;
      return true;
    }
    Frame& frame = out_.frames[out_.count];
    frame.code = code;
    if (!find_offset(code, frame.offset)) return false;
    const Address begins = layout_.runs == Runs::kShim ? 0 : link_;  // A shim tells at its end.
    frame.native = out_.count == first_ ? begins : kSameRun;
    ++out_.count;
    return true;
  }

  bool find_offset(Address code, std::uint32_t& offset) const {
    offset = kNotBegun;
    if (layout_.instruction_bytes != 0) {
      std::int32_t at = 0;
      if (!memory_.read(frame_ + layout_.instruction, at)) return false;
      if (at >= 0) offset = static_cast<std::uint32_t>(at) / layout_.instruction_bytes;
    } else {
      Address at = 0;
      if (!memory_.read(frame_ + layout_.instruction, at)) return false;
      const Address first = code + layout_.bytecode;
      if (at >= first && (at - first) / 2 < kNotBegun) {
        offset = static_cast<std::uint32_t>((at - first) / 2);
      }
    }
    return true;
  }

  /// Goes on in the next run where this frame ends one.
  bool end_frame() {
    std::uint8_t is_entry = 1;
    switch (layout_.runs) {
      case Runs::kShim:
        return true;
      case Runs::kPerFrame:
        break;
      case Runs::kCframePerEntry:
        if (!memory_.read(frame_ + layout_.owner, is_entry)) return false;
        [[fallthrough]];
      case Runs::kCframePerFrame:
        if (is_entry != 0 && !memory_.read(link_ + layout_.chain_next, link_)) return false;
        break;
    }
    if (is_entry != 0) first_ = out_.count;
    return true;
  }

  const Interpreter& interpreter_;
  const Layout& layout_;
  const Memory& memory_;
  Frames& out_;
  Address frame_ = 0;
  Address link_ = 0;       ///< The chain of addresses, at this run.
  std::size_t first_ = 0;  ///< Where this run begins in `out_`.
  std::size_t without_code_ = 0;
  bool was_shim_ = false;
};

/// Whether each run lies on the stack that was walked, further up than the one before.
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

/// Checked walks that an interpreter is tried by, and how many may fail until then. One through a
/// frame without code fails too: there are such for instants, as frames are cleared, but where the
/// offsets are wrong all are. Only a walk through several runs has followed each of the links.
constexpr std::uint32_t kTrial = 32;
constexpr std::uint32_t kMostFailed = 8;

bool has_several_runs(const Frames& frames) {
  std::size_t runs = 0;
  for (std::size_t i = 0; i < frames.count; ++i) runs += frames.frames[i].native != kSameRun;
  return runs > 1 && frames.count > 2;
}

void count_trial(Interpreter& interpreter, const Frames& frames, bool makes_sense) {
  if (makes_sense) {
    if (has_several_runs(frames)) interpreter.tried.fetch_add(1, std::memory_order_relaxed);
  } else if (interpreter.failed.fetch_add(1, std::memory_order_relaxed) >= kMostFailed) {
    interpreter.frames.store(InterpretedFrames::kImplausible, std::memory_order_relaxed);
  }
}

}  // namespace

Walked collect(Interpreter& interpreter, const unwind::Trace& native, Frames& out, Trust& trust) {
  if (interpreter.frames.load(std::memory_order_relaxed) != InterpretedFrames::kRecorded ||
      native.handler_frames >= native.count || !is_loaded(interpreter)) {
    return Walked::kFrames;
  }
  const OwnState own = own_state(interpreter);
  if (own.state == 0) return Walked::kFrames;
  out.is_own = own.trust == Trust::kDirect && native.handler_frames == 0;
  const bool is_trial = out.is_own && interpreter.tried.load(std::memory_order_relaxed) < kTrial;
  trust = out.is_own && !is_trial ? Trust::kDirect : Trust::kChecked;
  const Memory memory(trust);
  Chain chain(interpreter, memory, out);
  const bool makes_sense = chain.walk(own.state) &&
                           (trust == Trust::kDirect || lies_on(native, out)) &&
                           (!is_trial || chain.without_code() == 0);
  if (is_trial) count_trial(interpreter, out, makes_sense);
  if (makes_sense) return Walked::kFrames;
  out.count = 0;
  return Walked::kUnreadable;
}

}  // namespace geiger::python
