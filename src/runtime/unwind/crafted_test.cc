// Unwind tables that no compiler writes: one function with a header, an entry and a program, which
// each test corrupts in one place.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/unwind/cfi.h"
#include "runtime/unwind/rules.h"
#include "runtime/unwind/test_memory.h"
#include "runtime/unwind/test_registers.h"

namespace geiger::unwind {
namespace {

using Bytes = std::vector<std::uint8_t>;

void put(Bytes& to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void put(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

/// The function's distance from the header; it is never read.
constexpr std::uint64_t kFunction = 0x10000;
constexpr std::uint64_t kFunctionBytes = 64;

/// The contents of the tables. With these defaults, a row is found.
struct CraftedTables {
  std::uint8_t header_version = 1;
  std::uint8_t frame_encoding = 0x1b;
  std::uint8_t count_encoding = 0x03;
  std::uint8_t table_encoding = 0x3b;
  std::uint32_t count = 1;
  std::uint32_t first_function = kFunction;

  std::uint32_t cie_id = 0;
  std::uint8_t cie_version = 1;
  std::string letters = "zR";
  Bytes augmentation = {0x1b};
  std::uint8_t return_column = kIp;
  Bytes cie_program = {0x0c, kSp, 8, at_offset(kIp),
                       1};  // CFA = sp + 8, return address at CFA - 8.

  std::uint32_t fde_length_added = 0;
  bool has_cie_pointer = true;
  std::uint32_t size = kFunctionBytes;
  Bytes fde_augmentation = {0};
  Bytes fde_program = {};

  [[nodiscard]] Bytes cie() const {
    Bytes body;
    put(body, cie_id, 4);
    body.push_back(cie_version);
    for (const char letter : letters) body.push_back(static_cast<std::uint8_t>(letter));
    if (letters.size() < 8) body.push_back(0);
    body.push_back(1);     // Code alignment.
    body.push_back(0x78);  // Data alignment, -8.
    body.push_back(return_column);
    if (letters[0] == 'z') body.push_back(static_cast<std::uint8_t>(augmentation.size()));
    put(body, augmentation);
    put(body, cie_program);
    Bytes entry;
    put(entry, body.size(), 4);
    put(entry, body);
    return entry;
  }

  /// At `at`, with its CIE at `cie_at`.
  [[nodiscard]] Bytes fde(std::uint64_t at, std::uint64_t cie_at) const {
    Bytes body;
    put(body, has_cie_pointer ? at + 4 - cie_at : 0, 4);
    put(body, kFunction - (at + 8), 4);
    put(body, size, 4);
    put(body, fde_augmentation);
    put(body, fde_program);
    Bytes entry;
    put(entry, body.size() + fde_length_added, 4);
    put(entry, body);
    return entry;
  }

  [[nodiscard]] Bytes all() const {
    Bytes bytes = {header_version, frame_encoding, count_encoding, table_encoding};
    if (frame_encoding != kEncodingOmit) put(bytes, 0, 4);
    put(bytes, count, 4);
    const std::uint64_t cie_at = bytes.size() + 8;
    const Bytes shared = cie();
    const std::uint64_t fde_at = cie_at + shared.size();
    put(bytes, first_function, 4);
    put(bytes, fde_at, 4);
    put(bytes, shared);
    put(bytes, fde(fde_at, cie_at));
    return bytes;
  }
};

bool finds_in(const Bytes& bytes, std::uint64_t distance, FoundRow& found) {
  const FencedCopy copy(bytes.data(), bytes.size());
  const std::uint64_t header = address_of(copy.begin());
  return find_row({copy.range(), header}, header + kFunction + distance, found);
}

bool finds(const CraftedTables& tables, std::uint64_t distance = 0) {
  FoundRow found{};
  return finds_in(tables.all(), distance, found);
}

Row row_of(const CraftedTables& tables, std::uint64_t distance = 0) {
  FoundRow found{};
  EXPECT_TRUE(finds_in(tables.all(), distance, found));
  return found.row;
}

TEST(CraftedTables, HoldOneFunction) {
  const Row row = row_of({});
  EXPECT_EQ(row.cfa.base, dwarf::kStackPointer);
  EXPECT_EQ(row.cfa.offset, 8);
  EXPECT_EQ(row[Slot::kReturnAddress].offset, -8);
  EXPECT_TRUE(finds({}, kFunctionBytes - 1));
  EXPECT_FALSE(finds({}, kFunctionBytes));
  EXPECT_FALSE(finds({}, ~std::uint64_t{0}));  // Before the first function.
}

TEST(CraftedTables, AreRefusedWithAnotherHeader) {
  EXPECT_FALSE(finds({.header_version = 2}));
  EXPECT_FALSE(finds({.count_encoding = kEncodingOmit}));
  EXPECT_FALSE(finds({.table_encoding = 0x1b}));
  EXPECT_FALSE(finds({.count = 0}));
  EXPECT_FALSE(finds({.count = 1000}));
  EXPECT_FALSE(finds({.count_encoding = 0x05}));  // No such format.
  EXPECT_TRUE(finds({.frame_encoding = kEncodingOmit}));
}

TEST(CraftedTables, MayBeCutBehindAnyByte) {
  const Bytes whole = CraftedTables{}.all();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    FoundRow found{};
    EXPECT_FALSE(finds_in(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)), 0, found))
        << size;
  }
}

TEST(CraftedTables, MayNameAFunctionThatTheEntryDoesNotHold) {
  // The table sends a pc before the function's begin to it.
  EXPECT_FALSE(finds({.first_function = kFunction - 16}, std::uint64_t{0} - 8));
  EXPECT_FALSE(finds({.size = 4}, 4));
}

TEST(CraftedTables, OfEntriesOfOtherFormsAreRefused) {
  EXPECT_FALSE(finds({.cie_id = 1}));
  EXPECT_FALSE(finds({.cie_version = 2}));
  EXPECT_TRUE(finds({.cie_version = 3}));
  EXPECT_FALSE(finds({.return_column = 33}));
  EXPECT_FALSE(finds({.has_cie_pointer = false}));
  EXPECT_FALSE(finds({.fde_length_added = 1}));
  EXPECT_FALSE(finds({.fde_length_added = 0xffffffff - 17}));  // Says that 64 bits follow.
}

TEST(CraftedTables, MaySayMoreByLetters) {
  EXPECT_TRUE(finds({.letters = "zRS"}));
  EXPECT_TRUE(finds({.letters = "zRB"}));
  EXPECT_TRUE(finds({.letters = "zRG"}));
  EXPECT_TRUE(finds({.letters = "zLR", .augmentation = {0x1b, 0x1b}}));
  EXPECT_TRUE(finds({.letters = "zPR", .augmentation = {0x1b, 1, 2, 3, 4, 0x1b}}));
  EXPECT_TRUE(finds({.letters = "zPLR", .augmentation = {0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x1b}}));
  EXPECT_FALSE(finds({.letters = "eh"}));
  EXPECT_FALSE(finds({.letters = "eR", .augmentation = {1, 0x1b}}));  // As if it were "zR".
  EXPECT_FALSE(finds({.letters = "zRQ"}));
  EXPECT_FALSE(finds({.letters = "zRBBBBBB"}));  // One letter too long.
  EXPECT_FALSE(finds({.letters = "zPR", .augmentation = {0x1b, 1}}));
  EXPECT_FALSE(finds({.letters = "zR", .augmentation = {0x2b}}));  // Relative to text.
  EXPECT_FALSE(finds({.cie_program = {}, .fde_augmentation = {0x7f}, .fde_program = {0x0e}}));
}

// Without letters pointers are absolute, and eight bytes long.
TEST(CraftedTables, MayHaveNoLetters) {
  EXPECT_FALSE(finds({.letters = std::string(1, '\0'), .augmentation = {}}));
}

TEST(CraftedTables, TellSignalFrames) {
  FoundRow found{};
  EXPECT_TRUE(finds_in(CraftedTables{.letters = "zRS"}.all(), 0, found));
  EXPECT_TRUE(found.is_signal_frame);
  EXPECT_TRUE(finds_in(CraftedTables{}.all(), 0, found));
  EXPECT_FALSE(found.is_signal_frame);
}

// ---------------------------------------------------------------- programs ---

Place fp_after(const Bytes& program, std::uint64_t distance = 0) {
  return row_of({.fde_program = program}, distance)[Slot::kFramePointer];
}

TEST(CraftedPrograms, PlaceARegister) {
  using enum Place::Kind;
  const auto expect = [](const Bytes& program, Place::Kind kind, std::int32_t offset) {
    const Place place = fp_after(program);
    EXPECT_EQ(place.kind, kind) << int{program[0]};
    EXPECT_EQ(place.offset, offset) << int{program[0]};
  };
  expect({at_offset(kFp), 2}, kAt, -16);
  expect({0x05, kFp, 2}, kAt, -16);
  expect({0x11, kFp, 0x7e}, kAt, 16);
  expect({0x2f, kFp, 2}, kAt, 16);
  expect({0x14, kFp, 2}, kIs, -16);
  expect({0x15, kFp, 0x7e}, kIs, 16);
  expect({0x07, kFp}, kUndefined, 0);
  expect({0x08, kFp}, kSame, 0);
  expect({at_offset(kFp), 2, restored(kFp)}, kSame, 0);
  expect({at_offset(kFp), 2, 0x06, kFp}, kSame, 0);
  expect({0x09, kFp, kSaved}, kIs, 0);
  expect({0x2e, 0x10, 0x00, at_offset(kFp), 2}, kAt, -16);  // The size of arguments is passed over.
}

TEST(CraftedPrograms, PlaceARegisterByAnExpression) {
  using enum Place::Kind;
  EXPECT_EQ(fp_after({0x10, kFp, 2, breg(kSp), 8}).kind, kAt);        // At sp + 8.
  EXPECT_EQ(fp_after({0x16, kFp, 2, breg(kSp), 8}).kind, kIs);        // sp + 8.
  EXPECT_EQ(fp_after({0x16, kFp, 3, breg(kSp), 8, 0x06}).kind, kAt);  // [sp + 8].
  EXPECT_EQ(fp_after({0x10, kFp, 3, breg(kSp), 8, 0x06}).kind, kUnsupported);
  EXPECT_EQ(fp_after({0x16, kFp, 5, breg(kSp), 8, 0x06, 0x23, 8}).kind, kUnsupported);
  EXPECT_EQ(fp_after({0x16, kFp, 1, 0x31}).kind, kUnsupported);
  EXPECT_EQ(fp_after({0x16, kFp, 6, breg(kSp), 0x80, 0x80, 0x80, 0x80, 0x04}).kind, kUnsupported);
}

// Instructions after which the return address is signed.
TEST(CraftedPrograms, MaySayThatAddressesAreSigned) {
  for (const std::uint8_t opcode : Bytes{0x2c, 0x2d}) {
    EXPECT_EQ(finds({.fde_program = {opcode, at_offset(kFp), 2}}), !machine::kPushesReturnAddress);
  }
}

// Offsets beyond any stack, registers that are not followed, undefined instructions.
TEST(CraftedPrograms, AreRefusedOrPassedOver) {
  const auto fails = [](const Bytes& program) { return !finds({.fde_program = program}); };
  EXPECT_TRUE(fails({at_offset(kFp), 0x80, 0x80, 0x80, 0x80, 0x01}));  // fp 2^31 bytes away.
  EXPECT_TRUE(fails({0x0e, 0x80, 0x80, 0x80, 0x80, 0x04}));            // So the CFA.
  EXPECT_TRUE(fails({0x11, kFp, 0x80, 0x80, 0x80, 0x80, 0x7e}));       // And below.
  EXPECT_TRUE(fails({0x09, kFp, 0x80, 0x02}));                         // From register 256.
  EXPECT_TRUE(fails({0x0c, 0x80, 0x02, 8}));                           // A CFA from it.
  EXPECT_TRUE(fails({0x0f, 1, 0x31}));                                 // A CFA without register.
  EXPECT_TRUE(fails({0x0f, 7, breg(kSp), 0x80, 0x80, 0x80, 0x80, 0x04}));
  EXPECT_TRUE(fails({0x0f, 9, breg(kSp), 0, 0x06, 0x23, 0x80, 0x80, 0x80, 0x80, 0x04}));
  EXPECT_TRUE(fails({0x3f, 6}));
  EXPECT_TRUE(fails({0x0b}));
  EXPECT_TRUE(fails({0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a}));  // Remembers too much.
  EXPECT_FALSE(fails({at_offset(kLost), 1, restored(kLost)}));     // Register 0.
  EXPECT_FALSE(fails({0x16, kLost, 1, 0x31}));                     // It by an expression.
}

TEST(CraftedPrograms, MoveTheCfa) {
  const auto cfa = [](const Bytes& program) { return row_of({.fde_program = program}).cfa; };
  EXPECT_EQ(cfa({0x0c, kFp, 24}).offset, 24);
  EXPECT_EQ(cfa({0x12, kFp, 0x7d}).offset, 24);
  EXPECT_EQ(cfa({0x0d, kFp}).base, kFp);
  EXPECT_EQ(cfa({0x0e, 24}).offset, 24);
  EXPECT_EQ(cfa({0x13, 0x7d}).offset, 24);
  EXPECT_TRUE(cfa({0x0f, 3, breg(kFp), 0x78, 0x06}).is_loaded);
}

TEST(CraftedPrograms, AdvanceInEverySize) {
  for (const Bytes& advance :
       {Bytes{0x44}, Bytes{0x02, 4}, Bytes{0x03, 4, 0}, Bytes{0x04, 4, 0, 0, 0}}) {
    Bytes program = advance;
    put(program, {at_offset(kFp), 2});
    EXPECT_EQ(fp_after(program, 3).kind, Place::Kind::kSame) << advance.size();
    EXPECT_EQ(fp_after(program, 4).kind, Place::Kind::kAt) << advance.size();
  }
}

// DW_CFA_set_loc: here 16 bytes after itself, at the end of the tables and below any pc.
TEST(CraftedPrograms, MaySetTheLocation) {
  EXPECT_EQ(fp_after({0x01, 16, 0, 0, 0, at_offset(kFp), 2}).kind, Place::Kind::kAt);
  EXPECT_EQ(fp_after({0x01, 0, 0, 0x10, 0, at_offset(kFp), 2}).kind, Place::Kind::kSame);
}

// -------------------------------------------------------------------- leb128 ---

Cursor cursor_of(const Bytes& bytes) {
  const ByteRange range{bytes.data(), bytes.data() + bytes.size()};
  return {range, address_of(bytes.data())};
}

TEST(Numbers, LongerThanTheirBitsKeepTheLowOnes) {
  Bytes bytes(11, 0xff);
  bytes.push_back(0x7f);
  EXPECT_EQ(cursor_of(bytes).uleb(), ~std::uint64_t{0});
  EXPECT_EQ(cursor_of(bytes).sleb(), -1);
  const Bytes widest = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01};
  EXPECT_EQ(cursor_of(widest).uleb(), std::uint64_t{1} << 63);
}

TEST(Numbers, ThatAreCutAreNone) {
  for (const Bytes& bytes : {Bytes{}, Bytes{0x80}, Bytes{0xff, 0xff}}) {
    Cursor number = cursor_of(bytes);
    EXPECT_EQ(number.uleb(), 0U);
    EXPECT_FALSE(number.ok());
    Cursor signed_number = cursor_of(bytes);
    EXPECT_EQ(signed_number.sleb(), 0);
    EXPECT_FALSE(signed_number.ok());
  }
}

TEST(Numbers, OfNothingAreOutside) {
  const Bytes bytes = {1, 2, 3, 4};
  const ByteRange range{bytes.data(), bytes.data() + bytes.size()};
  EXPECT_FALSE(Cursor(range, address_of(bytes.data()) - 1).ok());
  EXPECT_FALSE(Cursor(range, address_of(bytes.data()) + 4).ok());
  Cursor cursor = cursor_of(bytes);
  EXPECT_FALSE(cursor.take(5).ok());
  EXPECT_FALSE(cursor.ok());
}

// --------------------------------------------------------------------- rules ---

Rule::Kind kind_of(const Place& bp, const Place& ip) {
  FoundRow found{};
  found.row.cfa = {kSp, false, 16, 0};
  found.row[Slot::kFramePointer] = bp;
  found.row[Slot::kReturnAddress] = ip;
  return Rule::of(found).kind();
}

TEST(Rule, HoldsPlacesNearTheStackPointerOnly) {
  using enum Place::Kind;
  using enum Rule::Kind;
  const Place same{kSame, dwarf::kCfa, 0};
  const Place ip{kAt, dwarf::kCfa, -8};
  // If calls do not push it, the return address is beside the frame pointer.
  const Rule::Kind if_pushed = machine::kPushesReturnAddress ? kStep : kAllRegisters;
  EXPECT_EQ(kind_of(same, ip), kStep);
  EXPECT_EQ(kind_of({kUndefined, dwarf::kCfa, 0}, ip), kStep);
  EXPECT_EQ(kind_of({kAt, dwarf::kCfa, -16}, ip), kStep);
  EXPECT_EQ(kind_of({kAt, kSp, 8}, ip), if_pushed);
  EXPECT_EQ(kind_of({kAt, kFp, 0}, ip), if_pushed);
  EXPECT_EQ(kind_of({kAt, kSaved, 0}, ip), kAllRegisters);
  EXPECT_EQ(kind_of({kIs, dwarf::kCfa, 0}, ip), kAllRegisters);
  EXPECT_EQ(kind_of({kAt, dwarf::kCfa, 4}, ip), kAllRegisters);
  EXPECT_EQ(kind_of({kAt, dwarf::kCfa, 1 << 18}, ip), kAllRegisters);
  EXPECT_EQ(kind_of({kAt, dwarf::kCfa, -(1 << 19)}, ip), kAllRegisters);
  EXPECT_EQ(kind_of(same, {kAt, kSp, 8}), if_pushed);
  EXPECT_EQ(kind_of(same, {kAt, kFp, 8}), kAllRegisters);
  EXPECT_EQ(kind_of(same, {kIs, dwarf::kCfa, 8}), kAllRegisters);
  EXPECT_EQ(kind_of(same, {kSame, dwarf::kCfa, 8}), kAllRegisters);
  EXPECT_EQ(kind_of(same, {kUndefined, dwarf::kCfa, 8}), kEnd);
}

// The places of both, anywhere in the frame; further apart than compilers save them, they do not
// fit.
TEST(Rule, HoldsAPairAnywhereInTheFrame) {
  if (machine::kPushesReturnAddress) GTEST_SKIP() << "calls push the return address";
  FoundRow found{};
  found.row.cfa = {dwarf::kStackPointer, false, 512, 0};
  const auto rule_of = [&found](std::int32_t fp, std::int32_t ip) {
    found.row[Slot::kFramePointer] = {Place::Kind::kAt, dwarf::kCfa, fp};
    found.row[Slot::kReturnAddress] = {Place::Kind::kAt, dwarf::kCfa, ip};
    return Rule::of(found).in_module(1, true);
  };
  for (const std::int32_t fp : {-16, -96, -512}) {
    const Rule rule = rule_of(fp, fp + 8);
    EXPECT_TRUE(rule.is_plain());
    EXPECT_EQ(static_cast<std::int64_t>(rule.bp_offset()), fp);
    EXPECT_EQ(static_cast<std::int64_t>(rule.plain_ip_offset()), fp + 8);
  }
  EXPECT_FALSE(rule_of(-520, -512).is_plain());
  EXPECT_FALSE(rule_of(-8, 0).is_plain());
  EXPECT_EQ(rule_of(-512, -512 + 31 * 8).kind(), Rule::Kind::kStep);
  EXPECT_EQ(rule_of(-512, -512 + 32 * 8).kind(), Rule::Kind::kAllRegisters);
}

// An interrupted function may still have its return address in a register.
TEST(Rule, LeavesSignalFramesToAllRegistersWhereCallsPushNothing) {
  FoundRow found{};
  found.is_signal_frame = true;
  found.row.cfa = {dwarf::kStackPointer, true, 512, 0};
  found.row[Slot::kReturnAddress] = {Place::Kind::kAt, dwarf::kCfa, -8};
  const Rule rule = Rule::of(found);
  EXPECT_TRUE(rule.is_signal_frame());
  EXPECT_EQ(rule.kind(),
            machine::kPushesReturnAddress ? Rule::Kind::kStep : Rule::Kind::kAllRegisters);
}

}  // namespace
}  // namespace geiger::unwind
