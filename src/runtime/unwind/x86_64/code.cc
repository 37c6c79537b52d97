// What instructions do to the stack pointer and to the saved registers.

#include "runtime/unwind/code.h"

#include <cstdint>

#include "runtime/unwind/cfi.h"

namespace geiger::unwind::machine {

// One instruction's parts, as far as code.cc needs them.

// Registers as instructions number them.
inline constexpr std::uint8_t kRsp = 4;
inline constexpr std::uint8_t kRbp = 5;
inline constexpr std::uint8_t kRsi = 6;
inline constexpr std::uint8_t kNoRegister = 0xff;

inline constexpr std::uint8_t kInRegister = 3;  // Of ModRM's first two bits.

struct Decoded {
  std::uint8_t opcode = 0;
  bool is_two_byte = false;
  bool is_wide = false;   // 64 bits.
  bool is_short = false;  // 16 bits.
  std::uint8_t rex = 0;
  std::uint8_t mode = 0;
  std::uint8_t reg = 0;  // Or a part of the opcode.
  std::uint8_t rm = 0;
  std::uint8_t base = kNoRegister;  // Of memory at base + displacement.
  std::int64_t displacement = 0;
  std::int64_t immediate = 0;
};

/// False: not understood, or cut off. The lengths of all that compilers emit are known, but of
/// vector extensions (VEX, EVEX).
[[nodiscard]] bool decode(Cursor& code, Decoded& in);

namespace {

// What comes after an opcode: m ModRM, b ModRM and a byte, w ModRM and an operand of 2 or 4 bytes,
// 1 a byte, 4 an operand of 2 or 4 bytes, r 4 bytes, v 2, 4 or 8, 8 an address, . nothing;
// ? is not understood.
constexpr char kOneByteOpcodes[] =
    "mmmm14??mmmm14??"
    "mmmm14??mmmm14??"
    "mmmm14??mmmm14??"
    "mmmm14??mmmm14??"
    "????????????????"
    "................"
    "???m????4w1b????"
    "1111111111111111"
    "bw?bmmmmmmmmmmmm"
    "..........?.??.."
    "8888....14......"
    "11111111vvvvvvvv"
    "bb?.??bw?.??????"
    "mmmm???.mmmmmmmm"
    "1111????rr?1????"
    "?????.mm..??..mm";
// Those after 0f.
constexpr char kTwoByteOpcodes[] =
    "mmmm?.??..???m??"
    "mmmmmmmmmmmmmmmm"
    "????????mmmmmmmm"
    "?.??????????????"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "bbbbmmm.mmmmmmmm"
    "rrrrrrrrrrrrrrrr"
    "mmmmmmmmmmmmmmmm"
    "??.mbm?????mbmmm"
    "mmmmmmmmm?bmmmmm"
    "mmbmbbbm........"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmm?";
static_assert(sizeof kOneByteOpcodes == 257 && sizeof kTwoByteOpcodes == 257);

bool is_prefix(std::uint8_t byte) {
  return byte == 0x66 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || byte == 0x64 ||
         byte == 0x65 || (byte & 0xe7) == 0x26;
}

std::int64_t read_displacement(Cursor& code, std::uint8_t mode, bool has_no_base) {
  if (mode == 1) return code.fixed<std::int8_t>();
  return mode == 2 || has_no_base ? code.fixed<std::int32_t>() : 0;
}

void read_modrm(Cursor& code, Decoded& in) {
  const std::uint8_t modrm = code.u8();
  in.mode = modrm >> 6;
  in.reg = static_cast<std::uint8_t>((modrm >> 3 & 7) | (in.rex & 4) << 1);
  in.rm = static_cast<std::uint8_t>((modrm & 7) | (in.rex & 1) << 3);
  if (in.mode == kInRegister) return;
  in.base = in.rm;
  bool has_index = false;
  if ((modrm & 7) == kRsp) {
    const std::uint8_t sib = code.u8();
    in.base = static_cast<std::uint8_t>((sib & 7) | (in.rex & 1) << 3);
    has_index = ((sib >> 3 & 7) | (in.rex & 2) << 2) != kRsp;
  }
  const bool has_no_base = in.mode == 0 && (in.base & 7) == kRbp;
  in.displacement = read_displacement(code, in.mode, has_no_base);
  if (has_no_base || has_index) in.base = kNoRegister;
}

void read_operand(Cursor& code, Decoded& in) {
  in.immediate = in.is_short ? code.fixed<std::int16_t>() : code.fixed<std::int32_t>();
}

/// `form`: see the tables.
bool read_rest(Cursor& code, char form, Decoded& in) {
  if (form == '?') return false;
  if (form == 'm' || form == 'b' || form == 'w') read_modrm(code, in);
  const bool is_test = !in.is_two_byte && (in.opcode & 0xfe) == 0xf6 && (in.reg & 7) < 2;
  if (is_test) form = in.opcode == 0xf6 ? 'b' : 'w';
  if (form == 'b' || form == '1') in.immediate = std::int64_t{code.fixed<std::int8_t>()};
  if (form == 'r') in.immediate = code.fixed<std::int32_t>();
  if (form == '8' || (form == 'v' && in.is_wide)) {
    code.skip(8);
  } else if (form == 'w' || form == '4' || form == 'v') {
    read_operand(code, in);
  }
  return code.ok();
}

}  // namespace

bool decode(Cursor& code, Decoded& in) {
  constexpr int kMostPrefixes = 4;
  std::uint8_t byte = code.u8();
  for (int i = 0; is_prefix(byte); ++i) {
    if (i == kMostPrefixes) return false;
    in.is_short |= byte == 0x66;
    byte = code.u8();
  }
  if ((byte & 0xf0) == 0x40) {
    in.rex = byte;
    in.is_wide = (byte & 8) != 0;
    byte = code.u8();
  }
  char form = kOneByteOpcodes[byte];
  in.is_two_byte = byte == 0x0f;
  if (in.is_two_byte) {
    byte = code.u8();
    form = kTwoByteOpcodes[byte];
    if (byte == 0x38 || byte == 0x3a) {
      form = byte == 0x38 ? 'm' : 'b';
      code.u8();
    }
  }
  in.opcode = byte;
  return read_rest(code, form, in);
}

namespace {

constexpr std::int32_t kWord = 8;
constexpr std::int32_t kAlignment = 16;  // Of the stack pointer, at calls.

constexpr std::uint64_t kDirectBytes = 5;  // Of a call: e8 and a distance.

Slot slot_of_encoded(std::uint8_t reg) {
  if (reg == kRbp) return Slot::kFramePointer;
  return reg == kRsi ? Slot::kNone : slot_of(reg);
}

void set_stack_pointer(Path& path, std::uint8_t base, std::int64_t offset) {
  path.gone =
      static_cast<std::int32_t>(base == path.base && path.gone > offset ? path.gone : offset);
  path.base = base;
  path.offset = static_cast<std::int32_t>(offset);
}

void move_stack_pointer(Path& path, std::int64_t distance) {
  set_stack_pointer(path, path.base, path.offset + distance);
}

/// The first of several places has the caller's value, as long as it is on the stack.
void save(Path& path, std::uint8_t reg, std::uint8_t base, std::int64_t distance) {
  const Slot slot = slot_of_encoded(reg);
  if (slot == Slot::kNone) return;
  Saved& saved = path[slot];
  if (saved.pushed_base == path.base && saved.pushed_offset >= path.offset) return;
  saved.pushed_base = base;
  saved.pushed_offset = static_cast<std::int32_t>(distance);
}

void push(Path& path, std::uint8_t reg) {
  save(path, reg, path.base, path.offset - kWord);
  move_stack_pointer(path, -kWord);
}

/// A register gets the word at base + offset. If nothing changes it after, it was saved there.
void load(Path& path, std::uint8_t reg, std::uint8_t base, std::int64_t distance) {
  const Slot slot = slot_of_encoded(reg);
  if (slot == Slot::kNone) return;
  const auto offset = static_cast<std::int32_t>(distance);
  Saved& saved = path[slot];
  if (base == saved.pushed_base && offset == saved.pushed_offset) return;
  const bool is_there = base != dwarf::kNoBase && (base != path.base || offset >= path.gone);
  saved.place = Place{is_there ? Place::Kind::kAt : Place::Kind::kUnsupported, base, offset};
}

void pop(Path& path, std::uint8_t reg) {
  load(path, reg, path.base, path.offset);
  move_stack_pointer(path, kWord);
}

/// Among the instructions by which compilers set the stack pointer.
bool sets_stack_pointer(const Decoded& in) {
  const bool is_rm = in.mode == kInRegister && in.rm == kRsp;
  const bool is_reg = in.reg == kRsp;
  if (in.opcode < 0x40) {
    const bool is_compare = (in.opcode & 0x38) == 0x38;
    return !is_compare && (in.opcode & 5) == 1 && ((in.opcode & 2) != 0 ? is_reg : is_rm);
  }
  switch (in.opcode) {
    case 0x81:
    case 0x83:
      return is_rm && (in.reg & 7) != 7;
    case 0x87:
      return is_rm || is_reg;
    case 0x89:
      return is_rm;
    case 0x8b:
    case 0x8d:
    case 0x63:
    case 0x69:
    case 0x6b:
      return is_reg;
    default:
      return false;
  }
}

/// A prologue: paths that begin in the middle of a function get there only by leaving it.
bool begins_frame(const Decoded& in) {
  if (in.mode != kInRegister) return false;
  return (in.opcode == 0x89 && in.rm == kRbp && in.reg == kRsp) ||
         (in.opcode == 0x8b && in.rm == kRsp && in.reg == kRbp);
}

void change_stack_pointer(Path& path, const Decoded& in) {
  const bool is_immediate = in.opcode == 0x81 || in.opcode == 0x83;
  const std::uint8_t source = in.opcode == 0x89 ? in.reg : in.rm;
  if (is_immediate && (in.reg & 7) == 0) {
    move_stack_pointer(path, in.immediate);
  } else if (is_immediate && (in.reg & 7) == 5) {
    move_stack_pointer(path, -in.immediate);
  } else if (in.opcode == 0x8d && in.base == kRsp) {
    move_stack_pointer(path, in.displacement);
  } else if (in.opcode == 0x8d && in.base == kRbp) {
    set_stack_pointer(path, dwarf::kFramePointer, in.displacement);
  } else if ((in.opcode == 0x89 || in.opcode == 0x8b) && in.mode == kInRegister && source == kRbp) {
    set_stack_pointer(path, dwarf::kFramePointer, 0);
  } else {
    path.base = dwarf::kNoBase;
  }
}

/// Behind a call that does not return, the paths of another function begin. They make their calls
/// with another alignment.
bool is_call_aligned(const Path& path) {
  if (path.beginning == Beginning::kAnywhere || path.base == dwarf::kNoBase) return true;
  const std::int32_t at_function = path.beginning == Beginning::kFunction ? kWord : 0;
  return (path.offset - at_function) % kAlignment == 0;
}

Flow follow_call(const Path& path) { return is_call_aligned(path) ? Flow::kNext : Flow::kUnknown; }

/// Instructions with ff: inc, dec, call, far call, jmp, far jmp, push.
Flow follow_group(Path& path, const Decoded& in) {
  constexpr std::uint8_t kCall = 2;
  constexpr std::uint8_t kPush = 6;
  const std::uint8_t kind = in.reg & 7;
  if (kind > kCall && kind != kPush) return Flow::kUnknown;
  if (kind == kCall) return follow_call(path);
  if (kind == kPush) move_stack_pointer(path, -kWord);
  return Flow::kNext;
}

Flow follow_one_byte(Path& path, const Decoded& in) {
  const auto low = static_cast<std::uint8_t>((in.opcode & 7) | (in.rex & 1) << 3);
  if (begins_frame(in)) return Flow::kUnknown;
  if (sets_stack_pointer(in)) {
    change_stack_pointer(path, in);
    return Flow::kNext;
  }
  if (in.opcode >= 0x70 && in.opcode <= 0x7f) return Flow::kBranch;
  if (in.opcode >= 0xe0 && in.opcode <= 0xe3) return Flow::kBranch;
  if (in.opcode >= 0x50 && in.opcode <= 0x57) {
    push(path, low);
    return Flow::kNext;
  }
  if (in.opcode >= 0x58 && in.opcode <= 0x5f) {
    pop(path, low);
    return Flow::kNext;
  }
  switch (in.opcode) {
    case 0x68:
    case 0x6a:
      move_stack_pointer(path, -kWord);
      return Flow::kNext;
    case 0x89:
      if (in.is_wide && in.base == kRsp) {
        save(path, in.reg, path.base, path.offset + in.displacement);
      }
      return Flow::kNext;
    case 0x8b:
      if (!in.is_wide) return Flow::kNext;
      if (in.base == kRsp) load(path, in.reg, path.base, path.offset + in.displacement);
      if (in.base == kRbp) load(path, in.reg, dwarf::kFramePointer, in.displacement);
      return Flow::kNext;
    case 0x8f:
      move_stack_pointer(path, kWord);
      return Flow::kNext;
    case 0xc3:
      return Flow::kReturn;
    case 0xc9:
      set_stack_pointer(path, dwarf::kFramePointer, 0);
      pop(path, kRbp);
      return Flow::kNext;
    case 0xe8:
      return follow_call(path);
    case 0xe9:
    case 0xeb:
      return Flow::kJump;
    case 0xff:
      return follow_group(path, in);
    default:
      return Flow::kNext;
  }
}

}  // namespace

Instruction follow(Cursor& code, Path& path) {
  Decoded in;
  if (!decode(code, in)) return {Flow::kUnknown, 0};
  const std::uint64_t target = code.address() + static_cast<std::uint64_t>(in.immediate);
  if (!in.is_two_byte) return {follow_one_byte(path, in), target};
  const bool is_branch = in.opcode >= 0x80 && in.opcode <= 0x8f;
  return {is_branch ? Flow::kBranch : Flow::kNext, target};
}

bool finish(const Path& path, Row& row) {
  const bool is_known = path.base != dwarf::kNoBase && path.offset >= path.gone;
  if (!is_known || path.offset % kWord != 0) return false;
  // Behind the call of this function, the stack pointer is aligned again.
  const bool is_after_call = path.beginning == Beginning::kAfterCall;
  if (is_after_call && (path.offset + kWord) % kAlignment != 0) return false;
  row = Row{};
  row.cfa = Term{path.base, false, path.offset + kWord, 0};
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const Place& place = path.saved[slot].place;
    if (place.kind == Place::Kind::kUnsupported) return false;
    if (place.kind != Place::Kind::kAt) continue;
    row.places[slot] = place;
    if (place.base != path.base) continue;
    row.places[slot].base = dwarf::kCfa;
    row.places[slot].offset -= path.offset + kWord;
  }
  row[Slot::kReturnAddress] = Place{Place::Kind::kAt, dwarf::kCfa, -kWord};
  return true;
}

bool finish_behind_call(const Path& path, Row& row) {
  if (!is_call_aligned(path) || path.base != dwarf::kStackPointer || path.gone > 0) return false;
  row = Row{};
  row.cfa = Term{path.base, false, kWord - path.offset, 0};
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const Saved& saved = path.saved[slot];
    if (saved.pushed_base != path.base || saved.pushed_offset < path.offset) continue;
    row.places[slot] = Place{Place::Kind::kAt, dwarf::kCfa, saved.pushed_offset - kWord};
  }
  row[Slot::kReturnAddress] = Place{Place::Kind::kAt, dwarf::kCfa, -kWord};
  return true;
}

// By mov of a constant, or by lea of an address relative to the next instruction. Few bytes are
// such an operand, so what is before them is compared last.
std::uint64_t last_address_taken(const ByteRange& code, std::uint64_t low, std::uint64_t limit) {
  constexpr std::ptrdiff_t kOpcodeBytes = 2;
  constexpr std::ptrdiff_t kOperandBytes = 4;
  if (code.end - code.begin < kOpcodeBytes + kOperandBytes) return low;
  const std::uint8_t* const end = code.end - kOperandBytes;
  for (const std::uint8_t* at = code.begin + kOpcodeBytes; at <= end; ++at) {
    std::int32_t operand = 0;
    std::memcpy(&operand, at, sizeof operand);
    const auto value = static_cast<std::uint64_t>(std::int64_t{operand});
    const std::uint64_t target = reinterpret_cast<std::uint64_t>(at + kOperandBytes) + value;
    const bool is_move = value - low < limit - low &&
                         ((at[-1] & 0xf8) == 0xb8 || (at[-2] == 0xc7 && (at[-1] & 0xf8) == 0xc0));
    const bool is_lea = target - low < limit - low && at[-2] == 0x8d && (at[-1] & 0xc7) == 5;
    if (is_move) low = value;
    if (is_lea) low = target;
  }
  return low;
}

std::uint64_t called_before(const ByteRange& code, std::uint64_t at) {
  Cursor cursor(code, at - kDirectBytes);
  if (cursor.u8() != 0xe8) return 0;
  const std::uint64_t target = at + static_cast<std::uint64_t>(cursor.fixed<std::int32_t>());
  return cursor.ok() && code.holds(target) ? target : 0;
}

// By e8 and a distance, or by ff with a register or memory: in 2 to 7 bytes, the ModRM second.
bool is_behind_call(const ByteRange& code, std::uint64_t at) {
  constexpr std::uint64_t kMostBytes = 7;
  constexpr std::uint64_t kLeastBytes = 2;
  if (Cursor(code, at - kDirectBytes).u8() == 0xe8 && code.holds(at - 1)) return true;
  for (std::uint64_t bytes = kLeastBytes; bytes <= kMostBytes; ++bytes) {
    Cursor cursor(code, at - bytes);
    Decoded in;
    const bool is_whole = decode(cursor, in) && cursor.address() == at;
    if (is_whole && !in.is_two_byte && in.opcode == 0xff && (in.reg & 7) == 2) return true;
  }
  return false;
}

}  // namespace geiger::unwind::machine
