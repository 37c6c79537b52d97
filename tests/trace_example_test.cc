// The worked example of docs/internals/trace-format.md: a small file with two images, made by
// the writer with fixed times and addresses, read back by the readers, and printed
// byte by byte. What is printed must stand in the document; after a change
//
//   GEIGER_REGENERATE=1 trace_example_test
//
// writes it there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/ingest/seal.h"
#include "analysis/ingest/ingest.h"
#include "analysis/symbolize/symbolize.h"
#include "sampling/samplers.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace geiger::trace {
namespace {

constexpr std::uint64_t kInterval = 1024;
constexpr Bytes kCapacity = 12288;
constexpr Address kBias = 0x555555554000;
constexpr char kBuildId[] = {'\xc0', '\xff', '\xee', '\x01'};

/// An image in memory and the writer that fills it.
class ExampleImage {
 public:
  explicit ExampleImage(std::uint32_t mode) : memory_(kCapacity / 8) {
    writer_.open_memory(memory_.data(), kCapacity,
                        {.seed = 7,
                         .interval = kInterval,
                         .mode = mode,
                         .start_monotonic = 1000,
                         .start_realtime = 1'700'000'000'000'000'000,
                         .executable = "/bin/demo",
                         .started_as = "demo",
                         .allocator = "/lib/libc.so.6",
                         .runtime_version = "0.1.0",
                         .is_paused = false});
    header().machine = 62;
    header().pid = 4711;
    header().parent_pid = 4700;
    header().state = State::kSampling;
  }

  FileHeader& header() { return *writer_.header(); }
  ControlPage& control() { return *const_cast<ControlPage*>(writer_.control()); }

  /// Writes a record whose words behind the header word are `body`.
  Ref put(RecordHeader header, const std::vector<std::uint64_t>& body) {
    const Slot slot = reserve(header, body.size());
    std::ranges::copy(body, slot.words + 1);
    header.words = static_cast<std::uint16_t>(body.size() + 1);
    Writer::commit(slot, header);
    return slot.ref;
  }
  Slot reserve(RecordHeader header, std::size_t body_words) {
    header.words = static_cast<std::uint16_t>(body_words + 1);
    return writer_.reserve(header);
  }

  Ref put_epoch() {
    const double lambda = sampling::rate_of(kInterval);
    return put({RecordType::kEpoch, 0, 0, kUnknownCpu, 0},
               {1000, kInterval, std::bit_cast<std::uint64_t>(lambda)});
  }

  /// Bytes up to the tail.
  [[nodiscard]] std::string bytes() {
    return {reinterpret_cast<const char*>(memory_.data()), header().tail.load()};
  }

 private:
  std::vector<std::uint64_t> memory_;
  Writer writer_;
};

std::vector<std::uint64_t> words_of(std::string text) {
  std::vector<std::uint64_t> words((text.size() + 7) / 8);
  std::memcpy(words.data(), text.data(), text.size());
  return words;
}

std::vector<std::uint64_t> module_body() {
  const std::string path = "/bin/demo";
  std::vector<std::uint64_t> body = {kBias, kBias + 0x5000, kBias, 2010,
                                     sizeof kBuildId | (path.size() + 1) << 32};
  const auto text = words_of(std::string(kBuildId, sizeof kBuildId) + path + '\0');
  body.insert(body.end(), text.begin(), text.end());
  return body;
}

/// A label that is in no other.
std::vector<std::uint64_t> name_body(const std::string& text) {
  std::vector<std::uint64_t> body = {static_cast<std::uint32_t>(NameKind::kLabel), text.size()};
  const auto words = words_of(text);
  body.insert(body.end(), words.begin(), words.end());
  return body;
}

/// start, tid, end, bytes, trials, hits, certain bytes and count, tails,
/// armed, pending, calls: as the story in the document leaves them.
constexpr std::uint64_t kTotals[] = {1001, 4711, 0, 4960, 801, 1, 4096, 1, 63, 1023, 0, 3};

/// A program that is killed after its second sample.
void write_killed(ExampleImage& image) {
  const Ref epoch = image.put_epoch();
  image.put({RecordType::kThread, 0, 0, 2, 1}, {std::begin(kTotals), std::end(kTotals)});
  image.put({RecordType::kThreadName, 0, 0, 2, 1}, {2000, words_of("demo")[0], 0});
  image.put({RecordType::kModule, 0, 0, kUnknownCpu, 0}, module_body());
  const Ref stack =
      image.put({RecordType::kStack, 0, 0, kUnknownCpu, 0}, {2, kBias + 0x1151, kBias + 0x10a5});
  const std::uint64_t context = stack | std::uint64_t{epoch} << 32;
  const Ref sample = image.put({RecordType::kSample, 0, 0, 2, 1},
                               {2020, context, 0x5555555592a0, 160, 168, 96, 0});
  const Ref label = image.put({RecordType::kName, 0, 0, kUnknownCpu, 1}, name_body("request"));
  image.put({RecordType::kSample, kFlagCertain, 0, 2, 1},
            {2030, context, 0x555555559350, 4096 | std::uint64_t{1} << 48, 4104, 0, label});
  image.put({RecordType::kFree, 0, 0, 2, 1}, {2040, sample});
  image.put({RecordType::kMark, 0, 0, kUnknownCpu, 1}, {2050, 4, words_of("warm")[0]});
  image.put({RecordType::kMapping, 0, 0, 2, 1},
            {2060, stack | std::uint64_t{1} << 32, 0x7f0000000000, 65536, 0, 0,
             3 | std::uint64_t{0x22} << 32});
  EXPECT_TRUE(image.reserve({RecordType::kFree, 0, 0, 2, 1}, 2));
  image.header().tail += 24;
  image.control().watermark = kCapacity;
  image.control().supervised = 1;
}

/// The second segment of an image whose first one was deleted: it opens with a checkpoint,
/// thins, and one of its two carried samples is freed. Its tally is there for the sake of
/// the example: a runtime writes samples or tallies.
std::string segment_bytes() {
  ExampleImage image(kModeContinued);
  image.header().pid = 4720;
  image.header().segment = 1;
  image.header().image_start = 1000;
  image.header().start_monotonic = 5000;
  image.header().stop_monotonic = 9000;
  image.header().state = State::kExited;
  const Ref epoch = image.put_epoch();
  image.put({RecordType::kThinning, 0, 0, kUnknownCpu, 0}, {5000, 1});
  image.put({RecordType::kThread, kFlagCarriedThread, 0, 2, 1},
            {1001, 4720, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  image.put({RecordType::kModule, 0, 0, kUnknownCpu, 0}, module_body());
  const Ref stack = image.put({RecordType::kStack, 0, 0, kUnknownCpu, 0}, {1, kBias + 0x1151});
  const std::uint64_t context = stack | std::uint64_t{epoch} << 32;
  const Ref carried = image.put({RecordType::kCarried, 0, 0, 2, 1},
                                {0, 2020, context, 0x5555555592a0, 160, 168, 96, 0, 1057});
  image.put({RecordType::kCarried, kFlagVoid, 0, 2, 1},
            {0, 2031, context, 0x555555559350, 64, 72, 3, 0, 1080});
  image.put({RecordType::kCheckpoint, 0, 0, kUnknownCpu, 0}, {5001, 1, 0});
  image.put({RecordType::kFree, 0, 0, 2, 1}, {6000, carried});
  image.put({RecordType::kTally, 0, 0, kUnknownCpu, 0},
            {6100, context, 64, 72, 0, 70, 30, 8000, 0});
  return image.bytes();
}

std::string symbols_chunk() {
  symbolize::SymbolSet set;
  set.strings = {"", "main", "demo.c"};
  set.frames = {{.function = 1, .system_name = 0, .file = 2, .line = 7}};
  set.modules = {{.path = "/bin/demo", .build_id = "c0ffee01", .addresses = {{0x1151, {0}}}}};
  return ingest::encode_chunk(ChunkType::kSymbols, symbolize::encode(set));
}

/// Both images; the first is sealed and carries symbols.
std::string example_file() {
  ExampleImage killed(0);
  write_killed(killed);
  const std::string chunk = symbols_chunk();
  killed.header().sealed_end = killed.header().tail.load();
  killed.header().image_bytes = killed.header().sealed_end + chunk.size();
  ExampleImage child(kModeForked);
  child.put_epoch();
  child.header().pid = 4712;
  child.header().parent_pid = 4711;
  child.header().state = State::kExited;
  child.header().stop_monotonic = 3000;
  return killed.bytes() + chunk + child.bytes();
}

// ---------------------------------------------------------------- printing ---

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\0') break;
    out += c == '\r' ? "\\r" : c == '\n' ? "\\n" : std::string(1, c);
  }
  return out;
}

/// Prints eight bytes to a line: offset, bytes, meaning.
class Dump {
 public:
  explicit Dump(std::string_view bytes) : bytes_(bytes) {}

  void line(std::uint64_t offset, std::string_view meaning) {
    text_ += fmt::format("{:6} ", offset);
    for (const char byte : bytes_.substr(offset, 8)) {
      text_ += fmt::format(" {:02x}", static_cast<unsigned char>(byte));
    }
    text_ += fmt::format("{}{}\n", meaning.empty() ? "" : "  ", meaning);
  }
  /// Lines from `offset` for as many words as there are meanings.
  void lines(std::uint64_t offset, const std::vector<std::string>& meanings) {
    for (const std::string& meaning : meanings) {
      line(offset, meaning);
      offset += 8;
    }
  }
  void title(std::string_view title) {
    text_ += fmt::format("{}{}\n", text_.empty() ? "" : "\n", title);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string_view bytes_;
  std::string text_;
};

std::string number(std::string_view name, std::uint64_t value) {
  return fmt::format("{} {}", name, value);
}

std::string pair(std::string_view name, std::uint64_t value, std::string_view other,
                 std::uint64_t second) {
  return fmt::format("{} {}, {} {}", name, value, other, second);
}

std::string dump_header(std::string_view bytes) {
  const auto& header = *reinterpret_cast<const FileHeader*>(bytes.data());
  Dump dump(bytes);
  dump.lines(
      0, {fmt::format("magic \"{}\"", printable({header.magic, sizeof header.magic})),
          pair("version", header.version, "machine", header.machine),
          number("capacity", header.capacity), number("tail", header.tail.load()),
          pair("state", static_cast<std::uint32_t>(header.state.load()), "stop reason",
               static_cast<std::uint32_t>(header.stop_reason.load())),
          pair("stop errno", static_cast<std::uint32_t>(header.stop_errno), "mode", header.mode),
          pair("pid", header.pid, "parent pid", header.parent_pid),
          pair("page size", header.page_size, "outer pid", header.outer_pid),
          number("start, monotonic ns", header.start_monotonic),
          number("start, realtime ns", header.start_realtime),
          number("stop, monotonic ns", header.stop_monotonic), number("seed", header.seed),
          number("interval", header.interval)});
  dump.line(offsetof(FileHeader, drops), "drops: 16 counters by cause, all 0");
  dump.line(offsetof(FileHeader, sealed_end), number("sealed end", header.sealed_end));
  dump.line(offsetof(FileHeader, image_bytes), number("image bytes", header.image_bytes));
  const auto text = [&](std::size_t offset, std::string_view name, const char* value) {
    dump.line(offset, fmt::format("{} \"{}\"", name, value));
  };
  text(offsetof(FileHeader, runtime_version), "runtime version", header.runtime_version);
  text(offsetof(FileHeader, executable), "executable", header.executable);
  text(offsetof(FileHeader, allocator), "allocator", header.allocator);
  dump.line(offsetof(FileHeader, image_start), number("image start", header.image_start));
  dump.line(offsetof(FileHeader, segment), pair("segment", header.segment, "end signal", 0));
  text(offsetof(FileHeader, started_as), "started as", header.started_as);
  return dump.take();
}

std::string dump_control(std::string_view bytes) {
  const auto& control = *reinterpret_cast<const ControlPage*>(bytes.data() + kControlOffset);
  Dump dump(bytes);
  dump.lines(
      kControlOffset,
      {number("watermark", control.watermark.load()),
       number("requested interval", control.requested_interval.load()),
       pair("paused", control.paused.load(), "supervised", control.supervised.load()),
       pair("wanted utilization", control.wanted_utilization.load(), "wanted segment",
            control.wanted_segment.load()),
       pair("requested guard", control.requested_guard.load(), "wanted residency", control.wanted_residency.load()),
       number("doubles at", control.doubles_at.load()),
       number("doubling step", control.doubling_step.load())});
  return dump.take();
}

const char* name_of(RecordType type) {
  constexpr const char* kNames[] = {
      "none",    "sample",      "free",     "stack", "module",   "thread",
      "epoch",   "thread name", "name",     "mark",  "mapping",  "utilization",
      "carried", "checkpoint",  "thinning", "tally", "residency"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string header_meaning(const RecordHeader& header) {
  const std::string cpu = header.cpu == kUnknownCpu ? "unknown" : std::to_string(header.cpu);
  return fmt::format("type {} ({}), flags {:#04x}, {} words, cpu {}, thread {}",
                     static_cast<unsigned>(header.type), name_of(header.type), header.flags,
                     header.words, cpu, header.thread);
}

using Meanings = std::vector<std::string>;

Meanings meanings_of(const SampleRecord& sample) {
  return {number("time", sample.time),
          pair("stack", sample.stack, "epoch", sample.epoch),
          fmt::format("address {:#x}", sample.address),
          fmt::format("requested {}, entry point {}, log2 alignment {}", sample.requested(),
                      static_cast<unsigned>(sample.entry_point()), sample.log2_alignment()),
          pair("usable", sample.usable(), "heap", sample.heap()),
          number("offset", sample.offset),
          pair("label", sample.label, "type", sample.type)};
}

Meanings meanings_of_sample(const Record& record) { return meanings_of(record.as<SampleRecord>()); }

Meanings meanings_of_carried(const Record& record) {
  const auto& carried = record.as<CarriedRecord>();
  Meanings meanings = meanings_of(carried.sample);
  meanings.insert(meanings.begin(), "the sample's header word, not used");
  meanings.push_back(pair("previous", carried.previous, "reserved", carried.reserved));
  return meanings;
}

Meanings meanings_of_checkpoint(const Record& record) {
  const auto& checkpoint = record.as<CheckpointRecord>();
  return {number("time", checkpoint.time), number("carried", checkpoint.carried),
          number("lost", checkpoint.lost)};
}

Meanings meanings_of_thinning(const Record& record) {
  const auto& thinning = record.as<ThinningRecord>();
  return {number("time", thinning.time),
          pair("level", thinning.level, "reserved", thinning.reserved)};
}

Meanings meanings_of_tally(const Record& record) {
  const auto& tally = record.as<TallyRecord>();
  return {number("first", tally.first),
          pair("stack", tally.stack, "epoch", tally.epoch),
          number("requested, entry point, alignment as in a sample", tally.requested_kind),
          number("usable, heap as in a sample", tally.usable_heap),
          pair("label", tally.label, "type", tally.type),
          number("allocated", tally.allocated.load()),
          number("freed", tally.freed.load()),
          number("last", tally.last.load()),
          number("reserved", tally.reserved)};
}

Meanings meanings_of_free(const Record& record) {
  const auto& freed = record.as<FreeRecord>();
  return {number("time", freed.time), pair("sample", freed.sample, "stack", freed.stack)};
}

Meanings meanings_of_stack(const Record& record) {
  const auto frames = frames_of(record);
  Meanings meanings = {number("count", frames.size())};
  for (const std::uint64_t frame : frames) meanings.push_back(fmt::format("frame {:#x}", frame));
  return meanings;
}

Meanings meanings_of_module(const Record& record) {
  const auto& module = record.as<ModuleRecord>();
  Meanings meanings = {
      fmt::format("start {:#x}", module.start),
      fmt::format("end {:#x}", module.end),
      fmt::format("bias {:#x}", module.bias),
      number("time", module.time),
      pair("build id bytes", module.build_id_bytes, "path bytes", module.path_bytes),
      fmt::format("build id, then path \"{}\"", path_of(record))};
  meanings.resize(record.words.size() - 1);
  return meanings;
}

Meanings meanings_of_thread(const Record& record) {
  constexpr const char* kFields[] = {"start",      "tid",   "end",           "bytes",
                                     "trials",     "hits",  "certain bytes", "certain count",
                                     "tail bytes", "armed", "pending",       "calls"};
  Meanings meanings;
  for (std::size_t i = 0; i < std::size(kFields); ++i) {
    meanings.push_back(number(kFields[i], record.words[i + 1]));
  }
  return meanings;
}

Meanings meanings_of_epoch(const Record& record) {
  const auto& epoch = record.as<EpochRecord>();
  return {number("time", epoch.time), number("interval", epoch.interval),
          fmt::format("lambda {:.17g}", std::bit_cast<double>(epoch.lambda_bits))};
}

Meanings meanings_of_thread_name(const Record& record) {
  const auto& name = record.as<ThreadNameRecord>();
  return {number("time", name.time), fmt::format("name \"{}\"", printable({name.name, 16})), ""};
}

/// The text behind the fixed part, one line for its first word.
void append_text(Meanings& meanings, const Record& record) {
  meanings.push_back(fmt::format("text \"{}\"", text_of(record)));
  meanings.resize(record.words.size() - 1);
}

Meanings meanings_of_name(const Record& record) {
  const auto& name = record.as<NameRecord>();
  Meanings meanings = {pair("kind", static_cast<std::uint32_t>(name.kind), "owner", name.owner),
                       pair("text bytes", name.text_bytes, "reserved", name.reserved)};
  append_text(meanings, record);
  return meanings;
}

Meanings meanings_of_mark(const Record& record) {
  const auto& mark = record.as<MarkRecord>();
  Meanings meanings = {number("time", mark.time),
                       pair("text bytes", mark.text_bytes, "reserved", mark.reserved)};
  append_text(meanings, record);
  return meanings;
}

Meanings meanings_of_mapping(const Record& record) {
  const auto& mapping = record.as<MappingRecord>();
  return {number("time", mapping.time),
          pair("stack", mapping.stack, "kind", static_cast<std::uint32_t>(mapping.kind)),
          fmt::format("address {:#x}", mapping.address),
          number("bytes", mapping.bytes),
          fmt::format("old address {:#x}", mapping.old_address),
          number("old bytes", mapping.old_bytes),
          fmt::format("protection {}, flags {:#x}", mapping.protection, mapping.flags)};
}

Meanings meanings_of_utilization(const Record& record) {
  const auto& slab = record.as<UtilizationRecord>();
  return {number("time", slab.time), pair("sample", slab.sample, "reserved", slab.reserved),
          number("slab bytes", slab.slab_bytes), number("free bytes", slab.free_bytes)};
}

Meanings meanings_of_residency(const Record& record) {
  const auto& told = record.as<ResidencyRecord>();
  return {number("time", told.time), pair("sample", told.sample, "reserved", told.reserved),
          number("resident bytes", told.resident_bytes)};
}

Meanings meanings_of(const Record& record) {
  constexpr Meanings (*kPrinters[])(const Record&) = {nullptr,
                                                      meanings_of_sample,
                                                      meanings_of_free,
                                                      meanings_of_stack,
                                                      meanings_of_module,
                                                      meanings_of_thread,
                                                      meanings_of_epoch,
                                                      meanings_of_thread_name,
                                                      meanings_of_name,
                                                      meanings_of_mark,
                                                      meanings_of_mapping,
                                                      meanings_of_utilization,
                                                      meanings_of_carried,
                                                      meanings_of_checkpoint,
                                                      meanings_of_thinning,
                                                      meanings_of_tally,
                                                      meanings_of_residency};
  return kPrinters[static_cast<std::size_t>(record.header.type)](record);
}

/// Prints the hole at `at`; returns where it ends.
std::uint64_t dump_hole(Dump& dump, std::span<const std::uint64_t> words, std::uint64_t at) {
  dump.title("hole");
  for (; at / 8 < words.size() && words[at / 8] == 0; at += 8) dump.line(at, "nothing written");
  return at;
}

/// All words of the records, in order, also those that a reader skips.
std::string dump_records(std::string_view bytes, std::uint64_t end) {
  const std::vector<std::uint64_t> words = words_of(std::string(bytes.substr(0, end)));
  Dump dump(bytes);
  for (std::uint64_t at = kRecordsOffset; at < end;) {
    if (words[at / 8] == 0) {
      at = dump_hole(dump, words, at);
      continue;
    }
    const RecordHeader header = RecordHeader::unpack(words[at / 8]);
    const Record record{header, at, std::span(words).subspan(at / 8, header.words)};
    const bool is_whole = (header.flags & kReserved) == 0;
    dump.title(fmt::format("{}, {} {}", name_of(header.type),
                           is_whole ? "reference" : "never committed, at", at / 8));
    dump.line(at, header_meaning(header));
    dump.lines(at + 8, is_whole ? meanings_of(record) : Meanings(header.words - 1U, "not written"));
    at += std::uint64_t{header.words} * 8;
  }
  return dump.take();
}

std::string dump_chunk(std::string_view bytes, std::uint64_t at) {
  ChunkHeader chunk{};
  std::memcpy(&chunk, bytes.data() + at, sizeof chunk);
  Dump dump(bytes);
  dump.lines(at, {fmt::format("magic \"{}\", type {} (symbols)", std::string_view(chunk.magic, 4),
                              static_cast<std::uint32_t>(chunk.type)),
                  number("raw bytes", chunk.raw_bytes), number("stored bytes", chunk.stored_bytes),
                  fmt::format("codec {}, crc32 {:#010x}", static_cast<std::uint32_t>(chunk.codec),
                              chunk.crc32)});
  Meanings payload((chunk.stored_bytes + 7) / 8);
  payload.front() = "payload, zeros up to a multiple of 8";
  dump.lines(at + sizeof chunk, payload);
  return dump.take();
}

std::string dump_second(std::string_view file, std::uint64_t begin) {
  const std::string_view bytes = file.substr(begin);
  const auto& header = *reinterpret_cast<const FileHeader*>(bytes.data());
  Dump dump(bytes);
  dump.line(0, fmt::format("magic, {} bytes into the file", begin));
  dump.line(24, number("tail", header.tail.load()));
  dump.line(40, pair("stop errno", 0, "mode", header.mode));
  dump.line(offsetof(FileHeader, image_bytes), "image bytes: to the end of the file");
  return dump.take() + "\n" + dump_records(bytes, header.tail.load());
}

std::string dump_segment(std::string_view bytes) {
  const auto& header = *reinterpret_cast<const FileHeader*>(bytes.data());
  Dump dump(bytes);
  dump.line(40, pair("stop errno", 0, "mode", header.mode));
  dump.line(offsetof(FileHeader, start_monotonic),
            number("start, monotonic ns", header.start_monotonic));
  dump.line(offsetof(FileHeader, image_start), number("image start", header.image_start));
  dump.line(offsetof(FileHeader, segment), pair("segment", header.segment, "reserved", 0));
  return dump.take() + "\n" + dump_records(bytes, header.tail.load());
}

// ------------------------------------------------------------ the document ---

/// Blocks by the name in the comment above them:  <!-- example: NAME -->
std::map<std::string, std::string> expected_blocks(const std::string& file) {
  const auto& header = *reinterpret_cast<const FileHeader*>(file.data());
  return {{"header", dump_header(file)},
          {"control", dump_control(file)},
          {"records", dump_records(file, header.sealed_end)},
          {"chunk", dump_chunk(file, header.sealed_end)},
          {"second", dump_second(file, header.image_bytes)},
          {"segment", dump_segment(segment_bytes())}};
}

constexpr const char* kDocument = GEIGER_SOURCE_DIR "/docs/internals/trace-format.md";

std::string read_document() {
  std::ostringstream text;
  text << std::ifstream(kDocument).rdbuf();
  return text.str();
}

/// Where the block called `name` begins and ends in the document.
std::pair<std::size_t, std::size_t> place_of(const std::string& document, const std::string& name) {
  const std::string opening = "<!-- example: " + name + " -->\n```text\n";
  const std::size_t begin = document.find(opening);
  if (begin == std::string::npos) return {0, 0};
  return {begin + opening.size(), document.find("```", begin + opening.size())};
}

TEST(TraceExample, StandsInTheDocument) {
  std::string document = read_document();
  const bool regenerates = std::getenv("GEIGER_REGENERATE") != nullptr;
  for (const auto& [name, expected] : expected_blocks(example_file())) {
    const auto [begin, end] = place_of(document, name);
    ASSERT_NE(begin, 0U) << "no block '" << name << "' in " << kDocument;
    if (regenerates) document.replace(begin, end - begin, expected);
    const std::size_t size = regenerates ? expected.size() : end - begin;
    EXPECT_EQ(document.substr(begin, size), expected) << "GEIGER_REGENERATE=1 rewrites it";
  }
  if (regenerates) std::ofstream(kDocument) << document;
}

/// The example file on disk, removed at the end.
class ExampleOnDisk {
 public:
  ExampleOnDisk() {
    std::string name = "/tmp/geiger-example-XXXXXX";
    directory_ = mkdtemp(name.data());
    std::ofstream(path(), std::ios::binary) << example_file();
  }
  ExampleOnDisk(const ExampleOnDisk&) = delete;
  ExampleOnDisk& operator=(const ExampleOnDisk&) = delete;
  ~ExampleOnDisk() { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string path() const { return directory_ + "/demo.geiger"; }

 private:
  std::string directory_;
};

TEST(TraceExample, IsATrace) {
  const ExampleOnDisk file;
  const std::string paths[] = {file.path()};
  ingest::Ingested read = ingest::read_recording(paths);
  const profile::Recording& recording = read.recording;
  EXPECT_FALSE(read.damaged);
  EXPECT_TRUE(recording.warnings.empty());
  ASSERT_EQ(recording.processes.size(), 2U);
  EXPECT_EQ(recording.processes[0].records, 11U);
  EXPECT_EQ(recording.processes[0].uncommitted, 2U);
  EXPECT_TRUE(recording.processes[1].is_fork_child);
  ASSERT_EQ(recording.samples.size(), 2U);
  EXPECT_EQ(recording.samples[0].free_time, 2040U);
  EXPECT_TRUE(recording.samples[1].is_certain);
  EXPECT_EQ(recording.labels.at(recording.samples[1].label).text, "request");
  ASSERT_EQ(recording.marks.size(), 1U);
  EXPECT_EQ(recording.marks[0].name, "warm");
  ASSERT_EQ(recording.mappings.size(), 1U);
  EXPECT_EQ(recording.mappings[0].bytes, 65536U);
}

TEST(TraceExample, CarriesItsSymbols) {
  const ExampleOnDisk file;
  const std::string paths[] = {file.path()};
  ingest::Ingested read = ingest::read_recording(paths);
  ASSERT_EQ(read.symbols.size(), 1U);
  EXPECT_TRUE(symbolize::apply_symbols(read.symbols[0].bytes, 0, read.recording).has_value());
  const profile::Location& leaf = read.recording.locations[0];
  ASSERT_EQ(leaf.frames.size(), 1U);
  EXPECT_EQ(read.recording.frames[leaf.frames[0]].function, "main");
}

TEST(TraceExample, ASegmentReadsAlone) {
  std::string name = "/tmp/geiger-example-XXXXXX";
  const std::filesystem::path directory = mkdtemp(name.data());
  const std::string paths[] = {directory / "demo.4720.1.geiger"};
  std::ofstream(paths[0], std::ios::binary) << segment_bytes();
  const profile::Recording recording = ingest::read_recording(paths).recording;
  std::filesystem::remove_all(directory);
  EXPECT_TRUE(recording.warnings.empty());
  ASSERT_EQ(recording.processes.size(), 1U);
  EXPECT_TRUE(recording.processes[0].misses_beginning());
  EXPECT_EQ(recording.processes[0].thinning, 1U);
  ASSERT_EQ(recording.samples.size(), 1U);
  EXPECT_EQ(recording.samples[0].time, 2020U);
  EXPECT_EQ(recording.samples[0].seen_from, 5000U);
  EXPECT_EQ(recording.samples[0].free_time, 6000U);
  ASSERT_EQ(recording.tallies.size(), 1U);
  EXPECT_EQ(recording.tallies[0].allocated, 70U);
}

/// Every allocated byte is one of: tried, tail of a hit, in a certain object.
TEST(TraceExample, ItsTotalsAddUp) { EXPECT_EQ(kTotals[3], kTotals[4] + kTotals[8] + kTotals[6]); }

}  // namespace
}  // namespace geiger::trace
