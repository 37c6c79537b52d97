#include "analysis/naming/display_name.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <utility>

namespace geiger::naming {
namespace {

using Pair = std::pair<const char*, const char*>;

void expect_all(std::span<const Pair> pairs) {
  for (const auto& [demangled, display] : pairs) EXPECT_EQ(display_name(demangled), display);
}

TEST(DisplayName, LeavesOutWhatTheAuthorDidNotWrite) {
  constexpr std::array<Pair, 10> kPairs{{
      {"main", "main"},
      {"zoo::Cage::Cage(int)", "zoo::Cage::Cage"},
      {"std::vector<int, std::allocator<int> >::resize(unsigned long)", "vector<int>::resize"},
      {"std::shared_ptr<Session> std::make_shared<Session>()", "make_shared<Session>"},
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::"
       "basic_string(char const*)",
       "string::string"},
      {"std::__1::basic_ostream<wchar_t, std::__1::char_traits<wchar_t> >::~basic_ostream()",
       "wostream::~wostream"},
      {"std::map<int, Foo, std::less<int>, std::allocator<std::pair<int const, Foo> > >::at(int&)",
       "map<int, Foo>::at"},
      {"std::map<int, Foo, Backwards, std::allocator<Foo> >::at(int&)",
       "map<int, Foo, Backwards>::at"},
      {"absl::lts_20220623::Cord::Append[abi:cxx11](absl::lts_20220623::Cord&)",
       "absl::Cord::Append"},
      {"(anonymous namespace)::Parser::parse((anonymous namespace)::Text const&) const",
       "Parser::parse"},
  }};
  expect_all(kPairs);
}

TEST(DisplayName, LeavesTagsOfTheAbiOut) {
  constexpr std::array<Pair, 4> kPairs{{
      {"app::g_names[abi:cxx11]", "app::g_names"},
      {"app::g_cache[abi:cxx11].names[*]", "app::g_cache.names[*]"},
      {"thread_local app::t_names[abi:cxx11] of thread main",
       "thread_local app::t_names of thread main"},
      {"thread_local t_name[abi:", "thread_local t_name[abi:"},
  }};
  expect_all(kPairs);
}

TEST(DisplayName, KnowsWhereTheNameBegins) {
  constexpr std::array<Pair, 7> kPairs{{
      {"void (*signal_of<int>(int))(int)", "signal_of<int>"},
      {"std::enable_if<((4)>(2)), int>::type pick<int>(int)", "pick<int>"},
      {"decltype (((x)->size)(y)) size_of<Foo>(Foo&)", "size_of<Foo>"},
      {"decltype(auto) visit<Foo>(Foo&)", "visit<Foo>"},
      {"unsigned long const& ns::f<char>(unsigned long)", "ns::f<char>"},
      {"auto apply<int>(int) requires (int)1", "apply<int>"},
      {"virtual thunk to Foo::bar()", "Foo::bar"},
  }};
  expect_all(kPairs);
}

TEST(DisplayName, Operators) {
  constexpr std::array<Pair, 10> kPairs{{
      {"operator new(unsigned long)", "operator new"},
      {"operator delete[](void*)", "operator delete[]"},
      {"Less::operator()(int, int) const", "Less::operator()"},
      {"bool ns::operator< <ns::Foo>(ns::Foo const&, ns::Foo const&)", "ns::operator< <ns::Foo>"},
      {"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
       "operator<<"},
      {"Foo::operator->() const", "Foo::operator->"},
      {"Foo::operator std::vector<int, std::allocator<int> >() const", "Foo::operator vector<int>"},
      {"Foo::operator bool() const", "Foo::operator bool"},
      {"operator\"\" _ms(unsigned long long)", "operator\"\" _ms"},
      {"A::operator<=>(A const&) const", "A::operator<=>"},
  }};
  expect_all(kPairs);
}

TEST(DisplayName, LambdasAreNamedByTheirFunction) {
  constexpr std::array<Pair, 17> kPairs{{
      {"main::{lambda()#1}::operator()() const", "main::{lambda}"},
      {"main::{lambda#1}::operator()", "main::{lambda}"},
      {"main::{lambda#2}::operator()<int>", "main::{lambda}"},
      {"zoo::breed(int)::{lambda#1}::operator()", "zoo::breed::{lambda}"},
      {"(anonymous namespace)::{lambda#1 in a.cc}::operator()", "{lambda}"},
      {"main::$_0::operator()(int) const", "main::{lambda}"},
      {"main::$_3::__invoke(int)", "main::{lambda}"},
      {"$_1::reload()", "{unnamed}::reload"},
      {"void apply<main::$_3>(main::$_3)", "apply<main::{lambda}>"},
      {"apply<app::twice(int)::<lambda(int)#2>&>", "apply<app::twice::{lambda}&>"},
      {"$_", "$_"},
      {"main::{lambda(int)#2}::_FUN(int)", "main::{lambda}"},
      {"auto run<int>(int)::{lambda(auto:1)#1}::operator()<int>(int) const", "run<int>::{lambda}"},
      {"main::'lambda0'(int)::operator()(int) const", "main::{lambda}"},
      {"Foo::bar(int)::{lambda()#1}::operator()() const::{lambda()#2}::operator()() const",
       "Foo::bar::{lambda}::{lambda}"},
      {"rg::search::{{closure}}", "rg::search::{closure}"},
      {"rg::search::{closure#3}", "rg::search::{closure}"},
  }};
  expect_all(kPairs);
}

TEST(DisplayName, Clones) {
  constexpr std::array<Pair, 7> kPairs{{
      {"parse.isra.0", "parse"},
      {"__static_initialization_and_destruction_0(int, int) [clone .constprop.0]", "{static init}"},
      {"parse.constprop.0.isra.0", "parse"},
      {"Foo::bar(int) [clone .cold]", "Foo::bar"},
      {"Foo::bar(int) [clone .isra.0] [clone .cold]", "Foo::bar"},
      {"Foo::bar(int) (.cold.1)", "Foo::bar"},
      {".cold", ".cold"},
  }};
  expect_all(kPairs);
}

TEST(DisplayName, Rust) {
  constexpr std::array<Pair, 10> kPairs{{
      {"core::ptr::drop_in_place<alloc::vec::Vec<u8>>::h0123456789abcdef",
       "core::ptr::drop_in_place<alloc::vec::Vec<u8>>"},
      {"<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop", "<Vec as Drop>::drop"},
      {"core::fmt::num::imp::<impl core::fmt::Display for u32>::fmt", "<u32 as Display>::fmt"},
      {"core::slice::<impl [T]>::sort_by", "[T]::sort_by"},
      {"<zoo::Cage<u8>>::feed::<alloc::string::String>",
       "zoo::Cage<u8>::feed<alloc::string::String>"},
      {"mycrate[0123456789abcdef]::run", "mycrate::run"},
      {"alloc::vec::Vec<T,A>::push", "alloc::vec::Vec::push"},
      {"core::ops::function::FnOnce::call_once{{vtable.shim}}",
       "core::ops::function::FnOnce::call_once"},
      {"std::io::Write::write_all", "io::Write::write_all"},
      {"<std::collections::HashMap<u8, u8, std::hash::random::RandomState>>::insert",
       "collections::HashMap<u8, u8>::insert"},
  }};
  expect_all(kPairs);
}

TEST(DisplayName, Python) {
  EXPECT_EQ(display_name("<module>"), "<module>");
  EXPECT_EQ(display_name("<lambda>"), "<lambda>");
  EXPECT_EQ(display_name("Store.put"), "Store.put");
  EXPECT_EQ(display_name("Store.put.<locals>.<listcomp>"), "Store.put.<listcomp>");
  EXPECT_EQ(display_name("outer.<locals>.inner"), "outer.inner");
  EXPECT_EQ(display_name("<lambda>.<locals>.<dictcomp>"), "<lambda>.<dictcomp>");
  EXPECT_EQ(display_name("<generic parameters of f>"), "<generic parameters of f>");
}

TEST(DisplayName, LongTemplateArgumentsAreFolded) {
  EXPECT_EQ(display_name("std::vector<std::pair<some::rather::long_name::Key, another::Value>, "
                         "std::allocator<X> >::push_back(int)"),
            "vector<pair<Key, Value>>::push_back");
  EXPECT_EQ(display_name("ns::Table<std::vector<std::pair<AnExtremelyLongKeyIndeed, int> >, "
                         "OfSomeOtherRatherLongType>::get()"),
            "ns::Table<vector<…>, …>::get");
}

TEST(DisplayName, WhatIsNoFunctionStays) {
  for (const char* name :
       {"", "[truncated]", "[no stack]", "libfoo.so+0x1234", "LazyCompile:*run /app/a.js:1:2",
        "load (app.py)", "net/http.(*conn).serve", "-[NSString initWith:and:]", "Builtin:Array",
        "runtime.mallocgc", "a b c", "<<<", ")(", "operator", "::", "std::", "a::", "{lambda"}) {
    EXPECT_EQ(display_name(name), name);
  }
}

TEST(FitName, KnowsWhatItNeeds) {
  for (const std::string name : {"f", "ns::f", "vector<int>::resize", "Foo::bar::{lambda}",
                                 "clang::RecursiveASTVisitor<MarkReferencedDecls>::TraverseDecl"}) {
    const std::size_t least = least_columns(name);
    EXPECT_TRUE(is_function_name(name));
    EXPECT_EQ(fit_name(name, least).find("…", 1), std::string::npos) << fit_name(name, least);
  }
  EXPECT_EQ(least_columns("ns::outer_function"), 15U);
  EXPECT_FALSE(is_function_name("libfoo.so+0x1234"));
  EXPECT_EQ(least_columns("libfoo.so+0x1234"), 16U);
}

TEST(FitName, TheLastComponentStaysWhole) {
  const std::string name = "clang::RecursiveASTVisitor<MarkReferencedDecls>::TraverseDecl";
  EXPECT_EQ(fit_name(name, 80), name);
  EXPECT_EQ(fit_name(name, 50), "clang::RecursiveASTVisitor<Mark…cls>::TraverseDecl");
  EXPECT_EQ(fit_name(name, 43), "clang::RecursiveASTVisitor<…>::TraverseDecl");
  EXPECT_EQ(fit_name(name, 40), "…RecursiveASTVisitor<Ma…s>::TraverseDecl");
  EXPECT_EQ(fit_name(name, 20), "…TraverseDecl");
  EXPECT_EQ(fit_name(name, 12), "TraverseDecl");
  EXPECT_EQ(fit_name(name, 9), "Trav…Decl");
  EXPECT_EQ(fit_name("ns::outer_function::{lambda}", 26), "…outer_function::{lambda}");
}

std::vector<std::string> distinct(std::initializer_list<Named> functions) {
  return distinct_names(std::vector<Named>(functions));
}

using Strings = std::vector<std::string>;

TEST(DistinctNames, BringBackWhatTellsThemApart) {
  EXPECT_EQ(distinct({{"f(int, char, A)"}, {"f(int, long, A)"}, {"g(int)"}}),
            (Strings{"f(…, char, …)", "f(…, long, …)", "g"}));
  EXPECT_EQ(distinct({{"f()"}, {"f(int)"}}), (Strings{"f()", "f(int)"}));
  EXPECT_EQ(distinct({{"Foo::get() const"}, {"Foo::get()"}}),
            (Strings{"Foo::get() const", "Foo::get()"}));
  EXPECT_EQ(distinct({{"main::{lambda()#1}::operator()() const"},
                      {"main::{lambda()#2}::operator()() const"}}),
            (Strings{"main::{lambda#1}", "main::{lambda#2}"}));
  EXPECT_EQ(distinct({{"std::vector<A, std::allocator<A> >::swap()"},
                      {"std::vector<A, Arena<A> >::swap()"}}),
            (Strings{"vector<A>::swap", "vector<A, Arena<A>>::swap"}));
  EXPECT_EQ(distinct({{"std::thread::join()"}, {"thread::join()"}}),
            (Strings{"std::thread::join", "thread::join"}));
}

TEST(DistinctNames, LambdasHaveTheirLines) {
  constexpr std::string_view kFirst = "main::{lambda(int)#1}::operator()(int) const";
  constexpr std::string_view kSecond = "main::{lambda#2}::operator()";
  EXPECT_EQ(distinct({{kFirst, "", 0, 16}, {kSecond, "", 0, 18}}),
            (Strings{"main::{lambda:16}", "main::{lambda:18}"}));
  EXPECT_EQ(distinct({{kFirst, "", 0, 16}, {kSecond, "", 0, 16}}),
            (Strings{"main::{lambda#1}", "main::{lambda#2}"}));
  EXPECT_EQ(distinct({{kFirst}, {kSecond, "", 0, 16}}),
            (Strings{"main::{lambda}", "main::{lambda:16}"}));
  EXPECT_EQ(distinct({{kFirst, "", 0, 16}, {"main", "", 0, 12}}),
            (Strings{"main::{lambda}", "main"}));
  EXPECT_EQ(distinct({{"main::$_0::operator()() const"}, {"main::$_1::operator()() const"}}),
            (Strings{"main::{lambda#1}", "main::{lambda#2}"}));
  EXPECT_EQ(distinct({{"main::'lambda'()::operator()() const"},
                      {"main::'lambda0'()::operator()() const"}}),
            (Strings{"main::{lambda#1}", "main::{lambda#2}"}));
  EXPECT_EQ(distinct({{"void run<main::{lambda()#1}>(main::{lambda()#1})", "", 0, 5},
                      {"void run<main::{lambda()#2}>(main::{lambda()#2})", "", 0, 5}}),
            (Strings{"run<main::{lambda#1}>", "run<main::{lambda#2}>"}));
}

TEST(FitName, HasOneEllipsisWhereTwoWouldMeet) {
  EXPECT_EQ(fit_name("Manager<Loop, …, Standard>::run", 26), "Manager<Loop, …ndard>::run");
}

TEST(FitName, NeedsTheClassToTellAnything) {
  EXPECT_EQ(telling_columns("llvm::Pass<Loop>::run"), 10U);  // "…Pass::run"
  EXPECT_EQ(telling_columns("Pass::run"), 9U);
  EXPECT_EQ(telling_columns("run"), 3U);
  EXPECT_EQ(telling_columns("libfoo.so+0x1234"), 16U);
}

TEST(DistinctNames, ClonesAndModules) {
  EXPECT_EQ(distinct({{"parse(int)"}, {"parse(int) [clone .cold]"}}),
            (Strings{"parse(int)", "parse(int) [clone .cold]"}));
  EXPECT_EQ(distinct({{"init", "liba.so"}, {"init", "libb.so"}}),
            (Strings{"init [liba.so]", "init [libb.so]"}));
  EXPECT_EQ(distinct({{"init", "liba.so"}, {"init", "liba.so"}}), (Strings{"init", "init"}));
}

TEST(DistinctNames, TheLastResortIsANumber) {
  const auto names =
      distinct({{"aaaa_0_zzzzzzzzzzzzzzz", "", 8}, {"aaaa_1_zzzzzzzzzzzzzzz", "", 8}});
  EXPECT_EQ(names, (Strings{"aa…zz #1", "aa…zz #2"}));
}

/// What breaks parsers: brackets that do not pair, operators, quotes, deep nesting.
std::string random_text(std::mt19937& random, std::size_t pieces) {
  constexpr std::array<std::string_view, 24> kPieces{
      "<",   ">", "(",   ")",     "::",    "operator",  "{lambda",
      "#1}", " ", ",",   "std::", "a",     "[abi:",     "]",
      "'",   "~", "*",   " as ",  "impl ", "decltype ", "(anonymous namespace)",
      "{",   "}", "\xff"};
  std::string text;
  for (std::size_t i = 0; i < pieces; ++i) text += kPieces[random() % kPieces.size()];
  return text;
}

TEST(DisplayName, AnyBytesWillDo) {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = random_text(random, 1 + random() % 30);
    const std::string name = display_name(text);
    EXPECT_FALSE(name.empty()) << text;
    for (const std::size_t columns : {4U, 16U})
      EXPECT_LE(columns_of(fit_name(name, columns)), columns);
  }
}

TEST(DistinctNames, NoTwoFunctionsLookTheSame) {
  std::mt19937 random(12);
  for (int round = 0; round < 300; ++round) {
    std::set<std::string> texts;
    while (texts.size() < 20) texts.insert("f" + random_text(random, 1 + random() % 6));
    std::vector<Named> functions;
    for (const std::string& text : texts) functions.push_back({text, "", 12});
    const auto names = distinct_names(functions);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), texts.size());
    for (const std::string& name : names) EXPECT_LE(columns_of(name), 12U);
  }
}

TEST(DisplayName, LargeNamesTakeLinearTime) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  for (const std::string_view piece :
       {"<", "(", "a<", "a(", "std::", "a::", "operator ", "f(a<b, ", "<a as ", "{lambda(", "'",
        "a<std::allocator<", "x (*", "a&", " const", "[abi:"}) {
    std::string text = "f";
    while (text.size() < kBytes) text += piece;
    EXPECT_FALSE(display_name(text).empty()) << piece;
    EXPECT_LE(columns_of(fit_name(text, 60)), 60U) << piece;
  }
}

}  // namespace
}  // namespace geiger::naming
