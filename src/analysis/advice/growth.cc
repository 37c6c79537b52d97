#include "analysis/advice/growth.h"

#include <algorithm>
#include <string_view>

namespace geiger::advice {

namespace {

constexpr std::string_view kReserve = "call reserve() before it is filled";
constexpr std::string_view kReserveRust =
    "make it with_capacity(), or reserve() before it is filled";

/// The first that matches counts.
constexpr GrowthRule kGrowthRules[] = {
    // libstdc++, 4 to 15.
    {"std::vector<", "::_M_realloc_insert", "vector", kReserve},
    {"std::vector<", "::_M_realloc_append", "vector", kReserve},
    {"std::vector<", "::_M_emplace_back_aux", "vector", kReserve},
    {"std::vector<", "::_M_default_append", "vector", kReserve},
    {"std::vector<", "::_M_fill_insert", "vector", kReserve},
    {"std::vector<", "::_M_fill_append", "vector", kReserve},
    {"std::vector<", "::_M_range_insert", "vector", kReserve},
    {"std::vector<", "::_M_insert_aux", "vector", kReserve},
    {"basic_string<", "::_M_mutate", "string", kReserve},
    {"basic_stringbuf<", "::overflow", "string stream",
     "write into a string with reserve(), or reuse the stream"},
    {"std::_Hashtable<", "::_M_rehash", "hash table", kReserve},
    // libc++.
    {"std::__1::vector<", "::__push_back_slow_path", "vector", kReserve},
    {"std::__1::vector<", "::__emplace_back_slow_path", "vector", kReserve},
    {"std::__1::vector<", "::__append", "vector", kReserve},
    {"std::__1::basic_string<", "::__grow_by", "string", kReserve},
    {"std::__1::__hash_table<", "rehash", "hash table", kReserve},
    // Rust.
    {"raw_vec::RawVec", "::grow", "Vec or String", kReserveRust},
    {"raw_vec::RawVec", "do_reserve_and_handle", "Vec or String", kReserveRust},
    {"raw_vec::", "finish_grow", "Vec or String", kReserveRust},
    {"hashbrown::raw::RawTable", "::reserve_rehash", "HashMap", kReserveRust},
    {"hashbrown::raw::RawTable", "::resize", "HashMap", kReserveRust},
    // LLVM, GCC, Abseil, Boost.
    {"llvm::SmallVector", "::grow", "SmallVector", kReserve},
    {"llvm::DenseMap", "::grow", "DenseMap", kReserve},
    {"llvm::StringMapImpl", "::RehashTable", "StringMap", "make it with its final size"},
    {"va_heap::", "reserve<", "vec", "make it with its final size (vec::create)"},
    {"inlined_vector_internal::Storage<", "Slow", "InlinedVector", kReserve},
    {"raw_hash_set<", "::resize", "hash table", kReserve},
    {"boost::container::vector<", "no_capacity", "vector", kReserve},
    // Qt.
    {"QArrayData", "::reallocate", "container of Qt", kReserve},
    {"QByteArray", "::realloc", "QByteArray", kReserve},
    {"QString", "::realloc", "QString", kReserve},
    {"QHashPrivate::Data<", "::rehash", "QHash", kReserve},
    // GLib, interpreters, servers.
    {"", "g_array_maybe_expand", "GArray", "make it with g_array_sized_new()"},
    {"", "g_ptr_array_maybe_expand", "GPtrArray", "make it with g_ptr_array_sized_new()"},
    {"", "g_string_maybe_expand", "GString", "make it with g_string_sized_new()"},
    {"", "g_string_expand", "GString", "make it with g_string_sized_new()"},
    {"", "list_resize", "list", "make it at once: a comprehension, or [None] * n"},
    {"", "enlargeStringInfo", "StringInfo", "enlargeStringInfo() to its final size at first"},
    {"", "sdsMakeRoomFor", "sds", "sdsMakeRoomFor() to its final size at first"},
    {"", "_sdsMakeRoomFor", "sds", "sdsMakeRoomFor() to its final size at first"},
};

/// Frames that an object's maker and its user may have between them.
constexpr std::size_t kCallers = 4;

}  // namespace

const GrowthRule kReallocRule{"", "", "block",
                              "ask for its final size at first, or for twice as much each time"};

const GrowthRule* growth_rule_of(std::string_view function) {
  const auto* const rule = std::ranges::find_if(kGrowthRules, [&](const GrowthRule& each) {
    if (each.scope.empty()) return function.starts_with(each.function);
    const std::size_t at = function.find(each.scope);
    return at != std::string_view::npos &&
           function.find(each.function, at + each.scope.size()) != std::string_view::npos;
  });
  return rule == std::end(kGrowthRules) ? nullptr : rule;
}

StackBook::StackBook(const profile::Recording& recording)
    : recording_(recording),
      shown_(recording),
      is_known_(recording.stacks.size()),
      facts_(recording.stacks.size()) {
  for (std::size_t i = 0; i < labels().size(); ++i) {
    rules_.push_back(growth_rule_of(labels()[static_cast<std::uint32_t>(i)].name));
  }
}

const StackFacts& StackBook::operator[](std::uint32_t stack) {
  if (!is_known_[stack]) {
    facts_[stack] = facts_of(stack);
    is_known_[stack] = true;
  }
  return facts_[stack];
}

std::vector<std::uint32_t> StackBook::own_callers(std::uint32_t stack) {
  const std::uint32_t place = (*this)[stack].place.label;
  std::vector<std::uint32_t> own = own_functions_of(shown_, stack);
  const auto last = std::find(own.rbegin(), own.rend(), place);
  own.erase(own.begin(), last.base());
  return own;
}

StackFacts StackBook::facts_of(std::uint32_t stack) {
  StackFacts facts;
  const auto& locations = recording_.stacks[stack].locations;
  if (!locations.empty()) facts.leaf = locations.front();
  labels().collect(recording_, stack, path_);
  const std::size_t blamed = shown_.roles().blamed(path_);
  for (std::size_t i = 0; i < path_.size() && i <= blamed && facts.growth == nullptr; ++i) {
    facts.growth = rules_[path_[i]];
  }
  shown_.of(stack);
  const auto& shown = shown_.path();
  std::size_t first = 0;
  while (first + 1 < shown.size() && rules_[shown[first]] != nullptr) ++first;
  const std::uint32_t frame = shown_.frames()[first];
  facts.place.label = shown[first];
  if (frame != profile::kNone) {
    facts.place.file = recording_.frames[frame].file;
    facts.place.line = recording_.frames[frame].line;
  }
  const auto end = std::min(first + kCallers, shown.size());
  facts.callers.assign(shown.begin() + static_cast<std::ptrdiff_t>(first),
                       shown.begin() + static_cast<std::ptrdiff_t>(end));
  return facts;
}

}  // namespace geiger::advice
