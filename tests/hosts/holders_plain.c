/* As holders.cc, without C++: for C libraries that have none here. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kBlocks = 50 };

#define KIND(name)                                \
  __attribute__((noinline)) void* name(void) {    \
    void* block = malloc(48);                     \
    __asm__ volatile("" : "+r"(block)::"memory"); \
    return block;                                 \
  }
KIND(by_global)
KIND(by_thread_local)
KIND(by_stack_of_main)
KIND(by_list)
KIND(by_payload)
KIND(by_block)
KIND(by_big_block)
KIND(by_interior)
KIND(by_low_tag)
KIND(by_high_tag)
KIND(by_own_mapping)
KIND(by_packed)
KIND(by_thread_key)
KIND(lost)
KIND(lost_list)
KIND(lost_payload)
KIND(lost_cycle)

struct Node {
  struct Node* next;
  void* payload;
  char rest[32];
};

void* g_pointer[kBlocks];
__thread void* t_pointer[kBlocks];
struct Node* g_list;
void **g_block, **g_big, **g_own_mapping;
char* g_interior[kBlocks];
uintptr_t g_low[kBlocks], g_high[kBlocks];
struct __attribute__((packed)) Packed {
  uint32_t number;
  void* pointer;
} g_packed[kBlocks];
pthread_key_t g_key;

static struct Node* node(void* block, struct Node* next, void* payload) {
  struct Node* made = block;
  made->next = next;
  made->payload = payload;
  return made;
}

__attribute__((noinline)) static void hold_and_lose(void) {
  struct Node* list = NULL;
  void** keyed = malloc(kBlocks * 8);
  pthread_key_create(&g_key, NULL);
  pthread_setspecific(g_key, keyed);
  g_block = malloc(kBlocks * 8);
  g_big = malloc(1 << 20);
  g_own_mapping = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < kBlocks; ++i) {
    g_pointer[i] = by_global();
    t_pointer[i] = by_thread_local();
    g_list = node(by_list(), g_list, by_payload());
    g_block[i] = by_block();
    g_big[100000 + i] = by_big_block();
    g_interior[i] = (char*)by_interior() + 20;
    g_low[i] = (uintptr_t)by_low_tag() | 5;
    g_high[i] = (uintptr_t)by_high_tag() | (uintptr_t)0xbeef << 48;
    g_own_mapping[i] = by_own_mapping();
    g_packed[i].pointer = by_packed();
    keyed[i] = by_thread_key();
    lost();
    list = node(lost_list(), list, lost_payload());
    struct Node* first = lost_cycle();
    first->payload = NULL;
    first->next = node(lost_cycle(), first, NULL);
  }
}

/* Overwrites what calls before have left on the stack. */
__attribute__((noinline)) static void wipe_stack(void) {
  volatile char bytes[65536];
  for (int i = 0; i < 65536; ++i) bytes[i] = 0;
}

int main(void) {
  void* volatile pointers[kBlocks];
  for (int i = 0; i < kBlocks; ++i) pointers[i] = by_stack_of_main();
  hold_and_lose();
  wipe_stack();
  puts("ready");
  fflush(stdout);
  for (;;) pause();
  free(pointers[0]);
}
