#include <gtest/gtest.h>

#include "analysis/profile/frames/frame_rules.h"

namespace geiger::profile::allocation_functions_test {
namespace {

TEST(AllocationFunctions, AreKnownByTheirNames) {
  constexpr const char* kSystemAlloc =
      "std::sys::alloc::unix::<impl core::alloc::global::GlobalAlloc for "
      "std::alloc::System>::alloc";
  for (const char* name : {"malloc",
                           "calloc",
                           "realloc",
                           "__libc_malloc",
                           "je_malloc",
                           "tc_new",
                           "tc_newarray",
                           "mi_malloc",
                           "_mi_malloc",
                           "mi_heap_malloc",
                           "__GI___libc_malloc",
                           "operator new",
                           "operator new[](unsigned long, std::align_val_t)",
                           "malloc.part.0",
                           "posix_memalign",
                           "operator new(unsigned long) [clone .cold]",
                           "__rdl_alloc",
                           "__rustc::__rdl_realloc",
                           "__rust_alloc_zeroed",
                           "alloc::alloc::alloc",
                           "alloc::alloc::exchange_malloc",
                           "alloc::alloc::Global::alloc_impl",
                           "<alloc::alloc::Global>::alloc_impl_runtime",
                           "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
                           "<std::alloc::System as core::alloc::global::GlobalAlloc>::alloc",
                           kSystemAlloc}) {
    EXPECT_TRUE(is_allocation_function(name)) << name;
  }
  for (const char* name :
       {"main", "xmalloc", "malloc_stats", "new", "mi_parse", "tc_open", "operator newline()",
        "strdup", "my::malloc(int)", "", "app::alloc::alloc::alloc", "alloc::vec::Vec<T>::push"}) {
    EXPECT_FALSE(is_allocation_function(name)) << name;
  }
}

TEST(AllocationFunctions, LayersOfRustPassOn) {
  EXPECT_TRUE(FrameRules().passes_allocation_on("alloc::alloc::exchange_malloc"));
  EXPECT_TRUE(FrameRules().passes_allocation_on("alloc::raw_vec::finish_grow"));
  EXPECT_TRUE(FrameRules().passes_allocation_on("<alloc::alloc::Global>::alloc_impl_runtime"));
  EXPECT_TRUE(FrameRules().passes_allocation_on("<alloc::raw_vec::RawVecInner>::try_allocate_in"));
  EXPECT_TRUE(FrameRules().passes_allocation_on("alloc::raw_vec::RawVecInner<A>::finish_grow"));
  EXPECT_TRUE(FrameRules().passes_allocation_on("alloc::boxed::box_new_uninit"));
  EXPECT_TRUE(FrameRules().passes_allocation_on(
      "<alloc::alloc::Global as core::alloc::Allocator>::allocate"));
  EXPECT_TRUE(FrameRules().passes_allocation_on("hashbrown::raw::RawTableInner::resize_inner"));
  EXPECT_TRUE(FrameRules().passes_allocation_on("hashbrown::raw::alloc::inner::do_alloc"));
  EXPECT_FALSE(FrameRules().passes_allocation_on("shop::make_order"));
  EXPECT_FALSE(FrameRules().passes_allocation_on("<alloc::raw_vec::RawVec<u8>>::grow_one"));
}

}  // namespace
}  // namespace geiger::profile::allocation_functions_test
