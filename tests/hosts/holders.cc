// Blocks that are held in many ways, blocks that are lost, and blocks whose pointers are hidden.
// Each kind allocates in a function of its own name, so that reports tell them apart. It says
// "ready", and waits to be killed.
//
// usage: holders [churn]    churn: a thread moves pointers between containers meanwhile
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <any>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

constexpr int kBlocks = 50;  // Of each kind.

/// Keeps the compiler from looking through a pointer.
template <class T>
T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer)::"memory");
  return pointer;
}

/// Overwrites what calls before have left on the stack.
__attribute__((noinline)) void wipe_stack() {
  volatile char bytes[65536];
  for (volatile char& byte : bytes) byte = 0;
}

// A function that allocates blocks of its kind, in a namespace of its own so that its name is the
// kind's.
#define KIND(name)                                                       \
  __attribute__((noinline, no_icf)) void* name(std::size_t bytes = 48) { \
    return opaque(std::malloc(bytes));                                   \
  }
KIND(by_global)
KIND(by_array)
KIND(by_member)
KIND(by_static_local) KIND(by_union) KIND(by_thread_local) KIND(by_thread_local_of_thread)
    KIND(by_stack_of_main) KIND(by_stack_of_blocked) KIND(by_stack_of_running) KIND(by_vector)
        KIND(by_map) KIND(by_unordered_map) KIND(by_list) KIND(by_forward_list) KIND(by_deque)
            KIND(by_set) KIND(by_multimap) KIND(by_tuple) KIND(by_optional) KIND(by_queue)
                KIND(by_multiset) KIND(by_object) KIND(by_variant) KIND(by_any) KIND(by_function)
                    KIND(by_unique_ptr) KIND(by_shared_ptr) KIND(by_pair) KIND(by_string_bytes)
                        KIND(by_atomic) KIND(by_own_mapping) KIND(by_shared_mapping)
                            KIND(by_thread_key) KIND(by_block) KIND(by_block_of_block)
                                KIND(by_calloc_block) KIND(by_realloc_block) KIND(by_big_block)
                                    KIND(by_array_of_arrays) KIND(by_double_pointer)
                                        KIND(by_interior) KIND(by_end) KIND(by_low_tag)
                                            KIND(by_high_tag) KIND(by_packed) KIND(by_const_pointer)
                                                KIND(lost) KIND(lost_list) KIND(lost_cycle)
                                                    KIND(lost_payload) KIND(hidden_by_xor)
                                                        KIND(hidden_by_complement)
                                                            KIND(hidden_in_32_bits)

}  // namespace

// Visible outside, so that nothing that is stored in them is left out.
void* g_pointer[kBlocks];
void* g_array[2][kBlocks];
struct Member {
  int number;
  void* pointer[kBlocks];
} g_member;
union Either {
  void* pointer;
  double number;
} g_union[kBlocks];
thread_local void* t_pointer[kBlocks];
std::vector<void*> g_vector;
std::map<int, void*> g_map;
std::unordered_map<int, void*> g_unordered_map;
std::list<void*> g_list;
std::forward_list<void*> g_forward_list;
std::deque<void*> g_deque;
std::set<void*> g_set;
std::multimap<int, void*> g_multimap;
std::tuple<int, void*, char> g_tuple[kBlocks];
std::optional<void*> g_optional[kBlocks];
std::queue<void*> g_queue;
std::multiset<void*> g_multiset;
struct Object {
  virtual ~Object() = default;
};
struct Owner : Object {
  explicit Owner(void* owned) : pointer(owned) {}
  int number = 0;
  void* pointer;
};
std::vector<std::unique_ptr<Object>> g_object;
std::variant<int, void*> g_variant[kBlocks];
std::vector<std::any> g_any;
std::vector<std::function<void()>> g_function;
struct Free {
  void operator()(void* pointer) const { std::free(pointer); }
};
std::vector<std::unique_ptr<void, Free>> g_unique;
std::vector<std::shared_ptr<void>> g_shared;
std::vector<std::pair<int, void*>> g_pair;
std::string g_string;
std::atomic<void*> g_atomic[kBlocks];
void** g_own_mapping;
void** g_shared_mapping;
void** g_block;
void*** g_block_of_block;
void** g_calloc;
void** g_realloc;
void** g_big;
void** g_arrays[kBlocks];
char* g_interior[kBlocks];
char* g_end[kBlocks];
std::uintptr_t g_low[kBlocks], g_high[kBlocks];
struct __attribute__((packed)) Packed {
  std::uint32_t number;
  void* pointer;
} g_packed[kBlocks];
std::uintptr_t g_xored[kBlocks], g_complement[kBlocks];
std::uint32_t g_compressed[kBlocks];
void* const* g_const_pointer;
pthread_key_t g_key;
std::atomic<int> g_started{0};

namespace {

struct Node {
  Node* next;
  void* payload;
  char rest[32];
};

__attribute__((noinline)) void** static_local() {
  static void* pointers[kBlocks];
  return pointers;
}

__attribute__((noinline)) void lose() {
  Node* first = nullptr;
  for (int i = 0; i < kBlocks; ++i) {
    opaque(lost());
    auto* node = static_cast<Node*>(lost_list(sizeof(Node)));
    *node = {first, lost_payload(), {}};
    first = node;
    auto* a = static_cast<Node*>(lost_cycle(sizeof(Node)));
    auto* b = static_cast<Node*>(lost_cycle(sizeof(Node)));
    *a = {b, nullptr, {}};
    *b = {a, nullptr, {}};
  }
}

__attribute__((noinline)) void hide() {
  for (int i = 0; i < kBlocks; ++i) {
    g_xored[i] = reinterpret_cast<std::uintptr_t>(hidden_by_xor()) ^ 0x5555555555555555;
    g_complement[i] = ~reinterpret_cast<std::uintptr_t>(hidden_by_complement());
    g_compressed[i] = static_cast<std::uint32_t>(
        reinterpret_cast<std::uintptr_t>(hidden_in_32_bits()) >> 4 & 0xffffffff);
  }
}

__attribute__((noinline)) void hold() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_own_mapping = static_cast<void**>(page);
  page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  g_shared_mapping = static_cast<void**>(page);
  g_block = static_cast<void**>(std::malloc(kBlocks * 8));
  g_block_of_block = static_cast<void***>(std::malloc(8));
  *g_block_of_block = static_cast<void**>(std::malloc(kBlocks * 8));
  g_calloc = static_cast<void**>(std::calloc(kBlocks, 8));
  g_realloc = static_cast<void**>(std::realloc(std::malloc(8), kBlocks * 8));
  g_big = static_cast<void**>(std::malloc(1 << 20));
  auto** constant = static_cast<void**>(std::malloc(kBlocks * 8));
  g_const_pointer = constant;
  auto** keyed = static_cast<void**>(std::malloc(kBlocks * 8));
  pthread_key_create(&g_key, nullptr);
  pthread_setspecific(g_key, keyed);
  g_string.resize(kBlocks * 8);
  for (int i = 0; i < kBlocks; ++i) {
    g_pointer[i] = by_global();
    g_array[1][i] = by_array();
    g_member.pointer[i] = by_member();
    static_local()[i] = by_static_local();
    g_union[i].pointer = by_union();
    t_pointer[i] = by_thread_local();
    g_vector.push_back(by_vector());
    g_map[i] = by_map();
    g_unordered_map[i] = by_unordered_map();
    g_list.push_back(by_list());
    g_forward_list.push_front(by_forward_list());
    g_deque.push_back(by_deque());
    g_set.insert(by_set());
    g_multimap.emplace(1, by_multimap());
    g_tuple[i] = {i, by_tuple(), 'x'};
    g_optional[i] = by_optional();
    g_queue.push(by_queue());
    g_multiset.insert(by_multiset());
    g_object.push_back(std::make_unique<Owner>(by_object()));
    g_variant[i] = by_variant();
    g_any.emplace_back(by_any());
    void* captured = by_function();
    g_function.emplace_back([captured, i] { std::memset(captured, i, 1); });
    g_unique.emplace_back(by_unique_ptr());
    g_shared.emplace_back(by_shared_ptr(), Free());
    g_pair.emplace_back(i, by_pair());
    void* bytes = by_string_bytes();
    std::memcpy(g_string.data() + i * 8, &bytes, 8);
    g_atomic[i] = by_atomic();
    g_own_mapping[i] = by_own_mapping();
    g_shared_mapping[i] = by_shared_mapping();
    keyed[i] = by_thread_key();
    g_block[i] = by_block();
    (*g_block_of_block)[i] = by_block_of_block();
    g_calloc[i] = by_calloc_block();
    g_realloc[i] = by_realloc_block();
    g_big[100'000 + i] = by_big_block();
    g_arrays[i] = static_cast<void**>(by_double_pointer(64));
    g_arrays[i][3] = by_array_of_arrays();
    g_interior[i] = static_cast<char*>(by_interior()) + 20;
    g_end[i] = static_cast<char*>(by_end()) + 48;
    g_low[i] = reinterpret_cast<std::uintptr_t>(by_low_tag()) | 5;
    g_high[i] = reinterpret_cast<std::uintptr_t>(by_high_tag()) | std::uintptr_t{0xbeef} << 48;
    g_packed[i].pointer = by_packed();
    constant[i] = by_const_pointer();
  }
}

void started() { ++g_started; }

void blocked() {
  void* volatile pointers[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    pointers[i] = by_stack_of_blocked();
    t_pointer[i] = by_thread_local_of_thread();
  }
  wipe_stack();
  started();
  for (;;) pause();
  std::free(pointers[0]);
}

void running() {
  void* volatile pointers[kBlocks];
  for (void* volatile& pointer : pointers) pointer = by_stack_of_running();
  wipe_stack();
  started();
  while (pointers[0] != nullptr) continue;
}

/// Allocates, moves and frees in four threads: every block is always held, but for the first 150 of
/// each.
__attribute__((noinline)) void* moved() { return opaque(std::malloc(48)); }
constexpr int kChurning = 4;
void churn(bool is_slow) {
  constexpr int kLost = 150;
  for (int i = 0; i < kLost; ++i) opaque(lost());
  std::map<unsigned, void*> first;
  std::vector<void*> second(2000);
  auto random = static_cast<unsigned>(::gettid());
  for (void*& place : second) place = moved();
  wipe_stack();
  started();
  for (unsigned moves = 1;; ++moves) {
    random = random * 1664525 + 1013904223;
    void*& place = second[random / 65536 % second.size()];
    void*& other = first[random / 1024 % 2000];
    std::swap(place, other);
    if (moves % 50'000 == 0) {
      std::free(place);
      place = moved();
    }
    if (is_slow && moves % 100 == 0) ::usleep(100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "late") {
    std::puts("here");
    std::fflush(stdout);
    std::getchar();
  }
  void* volatile pointers[kBlocks];
  for (void* volatile& pointer : pointers) pointer = by_stack_of_main();
  std::thread(blocked).detach();
  std::thread(running).detach();
  const bool churns = how == "churn" || how == "churn_slowly";
  for (int i = 0; i < kChurning && churns; ++i) std::thread(churn, how != "churn").detach();
  lose();
  hide();
  hold();
  wipe_stack();
  while (g_started < (churns ? 2 + kChurning : 2)) usleep(1000);
  std::puts("ready");
  std::fflush(stdout);
  for (;;) pause();
  std::free(pointers[0]);
}
