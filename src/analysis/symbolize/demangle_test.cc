#include "analysis/symbolize/demangle.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

namespace geiger::symbolize {
namespace {

TEST(Demangle, Itanium) {
  EXPECT_EQ(demangle("_ZN3zoo4CageC1Ei"), "zoo::Cage::Cage(int)");
  EXPECT_EQ(demangle("_Znwm"), "operator new(unsigned long)");
  EXPECT_EQ(demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"),
            "std::vector<int, std::allocator<int> >::push_back(int&&)");
  EXPECT_EQ(demangle("_Z3fooi.cold"), "foo(int) [clone .cold]");
}

TEST(Demangle, RustV0) {
  EXPECT_EQ(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
  EXPECT_EQ(demangle("_RNvNtCs1234_7mycrate6module3bar"), "mycrate::module::bar");
  EXPECT_EQ(demangle("_RINvNtC3std3mem8align_ofjE"), "std::mem::align_of::<usize>");
}

TEST(Demangle, RustLegacyLosesItsHash) {
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdefE.llvm.12345"), "core::fmt::write");
  // Not a hash: 16 digits, but not all hexadecimal; and the C++ name stays C++.
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdxyE"),
            "core::fmt::write::h0123456789abcdxy");
}

TEST(Demangle, RustLegacyEscapesAreUndone) {
  EXPECT_EQ(demangle("_ZN71_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$"
                     "5clone17h0123456789abcdefE"),
            "_ZN71_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$"
            "5clone17h0123456789abcdefE")
      << "a wrong length is no name";
  EXPECT_EQ(demangle("_ZN60_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..Drop$GT$"
                     "4drop17h0123456789abcdefE"),
            "<alloc::vec::Vec<T> as core::ops::Drop>::drop");
  EXPECT_EQ(demangle("_ZN9$RF$$u5b$T$17h0123456789abcdefE").substr(0, 2), "_Z");
  EXPECT_EQ(demangle("_ZN12_$RF$$u5b$T$17h0123456789abcdefE"), "&[T$");
}

TEST(Demangle, OtherNamesPass) {
  for (const std::string name :
       {"main", "", "_start", "_Z", "_R", "_Zgarbage", "runtime.mallocgc"}) {
    EXPECT_EQ(demangle(name), name);
  }
  EXPECT_EQ(demangle(std::string_view("_Z3fo\0i", 7)), std::string_view("_Z3fo\0i", 7));
}

TEST(Demangle, HugeNamesPass) {
  const std::string huge = "_Z" + std::string(kMaxMangledBytes, 'P') + "i";
  EXPECT_EQ(demangle(huge), huge);
}

TEST(Demangle, DeepNamesEnd) {
  for (const char* piece : {"P", "N", "I", "F", "X", "St", "1aI"}) {
    std::string deep = "_Z1f";
    while (deep.size() < 20'000) deep += piece;
    EXPECT_FALSE(demangle(deep).empty());
  }
}

TEST(Demangle, MutatedNamesEnd) {
  const std::string seeds[] = {"_ZNSt6vectorIiSaIiEE9push_backEOi", "_RINvNtC3std3mem8align_ofjE",
                               "_ZN60_$LT$a..Vec$LT$T$GT$$u20$as$u20$core..ops..Drop$GT$4dropE"};
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string name = seeds[random() % 3];
    for (int change = 0; change < 3; ++change) {
      name[2 + random() % (name.size() - 2)] = "NISt0_EX1$PR.Tu"[random() % 15];
    }
    EXPECT_FALSE(demangle(name).empty());
  }
}

}  // namespace
}  // namespace geiger::symbolize
