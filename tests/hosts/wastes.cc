// A program that wastes memory in one known way, or does the same without: what `geiger advise`
// must say of it, and must not.
//
//   wastes WASTE [healthy]
//
// It prints a line of JSON: the bytes and calls that the healthy form does without. The line that
// wastes them ends with the comment "wastes: WASTE".
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace {

struct Wasted {
  double bytes = 0, calls = 0;
};
Wasted wasted;

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kHeader = 8;

void wait(int milliseconds) { usleep(1000 * milliseconds); }

/// Does `work`, then waits so long that it was a small part of the run, on a busy machine too.
template <typename Work>
void do_briefly(const Work& work) {
  timespec from{}, to{};
  clock_gettime(CLOCK_MONOTONIC, &from);
  work();
  clock_gettime(CLOCK_MONOTONIC, &to);
  wait(300 + 40 * static_cast<int>((to.tv_sec - from.tv_sec) * 1000 +
                                   (to.tv_nsec - from.tv_nsec) / 1'000'000));
}

void use(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

char* touched(std::size_t bytes) {
  char* const memory = static_cast<char*>(malloc(bytes));
  memset(memory, 1, bytes);
  return memory;
}

/// What a container of this final capacity copied, if it doubled.
void count_copies(std::size_t capacity, std::size_t unit) {
  for (std::size_t each = 1; each < capacity; each *= 2) {
    wasted.bytes += each * unit;
    wasted.calls += 1;
  }
}

NOINLINE std::vector<long> numbers(std::size_t count, bool is_healthy) {
  std::vector<long> all;
  if (is_healthy) all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) all.push_back(i);  // wastes: vector
  return all;
}

void grow_vectors(bool is_healthy) {
  static std::vector<std::vector<long>> kept(40);
  for (auto& each : kept) {
    each = numbers(131'000, is_healthy);
    if (!is_healthy) count_copies(each.capacity(), sizeof(long));
  }
}

NOINLINE std::string text(std::size_t count, bool is_healthy) {
  std::string all;
  if (is_healthy) all.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) all += "ab";  // wastes: string
  return all;
}

void grow_strings(bool is_healthy) {
  static std::vector<std::string> kept(2000);
  for (auto& each : kept) {
    each = text(15'300, is_healthy);
    // The first 15 bytes are in the object; then 30, 60, ... with a zero at the end.
    for (std::size_t size = 30; !is_healthy && size < each.capacity(); size *= 2) {
      wasted.bytes += size + 1;
      wasted.calls += 1;
    }
  }
}

NOINLINE char* read_all(std::size_t bytes, bool is_healthy) {
  constexpr std::size_t kStep = 4096;
  std::size_t size = is_healthy ? bytes : kStep;
  char* all = static_cast<char*>(malloc(size));
  while (size < bytes) {
    all = static_cast<char*>(realloc(all, size += kStep));  // wastes: realloc
    if (size < bytes) wasted.bytes += size, wasted.calls += 1;
  }
  memset(all, 1, bytes);
  return all;
}

void grow_blocks(bool is_healthy) {
  for (int i = 0; i < 50; ++i) use(read_all(256 * 1024, is_healthy));
}

NOINLINE void handle(char* buffer, std::size_t bytes) {
  memset(buffer, 1, bytes);
  use(buffer);
}

void make_buffers(bool is_healthy) {
  constexpr std::size_t kBytes = 3000;
  use(touched(10 * kMiB));
  char* const kept = is_healthy ? new char[kBytes] : nullptr;
  for (int i = 0; i < 20'000; ++i) {
    char* const buffer = is_healthy ? kept : new char[kBytes];  // wastes: reuse
    handle(buffer, kBytes);
    if (is_healthy) continue;
    wasted.bytes += kBytes;
    wasted.calls += 1;
    delete[] buffer;
  }
}

void leave_untouched(bool is_healthy) {
  constexpr std::size_t kBytes = 64 * 4096;
  for (int i = 0; i < 200; ++i) {
    char* const block = static_cast<char*>(malloc(kBytes));  // wastes: untouched
    memset(block, 1, is_healthy ? kBytes : kBytes / 4);
    use(block);
    // Whole pages; what begins within one touches it.
    const std::size_t page = 4096, end = reinterpret_cast<std::size_t>(block) + kBytes / 4;
    if (!is_healthy) wasted.bytes += kBytes - kBytes / 4 - (page - end % page) % page;
  }
  wait(5000);
}

struct Node {
  Node* next;
  long value;
};

class Nodes {
 public:
  explicit Nodes(bool is_healthy) : is_healthy_(is_healthy) {}

  NOINLINE Node* make() {
    if (!is_healthy_) {
      void* const made = malloc(sizeof(Node));  // wastes: pool
      use(made);
      return static_cast<Node*>(made);
    }
    if (used_ == kAtOnce) {
      chunks_.push_back(static_cast<Node*>(malloc(kAtOnce * sizeof(Node))));
      used_ = 0;
    }
    return chunks_.back() + used_++;
  }
  void free_all() {
    for (Node* chunk : chunks_) free(chunk);
  }

 private:
  static constexpr std::size_t kAtOnce = 4000;
  bool is_healthy_;
  std::vector<Node*> chunks_;
  std::size_t used_ = kAtOnce;
};

void make_nodes(bool is_healthy) {
  Nodes nodes(is_healthy);
  Node* list = nullptr;
  for (int i = 0; i < 1'000'000; ++i) {
    Node* const node = nodes.make();
    *node = {list, i};
    list = node;
    if (is_healthy) continue;
    wasted.bytes += malloc_usable_size(node) + kHeader - sizeof(Node);
    wasted.calls += 1;
  }
  wait(300);
  do_briefly([&] {
    nodes.free_all();
    while (!is_healthy && list != nullptr) {
      Node* const next = list->next;
      free(list);
      list = next;
    }
  });
}

NOINLINE void* record(std::size_t bytes) {
  void* const made = malloc(bytes);  // wastes: rounding
  use(made);
  return made;
}

/// Records that come and go one by one.
void round_up(bool is_healthy) {
  const std::size_t bytes = is_healthy ? 72 : 73;
  std::vector<void*> records(300'000);
  for (void*& each : records) {
    each = record(bytes);
    wasted.bytes += malloc_usable_size(each) - bytes;
    wasted.calls += 1;
  }
  std::shuffle(records.begin(), records.end(), std::mt19937(1));
  for (std::size_t i = 0; i < records.size(); ++i) {
    free(records[i]);
    if (i % 3000 == 0) wait(3);
  }
  if (is_healthy) wasted = {};
}

/// In parts that need little memory, or all at once.
NOINLINE void convert(std::size_t parts, std::size_t bytes) {
  constexpr std::size_t kPiece = 64 * 1024;
  std::vector<void*> pieces(bytes / kPiece);
  for (void*& piece : pieces) {
    piece = malloc(kPiece);  // wastes: peak
  }
  for (std::size_t part = 0; part < parts; ++part) {
    for (void* piece : pieces) memset(piece, 1, kPiece);
  }
  for (void* piece : pieces) free(piece);
}

void pass(bool is_healthy) {
  constexpr std::size_t kParts = 40;
  std::vector<void*> kept;
  for (int i = 0; i < 300; ++i) {
    kept.push_back(touched(100'000));
    wait(1);
  }
  do_briefly([&] { is_healthy ? convert(kParts, kMiB) : convert(1, kParts * kMiB); });
  if (!is_healthy) wasted.bytes = kParts * kMiB;
}

void keep_zeros(bool is_healthy) {
  constexpr std::size_t kBytes = 8000;
  for (int i = 0; i < 2000; ++i) {
    char* const block = static_cast<char*>(malloc(kBytes));  // wastes: blank
    memset(block, 0, kBytes);
    if (is_healthy) {
      memcpy(block, &i, sizeof i);
      memset(block + sizeof i, 1, kBytes - sizeof i);
    } else {
      wasted.bytes += kBytes;
    }
    use(block);
  }
  wait(1500);
}

void keep_copies(bool is_healthy) {
  constexpr std::size_t kBytes = 100, kStrings = 100'000, kValues = 250;
  for (std::size_t i = 0; i < kStrings; ++i) {
    char* const block = static_cast<char*>(malloc(kBytes));  // wastes: duplicate
    memset(block, 'x', kBytes);
    const std::size_t value = is_healthy ? i : i % kValues;
    memcpy(block, &value, sizeof value);
    use(block);
    if (!is_healthy && i >= kValues) wasted.bytes += kBytes;
  }
  wait(1500);
}

const std::map<std::string, std::function<void(bool)>> kWastes{
    {"vector", grow_vectors},       {"string", grow_strings},
    {"realloc", grow_blocks},       {"reuse", make_buffers},
    {"untouched", leave_untouched}, {"pool", make_nodes},
    {"rounding", round_up},         {"peak", pass},
    {"blank", keep_zeros},          {"duplicate", keep_copies}};

}  // namespace

int main(int count, char** words) {
  const auto waste = kWastes.find(count > 1 ? words[1] : "");
  if (waste == kWastes.end()) return 2;
  waste->second(count > 2);
  printf("{\"bytes\": %.0f, \"calls\": %.0f}\n", wasted.bytes, wasted.calls);
}
