#include "run/allocator_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace geiger::run {
namespace {

using testing::HasSubstr;

TEST(FindAllocator, SaysWhatIsWrong) {
  EXPECT_THAT(find_allocator("nedmalloc").reason(), HasSubstr("unknown allocator 'nedmalloc'"));
  EXPECT_EQ(find_allocator("/nowhere/libx.so").reason(),
            "cannot read /nowhere/libx.so: No such file or directory");
  EXPECT_EQ(find_allocator("/etc/passwd").reason(), "/etc/passwd is not a shared library");
  EXPECT_THAT(find_allocator("/bin/true").reason(), HasSubstr("does not define malloc and free"));
}

TEST(FindAllocator, LeavesTheFolderToTheLoader) {
  const AllocatorLibrary usual{
      .name = "x", .path = "/usr/" GEIGER_LIB_TOKEN "/libx.so.1", .version = ""};
  EXPECT_EQ(usual.preload_word(), "/usr/$LIB/libx.so.1");
  const AllocatorLibrary own{.name = "x", .path = "/opt/libx.so", .version = "1.2"};
  EXPECT_EQ(own.preload_word(), "/opt/libx.so");
  EXPECT_EQ(own.text(), "x 1.2 (/opt/libx.so)");
}

// Of those that are installed here, if any.
TEST(FindAllocator, FindsByNameWhatItFindsByPath) {
  for (const AllocatorLibrary& each : installed_allocators()) {
    const auto by_path = find_allocator(each.path);
    ASSERT_TRUE(by_path.has_value()) << by_path.reason();
    EXPECT_EQ(by_path->version, each.version);
    EXPECT_FALSE(each.version.empty()) << each.path;
    EXPECT_EQ(find_allocator(each.name)->path, each.path);
  }
}

}  // namespace
}  // namespace geiger::run
