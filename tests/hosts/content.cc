// A program that knows what its live objects contain.
//
//   content still|churn|hidden|ending [UNITS]     UNITS: of 1,000 (the default), how many objects
//
// Each function allocates objects of one kind of content. Prints "ready" when all is done. Then
// still: waits until it is killed. churn: writes, frees and allocates some of them all the
// time. hidden: as still, but the process may not be read from outside, and goes on allocating.
// ending: exits after some milliseconds.
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kText = 61, kBuffer = 1000, kBlank = 800, kLarge = 300'000;
int units = 1000;

/// Nothing that is written to it may be left out.
void* keep(void* object) {
  asm volatile("" : "+r"(object) : : "memory");
  return object;
}

void write_text(void* object, const char* kind, int number) {
  std::memset(object, 'x', kText);
  std::snprintf(static_cast<char*>(object), kText, "%s %050d", kind, number);
}

}  // namespace

#define SITE extern "C" __attribute__((noinline, used))

SITE void texts_of_50_values() {
  for (int i = 0; i < 200 * units; ++i) write_text(keep(std::malloc(kText)), "value", i % 50);
}

SITE void unique_texts() {
  for (int i = 0; i < 100 * units; ++i) write_text(keep(std::malloc(kText)), "text", i);
}

/// 750 of 1,000 bytes are zero, and the others differ.
SITE void buffers() {
  for (int i = 0; i < 20 * units; ++i) {
    auto* buffer = static_cast<unsigned char*>(keep(std::calloc(1, kBuffer)));
    for (std::size_t at = 0; at < kBuffer / 4; ++at) buffer[4 * at] = 1 + (i + at) % 255;
    buffer[400] = 1 + i / 255 % 255;
    keep(buffer);
  }
}

SITE void never_written() {
  for (int i = 0; i < 20 * units; ++i) keep(std::calloc(1, kBlank));
}

/// Large enough for mappings of their own; one of two is equal to the other.
SITE void large_pairs() {
  for (int i = 0; i < 8; ++i) {
    auto* object = static_cast<char*>(keep(std::malloc(kLarge)));
    std::memset(object, 1 + i / 2, kLarge);
    keep(object);
  }
}

struct Polymorphic {
  virtual ~Polymorphic() = default;
  std::uint64_t values[4] = {1, 2, 3, 4};
};

/// Equal, but each is somebody's.
SITE void objects_of_a_class() {
  for (int i = 0; i < 20 * units; ++i) keep(static_cast<void*>(new Polymorphic));
}

SITE void tiny_and_equal() {
  for (int i = 0; i < 20 * units; ++i) std::memset(keep(std::malloc(8)), 7, 8);
}

/// Freed again, so that their memory still looks like the texts.
SITE void freed_texts() {
  static void* freed[100'000];
  const int texts = 100 * std::min(units, 1000);
  for (int i = 0; i < texts; ++i) write_text(freed[i] = std::malloc(kText), "value", i % 50);
  for (int i = 0; i < texts; ++i) std::free(freed[i]);
}

/// Equal texts, each of which is freed or written within some microseconds.
SITE void churn() {
  constexpr std::size_t kSlots = 1024;
  static void* slots[kSlots];
  for (std::uint32_t i = 0;; ++i) {
    const std::uint32_t slot = (i * 2654435761U) % kSlots;
    std::free(slots[slot]);
    slots[slot] = std::malloc(kText);
    write_text(slots[slot], "churn", 0);
    auto* text = static_cast<char*>(slots[(slot + 7) % kSlots]);
    if (text != nullptr) ++text[20];
  }
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "still";
  if (argc > 2) units = std::atoi(argv[2]);
  if (std::strcmp(mode, "hidden") == 0) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  texts_of_50_values();
  freed_texts();
  unique_texts();
  buffers();
  never_written();
  large_pairs();
  objects_of_a_class();
  tiny_and_equal();
  std::puts("ready");
  std::fflush(stdout);
  if (std::strcmp(mode, "churn") == 0) churn();
  if (std::strcmp(mode, "ending") == 0) {
    usleep(2000);
    return 0;
  }
  for (;;) {
    usleep(1000);
    if (std::strcmp(mode, "hidden") == 0) std::free(std::malloc(kText));
  }
}
