// A program that knows what it allocates: 48 functions `site<N>` with known bytes, objects and
// fates. tests/coverage_study.py compares reports with it.
//
//   coverage [NAME=VALUE...]
//
//   sizes=one      what a site allocates: `one` size, sizes of a `wide` range, `near` the unit,
//   `large`
//                  (half of them above it) or `empty` objects at every second site
//   unit=8192      bytes: site N allocates about 2, 6, 20 or 60 units, by N modulo 4
//   parts=100,50   the work of each part, relative to the others
//   in=main        where parts run: `main`, four `threads`, many `short` threads, or children by
//   `fork` by=malloc      how: `malloc`; `realloc` of half the size; `heap`, reports to a heap of
//   its own freed=main     `main`, or `other`: by another thread keep=all       `all` fates;
//   `none`: each part frees everything, at its end; an `eighth` at its
//                  end, all else at once
//   depth=N        frames between every second call of a site and its caller
//   then=A,B       before each part but the first: `ask`, `churn:BYTES`, `sleep:MS`,
//   `interval:BYTES`,
//                  `token:BYTES`, `stop`, `live` (a snapshot); the last four with the API only
//
// A quarter of the objects is freed at once, or by the end of its part if another thread does it; a
// quarter lives longer than twice `short_ns` and 20 ms, where others live for `short_ns` at most;
// half stays.
//
// Prints one JSON object. `parts`: per part and site the bytes and objects that were allocated, are
// live at the end, and were freed within `short_ns`. `peaks`: the largest live bytes of each site,
// and of all. `profiles`: per profile of the API and site the bytes and objects that it estimates:
// value, lowest, highest, variance.
//
// It allocates nothing else, but in threads and in geiger's API.
#include <geiger/geiger.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

constexpr int kSites = 48, kMostParts = 64, kMostOperations = 1 << 21, kThreads = 4;
constexpr double kUnits[] = {2, 6, 20, 60};

enum class Fate : std::uint8_t { kShort, kLater, kKept };

struct Operation {
  std::uint32_t size;
  std::uint8_t site;
  Fate fate;
  bool is_deep;
};

struct Truth {
  std::uint64_t bytes, objects, live_bytes, live_objects, short_bytes, short_objects;
};

/// Memory that no allocator knows.
template <typename T>
T* reserve(std::size_t count, int sharing) {
  return static_cast<T*>(mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                              sharing | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

Operation* operations;
void** blocks;
int part_begin[kMostParts + 1];
Truth truths[kMostParts][kSites];

/// Live bytes.
struct Heap {
  std::atomic<std::uint64_t> live, peak;

  void add(std::uint64_t bytes) {
    const std::uint64_t now = live += bytes;
    for (std::uint64_t seen = peak; seen < now && !peak.compare_exchange_weak(seen, now);) {
    }
  }
};

/// Of each site, and of all together; in all processes.
Heap* heaps;

const char* words[32];
int word_count = 0;

/// The value of the last such word of the command line.
const char* option(const char* name, const char* value) {
  const std::size_t length = std::strlen(name);
  for (int i = word_count; i-- > 0;)
    if (std::strncmp(words[i], name, length) == 0 && words[i][length] == '=')
      return words[i] + length + 1;
  return value;
}

bool is(const char* text, const char* value) { return std::strcmp(text, value) == 0; }

std::uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// --- allocating ---------------------------------------------------------------

enum class How { kMalloc, kRealloc, kHeap } how = How::kMalloc;
geiger_heap heap;
std::uintptr_t heap_address = 4096;

void release(void* block) {
  if (how == How::kHeap)
    geiger_report_free(heap, block);
  else
    std::free(block);
}

template <int Site>
[[gnu::noinline]] void* site(std::size_t size) {
  void* block = nullptr;
  if (how == How::kHeap) {
    block = reinterpret_cast<void*>(heap_address += 4096);
    geiger_report_allocation(heap, block, size);
  } else if (how == How::kRealloc) {
    block = std::realloc(std::malloc(size / 2), size);
  } else {
    block = std::malloc(size);
  }
  asm volatile("" : "+r"(block) : "i"(Site));  // No tail call, no folding.
  return block;
}

template <int Site>
[[gnu::noinline]] void* deep(std::size_t size, int depth) {
  void* block = depth == 0 ? site<Site>(size) : deep<Site>(size, depth - 1);
  asm volatile("" : "+r"(block));
  return block;
}

template <int Site>
[[gnu::noinline]] void* caller(std::size_t size, int depth) {
  void* block = deep<Site>(size, depth);
  asm volatile("" : "+r"(block));
  return block;
}

using Allocate = void* (*)(std::size_t, int);

template <int... Sites>
constexpr void fill(Allocate* all, std::integer_sequence<int, Sites...>) {
  ((all[Sites] = caller<Sites>), ...);
}

Allocate callers[kSites];
int depth = 0;
char names[kSites][8];
geiger_label labels[kSites];
geiger_type types[kSites];

void* carry_out(const Operation& operation) {
  geiger_scope in_label, in_type;
  geiger_enter_label(&labels[operation.site], &in_label);
  geiger_enter_type(&types[operation.site], &in_type);
  void* block = callers[operation.site](operation.size, operation.is_deep ? depth : 0);
  geiger_leave_type(&in_type);
  geiger_leave_label(&in_label);
  heaps[operation.site].add(operation.size);
  heaps[kSites].add(operation.size);
  return block;
}

void drop(int i) {
  release(blocks[i]);
  blocks[i] = nullptr;
  heaps[operations[i].site].live -= operations[i].size;
  heaps[kSites].live -= operations[i].size;
}

[[gnu::noinline]] void churn(std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes; done += 1000) {
    void* block = std::malloc(1000);
    asm volatile("" : "+r"(block));
    std::free(block);
  }
}

// --- the plan -------------------------------------------------------------------

std::uint64_t random_state = 20240229;

std::uint64_t draw() {
  random_state = random_state * 6364136223846793005 + 1442695040888963407;
  return random_state >> 32;
}

std::uint32_t draw_size(const char* sizes, int site, double unit) {
  const double place = (site + 0.5) / kSites, uniform = static_cast<double>(draw()) / 0x1p32;
  if (is(sizes, "near")) return static_cast<std::uint32_t>(unit * (0.3 + 0.65 * place));
  if (is(sizes, "wide"))
    return static_cast<std::uint32_t>(16 * std::exp2(uniform * std::log2(unit / 16)));
  if (is(sizes, "large"))
    return static_cast<std::uint32_t>(unit * (uniform < 0.5 ? 0.2 + 0.7 * place : 1 + 3 * place));
  if (is(sizes, "empty") && site % 2 == 0) return 0;
  return static_cast<std::uint32_t>(24 + 37 * site);
}

/// Adds what a site does in a part. The fates take turns.
int plan_site(const char* sizes, int site, int part, double bytes, double unit, int at) {
  const char* keep = option("keep", "all");
  constexpr Fate kFates[] = {Fate::kKept, Fate::kShort, Fate::kKept, Fate::kLater};
  Truth& truth = truths[part][site];
  for (double done = 0; done < bytes && at < kMostOperations;) {
    const std::uint32_t size = draw_size(sizes, site, unit);
    Fate fate = is(keep, "none") ? Fate::kLater : kFates[truth.objects % 4];
    if (is(keep, "eighth")) fate = truth.objects % 8 == 7 ? Fate::kLater : Fate::kShort;
    done += size == 0 ? 1 : size;  // An empty object is sampled as one byte is.
    operations[at++] = {size, static_cast<std::uint8_t>(site), fate, truth.objects % 2 == 0};
    truth.objects += 1;
    truth.bytes += size;
    truth.live_objects += fate == Fate::kKept;
    truth.live_bytes += fate == Fate::kKept ? size : 0;
    truth.short_objects += fate == Fate::kShort;
    truth.short_bytes += fate == Fate::kShort ? size : 0;
  }
  return at;
}

/// What realloc frees on the way: of each object another one, of half its size.
void count_halves() {
  for (int i = 0, part = 0; i < part_begin[kMostParts]; ++i) {
    while (i >= part_begin[part + 1]) ++part;
    Truth& truth = truths[part][operations[i].site];
    truth.bytes += operations[i].size / 2;
    truth.short_bytes += operations[i].size / 2;
    truth.objects += 1;
    truth.short_objects += 1;
  }
}

int plan() {
  double weights[kMostParts], sum = 0;
  int parts = 0;
  for (const char* at = option("parts", "1"); at != nullptr && parts < kMostParts;
       at = std::strchr(at, ',')) {
    at += *at == ',';
    sum += weights[parts++] = std::atof(at);
  }
  const char* sizes = option("sizes", "one");
  const double unit = std::atof(option("unit", "8192"));
  int end = 0;
  for (int part = 0; part < parts; ++part) {
    part_begin[part] = end;
    for (int site = 0; site < kSites; ++site)
      end = plan_site(sizes, site, part, kUnits[site % 4] * unit * weights[part] / sum, unit, end);
    for (int i = end; i > part_begin[part] + 1; --i)
      std::swap(
          operations[i - 1],
          operations[part_begin[part] +
                     static_cast<int>(draw() % static_cast<std::uint64_t>(i - part_begin[part]))]);
  }
  for (int part = parts; part <= kMostParts; ++part) part_begin[part] = end;
  if (how == How::kRealloc) count_halves();
  return parts;
}

// --- running --------------------------------------------------------------------

struct Range {
  int begin, end;
};

bool others_free = false;

void run(Range range) {
  for (int i = range.begin; i < range.end; ++i) {
    blocks[i] = carry_out(operations[i]);
    if (operations[i].fate == Fate::kShort && !others_free) drop(i);
  }
}

void drop_all(Range range, Fate fate) {
  for (int i = range.begin; i < range.end; ++i)
    if (operations[i].fate == fate && blocks[i] != nullptr) drop(i);
}

std::atomic<int> begun;

void* run_in_thread(void* range) {
  run(*static_cast<Range*>(range));
  return nullptr;
}

/// Threads draw by the order in which they first allocate, so each does so before the next starts.
void* run_after_all(void* range) {
  std::free(std::malloc(1));
  ++begun;
  while (begun % kThreads != 0) sched_yield();
  return run_in_thread(range);
}

void* drop_in_thread(void* range) {
  drop_all(*static_cast<Range*>(range), Fate::kShort);
  return nullptr;
}

void in_thread(void* (*work)(void*), Range range) {
  pthread_t thread;
  pthread_create(&thread, nullptr, work, &range);
  pthread_join(thread, nullptr);
}

void run_in_threads(Range range) {
  pthread_t threads[kThreads];
  Range ranges[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    const int count = range.end - range.begin, before = begun;
    ranges[i] = {range.begin + count * i / kThreads, range.begin + count * (i + 1) / kThreads};
    pthread_create(&threads[i], nullptr, run_after_all, &ranges[i]);
    while (begun == before) sched_yield();
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}

void run_in_short_threads(Range range) {
  constexpr int kObjects = 50;
  for (int i = range.begin; i < range.end; i += kObjects)
    in_thread(run_in_thread, {i, std::min(i + kObjects, range.end)});
}

void finish_part(Range range) {
  if (others_free) in_thread(drop_in_thread, range);
  if (!is(option("keep", "all"), "all")) drop_all(range, Fate::kLater);
}

void run_part(Range range) {
  const char* in = option("in", "main");
  if (is(in, "fork")) {
    if (fork() == 0) {
      run(range);
      finish_part(range);
      std::exit(0);
    }
    wait(nullptr);
    for (int i = 0; i <= kSites; ++i) heaps[i].live = 0;  // The parent has none of its own.
    return;
  }
  if (is(in, "threads"))
    run_in_threads(range);
  else if (is(in, "short"))
    run_in_short_threads(range);
  else
    run(range);
  finish_part(range);
}

// --- between parts ----------------------------------------------------------------

constexpr int kMostProfiles = 16;
geiger_token token;
geiger_profile profiles[kMostProfiles];
int profile_count = 0;

/// Goes on allocating until a line is read: only then is a request from outside seen.
void ask() {
  std::puts("ready");
  std::fflush(stdout);
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (poll(&input, 1, 1) == 0) churn(1 << 16);
  for (char c = 0; c != '\n' && read(STDIN_FILENO, &c, 1) == 1;) {
  }
}

bool act(const char* action) {
  const char* colon = std::strchr(action, ':');
  const std::uint64_t number = colon == nullptr ? 0 : std::strtoull(colon + 1, nullptr, 10);
  const auto is_named = [&](const char* name) {
    return std::strncmp(action, name, std::strlen(name)) == 0;
  };
  if (is_named("ask")) return ask(), true;
  if (is_named("churn")) return churn(number), true;
  if (is_named("sleep")) return usleep(static_cast<useconds_t>(number * 1000)) == 0;
  if (is_named("interval")) return geiger_set_sampling_interval(number) == GEIGER_OK;
  if (is_named("token"))
    return geiger_start_profile(GEIGER_ALLOCATIONS, number, &token) == GEIGER_OK;
  if (is_named("stop")) return geiger_stop_profile(token, &profiles[profile_count++]) == GEIGER_OK;
  if (is_named("live"))
    return geiger_take_snapshot(GEIGER_LIVE, &profiles[profile_count++]) == GEIGER_OK;
  return false;
}

/// Runs the actions before one part: those up to the next comma; `+` joins several.
bool act_before(const char*& actions) {
  while (*actions != '\0' && *actions != ',') {
    if (!act(actions)) return false;
    actions += std::strcspn(actions, "+,");
    actions += *actions == '+';
  }
  actions += *actions == ',';
  return true;
}

// --- printing ---------------------------------------------------------------------

void print_truth(int parts) {
  std::printf("\"parts\":[");
  for (int part = 0; part < parts; ++part) {
    std::printf("%s[", part == 0 ? "" : ",\n");
    for (int site = 0; site < kSites; ++site) {
      const Truth& t = truths[part][site];
      std::printf("%s[%lu,%lu,%lu,%lu,%lu,%lu]", site == 0 ? "" : ",", t.bytes, t.objects,
                  t.live_bytes, t.live_objects, t.short_bytes, t.short_objects);
    }
    std::printf("]");
  }
  std::printf("]");
}

int is_of_site(void* name, const geiger_sample* sample) {
  return sample->type.size == std::strlen(static_cast<char*>(name)) &&
         std::memcmp(sample->type.data, name, sample->type.size) == 0;
}

void print_profiles() {
  std::printf(",\"profiles\":[");
  for (int i = 0; i < profile_count; ++i) {
    std::printf("%s[", i == 0 ? "" : ",");
    for (int site = 0; site < kSites; ++site) {
      std::printf("%s[", site == 0 ? "" : ",");
      for (geiger_measure measure : {GEIGER_BYTES, GEIGER_OBJECTS}) {
        geiger_estimate e{};
        geiger_estimate_total(profiles[i], measure, 0, is_of_site, names[site], 0.95, &e);
        std::printf("%s[%.17g,%.17g,%.17g,%.17g]", measure == GEIGER_BYTES ? "" : ",", e.value,
                    e.lowest, e.highest, e.variance);
      }
      std::printf("]");
    }
    std::printf("]");
  }
  std::printf("]");
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc && word_count < 32; ++i) words[word_count++] = argv[i];
  const char* by = option("by", "malloc");
  if (is(by, "heap")) how = How::kHeap;
  if (is(by, "realloc")) how = How::kRealloc;
  if (how == How::kHeap && geiger_define_heap("pool", &heap) != GEIGER_OK) return 3;
  others_free = is(option("freed", "main"), "other");
  depth = std::atoi(option("depth", "0"));
  fill(callers, std::make_integer_sequence<int, kSites>());
  for (int i = 0; i < kSites; ++i) {
    std::snprintf(names[i], sizeof names[i], "s%d", i);
    labels[i] = GEIGER_LABEL(names[i]);
    types[i] = GEIGER_TYPE(names[i]);
  }
  static char output[1 << 16];
  std::setvbuf(stdout, output, _IOFBF, sizeof output);
  operations = reserve<Operation>(kMostOperations, MAP_PRIVATE);
  blocks = reserve<void*>(kMostOperations, MAP_PRIVATE);
  heaps = reserve<Heap>(kSites + 1, MAP_SHARED);
  const int parts = plan();

  const char* actions = option("then", "");
  const std::uint64_t start = now();
  for (int part = 0; part < parts; ++part) {
    if (part > 0 && !act_before(actions)) return 4;
    geiger_write_mark(names[part % kSites]);
    run_part({part_begin[part], part_begin[part + 1]});
  }
  if (!act_before(actions)) return 4;
  const std::uint64_t short_ns = now() - start;
  if (is(option("keep", "all"), "all") && !is(option("in", "main"), "fork")) {
    usleep(static_cast<useconds_t>(2 * short_ns / 1000 + 20'000));
    drop_all({0, part_begin[kMostParts]}, Fate::kLater);
  }
  std::printf("{\"short_ns\":%lu,\"peaks\":[%lu", short_ns, heaps[0].peak.load());
  for (int i = 1; i <= kSites; ++i) std::printf(",%lu", heaps[i].peak.load());
  std::printf("],");
  print_truth(parts);
  print_profiles();
  std::puts("}");
}
