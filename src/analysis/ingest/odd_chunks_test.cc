// Chunks that no writer stores, that are damaged or that end while they are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "analysis/ingest/ingest.h"
#include "analysis/ingest/seal.h"
#include "analysis/ingest/test_files.h"

namespace geiger::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::ChunkType;
using trace::TestTrace;

struct OddChunks : ::testing::Test {
  OddChunks() { trace.epoch(1024); }

  TestFiles files;
  TestTrace trace;

  static Ingested read(const std::string& path, const Options& options = {}) {
    const std::string paths[] = {path};
    return read_recording(paths, options);
  }
};

TEST_F(OddChunks, ChunksThatAreCutWhileTheyAreReadAreDamage) {
  const std::string path = files.write("a.geiger", trace.bytes());
  const ImageChunks names[] = {{0, {{ChunkType::kSymbols, std::string(100, 'n')}}}};
  ASSERT_TRUE(store_chunks(path, names).has_value());
  const auto whole = std::filesystem::file_size(path);
  for (const std::uint64_t size : {whole - 8, trace.end() + 8}) {
    const std::string bytes = TestFiles::read(path);
    Options options;
    options.progress = [&](std::uint64_t, std::uint64_t) {
      std::filesystem::resize_file(path, size);
    };
    const Ingested result = read(path, options);
    EXPECT_TRUE(result.damaged);
    EXPECT_THAT(result.symbols, IsEmpty());
    EXPECT_THAT(
        result.recording.warnings,
        ElementsAre(HasSubstr("offset " + std::to_string(trace.end()) + ": a chunk is cut short")));
    files.write("a.geiger", std::as_bytes(std::span(bytes)));
  }
}

/// A chunk's header in front of `stored`, at the end of a trace whose size is stated.
std::string with_chunk(TestTrace trace, trace::ChunkHeader header, std::string stored) {
  std::memcpy(header.magic, trace::kChunkMagic, sizeof header.magic);
  trace.header().sealed_end = trace.end();
  trace.header().image_bytes = trace.end() + sizeof header + stored.size();
  const auto image = trace.bytes();
  std::string bytes(reinterpret_cast<const char*>(image.data()), image.size());
  bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes + stored;
}

TEST_F(OddChunks, ChunksThatNoWriterStoresAreDamage) {
  const auto expect = [&](const std::string& bytes, const char* text) {
    const std::string path = files.write("bad.geiger", std::as_bytes(std::span(bytes)));
    const Ingested result = read(path);
    EXPECT_TRUE(result.damaged);
    EXPECT_THAT(result.recording.warnings, ElementsAre(HasSubstr(text)));
    EXPECT_EQ(result.recording.processes.size(), 1U);
    // Nothing that is damaged is kept when chunks are stored again.
    const ImageChunks names[] = {{0, {{ChunkType::kSymbols, "names"}}}};
    EXPECT_TRUE(store_chunks(path, names).has_value());
    EXPECT_FALSE(read(path).damaged);
  };
  trace::ChunkHeader header{};
  header.type = ChunkType::kSymbols;
  header.codec = trace::Codec::kNone;
  header.raw_bytes = header.stored_bytes = 8;
  expect(with_chunk(trace, header, "12345678"), "a chunk whose checksum is wrong");
  header.stored_bytes = 16;
  expect(with_chunk(trace, header, "12345678"), "a chunk that runs past the end of its image");
  header.stored_bytes = 8;
  header.raw_bytes = kMaxChunkBytes + 1;
  expect(with_chunk(trace, header, "12345678"), "a chunk larger than the maximum");
  std::string blank = with_chunk(trace, header, "12345678");
  std::ranges::fill(std::span(blank).subspan(trace.end(), 4), '\0');
  expect(blank, "no chunk where one should start");
  // Stored as it is, and of another size.
  const std::string chunk = encode_chunk(ChunkType::kSymbols, "12345678");
  std::memcpy(&header, chunk.data(), sizeof header);
  header.raw_bytes = 7;
  expect(with_chunk(trace, header, "12345678"), "a chunk that cannot be unpacked");
}

TEST_F(OddChunks, ThoseOfTypesOfTheFutureAreKept) {
  constexpr auto kFuture = static_cast<ChunkType>(99);
  const std::string path = files.write("future.geiger", trace.bytes());
  const ImageChunks unknown[] = {{0, {{kFuture, "from later"}}}};
  const ImageChunks names[] = {{0, {{ChunkType::kSymbols, "names"}}}};
  ASSERT_TRUE(store_chunks(path, unknown).has_value());
  ASSERT_TRUE(store_chunks(path, names).has_value());
  ASSERT_TRUE(store_chunks(path, names).has_value());
  const Ingested result = read(path);
  EXPECT_THAT(result.recording.warnings, IsEmpty());
  EXPECT_EQ(result.symbols.size(), 1U);
  EXPECT_THAT(TestFiles::read(path), HasSubstr("from later"));
}

TEST_F(OddChunks, AChunkOfHalfADiskIsNotRead) {
  trace::ChunkHeader header{};
  header.type = ChunkType::kSymbols;
  header.stored_bytes = kMaxChunkBytes + 8;
  header.raw_bytes = 8;
  std::string bytes = with_chunk(trace, header, "");
  const std::uint64_t size = bytes.size() + header.stored_bytes;
  std::memcpy(&bytes[offsetof(trace::FileHeader, image_bytes)], &size, sizeof size);
  const std::string path = files.write("huge.geiger", std::as_bytes(std::span(bytes)));
  std::filesystem::resize_file(path, size);  // Sparse.
  EXPECT_THAT(read(path).recording.warnings,
              ElementsAre(HasSubstr("a chunk larger than the maximum")));
}

TEST_F(OddChunks, FramesThatEndEarlyOrGoOnCannotBeUnpacked) {
  std::string payload;
  for (int i = 0; i < 100'000; ++i) payload += std::to_string(i);  // Several blocks.
  const std::string chunk = encode_chunk(ChunkType::kSymbols, payload);
  trace::ChunkHeader sound{};
  std::memcpy(&sound, chunk.data(), sizeof sound);
  ASSERT_EQ(sound.codec, trace::Codec::kZstd);
  const std::string stored = chunk.substr(sizeof sound, sound.stored_bytes);
  EXPECT_EQ(decode_chunk(sound, stored).value(), payload);
  const auto refuses = [&](const std::string& bent) {
    // The checksum of the bent bytes: of a chunk that holds them as they are.
    trace::ChunkHeader header{};
    std::string random = bent;
    std::memcpy(&header, encode_chunk(ChunkType::kSymbols, random).data(), sizeof header);
    ASSERT_EQ(header.codec, trace::Codec::kNone);
    header.codec = trace::Codec::kZstd;
    header.raw_bytes = sound.raw_bytes;
    EXPECT_EQ(decode_chunk(header, bent).reason(), "a chunk that cannot be unpacked");
  };
  refuses(stored.substr(0, stored.size() / 2));
  refuses(stored.substr(0, stored.size() - 1));
  refuses(stored + "x");
  refuses("x" + stored);
}

}  // namespace
}  // namespace geiger::ingest
