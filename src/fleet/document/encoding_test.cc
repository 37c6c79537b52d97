#include "fleet/document/encoding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fleet/document/columns.h"
#include "fleet/document/document.h"
#include "fleet/document/test_documents.h"

namespace geiger::fleet {
namespace {

TEST(Encoding, ReturnsWhatWasPacked) {
  for (const Document& document : documents_of(random_recording(5))) {
    const std::string bytes = pack(document);
    EXPECT_EQ(bytes, pack(document));
    const auto read = unpack(bytes);
    ASSERT_TRUE(read.has_value()) << read.reason();
    EXPECT_EQ(read->window.key, document.window.key);
    EXPECT_EQ(read->counts, document.counts);
    EXPECT_EQ(content_of(read.value()), content_of(document));
    EXPECT_EQ(pack(read.value()), bytes);
    ASSERT_EQ(read->stacks.size(), document.stacks.size());
    for (std::size_t i = 0; i < document.stacks.size(); ++i) {
      EXPECT_EQ(read->stacks[i].id, document.stacks[i].id);
    }
  }
}

TEST(Encoding, StacksThatShareCallersAreSmall) {
  constexpr int kStacks = 300, kSizes = 4, kDepth = 100;
  profile::TestRecording test(4096);
  profile::Process& process = test.recording.processes[0];
  process.start = kSecond;
  process.start_realtime = static_cast<Nanoseconds>(kMidnight + 100) * kSecond;
  process.end = 100 * kSecond;
  std::vector<std::uint32_t> callers;
  for (int i = 0; i < kDepth; ++i) callers.push_back(test.location({}));
  for (int i = 0; i < kStacks; ++i) {
    std::vector<std::uint32_t> locations{test.location({})};
    locations.insert(locations.end(), callers.begin() + i % kDepth, callers.end());
    test.recording.stacks.push_back({locations, false});
    const auto stack = static_cast<std::uint32_t>(test.recording.stacks.size() - 1);
    for (int k = 0; k < kSizes; ++k) test.sample(stack, 16 << k, 2 * kSecond);
  }
  const Document document = documents_of(test.recording).front();
  ASSERT_EQ(document.counts.size(), std::size_t{kStacks} * kSizes);
  EXPECT_LE(pack(document).size(), 4 * document.counts.size());
  const auto read = unpack(pack(document));
  ASSERT_TRUE(read.has_value()) << read.reason();
  EXPECT_EQ(read->counts, document.counts);
}

/// Everything of locations and stacks that a store keeps.
std::string described(const Document& document) {
  std::string text;
  for (const Location& each : document.locations) {
    text += fmt::format("{} {} {} {} {}", each.id, each.build_id, each.module,
                        static_cast<int>(each.kind), each.address);
    for (const profile::Frame& frame : each.frames) {
      text +=
          fmt::format(" {},{},{},{}", frame.function, frame.system_name, frame.file, frame.line);
    }
    text += '\n';
  }
  for (const Stack& each : document.stacks) {
    text += fmt::format("{} {}: {}\n", each.id, each.is_truncated, fmt::join(each.locations, " "));
  }
  return text;
}

/// Stacks that share callers with others, and recur; modules of each kind, some in turns.
Document with_names(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Document document = documents_of(random_recording(seed, 1)).front();
  document.counts.clear();
  document.stacks.clear();
  document.locations.clear();
  for (std::uint32_t i = 0; i < 200; ++i) {
    Location& location = document.locations.emplace_back();
    const std::uint64_t module = random() % 5;
    location.kind = static_cast<profile::ModuleKind>(module % 3);
    if (module != 0) location.module = fmt::format("/lib/{}", module);
    if (module > 2) location.build_id = fmt::format("{:x}", module);
    location.address = random() >> (random() % 64);
    for (std::uint64_t frame = random() % 4; frame > 0; --frame) {
      location.frames.push_back({fmt::format("f{}", random() % 50), random() % 2 == 0 ? "_Z1f" : "",
                                 location.module, static_cast<std::uint32_t>(random() >> 32)});
    }
    location.id = id_of(location);
  }
  for (int i = 0; i < 300; ++i) {
    Stack stack;
    if (i > 0) stack.locations = document.stacks.back().locations;
    const std::size_t left = random() % 20;
    stack.locations.erase(
        stack.locations.begin(),
        stack.locations.begin() + static_cast<long>(std::min(left, stack.locations.size())));
    for (std::uint64_t more = random() % 20; more > 0; --more) {
      stack.locations.insert(stack.locations.begin(), document.locations[random() % 200].id);
    }
    stack.is_truncated = random() % 8 == 0;
    stack.id = id_of(stack);
    document.stacks.push_back(stack);
  }
  return document;
}

TEST(Encoding, ReturnsNamesAndStacks) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Document document = with_names(seed);
    const auto read = unpack(pack(document));
    ASSERT_TRUE(read.has_value()) << read.reason();
    EXPECT_EQ(described(read.value()), described(document));
  }
}

TEST(Encoding, ColumnsMayBeAnything) {
  const Document document = with_names(4);
  const LocationColumns locations = columns_of(document.locations);
  const StackColumns stacks = columns_of_stacks(document);
  const auto is_refused = [&](const auto& damage) {
    LocationColumns its_locations = locations;
    StackColumns its_stacks = stacks;
    damage(its_locations, its_stacks);
    Document read;
    auto added = add_locations(its_locations, read);
    if (added.has_value()) added = add_stacks(its_stacks, read);
    return !added.has_value();
  };
  using L = LocationColumns;
  using S = StackColumns;
  EXPECT_FALSE(is_refused([](L&, S&) {}));
  EXPECT_TRUE(is_refused([](L& each, S&) { each.texts.pop_back(); }));
  EXPECT_TRUE(is_refused([](L& each, S&) { each.texts[0] = '\xff'; }));
  EXPECT_TRUE(is_refused([](L& each, S&) { each.texts.insert(0, kMostText, 'x'); }));
  EXPECT_TRUE(is_refused([](L& each, S&) { each.functions[3] += 1000; }));
  EXPECT_TRUE(is_refused([](L& each, S&) { each.files[0] = -1; }));
  EXPECT_TRUE(is_refused([](L& each, S&) { each.paths[0] = 1 << 20; }));
  EXPECT_TRUE(is_refused([](L& each, S&) { each.kinds.pop_back(); }));
  EXPECT_TRUE(is_refused([](L& each, S&) { each.modules[5] += 50; }));
  EXPECT_TRUE(is_refused([](L& each, S&) { each.addresses.pop_back(); }));
  EXPECT_TRUE(is_refused([](L& each, S&) { ++each.frames[7]; }));
  EXPECT_TRUE(is_refused([](L& each, S&) { each.frames = {~0ULL, 2}; }));
  EXPECT_TRUE(is_refused([](L&, S& each) { each.left[0] = 1; }));
  EXPECT_TRUE(is_refused([](L&, S& each) { each.truncated.pop_back(); }));
  EXPECT_TRUE(is_refused([](L&, S& each) { each.steps[0] = 9; }));
  EXPECT_TRUE(is_refused([](L&, S& each) { each.steps.pop_back(); }));
  EXPECT_TRUE(is_refused([](L&, S& each) { each.others[0] = 201; }));
  EXPECT_TRUE(is_refused([](L&, S& each) { each.others.resize(1); }));
}

TEST(Encoding, TextIsTheSameAfterAnotherWriting) {
  EXPECT_EQ(document_text("operator new"), "operator new");
  EXPECT_EQ(document_text(std::string("a\0b\xff", 4)), "a b\xef\xbf\xbd");
  for (const std::string& character : {std::string("x"), std::string("\xff"), std::string("é"),
                                       std::string("€"), std::string("😀")}) {
    for (std::size_t before = 0; before < 4; ++before) {
      std::string text(before, 'x');
      while (text.size() <= kMostText) text += character;
      const std::string cut = document_text(text);
      EXPECT_LE(cut.size(), kMostText);
      EXPECT_GT(cut.size(), kMostText - 4);
      EXPECT_EQ(document_text(cut), cut);
    }
  }
}

TEST(Encoding, FewBytesDoNotBecomeMuchMemory) {
  LocationColumns columns;
  columns.texts = std::string(kMostText, 'x') + '\0';
  columns.kinds = {0};
  columns.paths = columns.build_ids = {0};
  constexpr std::size_t kTooMany = kMostTextBytes / kMostText;  // Each has the text twice.
  columns.modules.resize(kTooMany);
  columns.addresses.resize(kTooMany);
  columns.frames.resize(kTooMany);
  Document document;
  EXPECT_EQ(add_locations(columns, document).reason(),
            "a name is missing, or its names are too long");
  EXPECT_LE(document.locations.size(), kTooMany / 2 + 1);
  // A stack that calls itself without an end.
  StackColumns stacks;
  stacks.left = stacks.truncated = {0};
  stacks.steps = Numbers(10'000, 1);
  stacks.steps[0] = stacks.steps[1] = 0;
  stacks.others = {1, 0};
  document = with_names(5);
  EXPECT_EQ(add_stacks(stacks, document).reason(), "a stack is too deep");
}

TEST(Encoding, ContentIsOfTheCountsAndNotOfTheStacksSentAlong) {
  Document document = documents_of(random_recording(6)).front();
  const std::uint64_t content = content_of(document);
  document.stacks.clear();
  document.locations.clear();
  EXPECT_EQ(content_of(document), content);
  ++document.counts[0].live;
  EXPECT_NE(content_of(document), content);
}

TEST(Encoding, AnyBytesAreReadOrRefused) {
  std::mt19937_64 random(7);
  const std::string bytes = pack(documents_of(random_recording(8, 100)).front());
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_FALSE(unpack(bytes.substr(0, size)).has_value()) << size;
  }
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto document = unpack(damaged);
    if (document.has_value()) ++read;
    EXPECT_TRUE(document.has_value() || !document.reason().empty());
  }
  EXPECT_LT(read, 20'000);
}

}  // namespace
}  // namespace geiger::fleet
