// Types of Python's objects, read from a memory as CPython lays it out.
#include "object_types/object_types.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace geiger::object_types {
namespace {

constexpr std::uint32_t k308 = 0x030812f0, k311 = 0x030b02f0, k313 = 0x030d00f0;
constexpr std::uint64_t kStaticFlags = 1U << 12, kHeapFlags = 1U << 12 | 1U << 9;
constexpr std::uint64_t kOfTypes = 1U << 31, kOfStrings = 1U << 28, kWithHead = 1U << 14,
                        kWithDictionary = 1U << 4, kWithInlineValues = 1U << 2;

/// What a type object says of its instances.
struct TypeFacts {
  std::string_view name;
  std::uint64_t basic = 0;
  std::uint64_t item = 0;
  std::uint64_t flags = kStaticFlags;
};

/// The memory of an interpreter, which puts one thing after the other.
class FakePython {
 public:
  explicit FakePython(std::uint32_t version = k311) : version_(version) {
    type_ = type({"type", 904, 40, kStaticFlags | kOfTypes | kWithHead});
    put(type_ + 8, type_);
    string_ = type({"str", version < 0x030c0000 ? 80U : 64U, 0, kStaticFlags | kOfStrings});
  }

  /// The name of the type of the object in a block; empty: none.
  [[nodiscard]] std::string name_of(Address block, Bytes requested, bool is_alive = true) {
    const Reader reader(version_, {read, this});
    TypeName name;
    struct {
      Placement place;
    } found;
    const auto type_at = [&](Address address) {
      TypeWords type;
      if (!reader.read_type(address, type, found.place) || !reader.is_type(type))
        return static_cast<decltype(&found)>(nullptr);
      reader.copy_name(address, type, name);
      return &found;
    };
    return reader.type_of(block, requested, is_alive, type_at) == nullptr
               ? ""
               : std::string(name.view());
  }

  Address type(const TypeFacts& facts) {
    const Address at = allocate(1024);
    for (const auto& [offset, word] : {std::pair<Bytes, std::uint64_t>{0, 1},
                                       {8, type_},
                                       {24, characters(facts.name)},
                                       {32, facts.basic},
                                       {40, facts.item},
                                       {168, facts.flags}}) {
      put(at + offset, word);
    }
    return at;
  }
  /// A class of the program, as `class` makes it.
  Address made_class(TypeFacts facts, std::string_view qualified, std::string_view module) {
    facts.flags |= kHeapFlags;
    const Address at = type(facts);
    put(at + (version_ < 0x030c0000 ? 864 : 872), string(qualified));
    put(at + 264, dictionary(string("__module__"), string(module)));
    return at;
  }
  [[nodiscard]] Address dictionary_of(Address type) const {
    Address at = 0;
    std::memcpy(&at, &bytes_[type + 264 - kBase], sizeof at);
    return at;
  }
  Address string(std::string_view text) {
    const bool is_old = version_ < 0x030c0000;
    const Address at = allocate(64 + text.size());
    put(at, 1);
    put(at + 8, string_);
    put(at + 16, text.size());
    put(at + 32, 1U << 6 | 1U << 5 | 1U << 2);
    std::memcpy(&bytes_[at - kBase + (is_old ? 48 : 40)], text.data(), text.size());
    return at;
  }
  /// A block with an object of `type` at `before`.
  Address block(Address type, Bytes before, std::uint64_t references = 1) {
    const Address at = allocate(before + 64);
    put(at + before, references);
    put(at + before + 8, type);
    return at;
  }
  Address allocate(Bytes bytes) {
    const Address at = kBase + bytes_.size();
    bytes_.resize(bytes_.size() + (bytes + 15) / 16 * 16);
    return at;
  }
  void put(Address address, std::uint64_t word) {
    std::memcpy(&bytes_[address - kBase], &word, sizeof word);
  }
  [[nodiscard]] Address type_of_types() const { return type_; }
  std::vector<char>& bytes() { return bytes_; }

 private:
  static constexpr Address kBase = 0x7f0000010000;

  static bool read(void* python, Address address, void* into, Bytes size) {
    const std::vector<char>& bytes = static_cast<FakePython*>(python)->bytes_;
    if (address < kBase || address - kBase > bytes.size()) return false;
    if (size > bytes.size() - (address - kBase)) return false;
    std::memcpy(into, bytes.data() + (address - kBase), size);
    return true;
  }

  Address characters(std::string_view text) {
    const Address at = allocate(text.size() + 33);
    std::memcpy(&bytes_[at - kBase], text.data(), text.size());
    return at;
  }
  Address dictionary(Address key, Address value) {
    const bool is_compact = version_ >= 0x030b0000;
    const Address keys = allocate(128);
    put(keys, 1);
    put(keys + 8, is_compact ? 3 | 3 << 8 | 1 << 16 : 8);
    const Address entry = keys + (is_compact ? 32 + 8 : 40 + 8 + 8);
    put(entry, key);
    put(entry + 8, value);
    const Address at = allocate(48);
    put(at + 16, 1);
    put(at + 32, keys);
    return at;
  }

  std::uint32_t version_;
  std::vector<char> bytes_ = std::vector<char>(4096);
  Address type_ = 0, string_ = 0;
};

TEST(ObjectTypes, NamesATypeOfC) {
  FakePython python;
  const Address bytearray = python.type({"bytearray", 56});
  EXPECT_EQ(python.name_of(python.block(bytearray, 0), 56), "bytearray");
  const Address dict = python.type({"dict", 48, 0, kStaticFlags | kWithHead});
  EXPECT_EQ(python.name_of(python.block(dict, 16), 64), "dict");
}

TEST(ObjectTypes, NamesAClassOfTheProgramWithItsModule) {
  for (const std::uint32_t version : {k308, k311, k313}) {
    FakePython python(version);
    const bool has_managed = version != k308;
    const std::uint64_t flags = kWithHead | (has_managed ? kWithDictionary : 0);
    const Address node = python.made_class({"Node", 24, 0, flags}, "Tree.Node", "app");
    const Bytes before = has_managed ? 32 : 16;
    EXPECT_EQ(python.name_of(python.block(node, before), before + 24), "app.Tree.Node") << version;
  }
}

TEST(ObjectTypes, ANameWithoutAModuleIsShort) {
  FakePython python;
  const Address odd = python.made_class({"Odd", 32}, "Other", "builtins");
  EXPECT_EQ(python.name_of(python.block(odd, 0), 32), "Odd") << "the qualified name is of another";
  const Address lone = python.type({"Lone", 32, 0, kHeapFlags});
  EXPECT_EQ(python.name_of(python.block(lone, 0), 32), "Lone");
  const Address dotted = python.made_class({"_io.FileIO", 32}, "FileIO", "io");
  EXPECT_EQ(python.name_of(python.block(dotted, 0), 32), "_io.FileIO");
}

TEST(ObjectTypes, TheObjectBeginsWhereItsTypeSays) {
  FakePython python;
  const Address list = python.type({"list", 40, 0, kStaticFlags | kWithHead});
  EXPECT_EQ(python.name_of(python.block(list, 0), 40), "");
  EXPECT_EQ(python.name_of(python.block(list, 32), 72), "");
  EXPECT_EQ(python.name_of(python.block(list, 16), 56), "list");
}

TEST(ObjectTypes, TheSizeMustFit) {
  FakePython python;
  const Address fixed = python.type({"fixed", 40});
  EXPECT_EQ(python.name_of(python.block(fixed, 0), 39), "");
  EXPECT_EQ(python.name_of(python.block(fixed, 0), 40), "fixed");
  EXPECT_EQ(python.name_of(python.block(fixed, 0), 48), "fixed");
  EXPECT_EQ(python.name_of(python.block(fixed, 0), 49), "");
  const Address tuple = python.type({"tuple", 24, 8});
  EXPECT_EQ(python.name_of(python.block(tuple, 0), 400), "tuple");
  EXPECT_EQ(python.name_of(python.block(tuple, 0), 16), "");
  const Address inlined = python.type({"inlined", 16, 0, kStaticFlags | kWithInlineValues});
  EXPECT_EQ(python.name_of(python.block(inlined, 0), 16 + 260), "inlined");
  EXPECT_EQ(python.name_of(python.string("abc"), 52), "str") << "shorter than its type says";
}

TEST(ObjectTypes, AFreedObjectHasNone) {
  FakePython python;
  const Address list = python.type({"list", 40});
  EXPECT_EQ(python.name_of(python.block(list, 0, 0), 40), "");
  EXPECT_EQ(python.name_of(python.block(list, 0, 0xffffffff), 40), "list") << "an immortal one";
}

TEST(ObjectTypes, AnObjectThatIsBeingFreedHasItsTypeStill) {
  FakePython python;
  const Address node = python.made_class({"Node", 24, 0, kWithHead}, "Node", "app");
  EXPECT_EQ(python.name_of(python.block(node, 16, 0), 40, false), "app.Node");
}

TEST(ObjectTypes, AListOfFreeObjectsIsNotAType) {
  FakePython python;
  const Address number = python.type({"float", 24});
  const Address last = python.block(0, 0, 0);
  const Address before_last = python.block(last, 0, 0);
  EXPECT_EQ(python.name_of(python.block(number, 0, 0), 24, false), "float");
  EXPECT_EQ(python.name_of(before_last, 24, false), "");
  EXPECT_EQ(python.name_of(last, 24, false), "");
}

TEST(ObjectTypes, AClassThatWasClearedHasNoNameAnyMore) {
  FakePython python;
  const Address node = python.made_class({"Node", 32}, "Node", "app");
  python.put(python.dictionary_of(node) + 16, 0);
  EXPECT_EQ(python.name_of(python.block(node, 0, 0), 32, false), "") << "its module is gone";
}

TEST(ObjectTypes, ATypeIsOfAType) {
  FakePython python;
  const Address meta = python.made_class({"Meta", 904, 40, kOfTypes | kWithHead}, "Meta", "app");
  const Address plain = python.made_class({"Plain", 32}, "Plain", "app");
  python.put(plain + 8, meta);
  EXPECT_EQ(python.name_of(python.block(plain, 0), 32), "app.Plain");
  python.put(meta + 168, kHeapFlags);
  EXPECT_EQ(python.name_of(python.block(plain, 0), 32), "") << "its type has no types";
  python.put(plain + 8, python.type_of_types());
  EXPECT_EQ(python.name_of(python.block(plain, 0), 32), "app.Plain");
  python.put(plain + 168, std::uint64_t{1} << 9);
  EXPECT_EQ(python.name_of(python.block(plain, 0), 32), "") << "not ready";
}

TEST(ObjectTypes, WhatLooksLikeATypeInACircleIsNone) {
  FakePython python;
  const TypeFacts facts{"Fake", 32, 0, kHeapFlags | kOfTypes};
  const Address first = python.type(facts);
  const Address second = python.type(facts);
  python.put(first + 8, second);
  python.put(second + 8, first);
  EXPECT_EQ(python.name_of(python.block(first, 0), 32), "");
  python.put(first + 8, first);
  EXPECT_EQ(python.name_of(python.block(first, 0), 32), "") << "its own type, but not 'type'";
}

TEST(ObjectTypes, NamesAreText) {
  FakePython python;
  for (const std::string_view name : {"", "line\nfeed", "\xff", "esc\x1b[m"}) {
    EXPECT_EQ(python.name_of(python.block(python.type({name, 32}), 0), 32), "");
  }
  const std::string longest(200, 'n'), too_long(201, 'n');
  EXPECT_EQ(python.name_of(python.block(python.type({longest, 32}), 0), 32), longest);
  EXPECT_EQ(python.name_of(python.block(python.type({too_long, 32}), 0), 32), "");
  EXPECT_EQ(python.name_of(python.block(python.type({"Z\xc3\xa4hler", 32}), 0), 32),
            "Z\xc3\xa4hler");
}

TEST(ObjectTypes, KnownAreTheVersionsThatWereLookedAt) {
  EXPECT_FALSE(has_known_types(0x030700f0));
  EXPECT_TRUE(has_known_types(0x030800f0));
  EXPECT_TRUE(has_known_types(0x030d00f0));
  EXPECT_FALSE(has_known_types(0x030e00f0));
  EXPECT_FALSE(has_known_types(0));
}

/// Whatever the memory holds: an end, and no name that is not text.
TEST(ObjectTypes, DamagedMemoryIsHarmless) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) {
    FakePython python(round % 2 == 0 ? k308 : k313);
    const Address node = python.made_class({"Node", 24, 0, kWithHead}, "Node", "app");
    const Address block = python.block(node, 16);
    std::vector<char>& bytes = python.bytes();
    for (int change = 0; change < 40; ++change) {
      const std::size_t at = 4096 + random() % (bytes.size() - 4096 - 8);
      const std::uint64_t word = random() % 2 == 0 ? node + random() % 1024 : random();
      std::memcpy(&bytes[at / 8 * 8], &word, sizeof word);
    }
    const std::string name = python.name_of(block, 40);
    EXPECT_LE(name.size(), 401U);
  }
}

}  // namespace
}  // namespace geiger::object_types
