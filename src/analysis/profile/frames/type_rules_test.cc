// Names as demanglers write them, from programs built with g++ 12, clang 14 and rustc.
#include <gtest/gtest.h>

#include <string>

#include "analysis/profile/frames/types.h"

namespace geiger::profile::type_rules_test {
namespace {

struct Known {
  const char* function;
  const char* type;  ///< Empty: none.
};

constexpr Known kKnown[] = {
    {"std::__new_allocator<Order>::allocate(unsigned long, void const*)", "Order"},
    {"__gnu_cxx::new_allocator<shop::Order>::allocate(unsigned long, void const*)", "shop::Order"},
    {"std::allocator<int>::allocate(unsigned long)", "int"},
    {"std::__1::allocator<Order>::allocate[abi:v15006](unsigned long)", "Order"},
    {"std::__new_allocator<std::vector<int, std::allocator<int> > >::allocate(unsigned long, void "
     "const*)",
     "std::vector<int, std::allocator<int> >"},
    {"std::__new_allocator<std::function<void (int, char const*)> >::allocate(unsigned long, void "
     "const*)",
     "std::function<void (int, char const*)>"},
    {"std::__new_allocator<Order*>::allocate(unsigned long, void const*)", "Order*"},
    // Inlined ones may come without parameters.
    {"std::__new_allocator<(anonymous namespace)::Order>::allocate",
     "(anonymous namespace)::Order"},
    {"std::make_unique<Order, int>", "Order"},
    // Nodes are what they hold.
    {"std::__new_allocator<std::_Rb_tree_node<std::pair<int const, Order> > "
     ">::allocate(unsigned long, void const*)",
     "std::pair<int const, Order>"},
    {"std::__new_allocator<std::__detail::_Hash_node<std::pair<int const, Order>, false> "
     ">::allocate(unsigned long, void const*)",
     "std::pair<int const, Order>"},
    {"std::__new_allocator<std::_List_node<Order> >::allocate(unsigned long, void const*)",
     "Order"},
    {"std::__new_allocator<std::_Sp_counted_ptr_inplace<Order, std::allocator<void>, "
     "(__gnu_cxx::_Lock_policy)2> >::allocate(unsigned long, void const*)",
     "Order"},
    {"std::__new_allocator<std::__detail::_Hash_node_base*>::allocate(unsigned long, void const*)",
     "std::__detail::_Hash_node_base*"},
    // operator new below a function that names what it makes.
    {"std::__detail::_MakeUniq<Order>::__single_object std::make_unique<Order, int>(int&&)",
     "Order"},
    {"std::unique_ptr<Order, std::default_delete<Order> > std::make_unique<Order>()", "Order"},
    {"Order::operator new(unsigned long)", "Order"},
    {"shop::Order::operator new[](unsigned long)", "shop::Order"},
    {"operator new(unsigned long)", ""},
    // Of a string only characters are allocated.
    {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
     ">::_M_create(unsigned long&, unsigned long)",
     "char"},
    {"std::__cxx11::basic_string<char32_t, std::char_traits<char32_t>, std::allocator<char32_t> "
     ">::reserve(unsigned long)",
     "char32_t"},
    // Rust with its types; the legacy mangling alone knows parameters only.
    {"<alloc::raw_vec::RawVec<shop::Order>>::allocate_in", "shop::Order"},
    {"<alloc::raw_vec::RawVec<u8, alloc::alloc::Global>>::grow_amortized", "u8"},
    {"<alloc::boxed::Box<shop::Order>>::new", "shop::Order"},
    {"<alloc::vec::Vec<alloc::string::String>>::with_capacity_in", "alloc::string::String"},
    {"alloc::boxed::Box<shop::Order>::new", "shop::Order"},
    {"alloc::boxed::Box<alloc::sync::ArcInner<shop::Order>>::new", "shop::Order"},
    {"alloc::boxed::Box<alloc::rc::RcInner<(u8, u16)>>::new", "(u8, u16)"},
    {"hashbrown::raw::RawTable<(alloc::string::String, u32),A>::reserve_rehash",
     "(alloc::string::String, u32)"},
    {"<hashbrown::raw::RawTable<(u8, u16)>>::reserve_rehash", "(u8, u16)"},
    {"hashbrown::raw::RawTable<T,A>::reserve_rehash", ""},
    {"alloc::raw_vec::RawVec<T,A>::grow_amortized", ""},
    {"alloc::boxed::Box<T>::new", ""},
    // Not considered: members of other templates, constructors, mentions in arguments.
    {"std::vector<Order, std::allocator<Order> >::push_back(Order const&)", ""},
    {"Order::Order(int)", ""},
    {"void take(std::allocator<Order>::allocate(unsigned long))", ""},
    {"std::allocator<Order>::deallocate(Order*, unsigned long)", ""},
    {"std::allocator<Order>::allocate_at_least", ""},
    {"std::make_unique<Order>::operator()", ""},
    {"main", ""},
    {"", ""},
    // Damaged names end somewhere.
    {"std::__new_allocator<Order", ""},
    {"std::__new_allocator<", ""},
    {"std::__new_allocator<>::allocate(", ""},
    {"std::__new_allocator<std::_List_node<>::allocate(", ""},
    {"std::__new_allocator<)))>::allocate(", ""},
};

TEST(TypeRules, KnowTheseNames) {
  for (const Known& known : kKnown) {
    EXPECT_EQ(type_allocated_by(known.function).value_or(""), known.type) << known.function;
  }
}

TEST(TypeRules, EveryPrefixOfANameIsHarmless) {
  for (const Known& known : kKnown) {
    const std::string name = known.function;
    for (std::size_t size = 0; size < name.size(); ++size) {
      const auto type = type_allocated_by(std::string_view(name).substr(0, size));
      if (type) {
        EXPECT_FALSE(type->empty()) << name.substr(0, size);
      }
    }
  }
}

}  // namespace
}  // namespace geiger::profile::type_rules_test
