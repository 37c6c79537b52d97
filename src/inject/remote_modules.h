// The modules of a running process, read from its maps, and their symbols, read from its memory:
// the files may be gone, replaced, or in another mount namespace.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace geiger::inject {

// Reads and writes the memory of another process without stopping it.

using Address = std::uint64_t;

/// Threads: any. Nothing throws; an unmapped address is a failure.
class RemoteMemory {
 public:
  explicit RemoteMemory(pid_t pid) : pid_(pid) {}

  [[nodiscard]] bool read(Address from, void* to, std::size_t bytes) const;
  /// Reads as far as memory is mapped; returns the number of bytes read.
  [[nodiscard]] std::size_t read_some(Address from, void* to, std::size_t bytes) const;
  [[nodiscard]] bool write(Address to, const void* from, std::size_t bytes) const;

  template <typename T>
  [[nodiscard]] std::optional<T> get(Address from) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    if (!read(from, &value, sizeof value)) return std::nullopt;
    return value;
  }
  /// Up to the NUL, at most 4 KiB.
  [[nodiscard]] std::string text(Address from) const;

 private:
  pid_t pid_;
};

struct CodeRange {
  Address begin = 0, end = 0;
  [[nodiscard]] bool holds(Address address) const { return address >= begin && address < end; }
};

/// What a frame in the module means for its thread's safety.
enum class ModuleKind {
  kOrdinary,
  kLibc,  ///< libc, and libpthread and libdl if they are separate libraries.
  kLoader,
  kAllocator,  ///< Defines malloc and is not libc.
  kRuntime,    ///< geiger's.
};

struct RemoteModule {
  std::string path;  ///< From the maps.
  Address base = 0;  ///< Address of its ELF header.
  Address end = 0;
  ModuleKind kind = ModuleKind::kOrdinary;
  std::vector<CodeRange> code;
  std::string device;  ///< With the inode it identifies the file.
  std::uint64_t inode = 0;
  Address first_end = 0;  ///< Of its mapping at `base`.
};

struct RemoteSymbol {
  Address address = 0;
  std::uint64_t bytes = 0;
  std::string name;
};

/// Modules in the text of /proc/PID/maps; kinds by names alone.
[[nodiscard]] std::vector<RemoteModule> modules_in(std::string_view maps);

/// Modules of a process, kinds by names alone; empty if it has ended or must not be read.
[[nodiscard]] std::vector<RemoteModule> named_modules_of(pid_t pid);

/// Modules of a process, kinds also by their symbols; empty if it has ended or must not be read.
[[nodiscard]] std::vector<RemoteModule> modules_of(pid_t pid);

/// The definition of `name` in `module`, by its GNU hash table; nothing if there is none.
[[nodiscard]] std::optional<RemoteSymbol> find_symbol(const RemoteMemory& memory,
                                                      const RemoteModule& module,
                                                      std::string_view name);

/// Every function that `module` defines, by ascending address; several may share one.
[[nodiscard]] std::vector<RemoteSymbol> functions_of(const RemoteMemory& memory,
                                                     const RemoteModule& module);

/// The first of `modules` that is of this kind, or nullptr.
[[nodiscard]] const RemoteModule* first_of(const std::vector<RemoteModule>& modules,
                                           ModuleKind kind);

}  // namespace geiger::inject
