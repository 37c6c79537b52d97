#include "runtime/interpose/slots.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <atomic>

#include "base/raw_syscall.h"
#include "runtime/interpose/machine.h"

namespace geiger::interpose {
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
