#include "runtime/unwind/x86_64/decode.h"

namespace geiger::unwind::machine {
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

}  // namespace geiger::unwind::machine
