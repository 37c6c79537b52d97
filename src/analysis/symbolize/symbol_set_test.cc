#include "analysis/symbolize/symbol_set.h"

#include <gtest/gtest.h>

#include <random>

namespace geiger::symbolize {
namespace {

SymbolSet example() {
  SymbolSetBuilder builder;
  const std::uint32_t file = builder.string("/src/a.cc");
  const std::uint32_t function = builder.string("zoo::breed(int)");
  const std::uint32_t mangled = builder.string("_ZN3zoo5breedEi");
  const std::uint32_t empty = builder.string("");
  const std::uint32_t a = builder.frame({function, mangled, file, 17});
  const std::uint32_t b = builder.frame({mangled, empty, empty, 0});
  builder.set().modules.push_back({"/usr/bin/a", "ab12", {{5, {a, b}}, {0x7fff'0000, {b}}}});
  builder.set().modules.push_back({"/usr/lib/b.so", "", {}});
  builder.set().outside = {{0, {a}}, {0xffff'ffff'ffff'ffff, {b}}};
  return std::move(builder).take();
}

TEST(SymbolSet, BuilderStoresEqualThingsOnce) {
  SymbolSetBuilder builder;
  EXPECT_EQ(builder.string("a"), builder.string("a"));
  EXPECT_NE(builder.string("a"), builder.string("b"));
  EXPECT_EQ(builder.frame({0, 1, 0, 3}), builder.frame({0, 1, 0, 3}));
  EXPECT_NE(builder.frame({0, 1, 0, 3}), builder.frame({0, 1, 0, 4}));
}

TEST(SymbolSet, SurvivesTheRoundTrip) {
  const auto decoded = decode(encode(example()));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded.value(), example());
}

TEST(SymbolSet, EmptySurvivesTheRoundTrip) {
  const auto decoded = decode(encode({}));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded.value(), SymbolSet{});
}

TEST(SymbolSet, EveryCutIsAnError) {
  const std::string payload = encode(example());
  for (std::size_t bytes = 0; bytes < payload.size(); ++bytes) {
    const auto decoded = decode(std::string_view(payload).substr(0, bytes));
    ASSERT_FALSE(decoded.has_value()) << bytes;
    EXPECT_FALSE(decoded.reason().empty());
  }
  EXPECT_FALSE(decode(payload + '\0').has_value());
}

void expect_valid(const SymbolSet& set) {
  for (const NamedFrame& frame : set.frames) {
    ASSERT_LT(std::max({frame.function, frame.system_name, frame.file}), set.strings.size());
  }
  const auto check = [&](const std::vector<NamedAddress>& addresses) {
    for (const NamedAddress& named : addresses) {
      for (const std::uint32_t frame : named.frames) ASSERT_LT(frame, set.frames.size());
    }
  };
  for (const ModuleNames& module : set.modules) check(module.addresses);
  check(set.outside);
}

TEST(SymbolSet, MutatedPayloadsGiveAnErrorOrAValidSet) {
  const std::string payload = encode(example());
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string mutant = payload;
    for (unsigned change = 0; change <= round % 4U; ++change) {
      mutant[random() % mutant.size()] = static_cast<char>(random());
    }
    const auto decoded = decode(mutant);
    if (decoded.has_value()) expect_valid(decoded.value());
  }
}

TEST(SymbolSet, ClaimedCountsDoNotAllocate) {
  // Version 1, then 2^63 strings.
  const std::string payload("\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11);
  EXPECT_FALSE(decode(payload).has_value());
}

TEST(SymbolSet, ExpansionIsBounded) {
  SymbolSet bomb;
  bomb.strings.emplace_back(std::size_t{1} << 20, 'x');
  for (std::uint32_t line = 0; line < 2000; ++line) bomb.frames.push_back({0, 0, 0, line});
  const auto decoded = decode(encode(bomb));
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.reason(), "names too large");
  // A byte each here, 32 in memory.
  SymbolSet empty;
  empty.strings.resize(std::size_t{10} << 20);
  const auto empties = decode(encode(empty));
  ASSERT_FALSE(empties.has_value());
  EXPECT_EQ(empties.reason(), "names too large");
}

}  // namespace
}  // namespace geiger::symbolize
