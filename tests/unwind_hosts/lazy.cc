// A library whose first call of `chosen` runs the loader's lazy-binding trampoline,
// and below it a resolver that calls back: frames whose CFA hangs on rbx.
namespace {
void (*g_function)();
void do_nothing() {}
}  // namespace

extern "C" {
#define GEIGER_EXPORT __attribute__((visibility("default")))

__attribute__((used, noinline)) static void (*resolve_chosen(void))() {
  if (g_function != nullptr) g_function();
  return do_nothing;
}

GEIGER_EXPORT void chosen() __attribute__((ifunc("resolve_chosen")));

GEIGER_EXPORT void call_chosen(void (*function)()) {
  g_function = function;
  chosen();
  g_function = nullptr;
}
}
