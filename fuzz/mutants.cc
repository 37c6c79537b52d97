// Damages sound files in many ways and reads what comes of it, within 512 MiB and 5
// seconds each:
//
//   mutants traces COUNT[+FIRST] SEED PATH...   reports of each; what stood before the
//                                               first damaged byte must be given back
//   mutants elf COUNT[+FIRST] SEED PATH...      names by the confined process, and rows of
//                                               the unwind tables as the runtime reads them
//
// PATHs are files, or directories of files. Exit 1 if any case crashed, hung, took more
// memory, or broke a promise; the number of a case makes it again as COUNT 1+N.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "analysis/symbolize/symbolize.h"
#include "batch.h"
#include "elf_mutator.h"
#include "every_report.h"
#include "foreign/elf_facts.h"
#include "read_bytes.h"
#include "runtime/unwind/cfi.h"
#include "target.h"
#include "trace_mutator.h"

namespace geiger::fuzz {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A generator per case, so that any case can be made again alone.
std::mt19937_64 random_of(std::uint64_t seed, std::uint64_t number) {
  std::seed_seq both{seed, number};
  return std::mt19937_64(both);
}

enum TraceTally : std::size_t { kWhole, kDamaged, kUnreadable, kSamples };

void run_trace(const SoundTrace& sound, std::uint64_t seed, std::uint64_t number,
               const Tally& tally) {
  std::mt19937_64 random = random_of(seed, number);
  const std::string mutant = mutate(sound, random);
  auto ingested = read_bytes(mutant);
  require(sound.keeps_promise(ingested, first_difference(sound.bytes(), mutant)),
          "samples before the first damaged byte are given back");
  const bool is_readable = !ingested.recording.processes.empty();
  tally.add(!is_readable ? kUnreadable : ingested.damaged ? kDamaged : kWhole);
  require(is_readable || ingested.damaged, "what cannot be read is said to be damaged");
  tally.add(kSamples, ingested.recording.samples.size());
  give_names(ingested);
  // In turn, and not in step with the files.
  draw_part(ingested.recording, number / 4);
}

enum ElfTally : std::size_t { kNamed, kNameless, kReadersEnded, kRows };

profile::Recording recording_of(const std::string& path, const std::vector<Address>& addresses) {
  profile::Recording recording;
  recording.processes.emplace_back();
  recording.modules.push_back({path, "", 0, ~Address{0}, 0});
  for (const Address address : addresses) {
    profile::Location location;
    location.module = 0;
    location.vaddr = address;
    recording.locations.push_back(location);
  }
  return recording;
}

/// The tables at the end of a mapping: whatever reads behind them finds no page.
class Fenced {
 public:
  explicit Fenced(std::string_view tables) : room_((tables.size() + kPage - 1) / kPage * kPage) {
    void* const memory =
        ::mmap(nullptr, room_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(memory != MAP_FAILED, "memory can be mapped");
    map_ = static_cast<std::uint8_t*>(memory);
    begin_ = map_ + room_ - tables.size();
    std::memcpy(begin_, tables.data(), tables.size());
    ::mprotect(map_ + room_, kPage, PROT_NONE);
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  ~Fenced() { ::munmap(map_, room_ + kPage); }

  [[nodiscard]] unwind::Cfi cfi() const {
    return {{begin_, map_ + room_}, reinterpret_cast<std::uint64_t>(begin_)};
  }

 private:
  static constexpr std::size_t kPage = 4096;
  std::size_t room_;
  std::uint8_t* map_ = nullptr;
  std::uint8_t* begin_ = nullptr;
};

/// Rows of some functions around those that the tables name.
std::uint64_t find_rows(const std::string& mutant, const FileRange& tables) {
  if (tables.start >= tables.end || tables.end > mutant.size()) return 0;
  const std::string_view part(mutant.data() + tables.start, tables.end - tables.start);
  const Fenced copy(part);
  std::uint64_t found = 0;
  for (std::size_t entry = 12; entry + 8 <= std::min<std::size_t>(part.size(), 2048); entry += 40) {
    std::int32_t distance = 0;
    std::memcpy(&distance, part.data() + entry, sizeof distance);
    const std::uint64_t pc = copy.cfi().header + static_cast<std::uint64_t>(std::int64_t{distance});
    unwind::FoundRow row;
    for (const std::uint64_t inside : {0, 5, 40})
      found += unwind::find_row(copy.cfi(), pc + inside, row);
  }
  return found;
}

void run_elf(const SoundElf& sound, std::mt19937_64 random, const std::string& path,
             const Tally& tally) {
  const std::string mutant = mutate(sound, random);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << mutant;
  static_cast<void>(foreign::read_elf_facts(path, {"malloc", "__asan_init"}));
  tally.add(kRows, find_rows(mutant, sound.unwind_tables()));
  profile::Recording recording = recording_of(path, sound.code_addresses(60));
  symbolize::Options options;
  options.perf_map_dir = "/nonexistent";
  const symbolize::Outcome outcome = symbolize::symbolize(recording, options);
  for (const profile::Location& location : recording.locations) {
    require(!location.frames.empty(), "every location gets a frame");
  }
  tally.add(kNamed, outcome.resolved);
  tally.add(kNameless, outcome.unresolved);
  tally.add(kReadersEnded, outcome.faults.size());
}

int say(const BatchResult& result, std::uint64_t count, const std::string& what) {
  fmt::print("{} cases: {}\n", count, what);
  fmt::print("slowest {:.2f} s (case {}), largest process {} MiB, faults {}\n", result.slowest,
             result.slowest_number, result.peak_memory / kMiB, result.faults.size());
  for (const CaseFault& fault : result.faults) {
    fmt::print("case {}: {}\n", fault.number, fault.cause);
  }
  return result.faults.empty() ? 0 : 1;
}

struct Task {
  std::uint64_t first = 0, count = 0, seed = 0;
  std::vector<std::string> files;
};

int damage_traces(const Task& task) {
  std::vector<SoundTrace> traces;
  for (const std::string& file : task.files) traces.emplace_back(read_file(file));
  const auto result =
      run_cases(task.first, task.count, {}, [&](std::uint64_t number, const Tally& tally) {
        run_trace(traces[number % traces.size()], task.seed, number, tally);
      });
  const auto& tallies = result.tallies;
  return say(result, task.count,
             fmt::format("{} read whole, {} in part, {} not; {} samples", tallies[kWhole],
                         tallies[kDamaged], tallies[kUnreadable], tallies[kSamples]));
}

int damage_programs(const Task& task) {
  std::vector<SoundElf> programs;
  for (const std::string& file : task.files) programs.emplace_back(read_file(file));
  std::string directory = (std::filesystem::temp_directory_path() / "mutants-XXXXXX").string();
  require(::mkdtemp(directory.data()) != nullptr, "a directory can be made");
  const auto result =
      run_cases(task.first, task.count, {}, [&](std::uint64_t number, const Tally& tally) {
        run_elf(programs[number % programs.size()], random_of(task.seed, number),
                directory + "/program", tally);
      });
  std::filesystem::remove_all(directory);
  const auto& tallies = result.tallies;
  return say(
      result, task.count,
      fmt::format("{} addresses named, {} not; {} readers ended; {} unwind rows", tallies[kNamed],
                  tallies[kNameless], tallies[kReadersEnded], tallies[kRows]));
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 4) {
    fmt::print(stderr, "usage: mutants traces|elf COUNT[+FIRST] SEED PATH...\n");
    return 2;
  }
  Task task;
  task.count = number_of(words[1]);
  const std::size_t plus = words[1].find('+');
  if (plus != std::string::npos)
    task.first = number_of(std::string_view(words[1]).substr(plus + 1));
  task.seed = number_of(words[2]);
  task.files = files_of({words.begin() + 3, words.end()});
  require(!task.files.empty(), "there is something to damage");
  return words[0] == "elf" ? damage_programs(task) : damage_traces(task);
}

}  // namespace
}  // namespace geiger::fuzz

int main(int argc, char** argv) { return geiger::fuzz::run({argv + 1, argv + argc}); }
