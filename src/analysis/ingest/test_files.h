// For tests only: a temporary directory of trace files.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "trace/test_trace.h"

namespace geiger::ingest {

class TestFiles {
 public:
  TestFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "geiger-test-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  TestFiles(const TestFiles&) = delete;
  TestFiles& operator=(const TestFiles&) = delete;
  ~TestFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (root_ / name).string(); }

  std::string write(const std::string& name, std::span<const std::byte> bytes) const {
    std::string full = path(name);
    std::filesystem::create_directories(std::filesystem::path(full).parent_path());
    // A new file: ext4 writes a truncated one out to disk when it is closed.
    std::filesystem::remove(full);
    std::ofstream file(full, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return full;
  }

  /// A trace of `samples` samples as a killed program leaves it: open and sparse.
  [[nodiscard]] std::string write_killed(const std::string& name, int samples) const {
    trace::TestTrace trace;
    const auto epoch = trace.epoch(1024);
    for (int i = 0; i < samples; ++i) trace.sample({.epoch = epoch});
    trace.header().state = trace::State::kSampling;
    trace.header().pid = 0;
    std::string full = write(name, trace.bytes());
    std::filesystem::resize_file(full, kMiB);
    return full;
  }

  [[nodiscard]] static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path root_;
};

}  // namespace geiger::ingest
