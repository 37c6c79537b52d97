// The program headers of a loaded module.
#include "runtime/unwind/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/loader.h"
#include "runtime/unwind/module_paths.h"

namespace geiger::unwind {

struct ProgramHeaders {
  const ElfW(Phdr) * begin;
  std::uint64_t count;
};

/// Headers in the first page at `start`, as every linker lays them out.
[[nodiscard]] ProgramHeaders headers_at(std::uint64_t start);

[[nodiscard]] bool is_executable(const link_map* map);

/// The kernel passes the address of the executable's headers, unless the program was started by
/// naming the loader: then they are the loader's.
[[nodiscard]] ProgramHeaders headers_of(const link_map& map);

/// The loadable segment that contains `address`, or null.
[[nodiscard]] const ElfW(Phdr) *
    find_segment(const link_map& map, const ProgramHeaders& headers, std::uint64_t address);

namespace {

constexpr std::uint64_t kFirstPage = 4096;

bool belong_to(const ProgramHeaders& headers, const link_map& map) {
  for (std::uint64_t i = 0; i < headers.count; ++i) {
    const ElfW(Phdr)& segment = headers.begin[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    return map.l_addr + segment.p_vaddr == reinterpret_cast<std::uint64_t>(map.l_ld);
  }
  return false;
}

}  // namespace

ProgramHeaders headers_at(std::uint64_t start) {
  if (start == 0 || start % kFirstPage != 0) return {nullptr, 0};
  ElfW(Ehdr) elf;
  std::memcpy(&elf, reinterpret_cast<const void*>(start), sizeof elf);
  const bool is_usable = std::memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 &&
                         elf.e_phentsize == sizeof(ElfW(Phdr)) && elf.e_phoff < kFirstPage &&
                         elf.e_phoff % 8 == 0 &&
                         elf.e_phnum <= (kFirstPage - elf.e_phoff) / sizeof(ElfW(Phdr));
  if (!is_usable) return {nullptr, 0};
  return {reinterpret_cast<const ElfW(Phdr)*>(start + elf.e_phoff), elf.e_phnum};
}

bool is_executable(const link_map* map) { return map == base::first_module(); }

ProgramHeaders headers_of(const link_map& map) {
  if (is_executable(&map)) {
    const ProgramHeaders told = {reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR)),
                                 getauxval(AT_PHNUM)};
    // A static program has no other module, and may have no dynamic section.
    if (map.l_ld == nullptr || belong_to(told, map)) return told;
  }
  return headers_at(map.l_addr);
}

const ElfW(Phdr) *
    find_segment(const link_map& map, const ProgramHeaders& headers, std::uint64_t address) {
  for (std::uint64_t i = 0; i < headers.count; ++i) {
    const ElfW(Phdr)& segment = headers.begin[i];
    const std::uint64_t begin = map.l_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address - begin < segment.p_memsz) return &segment;
  }
  return nullptr;
}

namespace {

/// A module's public part, and fields used only here.
struct Entry {
  Module module;
  ByteRange readable;         // The range that may contain its tables.
  std::uint64_t fingerprint;  // Of the first page.
  std::uint64_t build_id_at;  // Offset from start, 0 = none (or a short one).
  std::uint64_t entry_point;  // Run-time address, 0 = none.
  bool is_permanent;
};

// Publication: a thread fills an entry in its own slot, then stores the slot's number at the first
// free place of g_order (release; acquired by readers of the place). So ids are dense, a published
// entry never changes, and a thread that stops half-way (fork, signal) leaves only an unused slot.
constexpr std::uint32_t kSlotCount = kMaxModules + kMaxModules / 4;
constinit Entry g_slots[kSlotCount]{};
constinit std::atomic<std::uint32_t> g_slots_taken{0};
constinit std::atomic<std::uint16_t> g_order[kMaxModules + 1];
constinit std::atomic<std::uint32_t> g_known{0};

// Latest id by start address; a hint only, always checked.
constexpr std::uint32_t kHintBits = 10;
constinit std::atomic<std::uint16_t> g_hints[1U << kHintBits];

// Ids of permanent modules by ascending start address. Written by the only run of init(), which
// sets the count last.
constexpr std::uint32_t kMaxPermanent = 1024;
constinit std::uint32_t g_permanent[kMaxPermanent];
constinit std::atomic<std::uint32_t> g_permanent_count{0};
constinit std::atomic<bool> g_is_begun{false};

// _dl_find_object of glibc >= 2.35, else null. Looked up, because a reference, even a weak one,
// would bind the library to GLIBC_2.35.
using FindObject = decltype(_dl_find_object);
constinit std::atomic<FindObject*> g_find_object{nullptr};
constinit std::atomic<bool> g_is_loader_hidden{false};

constexpr std::uint64_t kMarkBytes = 16;  // Of the build id, in the fingerprint.

const Entry& entry_of(std::uint32_t id) {
  return g_slots[g_order[id - 1].load(std::memory_order_acquire) - 1];
}

std::atomic<std::uint16_t>& hint_of(std::uint64_t start) {
  return g_hints[(start >> 12) * 0x9e3779b97f4a7c15U >> (64 - kHintBits)];
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0xd6e8feb86659fd93U;
  return hash ^ hash >> 32;
}

/// The loader's information about an object.
struct Object {
  std::uint64_t start, end;
  const link_map* map;
  const void* header;
};

// ------------------------------------------------------------ ELF headers ---

/// Sets all fields except `map` from the program headers. False: not found.
bool measure(Object& object) {
  const ProgramHeaders headers = headers_of(*object.map);
  Object found = {~std::uint64_t{0}, 0, object.map, nullptr};
  for (std::uint64_t i = 0; i < headers.count; ++i) {
    const ElfW(Phdr)& segment = headers.begin[i];
    const std::uint64_t begin = object.map->l_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) found.header = reinterpret_cast<const void*>(begin);
    if (segment.p_type != PT_LOAD) continue;
    if (begin < found.start) found.start = begin & ~(kFirstPage - 1);
    if (begin + segment.p_memsz > found.end) found.end = begin + segment.p_memsz;
  }
  if (found.start >= found.end) return false;
  object = found;
  return true;
}

// The loader reports the segments of an executable with gaps separately; a module includes all of
// them.
bool ask_loader(std::uint64_t pc, Object& object) {
  FindObject* const find_object = g_find_object.load(std::memory_order_relaxed);
  if (find_object == nullptr || g_is_loader_hidden.load(std::memory_order_relaxed)) return false;
  dl_find_object found;
  if (find_object(reinterpret_cast<void*>(pc), &found) != 0) return false;
  object = {reinterpret_cast<std::uint64_t>(found.dlfo_map_start),
            reinterpret_cast<std::uint64_t>(found.dlfo_map_end), found.dlfo_link_map,
            found.dlfo_eh_frame};
  if (is_executable(object.map)) measure(object);
  return true;
}

ByteRange range_of(std::uint64_t begin, std::uint64_t end) {
  return {reinterpret_cast<const std::uint8_t*>(begin), reinterpret_cast<const std::uint8_t*>(end)};
}

/// The readable segment that contains `address`; the whole module if no header covers it.
ByteRange segment_of(const Object& object, const ProgramHeaders& headers, std::uint64_t address) {
  const ElfW(Phdr)* const segment = find_segment(*object.map, headers, address);
  if (segment == nullptr || (segment->p_flags & PF_R) == 0) {
    return range_of(object.start, object.end);
  }
  const std::uint64_t begin = object.map->l_addr + segment->p_vaddr;
  const bool is_inside = begin >= object.start && segment->p_memsz <= object.end - begin;
  return is_inside ? range_of(begin, begin + segment->p_memsz) : range_of(object.start, object.end);
}

/// Notes: three words, the name padded to 4, the description.
bool read_build_id(const Object& object, const ElfW(Phdr) & segment, Entry& entry) {
  const std::uint64_t begin = object.map->l_addr + segment.p_vaddr;
  if (begin < object.start || begin - object.start >= kFirstPage) return false;
  const ByteRange page = range_of(object.start, object.start + kFirstPage);
  Cursor notes = Cursor(page, begin).take(segment.p_memsz);
  while (notes.ok() && !notes.at_end()) {
    const std::uint32_t name_bytes = notes.u32();
    const std::uint32_t bytes = notes.u32();
    const std::uint32_t type = notes.u32();
    const std::uint32_t name = notes.u32();
    if (name_bytes == 4 && type == NT_GNU_BUILD_ID && name == 0x00554e47 && bytes >= 8 &&
        bytes <= sizeof entry.module.build_id) {
      entry.build_id_at = notes.address() - object.start;
      for (std::uint32_t i = 0; i < bytes; ++i) entry.module.build_id[i] = notes.u8();
      entry.module.build_id_bytes = bytes;
      return notes.ok();
    }
    if (name_bytes != 4) return false;
    notes.skip((std::uint64_t{bytes} + 3) & ~std::uint64_t{3});
  }
  return false;
}

// The ELF header distinguishes file layouts, the build id contents. Both are in the first page,
// which is mapped as long as the loader finds the object.
std::uint64_t fingerprint(const Object& object, std::uint64_t build_id_at) {
  if (object.start % kFirstPage != 0) return 0;
  std::uint64_t words[sizeof(ElfW(Ehdr)) / 8];
  std::memcpy(words, reinterpret_cast<const void*>(object.start), sizeof words);
  std::uint64_t hash = 1;
  for (const std::uint64_t word : words) hash = mix(hash, word);
  std::uint64_t id[kMarkBytes / 8];
  std::memcpy(id, reinterpret_cast<const void*>(object.start + build_id_at), sizeof id);
  return mix(mix(hash, id[0]), id[1]);
}

std::uint64_t entry_point_of(const Object& object, const ProgramHeaders& headers) {
  if (headers.count == 0) return 0;
  const auto* elf = reinterpret_cast<const ElfW(Ehdr)*>(object.start);
  return elf->e_entry == 0 ? 0 : object.map->l_addr + elf->e_entry;
}

void describe(const Object& object, Entry& entry) {
  entry.module.start = object.start;
  entry.module.end = object.end;
  entry.module.bias = object.map->l_addr;
  entry.module.link_map = object.map;
  entry.module.eh_frame_hdr = object.header;
  const ProgramHeaders headers = headers_at(object.start);
  entry.entry_point = entry_point_of(object, headers);
  entry.readable = segment_of(object, headers, reinterpret_cast<std::uint64_t>(object.header));
  for (std::uint64_t i = 0; i < headers.count && entry.build_id_at == 0; ++i) {
    if (headers.begin[i].p_type == PT_NOTE) read_build_id(object, headers.begin[i], entry);
  }
  if (entry.module.build_id_bytes < kMarkBytes) entry.build_id_at = 0;
  entry.fingerprint = fingerprint(object, entry.build_id_at);
}

// ------------------------------------------------------------------ table ---

bool is_same(const Entry& entry, const Object& object) {
  const Module& module = entry.module;
  if (module.start != object.start || module.end != object.end || module.link_map != object.map ||
      module.eh_frame_hdr != object.header) {
    return false;
  }
  if (entry.is_permanent) return true;
  return entry.fingerprint == fingerprint(object, entry.build_id_at);
}

bool is_alike(const Entry& a, const Entry& b) {
  const Module& x = a.module;
  const Module& y = b.module;
  return x.start == y.start && x.end == y.end && x.link_map == y.link_map &&
         x.eh_frame_hdr == y.eh_frame_hdr && a.fingerprint == b.fingerprint;
}

void raise_known(std::uint32_t count) {
  std::uint32_t known = g_known.load(std::memory_order_relaxed);
  while (known < count && !g_known.compare_exchange_weak(known, count, std::memory_order_release,
                                                         std::memory_order_relaxed)) {
  }
}

std::uint32_t find_alike(const Entry& entry, std::uint32_t known) {
  for (std::uint32_t id = known; id != 0; --id) {
    if (is_alike(entry_of(id), entry)) return id;
  }
  return 0;
}

/// Publishes a filled slot, or finds that another thread just published the same module. The first
/// `known` places do not contain it; every later place must be checked here, or a module could get
/// two ids.
std::uint32_t publish(Entry& entry, std::uint16_t slot_number, std::uint32_t known) {
  for (std::uint32_t place = known; place < kMaxModules; ++place) {
    std::uint16_t other = 0;
    entry.module.id = place + 1;
    if (g_order[place].compare_exchange_strong(other, slot_number, std::memory_order_acq_rel)) {
      raise_known(place + 1);
      return place + 1;
    }
    raise_known(place + 1);
    if (is_alike(g_slots[other - 1], entry)) return place + 1;
  }
  return 0;
}

std::uint32_t add(const Object& object, bool is_permanent) {
  Entry draft{};
  describe(object, draft);
  draft.is_permanent = is_permanent;
  const std::uint32_t known = modules_known();
  if (const std::uint32_t id = find_alike(draft, known)) return id;
  if (g_slots_taken.load(std::memory_order_relaxed) >= kSlotCount) return 0;
  const std::uint32_t slot = g_slots_taken.fetch_add(1, std::memory_order_relaxed);
  if (slot >= kSlotCount) return 0;
  draft.module.path = keep_path(object.map->l_name, object.start);
  g_slots[slot] = draft;
  return publish(g_slots[slot], static_cast<std::uint16_t>(slot + 1), known);
}

FoundModule found_in(const Entry& entry) {
  const auto header = reinterpret_cast<std::uint64_t>(entry.module.eh_frame_hdr);
  return {entry.module.id, entry.is_permanent, entry.is_permanent || entry.build_id_at != 0,
          Cfi{entry.readable, header}, entry.entry_point};
}

/// Greatest start address at or below `pc`.
std::uint32_t find_permanent(std::uint64_t pc) {
  std::uint32_t low = 0;
  for (std::uint32_t high = g_permanent_count.load(std::memory_order_acquire); low < high;) {
    const std::uint32_t middle = (low + high) / 2;
    if (entry_of(g_permanent[middle]).module.start <= pc) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return 0;
  const std::uint32_t id = g_permanent[low - 1];
  return pc < entry_of(id).module.end ? id : 0;
}

/// Keeps the first `count` ids sorted by start address.
std::uint32_t insert_permanent(std::uint32_t id, std::uint32_t count) {
  if (id == 0 || count == kMaxPermanent) return count;
  const std::uint64_t start = entry_of(id).module.start;
  std::uint32_t place = count;
  for (; place > 0 && entry_of(g_permanent[place - 1]).module.start > start; --place) {
    g_permanent[place] = g_permanent[place - 1];
  }
  g_permanent[place] = id;
  return count + 1;
}

}  // namespace

void find_loader_lookup() {
  for (const link_map* map = base::first_module(); map != nullptr; map = map->l_next) {
    void* const function = base::find_symbol(map, "_dl_find_object");
    if (function == nullptr) continue;
    g_find_object.store(reinterpret_cast<FindObject*>(function), std::memory_order_relaxed);
    return;
  }
}

void learn_permanent_modules() {
  std::uint32_t count = 0;
  for (const link_map* map = base::first_module(); map != nullptr; map = map->l_next) {
    Object object{0, 0, map, nullptr};
    if (ask_loader(reinterpret_cast<std::uint64_t>(map->l_ld), object) || measure(object)) {
      count = insert_permanent(add(object, true), count);
    }
  }
  g_permanent_count.store(count, std::memory_order_release);  // Pairs with find_permanent.
}

AddressRange range_of(const void* link_map) {
  Object object = {0, 0, static_cast<const struct link_map*>(link_map), nullptr};
  return measure(object) ? AddressRange{object.start, object.end} : AddressRange{0, 0};
}

bool find_module(std::uint64_t pc, FoundModule& found) {
  if (const std::uint32_t id = find_permanent(pc)) {
    found = found_in(entry_of(id));
    return true;
  }
  Object object;
  if (!ask_loader(pc, object)) return false;
  std::atomic<std::uint16_t>& hint = hint_of(object.start);
  std::uint32_t id = hint.load(std::memory_order_relaxed);
  if (id == 0 || id > modules_known() || !is_same(entry_of(id), object)) {
    id = add(object, false);
    hint.store(static_cast<std::uint16_t>(id), std::memory_order_relaxed);
  }
  if (id != 0) {
    found = found_in(entry_of(id));
    return true;
  }
  Entry draft{};  // Too many modules: described again every time.
  describe(object, draft);
  found = found_in(draft);
  found.is_recognizable = false;
  return true;
}

ByteRange code_around(const FoundModule& module, std::uint64_t pc) {
  constexpr auto kCode = PF_R | PF_X;
  if (module.id == 0) return {nullptr, nullptr};
  const auto& map = *static_cast<const link_map*>(unwind::module(module.id).link_map);
  const ElfW(Phdr)* const segment = find_segment(map, headers_of(map), pc);
  if (segment == nullptr || (segment->p_flags & kCode) != kCode) return {nullptr, nullptr};
  const std::uint64_t begin = map.l_addr + segment->p_vaddr;
  return range_of(begin, begin + segment->p_filesz);
}

ByteRange data_of(const FoundModule& module, std::size_t n) {
  if (module.id == 0) return {nullptr, nullptr};
  const auto& map = *static_cast<const link_map*>(unwind::module(module.id).link_map);
  const ProgramHeaders headers = headers_of(map);
  for (std::uint64_t i = 0; i < headers.count; ++i) {
    const ElfW(Phdr)& segment = headers.begin[i];
    const bool is_data = segment.p_type == PT_LOAD && (segment.p_flags & (PF_R | PF_X)) == PF_R;
    if (!is_data || n-- != 0) continue;
    const std::uint64_t begin = map.l_addr + segment.p_vaddr;
    return range_of(begin, begin + segment.p_filesz);
  }
  return {nullptr, nullptr};
}

bool is_still(std::uint32_t id, std::uint64_t pc) {
  Object object;
  return ask_loader(pc, object) && is_same(entry_of(id), object);
}

void use_loader_lookup_for_testing(bool use) {
  g_is_loader_hidden.store(!use, std::memory_order_relaxed);
}

void init() {
  if (g_is_begun.exchange(true, std::memory_order_relaxed)) return;
  find_loader_lookup();
  learn_permanent_modules();
}

void init_late() {
  if (!g_is_begun.exchange(true, std::memory_order_relaxed)) find_loader_lookup();
}

std::uint32_t modules_known() { return g_known.load(std::memory_order_acquire); }

const Module& module(std::uint32_t id) { return entry_of(id).module; }

}  // namespace geiger::unwind
