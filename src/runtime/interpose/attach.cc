// Attaching to a process that was not prepared: the functions that the injector calls, on a
// borrowed thread that is outside of every allocator and of the loader.
//
//   geiger_attach_v1(lines)      originals, a trace, then every slot leads to us
//   geiger_attach_follow_v1()    the slots of modules loaded since
//   geiger_detach_v1()           restores the slots, settles the totals, ends the trace
//
// dl_iterate_phdr locks the loader's list, waiting for other threads that load or unload. Therefore
// none of this may run inside malloc, and the runtime does not follow dlopen itself: the controller
// watches the maps and calls again.
//
// Threads: one injector at a time; other threads of the process keep running. Signals: the borrowed
// thread's are blocked. Fork: a child inherits slots and settings and has its own trace.
// Allocates: only for libc's list of fork handlers.
#include "runtime/capture/control/attach.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "base/attachment.h"
#include "base/loader.h"
#include "runtime/interpose/conclude.h"
#include "runtime/interpose/elf_lookup.h"
#include "runtime/interpose/originals.h"
#include "runtime/interpose/python_domains.h"
#include "runtime/interpose/slots.h"

using geiger::base::Attachment;
using geiger::base::AttachState;

extern "C" {
/// Exported like the entry points; an object, so that it can be read without stopping a thread.
// NOLINTNEXTLINE(readability-identifier-naming): a C name.
[[gnu::visibility("default")]] constinit Attachment geiger_attachment_v1{};
}

// Addresses of our own entry points, independent of their declarations elsewhere.
#define GEIGER_SHADOWED(X)               \
  X(malloc)                              \
  X(free)                                \
  X(calloc)                              \
  X(realloc)                             \
  X(reallocarray)                        \
  X(memalign)                            \
  X(aligned_alloc)                       \
  X(posix_memalign)                      \
  X(valloc)                              \
  X(pvalloc)                             \
  X(free_sized)                          \
  X(free_aligned_sized)                  \
  X(pthread_create)                      \
  X(thrd_create)                         \
  X(mmap)                                \
  X(mmap64)                              \
  X(munmap)                              \
  X(mremap)                              \
  X(mprotect)                            \
  X(sbrk)                                \
  X(brk)                                 \
  X(_Znwm)                               \
  X(_Znam)                               \
  X(_ZnwmRKSt9nothrow_t)                 \
  X(_ZnamRKSt9nothrow_t)                 \
  X(_ZnwmSt11align_val_t)                \
  X(_ZnamSt11align_val_t)                \
  X(_ZnwmSt11align_val_tRKSt9nothrow_t)  \
  X(_ZnamSt11align_val_tRKSt9nothrow_t)  \
  X(_ZdlPv)                              \
  X(_ZdaPv)                              \
  X(_ZdlPvm)                             \
  X(_ZdaPvm)                             \
  X(_ZdlPvRKSt9nothrow_t)                \
  X(_ZdaPvRKSt9nothrow_t)                \
  X(_ZdlPvSt11align_val_t)               \
  X(_ZdaPvSt11align_val_t)               \
  X(_ZdlPvmSt11align_val_t)              \
  X(_ZdaPvmSt11align_val_t)              \
  X(_ZdlPvSt11align_val_tRKSt9nothrow_t) \
  X(_ZdaPvSt11align_val_tRKSt9nothrow_t)

#define GEIGER_DECLARE(name) \
  extern "C" [[gnu::visibility("default")]] void geiger_entry_##name() __asm__(#name);
GEIGER_SHADOWED(GEIGER_DECLARE)
#undef GEIGER_DECLARE

namespace geiger::interpose {
namespace {

#define GEIGER_SHADOW(name) {#name, geiger_entry_##name, nullptr},
constinit Shadow shadows[] = {GEIGER_SHADOWED(GEIGER_SHADOW)};
#undef GEIGER_SHADOW

/// Preserves errno, which the borrowed thread may be about to read.
class KeptErrno {
 public:
  KeptErrno() : value_(errno) {}
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;
  ~KeptErrno() { errno = value_; }

 private:
  int value_;
};

using Visit = int(dl_phdr_info* module, std::size_t bytes, void* context);
using IteratePhdr = int(Visit* visit, void* context);

/// Null: this libc has none. The modules before libc in the list were loaded with the program.
IteratePhdr* loader_lock() {
  return reinterpret_cast<IteratePhdr*>(find_next("dl_iterate_phdr").address);
}

bool is_own(const dl_phdr_info& module) {
  for (std::size_t i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    if (segment.p_type == PT_DYNAMIC)
      return reinterpret_cast<const ElfW(Dyn)*>(module.dlpi_addr + segment.p_vaddr) == _DYNAMIC;
  }
  return false;
}

/// Whether every slot that is bound lazily would get the malloc that we call.
bool has_one_allocator() {
  const link_map* allocator = find_next("malloc").module;
  const link_map* libc = find_next("dl_iterate_phdr").module;
  for (const link_map* module = base::first_module(); module != nullptr; module = module->l_next) {
    const bool is_known = module == allocator || module == libc || module->l_ld == _DYNAMIC;
    if (!is_known && find_in(module, "malloc").address != nullptr) return false;
  }
  return true;
}

/// Finds the functions that the program calls without us. The loader's list must not change.
bool find_originals() {
  if (find_next("malloc").address == nullptr) return false;
  resolve();
  resolve_cxx_again();
  for (Shadow& shadow : shadows) shadow.original = find_next(shadow.name).address;
  return true;
}

struct Turn {
  Lead lead;
  bool has_originals = true;
  bool is_first = true;
  bool may_bind = false;
  std::uint32_t slots = 0;
};

int visit_module(dl_phdr_info* module, std::size_t, void* context) {
  auto& turn = *static_cast<Turn*>(context);
  if (turn.is_first && turn.lead == Lead::kToEntries) {
    turn.has_originals = find_originals();
    turn.may_bind = has_one_allocator();
  }
  turn.is_first = false;
  if (!turn.has_originals) return 1;
  const Shadows all{shadows, sizeof shadows / sizeof shadows[0], turn.may_bind};
  if (!is_own(*module)) turn.slots += turn_slots(*module, all, turn.lead);
  return 0;
}

int visit_for_originals(dl_phdr_info*, std::size_t, void* context) {
  *static_cast<bool*>(context) = find_originals();
  return 1;
}

void set_state(AttachState state) {
  std::atomic_ref(geiger_attachment_v1.state)
      .store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

bool is_attached() {
  return geiger_attachment_v1.state == static_cast<std::uint32_t>(AttachState::kAttached);
}

/// Whether we have interposed the program's calls from the start, so that there are no slots to
/// change.
constinit bool is_preloaded = false;

int turn_everything(Lead lead) {
  if (is_preloaded) return 0;
  IteratePhdr* const iterate = loader_lock();
  if (iterate == nullptr) return base::kNoLoaderLock;
  Turn turn{.lead = lead};
  iterate(visit_module, &turn);
  if (!turn.has_originals) return base::kNoAllocator;
  std::uint32_t& slots = geiger_attachment_v1.slots;
  slots = lead == Lead::kToEntries ? slots + turn.slots : 0;
  return 0;
}

/// 0, or the error if originals are not found.
int prepare_originals() {
  if (is_preloaded) return 0;
  search_all_modules();
  IteratePhdr* const iterate = loader_lock();
  if (iterate == nullptr) return base::kNoLoaderLock;
  bool has_originals = false;
  iterate(visit_for_originals, &has_originals);
  return has_originals ? 0 : base::kNoAllocator;
}

int attach(const char* lines) {
  if (!capture::may_attach()) return base::kIsRecording;
  is_preloaded = is_preloaded || capture::was_prepared();
  if (const int error = prepare_originals(); error != 0) return error;
  if (const int error = capture::attach(lines); error != 0) return error;
  Attachment& said = geiger_attachment_v1;
  strncpy(said.version, GEIGER_VERSION, sizeof said.version - 1);
  strncpy(said.directory, capture::trace_directory(), sizeof said.directory - 1);
  set_state(AttachState::kAttached);
  return turn_everything(Lead::kToEntries);
}

}  // namespace
}  // namespace geiger::interpose

/// Starts recording with settings as lines NAME=VALUE, as in the environment.
GEIGER_EXPORT int geiger_attach_v1(const char* lines) {
  const geiger::interpose::KeptErrno kept;
  return geiger::interpose::is_attached() ? geiger::base::kIsRecording
                                          : geiger::interpose::attach(lines);
}

GEIGER_EXPORT int geiger_attach_follow_v1() {
  using namespace geiger::interpose;  // NOLINT
  const KeptErrno kept;
  return is_attached() ? turn_everything(Lead::kToEntries) : geiger::base::kNothingToDo;
}

GEIGER_EXPORT int geiger_detach_v1() {
  using namespace geiger::interpose;  // NOLINT
  const KeptErrno kept;
  if (!is_attached()) return geiger::base::kNothingToDo;
  const int error = turn_everything(Lead::kToOriginals);
  leave_domains();
  geiger::capture::detach();
  set_state(AttachState::kDetached);
  return error;
}
