// A plugin that allocates and frees on behalf of its loader, and in its own
// constructor and destructor.
#include <cstddef>
#include <cstdlib>

namespace {

void* own = nullptr;
__attribute__((constructor)) void load() { own = malloc(1234); }
__attribute__((destructor)) void unload() { free(own); }

}  // namespace

extern "C" {
void* plugin_allocate(std::size_t size);
void plugin_release(void* pointer);

void* plugin_allocate(std::size_t size) {
  void* block = malloc(size);
  asm volatile("" : "+r"(block));  // no tail call: the plugin stays on the stack
  return block;
}
void plugin_release(void* pointer) {
  free(pointer);
  asm volatile("");
}
}
