#include "analysis/observe/map_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/ingest/test_files.h"
#include "analysis/observe/live_set.h"
#include "trace/test_trace.h"

namespace geiger::observe {
namespace {

using profile::MapKind;
using ::testing::ElementsAre;

Mapping mapping(Address start, Address end, std::string path, bool is_shared = false,
                std::uint64_t inode = 0) {
  Mapping made;
  made.start = start;
  made.end = end;
  made.is_readable = made.is_writable = true;
  made.is_shared = is_shared;
  made.inode = inode;
  made.path = std::move(path);
  made.resident = (end - start) / 2;
  return made;
}

Pagemap all_resident() {
  return Pagemap(
      [](std::uint64_t, std::uint64_t* entries, std::size_t count) {
        std::fill(entries, entries + count, std::uint64_t{1} << 63);
        return count;
      },
      4096);
}

TEST(MapKinds, TellsThemApart) {
  const std::vector<Mapping> mappings = {
      mapping(0x1000, 0x2000, "/bin/program", false, 5),
      mapping(0x2000, 0x3000, "[heap]"),
      mapping(0x10000, 0x20000, ""),                                 // holds a sample
      mapping(0x20000, 0x30000, ""),                                 // holds nothing
      mapping(0x30000, 0x40000, ""),                                 // a thread's stack
      mapping(0x40000, 0x50000, "/tmp/run/a.1.1.geiger", true, 77),  // the trace
      mapping(0x50000, 0x60000, "/tmp/run/a.1.1.geiger", true, 78),  // another file
      mapping(0x60000, 0x70000, "/lib/libgeiger-preload.so", false, 9),
      mapping(0x70000, 0x80000, ""),  // its bss
      mapping(0x80000, 0x90000, "/dev/shm/x (deleted)", true, 3),
      mapping(0x90000, 0xa0000, "/memfd:jit", false, 4),
      mapping(0xa0000, 0xb0000, "[anon:arena]"),
      mapping(0xb0000, 0xc0000, "[vdso]"),
      mapping(0xc0000, 0xd0000, "[stack]"),
  };
  const LiveSet live;
  const std::vector<Range> extents = {{0x10100, 8}};
  const std::vector<Address> stacks = {0x3ff00};
  const MapFacts facts{"a.1.1.geiger", 77, &live, extents, stacks};
  const auto kinds = kinds_of(mappings, facts);
  EXPECT_THAT(kinds,
              ElementsAre(MapKind::kFile, MapKind::kMallocHeap, MapKind::kMallocHeap,
                          MapKind::kAnonymous, MapKind::kStack, MapKind::kRuntime, MapKind::kFile,
                          MapKind::kRuntime, MapKind::kRuntime, MapKind::kShared, MapKind::kShared,
                          MapKind::kAnonymous, MapKind::kOther, MapKind::kStack));
  const profile::MapTable totals = totals_of(mappings, kinds);
  Bytes sum = 0;
  for (const profile::MapTotals& each : totals) sum += each.resident;
  Bytes expected = 0;
  for (const Mapping& each : mappings) expected += each.resident;
  EXPECT_EQ(sum, expected);
}

// madvise splits the mapping of an object after its first page, and the kernel joins its end to a
// thread's stack.
TEST(MapKinds, AnObjectOwnsAllMappingsThatItCovers) {
  std::vector<Mapping> mappings = {mapping(0x10000, 0x11000, ""), mapping(0x11000, 0x50000, ""),
                                   mapping(0x50000, 0x60000, ""), mapping(0x60000, 0x70000, "")};
  for (Mapping& each : mappings) each.resident = each.end - each.start;
  const LiveSet live;
  const std::vector<Range> extents = {{0x10010, 0x42000}};
  const std::vector<Address> stacks = {0x5ff00};
  const MapFacts facts{"a.1.1.geiger", 77, &live, extents, stacks};
  const auto kinds = kinds_of(mappings, facts);
  EXPECT_THAT(kinds, ElementsAre(MapKind::kMallocHeap, MapKind::kMallocHeap, MapKind::kStack,
                                 MapKind::kAnonymous));
  profile::MapTable maps = totals_of(mappings, kinds);
  Pagemap pagemap = all_resident();
  move_ranges(extents, mappings, kinds, MapKind::kMallocHeap, true, pagemap, maps);
  EXPECT_EQ(maps[static_cast<std::size_t>(MapKind::kMallocHeap)].resident, 0x42010U);
  EXPECT_EQ(maps[static_cast<std::size_t>(MapKind::kStack)].resident, 0xdff0U);
}

TEST(OwnedRanges, MoveWithoutChangingTheSum) {
  const std::vector<Mapping> mappings = {mapping(0x10000, 0x20000, "")};
  const std::vector<MapKind> kinds = {MapKind::kAnonymous};
  profile::MapTable maps = totals_of(mappings, kinds);
  Pagemap pagemap = all_resident();
  const std::vector<Range> ranges = {{0x8000, 0x9000}, {0x1f000, 0x5000}, {0x40000, 0x1000}};
  move_ranges(ranges, mappings, kinds, MapKind::kRuntime, false, pagemap, maps);
  EXPECT_EQ(maps[static_cast<std::size_t>(MapKind::kRuntime)].resident, 0x2000U);
  EXPECT_EQ(maps[static_cast<std::size_t>(MapKind::kAnonymous)].resident, 0x8000U - 0x2000);
}

// The kernel shows one mapping: the program's own, an arena of the allocator, the program's own
// allocator's memory, and a thread's stack.
TEST(OwnedRanges, AreFoundWhereTheKernelJoinedThemWithOthers) {
  ingest::TestFiles files;
  trace::TestTrace trace;
  const auto map = [&](Address start, Bytes bytes) {
    trace.mapping({.kind = trace::MappingKind::kMap, .address = start, .bytes = bytes});
  };
  trace.sample({.address = 0x11000, .requested = 64});  // Given back, then mapped by the program.
  map(0x10000, 0x40000);
  map(0x50000, 0x10000);
  map(0x70000, 0x10000);  // An allocator called mmap ...
  trace.sample({.address = 0x71000, .requested = 64});
  map(0x90000, 0x10000);  // ... and a thread lives here.
  const std::string path = files.path("a.geiger");
  files.write("a.geiger", trace.bytes());
  TraceFollower follower;
  ASSERT_TRUE(follower.open(path).has_value());
  ASSERT_TRUE(follower.follow(kMiB, 5'000'000'000));
  const std::vector<Range> extents = {{0x62000, 64}, {0x71000, 64}};
  const std::vector<Address> stacks = {0x9ff00};
  const MapFacts facts{"a.geiger", 77, &follower.live(), extents, stacks};
  const std::vector<Mapping> mappings = {mapping(0x10000, 0xa0000, "")};
  std::vector<std::pair<Address, Bytes>> own;
  for (const Range& range : own_ranges(facts)) own.emplace_back(range.start, range.bytes);
  EXPECT_THAT(own, ElementsAre(std::pair(0x10000, 0x50000)));
  const std::vector<MapKind> kinds = {MapKind::kMallocHeap};
  profile::MapTable maps = totals_of(mappings, kinds);
  Pagemap pagemap = all_resident();
  maps[static_cast<std::size_t>(MapKind::kMallocHeap)].resident = 0x90000;
  move_ranges(own_ranges(facts), mappings, kinds, MapKind::kMapped, true, pagemap, maps);
  EXPECT_EQ(maps[static_cast<std::size_t>(MapKind::kMapped)].resident, 0x50000U);
  EXPECT_EQ(maps[static_cast<std::size_t>(MapKind::kMallocHeap)].resident, 0x40000U);
}

trace::MappingRecord call(trace::MappingKind kind, Address address, Bytes bytes,
                          Address old_address = 0, Bytes old_bytes = 0) {
  trace::MappingRecord record{};
  record.kind = kind;
  record.address = address;
  record.bytes = bytes;
  record.old_address = old_address;
  record.old_bytes = old_bytes;
  return record;
}

TEST(OwnedRanges, FollowMappingCalls) {
  using trace::MappingKind;
  OwnMappings own;
  const auto shown = [&] {
    std::vector<std::pair<Address, Bytes>> all;
    for (const Range& range : own.ranges()) all.emplace_back(range.start, range.bytes);
    return all;
  };
  using All = std::vector<std::pair<Address, Bytes>>;
  own.take(call(MappingKind::kMap, 0x10000, 0x10000));
  own.take(call(MappingKind::kUnmap, 0x14000, 0x4000));
  EXPECT_EQ(shown(), (All{{0x10000, 0x4000}, {0x18000, 0x8000}}));
  own.take(call(MappingKind::kMap, 0x12000, 0x8000));  // over both
  EXPECT_EQ(shown(), (All{{0x10000, 0x2000}, {0x12000, 0x8000}, {0x1a000, 0x6000}}));
  own.take(call(MappingKind::kRemap, 0x50000, 0x9000, 0x12000, 0x8000));
  EXPECT_EQ(shown(), (All{{0x10000, 0x2000}, {0x1a000, 0x6000}, {0x50000, 0x9000}}));
  own.take(call(MappingKind::kBreak, 0x90000, 0));
  own.take(call(MappingKind::kMap, ~Address{0} - 5, 0x1000));  // wraps around
  own.take(call(MappingKind::kUnmap, 0, ~Bytes{0}));
  EXPECT_TRUE(shown().empty());
}

}  // namespace
}  // namespace geiger::observe
