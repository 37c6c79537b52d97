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

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/attachment.h"
#include "base/loader.h"
#include "base/raw_syscall.h"
#include "runtime/interpose/conclude.h"
#include "runtime/interpose/elf_lookup.h"
#include "runtime/interpose/machine.h"
#include "runtime/interpose/originals.h"
#include "runtime/interpose/python_domains.h"

namespace geiger::interpose {

// The slots through which loaded modules call the functions that we shadow: entries of the global
// offset table and function pointers in data. A preloaded library does not need this; a library
// loaded into a running process has no other way.
//
// A slot is changed only if it contains the function that we call as the original: a module that is
// bound to an allocator of its own (another namespace, RTLD_DEEPBIND) keeps it.
//
// Threads: one at a time, with the loader's list locked; slots change atomically while threads call
// through them. Allocates: never.

/// One function that we shadow. Ignored if `original` is null.
struct Shadow {
  const char* name;
  void (*entry)();  ///< Not of its real type, like `original`, but a constant.
  void* original;
};

struct Shadows {
  const Shadow* begin;
  std::size_t count;
  /// Whether a slot that the loader has not bound yet would get our original: no module except the
  /// allocator and libc defines malloc.
  bool may_bind;
};

enum class Lead : std::uint8_t { kToEntries, kToOriginals };

/// Changes the slots of one module. Returns the number of changed slots.
std::uint32_t turn_slots(const dl_phdr_info& module, const Shadows& shadows, Lead lead);

namespace {

using base::raw_syscall;

struct Range {
  std::uintptr_t begin = 0, end = 0;
  [[nodiscard]] bool holds(std::uintptr_t address) const {
    return address >= begin && address < end;
  }
};

struct Relocations {
  const ElfW(Rela) * begin = nullptr;
  std::size_t bytes = 0;
};

/// The parts of a module's headers that describe its slots.
struct Layout {
  std::uintptr_t bias = 0;
  Range relro;
  const ElfW(Dyn) * dynamic = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  Relocations data, calls;
};

/// glibc relocates these pointers in place, except in objects that it did not load itself.
template <typename T>
const T* pointer_of(std::uintptr_t bias, std::uintptr_t value) {
  return reinterpret_cast<const T*>(value < bias ? value + bias : value);
}

void read_dynamic(Layout& layout) {
  for (const ElfW(Dyn)* entry = layout.dynamic; entry->d_tag != DT_NULL; ++entry) {
    const std::uintptr_t value = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        layout.symbols = pointer_of<ElfW(Sym)>(layout.bias, value);
        break;
      case DT_STRTAB:
        layout.strings = pointer_of<char>(layout.bias, value);
        break;
      case DT_RELA:
        layout.data.begin = pointer_of<ElfW(Rela)>(layout.bias, value);
        break;
      case DT_RELASZ:
        layout.data.bytes = value;
        break;
      case DT_JMPREL:
        layout.calls.begin = pointer_of<ElfW(Rela)>(layout.bias, value);
        break;
      case DT_PLTRELSZ:
        layout.calls.bytes = value;
        break;
      default:
        break;
    }
  }
}

/// Rounded like the loader does: a partial last page stays writable.
Range protected_pages(std::uintptr_t begin, std::uintptr_t bytes) {
  const std::uintptr_t page = getauxval(AT_PAGESZ);
  return {begin & ~(page - 1), (begin + bytes) & ~(page - 1)};
}

Layout layout_of(const dl_phdr_info& module) {
  Layout layout;
  layout.bias = module.dlpi_addr;
  for (std::size_t i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    const std::uintptr_t begin = layout.bias + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) layout.dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (segment.p_type == PT_GNU_RELRO) layout.relro = protected_pages(begin, segment.p_memsz);
  }
  if (layout.dynamic != nullptr) read_dynamic(layout);
  return layout;
}

bool is_code_of(const dl_phdr_info& module, std::uintptr_t address) {
  for (std::size_t i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    const std::uintptr_t begin = module.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && address >= begin &&
        address < begin + segment.p_memsz) {
      return true;
    }
  }
  return false;
}

/// Makes the read-only part of a module writable during its lifetime.
class Unprotected {
 public:
  explicit Unprotected(const Range& pages) : pages_(pages) {}
  Unprotected(const Unprotected&) = delete;
  Unprotected& operator=(const Unprotected&) = delete;
  ~Unprotected() {
    if (is_open_) static_cast<void>(protect(PROT_READ));
  }
  /// False: `slot` is read-only and mprotect fails.
  bool allows(std::uintptr_t slot) {
    if (!pages_.holds(slot)) return true;
    if (!is_open_) is_open_ = protect(PROT_READ | PROT_WRITE);
    return is_open_;
  }

 private:
  [[nodiscard]] bool protect(int protection) const {
    return raw_syscall(SYS_mprotect, static_cast<long>(pages_.begin),
                       static_cast<long>(pages_.end - pages_.begin), protection) == 0;
  }
  Range pages_;
  bool is_open_ = false;
};

class Turner {
 public:
  Turner(const dl_phdr_info& module, const Shadows& shadows, Lead lead)
      : module_(module),
        shadows_(shadows),
        lead_(lead),
        layout_(layout_of(module)),
        unprotected_(layout_.relro) {}

  std::uint32_t turn() {
    if (layout_.symbols == nullptr || layout_.strings == nullptr) return 0;
    turn_all(layout_.data);
    turn_all(layout_.calls);
    return turned_;
  }

 private:
  void turn_all(const Relocations& relocations) {
    if (relocations.begin == nullptr) return;
    const std::size_t count = relocations.bytes / sizeof(ElfW(Rela));
    for (std::size_t i = 0; i < count; ++i) turn_one(relocations.begin[i]);
  }

  void turn_one(const ElfW(Rela) & relocation) {
    const auto type = ELF64_R_TYPE(relocation.r_info);
    const bool is_slot = type == machine::kJumpSlot || type == machine::kGlobalData ||
                         (type == machine::kAbsolute && relocation.r_addend == 0);
    const std::uint64_t symbol = ELF64_R_SYM(relocation.r_info);
    if (!is_slot || symbol == 0) return;
    const std::uintptr_t slot = layout_.bias + relocation.r_offset;
    auto& pointer = *reinterpret_cast<void**>(slot);
    void* const value = std::atomic_ref(pointer).load(std::memory_order_relaxed);
    void* const wanted = lead_ == Lead::kToEntries ? entry_for(value, layout_.symbols[symbol], type)
                                                   : original_for(value);
    if (wanted == nullptr || !unprotected_.allows(slot)) return;
    std::atomic_ref(pointer).store(wanted, std::memory_order_release);
    ++turned_;
  }

  /// Null: the slot must not be changed.
  [[nodiscard]] void* entry_for(void* value, const ElfW(Sym) & symbol, std::uint64_t type) const {
    const bool is_unbound = type == machine::kJumpSlot && shadows_.may_bind &&
                            symbol.st_shndx == SHN_UNDEF &&
                            is_code_of(module_, reinterpret_cast<std::uintptr_t>(value));
    if (!is_unbound && !is_original(value)) return nullptr;
    const char* name = layout_.strings + symbol.st_name;
    for (std::size_t i = 0; i < shadows_.count; ++i) {
      const Shadow& shadow = shadows_.begin[i];
      if (shadow.original == nullptr || strcmp(shadow.name, name) != 0) continue;
      const bool leads_there = is_unbound || shadow.original == value;
      return leads_there ? reinterpret_cast<void*>(shadow.entry) : nullptr;
    }
    return nullptr;
  }

  /// Tested first for every slot, so that few names are compared.
  [[nodiscard]] bool is_original(const void* value) const {
    if (value == nullptr) return false;
    for (std::size_t i = 0; i < shadows_.count; ++i) {
      if (shadows_.begin[i].original == value) return true;
    }
    return false;
  }

  [[nodiscard]] void* original_for(const void* value) const {
    for (std::size_t i = 0; i < shadows_.count; ++i) {
      if (reinterpret_cast<void*>(shadows_.begin[i].entry) == value)
        return shadows_.begin[i].original;
    }
    return nullptr;
  }

  const dl_phdr_info& module_;
  const Shadows& shadows_;
  Lead lead_;
  Layout layout_;
  Unprotected unprotected_;
  std::uint32_t turned_ = 0;
};

}  // namespace

std::uint32_t turn_slots(const dl_phdr_info& module, const Shadows& shadows, Lead lead) {
  return Turner(module, shadows, lead).turn();
}

}  // namespace geiger::interpose

using geiger::base::Attachment;
using geiger::base::AttachState;

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
  X(prctl)                               \
  X(syscall)                             \
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
  capture::report_state(AttachState::kAttached);
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
  geiger::capture::report_state(AttachState::kDetached);
  return error;
}
