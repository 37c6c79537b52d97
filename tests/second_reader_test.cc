// The independent reader of tests/trace_reader.py must agree with the structs of
// src/trace/format.h: a trace built from the structs is read back by the script.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "trace/format.h"

namespace geiger::trace {
namespace {

constexpr std::uint64_t kSeed = 4242;

/// An image under construction; every record is whole unless said otherwise.
class Image {
 public:
  Image() : bytes_(kRecordsOffset, '\0') {}

  Ref add(RecordType type, std::uint8_t flags, std::uint32_t thread, std::string body) {
    body.resize((body.size() + 7) / 8 * 8);
    const auto words = static_cast<std::uint16_t>(body.size() / 8 + 1);
    const std::uint64_t word = RecordHeader{type, flags, words, 3, thread}.pack();
    const auto ref = static_cast<Ref>(bytes_.size() / 8);
    bytes_.append(reinterpret_cast<const char*>(&word), sizeof word);
    bytes_ += body;
    return ref;
  }
  void skip_words(std::size_t count) { bytes_.append(8 * count, '\0'); }

  std::string finish() {
    FileHeader header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.version = kVersion;
    header.capacity = kMaxCapacity;
    header.tail = bytes_.size();
    header.state = State::kExited;
    header.pid = 77;
    header.interval = 1000;
    header.seed = kSeed;
    header.image_start = 5;
    header.segment = 3;
    header.drops[static_cast<std::size_t>(DropCause::kUnseenFree)] = 9;
    std::strcpy(header.executable, "/bin/program");
    std::strcpy(header.allocator, "/lib/libc.so.6");
    std::memcpy(bytes_.data(), static_cast<void*>(&header), sizeof header);
    return bytes_;
  }

 private:
  std::string bytes_;
};

/// The bytes of a record struct behind its header word.
template <typename Record>
std::string body_of(const Record& record) {
  return {reinterpret_cast<const char*>(&record) + 8, sizeof record - 8};
}

std::string run_reader(const std::string& bytes) {
  char path[] = "/tmp/geiger-trace-XXXXXX";
  const int file = mkstemp(path);
  EXPECT_GE(file, 0);
  std::ofstream(path, std::ios::binary) << bytes;
  const std::string command =
      std::string("python3 '" GEIGER_SOURCE_DIR "/tests/trace_reader.py' ") + path + " 2>&1";
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  pclose(pipe);
  std::remove(path);
  return output;
}

std::string with_text(std::string body, std::string_view text) { return body += text; }

/// Names, a mark, a mapping, a slab, and a sample of another heap with labels.
void add_what_programs_say(Image& image, Ref stack, Ref epoch) {
  NameRecord name{};
  name.kind = NameKind::kLabel;
  name.text_bytes = 7;
  const Ref request = image.add(RecordType::kName, 0, 1, with_text(body_of(name), "request"));
  name.owner = request;
  name.text_bytes = 11;
  const Ref tenant = image.add(RecordType::kName, 0, 1, with_text(body_of(name), "tenant=acme"));
  MarkRecord mark{};
  mark.text_bytes = 4;
  image.add(RecordType::kMark, 0, 1, with_text(body_of(mark), "warm"));
  MappingRecord mapping{};
  mapping.stack = stack;
  mapping.kind = MappingKind::kUnmap;
  image.add(RecordType::kMapping, 0, 1, body_of(mapping));
  SampleRecord sample{};
  sample.stack = stack;
  sample.epoch = epoch;
  sample.requested_kind = 10 | std::uint64_t{13} << 48;
  sample.usable_heap = 10 | std::uint64_t{2} << 48;
  sample.label = tenant;
  const Ref pooled = image.add(RecordType::kSample, 0, 1, body_of(sample));
  UtilizationRecord slab{};
  slab.sample = pooled;
  image.add(RecordType::kUtilization, 0, 1, body_of(slab));
  ResidencyRecord residency{};
  residency.sample = pooled;
  residency.resident_bytes = 100;
  image.add(RecordType::kResidency, 0, 1, body_of(residency));
  name.kind = NameKind::kType;
  name.owner = 0;
  name.text_bytes = 5;
  const Ref order = image.add(RecordType::kName, 0, 1, with_text(body_of(name), "Order"));
  image.add(RecordType::kObjectType, 0, 0, body_of(ObjectTypeRecord{0, pooled, order}));
}

/// A stack with a native frame and two of an interpreted function.
void add_interpreted(Image& image) {
  InterpreterRecord python{};
  python.version = 0x030b02f0;
  python.small_objects = vocabulary::SmallObjects::kSampled;
  const Ref interpreter = image.add(RecordType::kInterpreter, 0, 1, body_of(python));
  CodeRecord code{};
  code.interpreter = interpreter;
  code.first_line = 12;
  code.name_bytes = 4;
  code.file_bytes = 6;
  code.lines_bytes = 2;
  const Ref work = image.add(RecordType::kCode, 0, 1, with_text(body_of(code), "workapp.py\xe8\2"));
  StackRecord stack{};
  stack.count = 3;
  const std::uint64_t frames[] = {0x401234, InterpretedFrame{work, 7}.pack(),
                                  InterpretedFrame{work, InterpretedFrame::kNotBegun}.pack()};
  const std::string_view words(reinterpret_cast<const char*>(frames), sizeof frames);
  image.add(RecordType::kStack, 0, 1, with_text(body_of(stack), words));
}

/// A sample that was carried on, a void one, and what a segment opens with.
void add_what_segments_say(Image& image, Ref stack, Ref epoch) {
  CarriedRecord carried{};
  carried.sample.stack = stack;
  carried.sample.epoch = epoch;
  carried.sample.requested_kind = 100;
  carried.previous = 1055;
  image.add(RecordType::kCarried, 0, 1, body_of(carried));
  image.add(RecordType::kCarried, kFlagVoid, 1, body_of(carried));
  CheckpointRecord checkpoint{};
  checkpoint.carried = 1;
  image.add(RecordType::kCheckpoint, 0, 0, body_of(checkpoint));
  ThinningRecord thinning{};
  thinning.level = 1;
  image.add(RecordType::kThinning, 0, 0, body_of(thinning));
  ThreadRecord thread{};
  image.add(RecordType::kThread, kFlagCarriedThread, 1, body_of(thread));
  TallyRecord tally{};
  tally.stack = stack;
  tally.epoch = epoch;
  tally.requested_kind = 64;
  tally.allocated = 70;
  tally.freed = 30;
  image.add(RecordType::kTally, 0, 0, body_of(tally));
}

/// Of the samples in sample_image() and the carried one, how many level 1 keeps.
int kept_by_chance() {
  SampleRecord sample{};
  return 4 * (is_kept(chance_of(kSeed, sample), 1) ? 1 : 0);
}

std::string sample_image() {
  Image image;
  EpochRecord epoch{};
  epoch.interval = 1000;
  const double lambda = 0.001000500333583534;
  std::memcpy(&epoch.lambda_bits, &lambda, sizeof lambda);
  const Ref epoch_ref = image.add(RecordType::kEpoch, 0, 0, body_of(epoch));

  ThreadRecord thread{};
  thread.bytes = 5100;
  thread.trials = 100;
  thread.hits = 2;
  thread.pending = 11;
  thread.armed = 1;
  image.add(RecordType::kThread, 0, 1, body_of(thread));
  image.skip_words(3);

  const std::uint64_t frames[] = {2, 0x1111, 0x2222};
  const Ref stack_ref = image.add(RecordType::kStack, kFlagTruncated, 1,
                                  {reinterpret_cast<const char*>(frames), sizeof frames});
  SampleRecord sample{};
  sample.stack = stack_ref;
  sample.epoch = epoch_ref;
  sample.requested_kind = 5000 | std::uint64_t{9} << 48 | std::uint64_t{4} << 56;
  sample.usable_heap = 5008;
  const Ref certain = image.add(RecordType::kSample, kFlagCertain, 1, body_of(sample));
  sample.requested_kind = 100;
  image.add(RecordType::kSample, 0, 1, body_of(sample));
  image.add(RecordType::kSample, kReserved, 1, body_of(sample));
  add_what_programs_say(image, stack_ref, epoch_ref);
  add_interpreted(image);
  add_what_segments_say(image, stack_ref, epoch_ref);
  FreeRecord free_record{};
  free_record.sample = certain;
  image.add(RecordType::kFree, 0, 1, body_of(free_record));
  return image.finish();
}

TEST(TraceReader, AgreesWithTheStructs) {
  const std::string output = run_reader(sample_image());
  for (const char* line : {"\"pid\": 77",
                           "\"state\": \"exited\"",
                           "\"interval\": 1000",
                           "\"samples\": 3",
                           "\"certain\": 1",
                           "\"uncommitted\": 1",
                           "\"frees\": 1",
                           "\"truncated_stacks\": 1",
                           "\"bytes\": 5111",
                           "\"hits\": 2",
                           "\"unseen_free\": 9",
                           "\"unsettled_threads\": 1",
                           "\"executable\": \"/bin/program\"",
                           "\"allocator\": \"/lib/libc.so.6\"",
                           "\"new\": 1",
                           "\"malloc\": 1",
                           "\"reported\": 1",
                           "\"request\"",
                           "\"request / tenant=acme\"",
                           "\"warm\"",
                           "\"unmap\": 1",
                           "\"utilization\": 1",
                           "\"residency\": 1",
                           "\"object_types\": 1",
                           "\"3.11.2 recorded sampled\"",
                           "\"work app.py:12 7\"",
                           "\"work app.py:12 None\"",
                           "\"segment\": 3",
                           "\"carried\": 1",
                           "\"checkpoints\": 1",
                           "\"level\": 1",
                           "\"tallied\": 70",
                           "\"tallied_live\": 40"})
    EXPECT_NE(output.find(line), std::string::npos) << line << " is not in\n" << output;
}

TEST(TraceReader, DrawsTheSameChances) {
  const std::string fates = "\"fates\": " + std::to_string(kept_by_chance()) + ",";
  EXPECT_NE(run_reader(sample_image()).find(fates), std::string::npos) << fates;
  // Numbers worked out by hand would only repeat the code: these come from the python reader.
  SampleRecord sample{};
  sample.time = 123456789;
  sample.address = 0x7f0012345678;
  EXPECT_EQ(chance_of(99, sample), 0xed98c3ad7a2feef1U);
}

TEST(TraceReader, RefusesWhatIsNotATrace) {
  EXPECT_NE(run_reader("").find("FormatError"), std::string::npos);
  EXPECT_NE(run_reader(std::string(9000, 'x')).find("FormatError"), std::string::npos);
}

}  // namespace
}  // namespace geiger::trace
