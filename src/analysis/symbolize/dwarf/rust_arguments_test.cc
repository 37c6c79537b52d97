// Names as rustc 1.95 writes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/symbolize/dwarf/names.h"

namespace geiger::symbolize {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(RustArguments, AreOfTheLegacyManglingOnly) {
  EXPECT_TRUE(is_rust_legacy("_ZN5alloc5boxed12Box$LT$T$GT$3new17h70bade05f07f02d3E"));
  EXPECT_FALSE(is_rust_legacy("_ZNSt6vectorIiSaIiEE9push_backERKi"));
  EXPECT_FALSE(is_rust_legacy("_RNvCs1234_7mycrate3foo"));
  EXPECT_FALSE(is_rust_legacy("_ZN5alloc5boxed3new17h70bade05f07f02dgE"));
  EXPECT_FALSE(is_rust_legacy("_ZN17h70bade05f07f02d"));
  EXPECT_FALSE(is_rust_legacy("_ZN70bade05f07f02d3E"));
  EXPECT_FALSE(is_rust_legacy("_ZNE"));
  EXPECT_FALSE(is_rust_legacy("_ZN"));
  EXPECT_FALSE(is_rust_legacy(""));
}

TEST(RustArguments, StandInTheBracketInOrder) {
  EXPECT_THAT(type_arguments("new<r::Node>", {"T"}), ElementsAre(Pair("T", "r::Node")));
  EXPECT_THAT(type_arguments("with_capacity_in<alloc::vec::Vec<u8, Global>, Global>", {"T", "A"}),
              ElementsAre(Pair("T", "alloc::vec::Vec<u8, Global>"), Pair("A", "Global")));
  EXPECT_THAT(type_arguments("call<fn(u8, u8) -> u8, (u8, [u8; 4])>", {"F", "Args"}),
              ElementsAre(Pair("F", "fn(u8, u8) -> u8"), Pair("Args", "(u8, [u8; 4])")));
}

TEST(RustArguments, AreLeftOutWhereTheyDoNotFit) {
  EXPECT_THAT(type_arguments("new", {"T"}), IsEmpty());
  EXPECT_THAT(type_arguments("new<r::Node>", {}), IsEmpty());
  EXPECT_THAT(type_arguments("new<r::Node>", {"T", "A"}), IsEmpty());
  EXPECT_THAT(type_arguments("new<r::Node", {"T"}), IsEmpty());
  EXPECT_THAT(type_arguments("", {"T"}), IsEmpty());
}

TEST(RustArguments, ReplaceParametersInBrackets) {
  const std::vector<TypeArgument> types{{"T", "r::Node"}, {"A", "Global"}};
  EXPECT_EQ(with_arguments("alloc::boxed::Box<T>::new", types), "alloc::boxed::Box<r::Node>::new");
  EXPECT_EQ(with_arguments("<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop", types),
            "<alloc::vec::Vec<r::Node,Global> as core::ops::drop::Drop>::drop");
  EXPECT_EQ(with_arguments("alloc::slice::<impl [T]>::repeat", types),
            "alloc::slice::<impl [r::Node]>::repeat");
}

TEST(RustArguments, LeaveAllElse) {
  const std::vector<TypeArgument> types{{"T", "r::Node"}, {"A", "Global"}};
  EXPECT_EQ(with_arguments("T::A", types), "T::A");
  EXPECT_EQ(with_arguments("x<Tail, a_T, T::Item, r::T>::f", types),
            "x<Tail, a_T, T::Item, r::T>::f");
  EXPECT_EQ(with_arguments("f<K -> T>::T", types), "f<K -> r::Node>::T");
  EXPECT_EQ(with_arguments("", types), "");
  EXPECT_EQ(with_arguments("x<T", types), "x<r::Node");
}

}  // namespace
}  // namespace geiger::symbolize
