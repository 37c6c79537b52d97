// A list that grows at its head all the time: `list_growing static` with the head in a static
// variable, `list_growing object` in an object of the heap. Prints "ready" when it is long.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace {

struct Node {
  void* next;
  char load[104];
};

void* g_head;
void** volatile g_object;

[[gnu::noinline]] void push(void*& head) {
  auto* node = static_cast<Node*>(std::malloc(sizeof(Node)));
  std::memset(node->load, 1, sizeof node->load);
  node->next = head;
  head = node;
}

}  // namespace

int main(int count, char** words) {
  constexpr int kFirst = 300'000, kAtOnce = 20;
  const bool is_object = count > 1 && std::string_view(words[1]) == "object";
  if (is_object) g_object = static_cast<void**>(std::calloc(1, sizeof(void*)));
  for (int i = 0; i < kFirst; ++i) push(is_object ? *g_object : g_head);
  std::puts("ready");
  std::fflush(stdout);
  while (true) {
    for (int i = 0; i < kAtOnce; ++i) push(is_object ? *g_object : g_head);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}
