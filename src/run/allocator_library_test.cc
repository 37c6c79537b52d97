#include "run/allocator_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

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

/// The version that is found in a library with `text` at its end. The C library defines malloc and
/// free, and has no version of its own in this form.
std::string version_with(const std::string& text) {
  Dl_info library{};
  EXPECT_NE(dladdr(reinterpret_cast<void*>(&qsort), &library), 0);
  const std::string path = testing::TempDir() + "allocator_library_test.so";
  std::filesystem::copy_file(library.dli_fname, path,
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
  const auto found = find_allocator(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(found.has_value()) << found.reason();
  return found.has_value() ? found->version : "";
}

TEST(FindAllocator, ReadsTheVersionOfJemalloc) {
  const std::string commit = "-g" + std::string(40, 'a');
  EXPECT_EQ(version_with("x5.3.0-0" + commit), "5.3.0");
  EXPECT_EQ(version_with("5.3-0" + commit + " -g 5.2.1-17" + commit + "9"), "5.2.1");
  for (const std::string& text : {"5.3.0" + commit, "5..0-0" + commit, "5.3.0-" + commit,
                                  ".3.0-0" + commit, std::string("5.3.0-0-gaaaa")}) {
    EXPECT_EQ(version_with(text), "") << text;
  }
}

TEST(FindAllocator, ReadsAnyFile) {
  EXPECT_EQ(version_with(std::string(5'000'000, '1')), "");
  const std::string rest = ".2.3-4-g" + std::string(40, 'b');
  EXPECT_EQ(version_with(std::string(5'000'000, '1') + rest), "");
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
