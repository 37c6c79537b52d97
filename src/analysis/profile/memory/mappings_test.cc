#include "analysis/profile/memory/mappings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "analysis/profile/testing/test_recording.h"

namespace geiger::profile::mappings_test {
namespace {

using Kind = profile::Kind;
using Event = MappingEvent::Kind;

constexpr Bytes kPage = 4096;
constexpr std::uint8_t kReadWrite = 3;
constexpr std::uint32_t kPrivateAnonymous = 0x22;
constexpr std::uint32_t kPrivateFile = 0x02;
constexpr std::uint32_t kDontUnmap = 4;

/// A recording of one process whose stacks are numbers; times count up by 10.
class Maps {
 public:
  Maps() {
    for (int i = 0; i < 8; ++i) made.stack({made.location({"f" + std::to_string(i)})});
  }

  MappingEvent& add(Event kind, std::uint32_t stack, Address page, Bytes pages) {
    MappingEvent event;
    event.kind = kind;
    event.stack = stack;
    event.time = now += 10;
    event.address = page * kPage;
    event.bytes = pages * kPage;
    recording().mappings.push_back(event);
    return recording().mappings.back();
  }
  void map(std::uint32_t stack, Address page, Bytes pages, std::uint8_t protection = kReadWrite,
           std::uint32_t flags = kPrivateAnonymous) {
    MappingEvent& event = add(Event::kMap, stack, page, pages);
    event.protection = protection;
    event.flags = flags;
  }
  void unmap(Address page, Bytes pages) { add(Event::kUnmap, 7, page, pages); }
  void protect(std::uint32_t stack, Address page, Bytes pages, std::uint8_t protection) {
    add(Event::kProtect, stack, page, pages).protection = protection;
  }
  MappingEvent& remap(std::uint32_t stack, Address from, Bytes old_pages, Address to, Bytes pages,
                      std::uint32_t flags = 1) {
    MappingEvent& event = add(Event::kRemap, stack, to, pages);
    event.old_address = from * kPage;
    event.old_bytes = old_pages * kPage;
    event.flags = flags;
    event.took = 5;
    return event;
  }
  void move_break(std::uint32_t stack, Address from, Address to) {
    add(Event::kBreak, stack, 0, 0).address = to * kPage;
    recording().mappings.back().old_address = from * kPage;
  }

  Recording& recording() { return made.recording; }

  /// Pages by stack.
  std::map<std::uint32_t, Bytes> pages(Kind kind, std::optional<Nanoseconds> from = {},
                                       std::optional<Nanoseconds> to = {}) {
    Selection selection;
    selection.kind = kind;
    selection.from = from;
    (is_mapping_snapshot(kind) ? selection.at : selection.to) = to;
    std::map<std::uint32_t, Bytes> found;
    for (const Entry& entry : select(recording(), selection).entries) {
      EXPECT_TRUE(entry.is_certain);
      EXPECT_EQ(entry.requested % kPage, 0U);
      found[entry.stack] += entry.count * entry.requested / kPage;
    }
    return found;
  }

  TestRecording made;
  Nanoseconds now = 1000;
};

using Pages = std::map<std::uint32_t, Bytes>;

TEST(Mappings, CountWholePagesByStack) {
  Maps maps;
  maps.map(0, 10, 3);
  maps.add(Event::kMap, 1, 20, 0).bytes = 1;
  maps.recording().mappings.back().protection = kReadWrite;
  maps.recording().mappings.back().flags = kPrivateAnonymous;
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 3}, {1, 1}}));
  EXPECT_EQ(mapped_bytes_at(maps.recording(), 0).memory, 4 * kPage);
}

TEST(Mappings, HugePagesAreWholeToo) {
  constexpr std::uint32_t kHuge = 0x40000;
  Maps maps;
  maps.map(0, 512, 1, kReadWrite, kPrivateAnonymous | kHuge);
  maps.map(1, 262144, 1, kReadWrite, kPrivateAnonymous | kHuge | 30U << 26);
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 512}, {1, 262144}}));
}

TEST(Mappings, PartialUnmapsTakeExactlyTheirPart) {
  Maps maps;
  maps.map(0, 10, 10);
  maps.map(1, 20, 10);
  maps.unmap(12, 2);  // Inside.
  maps.unmap(18, 5);  // Across both.
  maps.unmap(50, 9);  // Nothing known.
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 6}, {1, 7}}));
  maps.unmap(0, 100);
  EXPECT_EQ(maps.pages(Kind::kMapped), Pages{});
}

TEST(Mappings, AFixedMapReplacesWhatItCovers) {
  Maps maps;
  maps.map(0, 10, 10);
  maps.map(1, 14, 2);
  maps.map(2, 15, 10);
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 4}, {1, 1}, {2, 10}}));
}

TEST(Mappings, ReservationsAreNoMemoryUntilCommitted) {
  Maps maps;
  maps.map(0, 100, 1000, 0);
  EXPECT_EQ(maps.pages(Kind::kMapped), Pages{});
  EXPECT_EQ(maps.pages(Kind::kReserved), (Pages{{0, 1000}}));
  maps.protect(1, 200, 50, kReadWrite);  // Committed by mprotect,
  maps.map(2, 300, 30, kReadWrite);      // and by a fixed mmap.
  maps.protect(3, 210, 10, 5);           // From write to execute: no new owner.
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{1, 50}, {2, 30}}));
  EXPECT_EQ(maps.pages(Kind::kReserved), (Pages{{0, 920}}));
  maps.protect(4, 240, 20, 0);  // Back to the stack that reserved it.
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{1, 40}, {2, 30}}));
  EXPECT_EQ(maps.pages(Kind::kReserved), (Pages{{0, 930}}));
  EXPECT_EQ(maps.pages(Kind::kMappedTotal), (Pages{{1, 50}, {2, 30}}));
}

TEST(Mappings, FilesStandApart) {
  Maps maps;
  maps.map(0, 10, 5, 1, kPrivateFile);
  maps.map(1, 20, 5);
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{1, 5}}));
  EXPECT_EQ(maps.pages(Kind::kMappedFiles), (Pages{{0, 5}}));
  const MappedBytes bytes = mapped_bytes_at(maps.recording(), 0);
  EXPECT_EQ(bytes.files, 5 * kPage);
  EXPECT_EQ(bytes.reserved, 0U);
}

TEST(Mappings, MovedBytesKeepTheirStacksAndGrowthHasItsOwn) {
  Maps maps;
  maps.map(0, 10, 4);
  maps.map(1, 14, 4);
  maps.remap(2, 12, 4, 100, 6);
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 4}, {1, 4}, {2, 2}}));
  maps.unmap(100, 2);  // Where stack 0's two pages went.
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 2}, {1, 4}, {2, 2}}));
  maps.remap(3, 10, 2, 10, 1);  // Shrinks in place,
  maps.remap(4, 16, 2, 16, 5);  // grows in place.
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 1}, {1, 4}, {2, 2}, {4, 3}}));
  EXPECT_EQ(maps.pages(Kind::kMappedTotal), (Pages{{0, 4}, {1, 4}, {2, 2}, {4, 3}}));
}

TEST(Mappings, AMoveOntoOthersReplacesThem) {
  Maps maps;
  maps.map(0, 10, 4);
  maps.map(1, 100, 10);
  maps.remap(2, 10, 4, 102, 4, 3);
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 4}, {1, 6}}));
}

TEST(Mappings, DontUnmapLeavesTheOldRange) {
  Maps maps;
  maps.map(0, 10, 4);
  maps.remap(2, 10, 4, 100, 4, 1 | kDontUnmap);
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 4}, {2, 4}}));
}

TEST(Mappings, RemapsOfWhatIsUnknownAddOnlyTheirGrowth) {
  Maps maps;
  maps.remap(2, 10, 4, 100, 7);
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{2, 3}}));
}

TEST(Mappings, TheBreakGrowsAndShrinks) {
  Maps maps;
  maps.move_break(0, 1000, 1010);
  maps.move_break(1, 1010, 1015);
  maps.move_break(2, 1015, 1007);
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 7}}));
  EXPECT_EQ(maps.pages(Kind::kMappedTotal), (Pages{{0, 10}, {1, 5}}));
}

// One thread unmaps, another gets the same addresses at once, and writes first.
TEST(Mappings, AreReplayedByTimeNotByRecord) {
  Maps maps;
  maps.map(0, 10, 4);
  maps.map(1, 10, 4);
  maps.recording().mappings.back().time = 1050;
  maps.unmap(10, 4);
  maps.recording().mappings.back().time = 1040;
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{1, 4}}));
}

// While one thread moves a range away, another may get its old place.
TEST(Mappings, RemapsGiveTheirPlaceUpWhenTheyBegin) {
  Maps maps;
  maps.map(0, 10, 4);
  maps.remap(2, 10, 4, 100, 4).time = 1100;
  maps.recording().mappings.back().took = 50;
  maps.map(1, 10, 4);
  maps.recording().mappings.back().time = 1080;
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 4}, {1, 4}}));
}

TEST(Mappings, InstantsAndWindows) {
  Maps maps;
  maps.map(0, 10, 5);   // 1010
  maps.map(1, 20, 50);  // 1020
  maps.unmap(20, 50);   // 1030
  maps.map(2, 80, 7);   // 1040
  EXPECT_EQ(maps.pages(Kind::kMapped, {}, 1010), (Pages{{0, 5}}));
  EXPECT_EQ(maps.pages(Kind::kMapped, {}, 1029), (Pages{{0, 5}, {1, 50}}));
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 5}, {2, 7}}));
  EXPECT_EQ(maps.pages(Kind::kMappedAtPeak), (Pages{{0, 5}, {1, 50}}));
  EXPECT_EQ(maps.pages(Kind::kMappedTotal, 1020, 1040), (Pages{{1, 50}}));
  EXPECT_EQ(mapped_bytes_at(maps.recording(), 0, 1020).memory, 55 * kPage);
  Selection peak;
  peak.kind = Kind::kMappedAtPeak;
  EXPECT_EQ(select(maps.recording(), peak).peak_times, std::vector<Nanoseconds>{1020});
}

TEST(Mappings, ProcessesHaveSpacesOfTheirOwn) {
  Maps maps;
  maps.map(0, 10, 5);
  maps.made.add_process();
  maps.map(1, 10, 2);
  maps.recording().mappings.back().process = 1;
  maps.unmap(10, 1);
  maps.recording().mappings.back().process = 1;
  EXPECT_EQ(maps.pages(Kind::kMapped), (Pages{{0, 5}, {1, 1}}));
  EXPECT_EQ(mapped_bytes_at(maps.recording(), 1).memory, kPage);
}

TEST(Mappings, AreExact) {
  Maps maps;
  maps.map(0, 10, 5);
  const Profile profile = select(maps.recording(), Kind::kMapped);
  const estimation::NodeSums sums = total(maps.recording(), profile);
  EXPECT_EQ(sums.certain_bytes, 5.0 * kPage);
  EXPECT_EQ(sums.samples, 0U);
  EXPECT_EQ(sums.bytes_variance, 0.0);
  EXPECT_EQ(profile.largest_interval, 0.0);
}

// Damaged traces say anything.
TEST(Mappings, ImpossibleRangesDoNoHarm) {
  Maps maps;
  constexpr Address kTop = ~Address{0};
  for (const Event kind :
       {Event::kMap, Event::kProtect, Event::kRemap, Event::kBreak, Event::kUnmap}) {
    for (const Address address : {Address{0}, Address{1}, kTop - 1, kTop}) {
      for (const Bytes bytes : {Bytes{0}, Bytes{1}, kTop - 1, kTop}) {
        MappingEvent& event = maps.add(kind, 0, 0, 0);
        event.address = address;
        event.bytes = bytes;
        event.old_address = bytes;
        event.old_bytes = address;
        event.protection = static_cast<std::uint8_t>(bytes);
        event.took = kTop;
      }
    }
  }
  for (const Kind kind : {Kind::kMapped, Kind::kMappedAtPeak, Kind::kMappedTotal, Kind::kReserved,
                          Kind::kMappedFiles}) {
    for (const Entry& entry : select(maps.recording(), kind).entries)
      EXPECT_GT(entry.requested, 0U);
  }
}

/// The address space by brute force: one owner per page.
struct Page {
  std::uint32_t stack = kNone, mapper = kNone;
  MappedAs as = MappedAs::kMemory;
  bool is_of_file = false;
};

/// Random calls on 64 pages, replayed page by page.
class PageModel {
 public:
  void apply(Maps& maps, std::mt19937_64& random) {
    const auto draw = [&](std::uint64_t n) { return random() % n; };
    const auto stack = static_cast<std::uint32_t>(draw(7));
    const Address at = draw(60);
    const Bytes count = 1 + draw(64 - at);
    switch (draw(4)) {
      case 0: {
        const std::uint8_t protection = draw(3) == 0 ? 0 : kReadWrite;
        const bool is_of_file = draw(4) == 0;
        maps.map(stack, at, count, protection, is_of_file ? kPrivateFile : kPrivateAnonymous);
        const MappedAs as = kind_of(protection, is_of_file);
        std::fill_n(pages_.begin() + static_cast<long>(at), count,
                    Page{stack, stack, as, is_of_file});
        return;
      }
      case 1:
        maps.unmap(at, count);
        std::fill_n(pages_.begin() + static_cast<long>(at), count, Page{});
        return;
      case 2: {
        const std::uint8_t protection = draw(2) == 0 ? 0 : kReadWrite;
        maps.protect(stack, at, count, protection);
        for (Address i = at; i < at + count; ++i) protect(pages_.at(i), stack, protection);
        return;
      }
      default:
        move(maps, stack, at, std::min<Bytes>(count, 8), draw(56));
    }
  }

  Pages pages(MappedAs as) const {
    Pages found;
    for (const Page& page : pages_) {
      if (page.mapper != kNone && page.as == as) ++found[page.stack];
    }
    return found;
  }

 private:
  static MappedAs kind_of(std::uint8_t protection, bool is_of_file) {
    if (protection == 0) return MappedAs::kReserved;
    return is_of_file ? MappedAs::kFile : MappedAs::kMemory;
  }
  static void protect(Page& page, std::uint32_t stack, std::uint8_t protection) {
    const MappedAs as = kind_of(protection, page.is_of_file);
    if (page.mapper == kNone || as == page.as) return;
    page.as = as;
    page.stack = as == MappedAs::kReserved ? page.mapper : stack;
  }
  void move(Maps& maps, std::uint32_t stack, Address from, Bytes count, Address to) {
    const bool overlaps = from < to + count && to < from + count;
    if (overlaps) return;  // The kernel refuses.
    maps.remap(stack, from, count, to, count, 3);
    for (Bytes i = 0; i < count; ++i) {
      pages_.at(to + i) = pages_.at(from + i);
      pages_.at(from + i) = Page{};
    }
  }

  std::array<Page, 64> pages_{};
};

TEST(Mappings, AgreeWithAModelPageByPage) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    Maps maps;
    PageModel model;
    for (int i = 0; i < 60; ++i) model.apply(maps, random);
    ASSERT_EQ(maps.pages(Kind::kMapped), model.pages(MappedAs::kMemory)) << seed;
    ASSERT_EQ(maps.pages(Kind::kReserved), model.pages(MappedAs::kReserved)) << seed;
    ASSERT_EQ(maps.pages(Kind::kMappedFiles), model.pages(MappedAs::kFile)) << seed;
  }
}

}  // namespace
}  // namespace geiger::profile::mappings_test
