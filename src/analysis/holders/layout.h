// The memory of a process at one scan: where blocks are, and which words are roots.
//
// What is not understood is a root: a part of a heap whose chain of chunks broke, an area of
// an allocator that is not known. So an error keeps blocks alive, and never makes one unreachable.
// The allocator's own data is not a root: its free lists and slabs point to everything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/holders/block_map.h"
#include "analysis/holders/memory.h"
#include "analysis/holders/module_files.h"
#include "analysis/observe/live_set.h"
#include "analysis/observe/proc_files.h"
#include "analysis/observe/seen_types.h"
#include "object_types/object_types.h"

namespace geiger::holders {

inline constexpr std::uint32_t kNoMapping = 0xffffffff;

/// Of an allocator: blocks that were free when the layout was read, and are in use now.
class LateBlocks {
 public:
  LateBlocks() = default;
  LateBlocks(const LateBlocks&) = delete;
  LateBlocks& operator=(const LateBlocks&) = delete;
  virtual ~LateBlocks() = default;

  /// The one at `target`, which is in `free`, a block that was free.
  [[nodiscard]] virtual std::optional<Span> at(Address target, Span free) = 0;
};

struct Layout {
  std::vector<observe::Mapping> mappings;  ///< In order of addresses.
  /// By mapping, the first mapping of its program or library, or of a file that was mapped to be
  /// changed alone; kNoMapping: of none. find_modules() first.
  std::vector<std::uint32_t> modules;
  BlockMap blocks;
  /// In order of addresses, apart from each other: blocks, the allocator's own data, the runtime's.
  std::vector<Span> not_roots;
  /// In order of addresses: roots that may be left over from what they pointed to.
  std::vector<Span> stale;
  /// In order of addresses: where an interpreter keeps the frames of its functions.
  std::vector<Span> interpreter_stacks;
  /// What is free is another's part in each.
  std::vector<std::unique_ptr<LateBlocks>> late;
  bool is_inferred = false;  ///< Where blocks begin was inferred from pointers.
  Bytes not_understood = 0;  ///< Of heaps whose blocks are known, what is a root.

  void leave_out(Span span) { not_roots.push_back(span); }
  /// Anonymous memory that was mapped since. After find_modules().
  void add_mapping(Span span);
  /// The block in use at `target`, which is in a block that was free.
  [[nodiscard]] std::optional<Span> late_at(Address target, Span free) const;
};

/// Finds which mappings are of modules. Anonymous memory that continues a module's data is its .bss
/// up to where that ends; what the kernel joined to it becomes a mapping of its own.
void find_modules(Layout& layout, ModuleFiles& files, Bytes page_bytes);

/// Leaves out the modules whose file's name begins with `name`, with their variables.
void leave_out_modules(Layout& layout, ModuleFiles& files, std::string_view name);

/// Sorts and joins.
void settle(std::vector<Span>& spans);

/// The chunks of all arenas of glibc's malloc, and those with mappings of their own. Chunks that a
/// thread's cache (tcache) or a fastbin keeps, which look used, are free.
///
/// `met`: is told of each used block, or one in a cache, with its first word.
///
/// Source of the layout: malloc/malloc.c and malloc/arena.c of glibc 2.26 and later, 64 bits.
using Met = std::function<void(Address block, std::uint64_t first)>;
void add_glibc_blocks(Layout& layout, Memory& memory, const Met& met = {});

/// The blocks of geiger's own malloc, `library`. Free ones are blocks that nothing points to.
/// False, and nothing is added, if it changed while it was read.
[[nodiscard]] bool add_geiger_blocks(Layout& layout, Memory& memory,
                                     std::span<const observe::LiveSample> samples,
                                     std::string_view library);

/// Of any other allocator: in the mappings where it put samples, a block begins where a pointer
/// points, and where a sample is. Size classes lie side by side, so a page with a small sample is
/// divided by its usable size, unless other samples or the pointers into the page disagree.
/// `samples` in order of addresses. What is left out must be settled.
void add_inferred_blocks(Layout& layout, Memory& memory,
                         std::span<const observe::LiveSample> samples);

/// The blocks of the arenas of CPython 3.10 to 3.13, that is, of its pools. Where one is not as it
/// must be, it stays a root. False: there is none. Blocks have been added, and are indexed again.
///
/// Source of the layout: Objects/obmalloc.c, and Include/internal/pycore_obmalloc.h since 3.12.
[[nodiscard]] bool add_python_blocks(Layout& layout, Memory& memory);

/// Finds the links by which CPython's collector lists objects, at the beginning of their blocks,
/// and leaves out the lists' heads, which lie in the interpreter's variables, `interpreter`. A link
/// is one of two neighbours that point to each other, before an object whose type has such links.
/// The members of lists, dicts and tuples that the interpreter keeps for the next ones hold nothing
/// either. Returns the modules that are listed.
///
/// Source of the layout: PyGC_Head in Include/internal/pycore_gc.h, 3.8 to 3.13.
[[nodiscard]] std::vector<Address> find_links(Layout& layout, Memory& memory,
                                              observe::PythonTypes& types,
                                              std::span<const Span> interpreter);

/// The variables of one of CPython's modules: the entries of its dictionary.
struct ModuleVariables {
  std::string module;
  object_types::Entries entries;
  bool is_imported = false;  ///< sys.modules has it.
};

/// Of `modules`. Their dictionaries hold nothing any more, so that each variable is a root.
[[nodiscard]] std::vector<ModuleVariables> take_module_variables(Layout& layout, Memory& memory,
                                                                 observe::PythonTypes& types,
                                                                 std::span<const Address> modules);

/// Finds, among the interpreter's variables, what it keeps for the next objects, and its cache of
/// attributes: entries of both stay when what they pointed to is another object's.
///
/// Source of the layout: the free lists of Include/internal/pycore_*.h, struct type_cache in
/// pycore_typeobject.h, 3.10 to 3.13.
void find_stale(Layout& layout, Memory& memory, std::span<const Span> interpreter);

}  // namespace geiger::holders
