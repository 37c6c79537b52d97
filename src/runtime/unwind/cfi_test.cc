#include "runtime/unwind/cfi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/unwind/modules.h"
#include "runtime/unwind/rules.h"
#include "runtime/unwind/test_memory.h"
#include "runtime/unwind/test_registers.h"
#include "runtime/unwind/unwind.h"

namespace geiger::unwind {
namespace {

bool is_same(const Row& a, const Row& b) {
  const auto is_same_place = [](const Place& x, const Place& y) {
    return x.kind == y.kind && x.base == y.base && x.offset == y.offset;
  };
  return a.cfa.base == b.cfa.base && a.cfa.offset == b.cfa.offset &&
         a.cfa.is_loaded == b.cfa.is_loaded && a.cfa.added == b.cfa.added &&
         std::equal(std::begin(a.places), std::end(a.places), std::begin(b.places), is_same_place);
}

/// The tables of this program, from .eh_frame_hdr to the end of the segment.
class Tables : public testing::Test {
 protected:
  void SetUp() override {
    init();
    FoundModule found;
    ASSERT_TRUE(find_module(address_of(reinterpret_cast<void*>(find_module)), found));
    cfi_ = found.cfi;
    first_ = reinterpret_cast<const std::uint8_t*>(cfi_.header);
    size_ = static_cast<std::size_t>(cfi_.readable.end - first_);
    // Copies keep the pc modulo 16, on which the rows of PLT entries depend.
    size_ -= (cfi_.header + size_) % 16;
    std::uint32_t count = 0;
    std::memcpy(&count, first_ + 8, 4);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::int32_t distance = 0;
      std::memcpy(&distance, first_ + 12 + std::size_t{i} * 8, 4);
      functions_.push_back(cfi_.header + static_cast<std::uint64_t>(std::int64_t{distance}));
    }
  }
  [[nodiscard]] std::uint64_t random_pc() {
    return functions_[random_() % functions_.size()] + random_() % 128;
  }

  std::mt19937_64 random_{7};
  Cfi cfi_{};
  const std::uint8_t* first_ = nullptr;
  std::size_t size_ = 0;
  std::vector<std::uint64_t> functions_;
};

TEST_F(Tables, MayBeMoved) {
  const FencedCopy copy(first_, size_);
  const Cfi moved{copy.range(), address_of(copy.begin())};
  const std::uint64_t distance = moved.header - cfi_.header;
  int found_count = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t pc = random_pc();
    FoundRow here{}, there{};
    const bool is_found = find_row(cfi_, pc, here);
    ASSERT_EQ(is_found, find_row(moved, pc + distance, there)) << pc;
    ASSERT_TRUE(is_same(here.row, there.row));
    found_count += is_found ? 1 : 0;
  }
  EXPECT_GT(found_count, 10'000);
}

TEST_F(Tables, MayBeCutAnywhere) {
  for (int round = 0; round < 300; ++round) {
    const std::size_t size = 1 + random_() % (round < 100 ? 64 : size_);
    const FencedCopy copy(first_, size);
    const Cfi cut{copy.range(), address_of(copy.begin())};
    for (int i = 0; i < 50; ++i) {
      FoundRow found;
      (void)find_row(cut, random_pc() + cut.header - cfi_.header, found);
    }
  }
}

// Nothing to assert: a read out of range hits a fence.
TEST_F(Tables, MayHoldAnything) {
  const FencedCopy copy(first_, size_);
  const Cfi hostile{copy.range(), address_of(copy.begin())};
  const std::uint64_t distance = hostile.header - cfi_.header;
  for (int round = 0; round < 3'000; ++round) {
    std::uint8_t before[32];
    const std::size_t at = round % 8 == 0 ? random_() % 12 : random_() % (size_ - sizeof before);
    std::memcpy(before, copy.begin() + at, sizeof before);
    for (std::size_t i = 0; i < 1 + random_() % sizeof before; ++i) {
      copy.begin()[at + i] = static_cast<std::uint8_t>(random_() % 3 == 0 ? 0xff : random_());
    }
    for (int i = 0; i < 20; ++i) {
      FoundRow found;
      (void)find_row(hostile, random_pc() + distance, found);
    }
    std::memcpy(copy.begin() + at, before, sizeof before);
  }
}

// Programs of random bytes, aimed at rather than met by chance.
TEST(RowProgram, RunsAnyBytes) {
  std::mt19937_64 random(11);
  const std::uint8_t empty[64] = {};
  const FencedCopy fence(empty, sizeof empty);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::uint8_t> bytes(1 + random() % 48);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    std::memcpy(fence.begin() + sizeof empty - bytes.size(), bytes.data(), bytes.size());
    const ByteRange range{fence.range().end - bytes.size(), fence.range().end};
    RowProgram program({1, -8, 0x1b}, 1000, 1000 + random() % 64);
    const Cursor code(range, address_of(range.begin));
    if (program.run_initial(code) && program.run(code)) (void)Rule::of({program.row(), false});
  }
}

Row run(const std::vector<std::uint8_t>& bytes, std::uint64_t pc, bool* is_good = nullptr) {
  const ByteRange range{bytes.data(), bytes.data() + bytes.size()};
  RowProgram program({1, -8, kBaseNone}, 100, pc);
  const bool is_run = program.run(Cursor(range, address_of(range.begin)));
  if (is_good != nullptr) {
    *is_good = is_run;
  } else {
    EXPECT_TRUE(is_run);
  }
  return program.row();
}

TEST(RowProgram, StopsBehindThePc) {
  // def_cfa sp 8; offset ip 1; advance 4; def_cfa_offset 16; offset fp 2
  const std::vector<std::uint8_t> bytes = {0x0c, kSp,  8,  at_offset(kIp), 1,
                                           0x44, 0x0e, 16, at_offset(kFp), 2};
  EXPECT_EQ(run(bytes, 103).cfa.offset, 8);
  EXPECT_EQ(run(bytes, 104).cfa.offset, 16);
  EXPECT_EQ(run(bytes, 103)[Slot::kFramePointer].kind, Place::Kind::kSame);
  EXPECT_EQ(run(bytes, 104)[Slot::kFramePointer].offset, -16);
}

TEST(RowProgram, RemembersTheCfaToo) {
  // def_cfa sp 8; remember; def_cfa_offset 64; advance 1; restore
  const std::vector<std::uint8_t> bytes = {0x0c, kSp, 8, 0x0a, 0x0e, 64, 0x41, 0x0b};
  EXPECT_EQ(run(bytes, 100).cfa.offset, 64);
  EXPECT_EQ(run(bytes, 101).cfa.offset, 8);
}

TEST(RowProgram, RefusesWhatItDoesNotKnow) {
  bool is_good = true;
  run({0x3d}, 100, &is_good);
  EXPECT_FALSE(is_good);
  run({0x0b}, 100, &is_good);  // Restores what was never remembered.
  EXPECT_FALSE(is_good);
  run({0x0c, kSp}, 100, &is_good);  // Cut.
  EXPECT_FALSE(is_good);
}

Term evaluate_bytes(const std::vector<std::uint8_t>& bytes, std::uint64_t pc,
                    bool is_known = true) {
  const ByteRange range{bytes.data(), bytes.data() + bytes.size()};
  Term term{};
  EXPECT_EQ(evaluate(Cursor(range, address_of(range.begin)), pc, term), is_known);
  return term;
}

// Only x86-64's linkers make such entries, and only there the column is the pc.
TEST(Expression, OfPltEntriesDependsOnThePc) {
  // sp + 8 + ((pc & 15) >= 11) * 8
  const std::vector<std::uint8_t> plt = {breg(kSp), 8,    breg(kIp), 0,    0x3f, 0x1a,
                                         0x3b,      0x2a, 0x33,      0x24, 0x22};
  if (!machine::kPushesReturnAddress) {
    evaluate_bytes(plt, 0x1000a, false);
    return;
  }
  EXPECT_EQ(evaluate_bytes(plt, 0x1000a).offset, 8);
  EXPECT_EQ(evaluate_bytes(plt, 0x1000b).offset, 16);
  EXPECT_EQ(evaluate_bytes(plt, 0x1000b).base, dwarf::kStackPointer);
}

TEST(Expression, MayLoadOnceAndAdd) {
  const Term term = evaluate_bytes({breg(kFp), 0x78, 0x06, 0x23, 16}, 0);  // [fp - 8] + 16
  EXPECT_EQ(term.base, dwarf::kFramePointer);
  EXPECT_TRUE(term.is_loaded);
  EXPECT_EQ(term.offset, -8);
  EXPECT_EQ(term.added, 16);
  evaluate_bytes({breg(kFp), 0x78, 0x06, 0x06}, 0, false);
  evaluate_bytes({0x31}, 0, false);
  evaluate_bytes({}, 0, false);
}

TEST(Expression, ReadsOperandsOfEverySize) {
  // fp + 0, then an operand, then DW_OP_plus.
  const auto offset_of = [](std::vector<std::uint8_t> operand) {
    operand.insert(operand.begin(), {breg(kFp), 0x00});
    operand.push_back(0x22);
    return evaluate_bytes(operand, 0).offset;
  };
  EXPECT_EQ(offset_of({0x08, 0xff}), 255);
  EXPECT_EQ(offset_of({0x09, 0xff}), -1);
  EXPECT_EQ(offset_of({0x0a, 0xfe, 0xff}), 65534);
  EXPECT_EQ(offset_of({0x0b, 0xfe, 0xff}), -2);
  EXPECT_EQ(offset_of({0x0c, 0xfd, 0xff, 0xff, 0xff}), 4294967293);
  EXPECT_EQ(offset_of({0x0d, 0xfd, 0xff, 0xff, 0xff}), -3);
  EXPECT_EQ(offset_of({0x0e, 1, 0, 0, 0, 1, 0, 0, 0}), 0x100000001);
  EXPECT_EQ(offset_of({0x0f, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), -4);
  EXPECT_EQ(offset_of({0x10, 0x80, 0x01}), 128);
  EXPECT_EQ(offset_of({0x11, 0x7f}), -1);
  EXPECT_EQ(offset_of({0x96, 0x4f, 0x96}), 31);
}

TEST(Expression, CalculatesWithConstantsAndOneRegister) {
  EXPECT_EQ(evaluate_bytes({0x35, breg(kFp), 0x02, 0x22}, 0).offset, 7);   // 5 + (fp + 2)
  EXPECT_EQ(evaluate_bytes({breg(kFp), 0x02, 0x35, 0x1c}, 0).offset, -3);  // (fp + 2) - 5
  // fp + (13 & 6), fp + (1 << 5), nothing left of 1 << 64, fp + (2 >= 3).
  EXPECT_EQ(evaluate_bytes({breg(kFp), 0, 0x3d, 0x36, 0x1a, 0x22}, 0).offset, 4);
  EXPECT_EQ(evaluate_bytes({breg(kFp), 0, 0x31, 0x35, 0x24, 0x22}, 0).offset, 32);
  EXPECT_EQ(evaluate_bytes({breg(kFp), 0, 0x31, 0x08, 64, 0x24, 0x22}, 0).offset, 0);
  EXPECT_EQ(evaluate_bytes({breg(kFp), 0, 0x32, 0x33, 0x2a, 0x22}, 0).offset, 0);
}

TEST(Expression, WithoutATermIsRefused) {
  evaluate_bytes({breg(kFp), 0, breg(kSp), 0, 0x22}, 0, false);  // fp + sp
  evaluate_bytes({breg(kFp), 0, 0x31, 0x1a}, 0, false);          // fp & 1
  evaluate_bytes({0x31, 0x22}, 0, false);                        // an operand is missing
  evaluate_bytes({0x06}, 0, false);                              // nothing to load
  evaluate_bytes({0x23, 1}, 0, false);                           // nothing to add to
  evaluate_bytes({0x31, 0x06}, 0, false);                        // [1]
  evaluate_bytes({breg(kFp), 0, 0xe0}, 0, false);                // an unknown operation
  evaluate_bytes({breg(kFp), 0, 0x0c, 1}, 0, false);             // a cut operand
  evaluate_bytes(std::vector<std::uint8_t>(9, 0x31), 0, false);  // deeper than the stack
}

std::uint64_t pointer_in(std::uint8_t encoding, const std::vector<std::uint8_t>& bytes,
                         bool is_known = true) {
  const FencedCopy copy(bytes.data(), bytes.size());
  Cursor cursor(copy.range(), address_of(copy.begin()));
  const std::uint64_t value = cursor.pointer(encoding);
  EXPECT_EQ(cursor.ok(), is_known);
  return (encoding & 0x10) != 0 ? value - address_of(copy.begin()) : value;
}

TEST(Pointer, IsReadInEveryFormat) {
  const std::vector<std::uint8_t> bytes = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
  EXPECT_EQ(pointer_in(0x00, bytes), 0x7ffffffffffffffeU);
  EXPECT_EQ(pointer_in(0x04, bytes), 0x7ffffffffffffffeU);
  EXPECT_EQ(pointer_in(0x0c, bytes), 0x7ffffffffffffffeU);
  EXPECT_EQ(pointer_in(0x02, bytes), 0xfffeU);
  EXPECT_EQ(pointer_in(0x03, bytes), 0xfffffffeU);
  EXPECT_EQ(pointer_in(0x0a, bytes), ~std::uint64_t{1});
  EXPECT_EQ(pointer_in(0x0b, bytes), ~std::uint64_t{1});
  EXPECT_EQ(pointer_in(0x01, {0x80, 0x01}), 128U);
  EXPECT_EQ(pointer_in(0x09, {0x7f}), ~std::uint64_t{0});
  EXPECT_EQ(pointer_in(0x1b, {0x10, 0, 0, 0}), 16U);  // relative to its own address
}

TEST(Pointer, OfOtherBasesAndFormatsIsRefused) {
  const std::vector<std::uint8_t> bytes(8, 1);
  for (const int encoding : {0x05, 0x0d, 0x20, 0x30, 0x40, 0x80}) {
    pointer_in(static_cast<std::uint8_t>(encoding), bytes, false);
  }
  pointer_in(0x03, {1, 2, 3}, false);  // cut
}

TEST(Rule, KeepsWhatFits) {
  FoundRow found{};
  found.row.cfa = {dwarf::kFramePointer, true, -8, 0};
  found.row[Slot::kReturnAddress] = {Place::Kind::kAt, dwarf::kCfa, -8};
  const bool is_pushed = machine::kPushesReturnAddress;
  found.row[Slot::kFramePointer] = {
      Place::Kind::kAt, is_pushed ? dwarf::kFramePointer : dwarf::kCfa, is_pushed ? 0 : -16};
  const Rule rule = Rule::of(found).in_module(4096, true);
  EXPECT_EQ(rule.kind(), Rule::Kind::kStep);
  EXPECT_TRUE(rule.is_cfa_from_bp());
  EXPECT_TRUE(rule.is_cfa_loaded());
  EXPECT_EQ(static_cast<std::int64_t>(rule.cfa_offset()), -8);
  EXPECT_EQ(static_cast<std::int64_t>(rule.ip_offset()), -8);
  EXPECT_EQ(rule.bp_place(), is_pushed ? Rule::BpPlace::kFromBp : Rule::BpPlace::kFromCfa);
  EXPECT_EQ(static_cast<std::int64_t>(rule.bp_offset()), is_pushed ? 0 : -16);
  EXPECT_EQ(rule.module(), 4096U);
  EXPECT_TRUE(rule.is_permanent());
  EXPECT_FALSE(rule.is_signal_frame());
}

FoundRow row_with(Term cfa, Place bp, std::int32_t ip_offset = -8) {
  FoundRow found{};
  found.row.cfa = cfa;
  found.row[Slot::kFramePointer] = bp;
  found.row[Slot::kReturnAddress] = {Place::Kind::kAt, dwarf::kCfa, ip_offset};
  return found;
}

TEST(Rule, IsPlainWhereBothWordsLieInTheFrame) {
  const auto is_plain = [](const FoundRow& found) {
    return Rule::of(found).in_module(1, true).is_plain();
  };
  const Term from_sp{dwarf::kStackPointer, false, 64, 0};
  const Place kept{};
  const auto saved = [](std::int32_t offset) {
    return Place{Place::Kind::kAt, dwarf::kCfa, offset};
  };
  EXPECT_TRUE(is_plain(row_with(from_sp, kept)));
  EXPECT_TRUE(is_plain(row_with({dwarf::kFramePointer, false, 16, 0}, saved(-16))));
  EXPECT_TRUE(is_plain(row_with(from_sp, saved(-64))));
  EXPECT_TRUE(is_plain(row_with(from_sp, saved(-8))));
  EXPECT_FALSE(is_plain(row_with(from_sp, saved(-72))));
  EXPECT_FALSE(is_plain(row_with(from_sp, saved(0))));
  EXPECT_FALSE(is_plain(row_with(from_sp, {Place::Kind::kAt, dwarf::kStackPointer, 8})));
  // Pushed, it is the last word.
  EXPECT_EQ(is_plain(row_with(from_sp, kept, -16)), !machine::kPushesReturnAddress);
  EXPECT_FALSE(is_plain(row_with(from_sp, kept, -72)));
  EXPECT_FALSE(is_plain(row_with({dwarf::kStackPointer, false, 0, 0}, kept)));
  EXPECT_FALSE(is_plain(row_with({dwarf::kStackPointer, false, -8, 0}, kept)));
  EXPECT_FALSE(is_plain(row_with({dwarf::kStackPointer, true, 64, 0}, kept)));
  FoundRow interrupted = row_with(from_sp, kept);
  interrupted.is_signal_frame = true;
  EXPECT_FALSE(is_plain(interrupted));
  EXPECT_FALSE(Rule::of(row_with(from_sp, kept)).in_module(1, false).is_plain());
}

TEST(Rule, OfAPlainFrameTellsWhatItSaves) {
  const Term from_sp{dwarf::kStackPointer, false, 64, 0};
  const Rule kept = Rule::of(row_with(from_sp, {}));
  EXPECT_FALSE(kept.saves_bp());
  EXPECT_EQ(static_cast<std::int64_t>(kept.plain_ip_offset()), -8);
  EXPECT_EQ(static_cast<std::int64_t>(kept.bp_offset()), -8);
  EXPECT_EQ(kept.bp_place(), Rule::BpPlace::kSame);
  const Rule saves = Rule::of(row_with(from_sp, {Place::Kind::kAt, dwarf::kCfa, -56}));
  EXPECT_TRUE(saves.saves_bp());
  EXPECT_EQ(static_cast<std::int64_t>(saves.bp_offset()), -56);
}

TEST(Rule, LeavesTheRestToAllRegisters) {
  FoundRow found{};
  found.row[Slot::kReturnAddress] = {Place::Kind::kAt, dwarf::kCfa, -8};
  const auto kind_with = [&found](const Term& cfa) {
    found.row.cfa = cfa;
    return Rule::of(found).kind();
  };
  EXPECT_EQ(kind_with({dwarf::kStackPointer, false, 2 * 1024 * 1024 - 8, 0}), Rule::Kind::kStep);
  EXPECT_EQ(kind_with({dwarf::kStackPointer, false, 2 * 1024 * 1024, 0}),
            Rule::Kind::kAllRegisters);
  EXPECT_EQ(kind_with({dwarf::kStackPointer, false, 12, 0}), Rule::Kind::kAllRegisters);
  EXPECT_EQ(kind_with({kSaved, false, 16, 0}), Rule::Kind::kAllRegisters);
  EXPECT_EQ(kind_with({dwarf::kStackPointer, true, 16, 8}), Rule::Kind::kAllRegisters);
}

}  // namespace
}  // namespace geiger::unwind
