#include "runtime/unwind/cfi.h"

namespace geiger::unwind {
namespace {

// The only header format that linkers write: a sorted table of (pc, FDE) as 32-bit distances from
// the header.
constexpr std::uint8_t kHeaderVersion = 1;
constexpr std::uint8_t kDataRelativeSdata4 = 0x3b;
constexpr std::uint64_t kTableEntryBytes = 8;
constexpr std::uint32_t kExtendedLength = 0xffffffff;

struct Cie {
  ProgramTraits traits;
  Cursor code;
  bool has_augmentation_data = false;
  bool is_signal_frame = false;
};

struct Table {
  const std::uint8_t* entries;
  std::uint64_t count;

  /// Distance from the header; column 0: of the pc, 1: of the FDE.
  [[nodiscard]] std::int64_t distance(std::uint64_t index, std::size_t column) const {
    std::int32_t value = 0;
    std::memcpy(&value, entries + index * kTableEntryBytes + column * sizeof value, sizeof value);
    return value;
  }
};

bool read_table(const Cfi& cfi, Table& table) {
  Cursor cursor(cfi.readable, cfi.header);
  const std::uint8_t version = cursor.u8();
  const std::uint8_t frame_encoding = cursor.u8();
  const std::uint8_t count_encoding = cursor.u8();
  const std::uint8_t table_encoding = cursor.u8();
  if (!cursor.ok() || version != kHeaderVersion || table_encoding != kDataRelativeSdata4 ||
      count_encoding == kEncodingOmit) {
    return false;
  }
  if (frame_encoding != kEncodingOmit) cursor.number(frame_encoding & kEncodingFormat);
  const std::uint64_t count = cursor.number(count_encoding & kEncodingFormat);
  if (!cursor.ok() || cursor.at_end()) return false;
  const std::uint64_t at = cursor.address();
  const std::uint64_t room = reinterpret_cast<std::uint64_t>(cfi.readable.end) - at;
  table = {cfi.readable.begin + (at - reinterpret_cast<std::uint64_t>(cfi.readable.begin)), count};
  return count != 0 && count <= room / kTableEntryBytes;
}

/// Address of the last FDE that begins at or before `pc`; 0 = none.
std::uint64_t find_fde(const Cfi& cfi, std::uint64_t pc) {
  Table table;
  const auto target = static_cast<std::int64_t>(pc - cfi.header);
  if (!read_table(cfi, table) || table.distance(0, 0) > target) return 0;
  std::uint64_t low = 0;
  for (std::uint64_t count = table.count; count > 1;) {
    const std::uint64_t half = count / 2;
    low += table.distance(low + half, 0) <= target ? half : 0;  // A cmov: the outcome is random.
    count -= half;
  }
  return cfi.header + static_cast<std::uint64_t>(table.distance(low, 1));
}

/// Reads the length field and narrows to the entry's contents.
Cursor open_entry(const Cfi& cfi, std::uint64_t address) {
  Cursor cursor(cfi.readable, address);
  const std::uint32_t length = cursor.u32();
  return cursor.take(length == kExtendedLength ? ~std::uint64_t{0} : length);
}

bool read_augmentation(Cursor& cursor, const char (&letters)[8], Cie& cie) {
  if (letters[0] == '\0') return true;
  if (letters[0] != 'z') return false;
  cie.has_augmentation_data = true;
  Cursor data = cursor.take(cursor.uleb());
  for (const char* letter = letters + 1; *letter != '\0'; ++letter) {
    if (*letter == 'R') {
      cie.traits.pointer_encoding = data.u8();
    } else if (*letter == 'P') {
      data.number(data.u8() & kEncodingFormat);
    } else if (*letter == 'L') {
      data.u8();
    } else if (*letter == 'S') {
      cie.is_signal_frame = true;
    } else if (*letter != 'B' && *letter != 'G') {  // AArch64: the key, tags on the stack.
      return false;
    }
  }
  return data.ok();
}

bool read_letters(Cursor& cursor, char (&letters)[8]) {
  for (char& letter : letters) {
    letter = static_cast<char>(cursor.u8());
    if (letter == '\0') return cursor.ok();
  }
  return false;
}

bool read_cie(Cursor cursor, Cie& cie) {
  const std::uint32_t id = cursor.u32();
  const std::uint8_t version = cursor.u8();
  char letters[8];
  if (id != 0 || (version != 1 && version != 3) || !read_letters(cursor, letters)) return false;
  cie.traits.code_alignment = cursor.uleb();
  cie.traits.data_alignment = cursor.sleb();
  const std::uint64_t column = version == 1 ? cursor.u8() : cursor.uleb();
  if (column != dwarf::kReturnAddress || !read_augmentation(cursor, letters, cie)) return false;
  cie.code = cursor;
  return cursor.ok();
}

}  // namespace

bool find_row(const Cfi& cfi, std::uint64_t pc, FoundRow& found) {
  Cursor fde = open_entry(cfi, find_fde(cfi, pc));
  const std::uint64_t cie_field = fde.address();
  const std::uint32_t cie_distance = fde.u32();
  if (!fde.ok() || cie_distance == 0) return false;
  Cie cie{{}, fde};
  if (!read_cie(open_entry(cfi, cie_field - cie_distance), cie)) return false;

  const std::uint8_t encoding = cie.traits.pointer_encoding;
  const std::uint64_t begin = fde.pointer(encoding);
  const std::uint64_t size = fde.number(encoding & kEncodingFormat);
  if (!fde.ok() || pc < begin || pc - begin >= size) return false;
  if (cie.has_augmentation_data) fde.skip(fde.uleb());

  RowProgram program(cie.traits, begin, pc);
  if (!program.run_initial(cie.code) || !program.run(fde)) return false;
  found.row = program.row();
  found.is_signal_frame = cie.is_signal_frame;
  return true;
}

}  // namespace geiger::unwind
