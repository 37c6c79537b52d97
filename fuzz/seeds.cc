// Writes the binary seeds of the corpus anew, for after a change of a format:
//
//   seeds DIRECTORY...        such as fuzz/corpus
//
// Findings, and what is text, stay as they are.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/ingest/chunk.h"
#include "analysis/ingest/observation_chunk.h"
#include "analysis/symbolize/symbol_set.h"
#include "trace/test_trace.h"

namespace {

using namespace geiger;

using Bits = std::vector<std::byte>;

std::string text_of(const Bits& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// One of every record type, referring to one another as they should.
void fill(trace::TestTrace& trace) {
  const trace::Ref epoch = trace.epoch(64);
  trace.thread(1, 100, {.end = 9000, .bytes = 8000, .trials = 700, .hits = 2, .armed = 9});
  trace.thread_name(1, "main");
  trace.module("/bin/demo", "\x01\x02\x03\x04", 0x1000, 0x9000, 0x1000);
  const trace::Ref stack = trace.stack({0x1151, 0x2300, 0x7000});
  const trace::Ref other = trace.stack({0x1151, 0xffff0000}, true);
  const trace::Ref label = trace.name(trace::NameKind::kLabel, 0, "request");
  const trace::Ref type = trace.name(trace::NameKind::kType, 0, "Request");
  static_cast<void>(trace.name(trace::NameKind::kHeap, 3, "pool"));
  const trace::Ref sample = trace.sample({.stack = stack, .epoch = epoch, .thread = 1});
  trace.sample({.stack = other,
                .epoch = epoch,
                .address = 0x6000,
                .requested = 4096,
                .thread = 1,
                .is_certain = true,
                .label = label,
                .type = type});
  trace.sample({.stack = other, .epoch = epoch, .address = 0x7000, .thread = 1, .heap = 3});
  trace.free(sample, 3000, 0, 1, stack);
  trace.mark("warm", 4000, 1);
  trace.mapping({.stack = stack, .thread = 1});
  trace.mapping({.kind = trace::MappingKind::kUnmap, .bytes = 4096, .thread = 1});
  trace.utilization(sample, 4096, 1024);
  trace.residency(sample, 1);
  trace.reserved(4);
  trace.hole(2);
}

std::string names() {
  symbolize::SymbolSetBuilder builder;
  const auto frame =
      builder.frame({builder.string("main"), builder.string("main"), builder.string("demo.c"), 7});
  const auto inlined = builder.frame(
      {builder.string("grow(int)"), builder.string("_Z4growi"), builder.string("demo.c"), 3});
  builder.set().modules.push_back(
      {"/bin/demo", "01020304", {{0x151, {inlined, frame}}, {0x1300, {frame}}}});
  builder.set().outside.push_back({0xffff0000, {frame}});
  return symbolize::encode(builder.set());
}

std::string observations(trace::Ref sample) {
  profile::Observations seen;
  seen.series = {{1000, {8192, 4096, 4096, 0, 0}, 4096}, {2000, {9000, 4096, 4904, 0, 0}, 8192}};
  seen.high_water = 12288;
  profile::Snapshot snapshot;
  snapshot.time = 2000;
  snapshot.maps[0] = {65536, 8192, 0};
  snapshot.counts = {8192, 4096, 4096, 0, 0};
  snapshot.residency = {{sample, 64, 0}};
  snapshot.waste = {{sample, 16}};
  snapshot.waste_fault.clear();
  seen.at_maximum = seen.last = snapshot;
  seen.types = {{"dict", "app.Node"}, {{sample, 1}}, "mem: Permission denied"};
  return ingest::encode_observations(seen);
}

/// A sealed image with names and observations behind its records.
std::string sealed(trace::TestTrace& trace) {
  const std::uint64_t end = trace.end();
  trace.header().sealed_end = end;
  const std::string chunks =
      ingest::encode_chunk(trace::ChunkType::kSymbols, names()) +
      ingest::encode_chunk(trace::ChunkType::kObservations, observations(1024));
  trace.header().image_bytes = end + chunks.size();
  return text_of(trace.bytes()) + chunks;
}

/// What a name can do to what shows it: a terminal, a page, a shell, a spreadsheet, a database, a
/// file name, a line of text.
constexpr std::string_view kHostile[] = {"\x1b]0;owned\x07\x1b[31mred\x1b[2J",
                                         "</script><script>alert(1)</script>",
                                         "'); DROP TABLE functions; --",
                                         "=cmd|'/C calc'!A0",
                                         "a;b c\nmain;forged 999999",
                                         "\xff\xfe\xc3(",
                                         "\xc2\x9b"
                                         "31mred",
                                         "\u202egnp.exe",
                                         "$(touch x) `touch y` | touch z",
                                         "{\"a\":\"\\u0000\"}",
                                         "../../../../etc/passwd"};

/// One image in which everything that has a name has a hostile one.
std::string hostile_names() {
  trace::TestTrace trace(64);
  std::strcpy(trace.header().executable, "/bin/\x1b[31m</script>'\";=1\n");
  std::strcpy(trace.header().allocator, "/lib/\x1b]0;lib\x07");
  const trace::Ref epoch = trace.epoch(64);
  symbolize::SymbolSetBuilder builder;
  std::uint32_t number = 0;
  for (const std::string_view name : kHostile) {
    ++number;
    const Address base = 0x10000 * number;
    const std::string path = "/lib/" + std::string(name);
    trace.thread(number, 100 + number, {.bytes = 64000, .trials = 63000, .hits = 9, .armed = 9});
    trace.thread_name(number, name.substr(0, 15));
    trace.module(path, "\x01\x02", base, base + 0x1000, base);
    const trace::Ref stack = trace.stack({base + 0x51});
    const trace::Ref label = trace.name(trace::NameKind::kLabel, 0, name);
    const trace::Ref type = trace.name(trace::NameKind::kType, 0, name);
    static_cast<void>(trace.name(trace::NameKind::kHeap, number, name));
    for (std::uint32_t i = 0; i < 9; ++i) {
      const Nanoseconds time = 1000 + i * 100;
      const trace::Ref sample = trace.sample({.time = time,
                                              .stack = stack,
                                              .epoch = epoch,
                                              .address = base + i * 64,
                                              .thread = number,
                                              .label = label,
                                              .type = type});
      if (i % 3 == 0) trace.free(sample, time + 50, 0, number, stack);
    }
    trace.sample({.stack = stack,
                  .epoch = epoch,
                  .thread = number,
                  .heap = static_cast<std::uint16_t>(number)});
    trace.mapping({.stack = stack, .address = base << 16, .thread = number});
    trace.mark(name, 3000 + number, number);
    const auto text = builder.string(name);
    builder.set().modules.push_back(
        {path, "0102", {{0x51, {builder.frame({text, text, text, 1})}}}});
  }
  trace.header().sealed_end = trace.end();
  const std::string chunk =
      ingest::encode_chunk(trace::ChunkType::kSymbols, symbolize::encode(builder.set()));
  trace.header().image_bytes = trace.end() + chunk.size();
  return text_of(trace.bytes()) + chunk;
}

class Corpus {
 public:
  explicit Corpus(std::filesystem::path root) : root_(std::move(root)) {}

  void write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }

 private:
  std::filesystem::path root_;
};

void write_seeds(const Corpus& corpus) {
  trace::TestTrace whole(64);
  fill(whole);
  corpus.write("trace/open", text_of(whole.bytes()));
  trace::TestTrace first(64);
  fill(first);
  trace::TestTrace second(1024);
  second.header().mode = trace::kModeForked;
  fill(second);
  corpus.write("trace/sealed_two_images", sealed(first) + text_of(second.bytes()));
  corpus.write("trace/hostile_names", hostile_names());
  trace::TestTrace cut(64);
  fill(cut);
  const std::string bytes = text_of(cut.bytes());
  corpus.write("trace/cut", bytes.substr(0, bytes.size() - 100));
  trace::TestTrace records(64);
  records.epoch(64);
  const std::size_t behind_epoch = records.end();
  fill(records);
  corpus.write("records/each_type", text_of(records.bytes()).substr(behind_epoch));
  corpus.write("symbols/two_frames", names());
  corpus.write("observations/two_snapshots", observations(1024));
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) write_seeds(Corpus(argv[i]));
  return argc > 1 ? 0 : 2;
}
