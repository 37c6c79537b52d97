#include "trace_mutator.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "mutations.h"
#include "target.h"
#include "trace/reader.h"

namespace geiger::fuzz {
namespace {

/// A copy with the alignment that readers ask for.
std::vector<std::uint64_t> words_of(const std::string& bytes, std::uint64_t start,
                                    std::uint64_t end) {
  std::vector<std::uint64_t> words((end - start + 7) / 8);
  std::memcpy(words.data(), bytes.data() + start, end - start);
  return words;
}

void damage_size(std::string& bytes, const SoundTrace& sound, std::mt19937_64& random) {
  if (sound.boundaries().empty()) return;
  const std::uint64_t at = sound.boundaries()[random() % sound.boundaries().size()];
  std::uint64_t word = 0;
  std::memcpy(&word, &bytes[at], sizeof word);
  constexpr std::uint64_t kWords = std::uint64_t{0xfff} << 16;
  word = (word & ~kWords) | (random() & kWords);
  std::memcpy(&bytes[at], &word, sizeof word);
}

void damage_header(std::string& bytes, const SoundTrace& sound, std::mt19937_64& random) {
  const auto& image = sound.images()[random() % sound.images().size()];
  constexpr std::uint64_t kFixedBytes = 256;  // before its texts
  write_hostile_word(bytes, image.start + random() % kFixedBytes / 8 * 8, random);
}

/// The chunk at `at` gets the checksum of what it holds now, so that it is believed.
void mend_checksum(std::string& bytes, std::uint64_t at) {
  trace::ChunkHeader header{};
  std::memcpy(&header, &bytes[at], sizeof header);
  const std::uint64_t room = bytes.size() - at - sizeof header;
  const auto* stored = reinterpret_cast<const Bytef*>(&bytes[at + sizeof header]);
  header.crc32 = static_cast<std::uint32_t>(
      ::crc32_z(0, stored, std::min<std::uint64_t>(header.stored_bytes, room)));
  std::memcpy(&bytes[at], &header, sizeof header);
}

void damage_chunk(std::string& bytes, const SoundTrace& sound, std::mt19937_64& random) {
  const auto& image = sound.images()[random() % sound.images().size()];
  if (image.records_end + sizeof(trace::ChunkHeader) >= image.end) {
    return flip_bits(bytes, 0, bytes.size(), random);
  }
  if (random() % 4 == 0) {
    return write_hostile_word(bytes, image.records_end + random() % 4 * 8, random);
  }
  flip_bits(bytes, image.records_end + sizeof(trace::ChunkHeader), image.end, random);
  mend_checksum(bytes, image.records_end);
}

std::uint64_t somewhere(const SoundTrace& sound, std::mt19937_64& random) {
  const auto& image = sound.images()[random() % sound.images().size()];
  // Mostly among records: the header page is a third of a small file.
  const std::uint64_t first = image.start + (random() % 8 == 0 ? 0 : trace::kRecordsOffset);
  return first + random() % (std::max(image.end, first + 1) - first);
}

}  // namespace

SoundTrace::SoundTrace(std::string bytes) : bytes_(std::move(bytes)) {
  std::uint64_t start = 0;
  while (start < bytes_.size()) {
    trace::ImageExtent extent;
    const auto page = words_of(bytes_, start, bytes_.size());
    const auto fault =
        trace::read_header(std::as_bytes(std::span(page)), bytes_.size() - start, extent);
    require(fault.fault == trace::Fault::kNone, "a trace to be damaged is sound");
    images_.push_back({start, start + extent.records_end, start + extent.size});
    take_apart(images_.back());
    start += extent.size;
  }
}

void SoundTrace::take_apart(const Image& image) {
  const auto index = static_cast<std::uint32_t>(images_.size() - 1);
  const auto words = words_of(bytes_, image.start, image.end);
  trace::ImageExtent extent;
  static_cast<void>(
      trace::read_header(std::as_bytes(std::span(words)), image.end - image.start, extent));
  trace::RecordReader reader(extent);
  reader.feed(std::as_bytes(std::span(words)).subspan(trace::kRecordsOffset));
  for (auto step = reader.next(); step != trace::Step::kWindow; step = reader.next()) {
    if (step != trace::Step::kRecord) continue;
    const trace::Record& record = reader.record();
    const std::uint64_t start = image.start + record.offset;
    boundaries_.push_back(start);
    if (record.header.type != trace::RecordType::kSample) continue;
    const auto& sample = record.as<trace::SampleRecord>();
    samples_.push_back({index, start + record.words.size_bytes(), sample.time, sample.address,
                        sample.requested(), sample.heap() != 0});
  }
}

bool SoundTrace::keeps_promise(const ingest::Ingested& read, std::uint64_t intact) const {
  std::array<std::size_t, 2> at{};
  for (const KnownSample& known : samples_) {
    const Image& image = images_[known.image];
    // The image may not be found at all if its own header or one before it changed.
    if (known.end > intact || image.start + trace::kControlOffset > intact) continue;
    const auto& samples = known.is_of_heap ? read.recording.heap_samples : read.recording.samples;
    std::size_t& next = at[known.is_of_heap ? 1 : 0];
    const bool is_there = next < samples.size() && samples[next].process == known.image &&
                          samples[next].time == known.time &&
                          samples[next].address == known.address &&
                          samples[next].requested == known.requested;
    if (!is_there) return false;
    ++next;
  }
  return true;
}

std::string mutate(const SoundTrace& sound, std::mt19937_64& random) {
  std::string bytes = sound.bytes();
  const std::uint64_t at = std::min<std::uint64_t>(somewhere(sound, random), bytes.size() - 1);
  switch (random() % 9) {
    case 0:
      flip_bits(bytes, at, bytes.size(), random);
      break;
    case 1:
      bytes.resize(at);
      break;
    case 2:
      damage_size(bytes, sound, random);
      break;
    case 3:
      write_hostile_word(bytes, at / 8 * 8, random);
      break;
    case 4:
      copy_block(bytes, at, random);
      break;
    case 5:
      insert_block(bytes, at, random);
      break;
    case 6:
      damage_header(bytes, sound, random);
      break;
    case 7:
      damage_chunk(bytes, sound, random);
      break;
    default:
      // A second file behind the first, each damaged or not.
      bytes += sound.bytes();
      flip_bits(bytes, at, bytes.size(), random);
      break;
  }
  return bytes;
}

std::uint64_t first_difference(const std::string& a, const std::string& b) {
  const auto shorter = std::min(a.size(), b.size());
  const auto first = a.begin();
  return static_cast<std::uint64_t>(
      std::mismatch(first, first + static_cast<std::ptrdiff_t>(shorter), b.begin()).first - first);
}

}  // namespace geiger::fuzz
