// Writes the binary seeds of the corpus anew, for after a change of a format:
//
//   seeds DIRECTORY...        such as fuzz/corpus
//
// Findings, and what is text, stay as they are.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/ingest/observation_chunk.h"
#include "analysis/ingest/seal.h"
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

/// A site of the shop: its functions, innermost first, as indices of kFunctions.
struct Site {
  std::vector<std::size_t> path;
  Bytes least, most;
  double lives;  ///< Seconds; 0: to the end.
  std::uint32_t thread, weight;
};
struct Function {
  std::string_view name, linkage, file;
  std::uint32_t line;
};
constexpr Function kFunctions[] = {
    {"main", "main", "shop.cc", 90},
    {"shop::Server::serve(shop::Request const&)", "_ZN4shop6Server5serveERKNS_7RequestE",
     "server.cc", 41},
    {"shop::Store::open(std::string const&)", "_ZN4shop5Store4openERKSs", "store.cc", 12},
    {"std::vector<shop::Item, std::allocator<shop::Item> >::_M_realloc_insert(shop::Item&&)",
     "_ZNSt6vectorIN4shop4ItemESaIS1_EE17_M_realloc_insertEOS1_", "stl_vector.h", 1234},
    {"shop::Cache::insert(unsigned long, std::shared_ptr<shop::Session>)",
     "_ZN4shop5Cache6insertEmSt10shared_ptrINS_7SessionEE", "cache.cc", 77},
    {"shop::parse(std::string_view)", "_ZN4shop5parseESt17basic_string_viewIcE", "parse.cc", 8},
    {"shop::Log::append(char const*, ...)", "_ZN4shop3Log6appendEPKcz", "log.cc", 30},
};
const Site kSites[] = {
    {{3, 2, 0}, 400, 4000, 0, 1, 3},    {{4, 1, 0}, 64, 512, 0, 2, 4},
    {{5, 1, 0}, 16, 2000, 2e-3, 2, 6},  {{6, 5, 1, 0}, 30, 200, 0.4, 2, 3},
    {{3, 5, 1, 0}, 100, 9000, 3, 1, 2}, {{6, 0}, 20'000, 90'000, 2, 1, 1},
};

/// A run of a program with names, lines, threads, types, labels, marks and a heap that grows, drawn
/// as a recording draws: what tests read of which every report has something to say. `is_later`: of
/// the next version, whose cache grew and whose log went.
std::string shop(bool is_later) {
  constexpr std::uint64_t kInterval = 4096, kAllocations = 2600;
  constexpr Nanoseconds kSecond = 1'000'000'000, kRun = 10 * kSecond;
  trace::TestTrace trace(kInterval);
  std::strcpy(trace.header().executable, "/opt/shop/bin/shop");
  std::strcpy(trace.header().started_as, "shop");
  trace.header().stop_monotonic = 1000 + kRun;
  trace.header().start_realtime = (is_later ? 1'700'086'400 : 1'700'000'000) * kSecond;
  trace.header().seed = is_later ? 8 : 7;
  const trace::Ref epoch = trace.epoch(kInterval);
  trace.module("/opt/shop/bin/shop", "\x0a\x0b\x0c\x0d", 0x400000, 0x500000, 0x400000);
  symbolize::SymbolSetBuilder names;
  symbolize::ModuleNames module{"/opt/shop/bin/shop", "0a0b0c0d", {}};
  for (std::size_t i = 0; i < std::size(kFunctions); ++i) {
    const auto& [name, linkage, file, line] = kFunctions[i];
    module.addresses.push_back(
        {0x100 * i + 0x51,
         {names.frame({names.string(name), names.string(linkage), names.string(file), line})}});
  }
  names.set().modules.push_back(module);
  const trace::Ref labels[] = {0, trace.name(trace::NameKind::kLabel, 0, "GET /item"),
                               trace.name(trace::NameKind::kLabel, 0, "POST /order")};
  const trace::Ref types[] = {0, trace.name(trace::NameKind::kType, 0, "shop::Session"),
                              trace.name(trace::NameKind::kType, 0, "shop::Item")};
  std::vector<trace::Ref> stacks;
  for (const Site& site : kSites) {
    std::vector<std::uint64_t> frames;
    for (const std::size_t function : site.path) frames.push_back(0x400051 + 0x100 * function);
    stacks.push_back(trace.stack(frames));
  }
  std::minstd_rand random(is_later ? 23 : 17);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  const auto uniform = [&] { return static_cast<double>(random()) / std::minstd_rand::max(); };
  trace::TestTrace::Totals totals[3];
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < std::size(kSites); ++i) {
    const std::uint32_t weight = is_later && i == 1 ? 9 : kSites[i].weight;
    if (!is_later || i != 3) chosen.insert(chosen.end(), weight, i);
  }
  std::vector<trace::Ref> live;
  for (std::uint64_t i = 0; i < kAllocations; ++i) {
    const std::size_t at = chosen[below(chosen.size())];
    const Site& site = kSites[at];
    const Bytes size = site.least + below(site.most - site.least);
    const Nanoseconds time = 1000 + kRun / kAllocations * i;
    trace::TestTrace::Totals& total = totals[site.thread];
    const bool is_certain = size >= kInterval;
    total.bytes += size;
    ++total.calls;
    if (is_certain) {
      total.certain_bytes += size;
      ++total.certain_count;
    } else {
      total.trials += size;
      const double missed = std::pow(1 - 1.0 / kInterval, static_cast<double>(size));
      if (uniform() < missed) continue;
      ++total.hits;
    }
    ++total.armed;
    const trace::Ref sample = trace.sample({.time = time,
                                            .stack = stacks[at],
                                            .epoch = epoch,
                                            .address = 0x10000000 + 0x20000 * i,
                                            .requested = size,
                                            .thread = site.thread,
                                            .is_certain = is_certain,
                                            .label = labels[site.thread == 2 ? 1 + below(2) : 0],
                                            .type = types[at == 1   ? 1
                                                          : at == 0 ? 2
                                                                    : 0],
                                            .offset = below(size)});
    const Nanoseconds freed =
        time + static_cast<Nanoseconds>(site.lives * uniform() * static_cast<double>(kSecond));
    if (site.lives > 0 && freed < 1000 + kRun) {
      trace.free(sample, freed, 0, 1 + static_cast<std::uint32_t>(below(2)), stacks[at]);
    } else {
      live.push_back(sample);
    }
  }
  for (std::uint32_t thread = 1; thread <= 2; ++thread) {
    totals[thread].end = 1000 + kRun;
    trace.thread(thread, 99 + thread, totals[thread]);
    trace.thread_name(thread, thread == 1 ? "shop" : "worker");
  }
  trace.mapping({.time = 2 * kSecond, .stack = stacks[0], .bytes = 1 << 20, .thread = 1});
  trace.mark("warm", 3 * kSecond, 1);
  trace.mark("orders", 6 * kSecond, 2);
  profile::Observations seen;
  seen.series = {{3 * kSecond, {1'000'000, 500'000, 500'000, 0, 0}, 1'100'000},
                 {9 * kSecond, {1'500'000, 900'000, 600'000, 0, 0}, 1'600'000}};
  seen.high_water = 1'600'000;
  profile::Snapshot snapshot;
  snapshot.time = 9 * kSecond;
  snapshot.maps[0] = {1'500'000, 900'000, 0};
  snapshot.counts = seen.series.back().counts;
  for (const trace::Ref sample : live) snapshot.residency.push_back({sample, 64, 0});
  seen.at_maximum = seen.last = snapshot;
  trace.header().sealed_end = trace.end();
  const std::string chunks =
      ingest::encode_chunk(trace::ChunkType::kSymbols, symbolize::encode(names.set())) +
      ingest::encode_chunk(trace::ChunkType::kObservations, ingest::encode_observations(seen));
  trace.header().image_bytes = trace.end() + chunks.size();
  return text_of(trace.bytes()) + chunks;
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
  corpus.write("trace/shop", shop(false));
  corpus.write("trace/shop_later", shop(true));
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
