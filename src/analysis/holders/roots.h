// The words of a process from which its memory is reached, and what they are called: variables of
// modules, stacks and thread-local variables of threads, other mappings.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/holders/layout.h"
#include "analysis/holders/marker.h"
#include "analysis/holders/memory.h"
#include "analysis/holders/module_files.h"
#include "analysis/holders/python_objects.h"
#include "analysis/holders/registers.h"
#include "analysis/holders/stack_frames.h"
#include "analysis/observe/proc_files.h"
#include "analysis/symbolize/elf/data_symbols.h"
#include "base/units.h"

namespace geiger::holders {

/// A thread at the instant of a scan.
struct Thread {
  pid_t tid = 0;
  std::string name;
  Address stack_pointer = 0;  ///< 0: it was running.
  /// The C library's structure for it, behind whose beginning lie its thread-local variables; 0:
  /// not found.
  Address control_block = 0;
  std::vector<std::uint64_t> registers = {};  ///< As far as they are known.
  std::optional<Halt> halt = {};              ///< If nothing has run since.
};

/// The threads that can be read, of the first thousand.
[[nodiscard]] std::vector<Thread> threads_of(const observe::ProcessFiles& files);

/// A word that the kernel keeps for the process, and hands back: often a pointer.
struct KernelPointer {
  enum class Of : std::uint8_t { kEpoll, kTimer };
  Of of = Of::kEpoll;
  std::uint64_t word = 0;
};

/// What epoll_ctl and timer_create were given.
[[nodiscard]] std::vector<KernelPointer> kernel_pointers_of(const observe::ProcessFiles& files);

/// Finds their control blocks, of glibc on x86-64: words that hold their own address, 16 bytes
/// apart, with the thread's id behind them.
void find_control_blocks(const Layout& layout, Memory& memory, std::span<Thread> threads);

/// Where a module's thread-local variables are, if the loader gave them a place that is the same in
/// each thread (static TLS): so many bytes before its control block.
struct ThreadLocals {
  std::uint32_t module = 0;  ///< Its first mapping, into Layout::mappings.
  Bytes before = 0;
  Bytes bytes = 0;
};

/// A stretch of roots.
struct Roots {
  /// kBelowStack: what a function may use below the stack pointer without moving that. kStale: of
  /// a module, Layout::stale.
  enum class Kind : std::uint8_t {
    kModule,
    kThreadLocal,
    kMapping,
    kStack,
    kInterpreterStack,
    kBelowStack,
    kStale
  };
  Span span;
  Kind kind = Kind::kMapping;
  std::uint32_t mapping = 0;  ///< Index into Layout::mappings.

  [[nodiscard]] bool is_of_stack() const {
    return kind == Kind::kStack || kind == Kind::kBelowStack;
  }
  /// Stacks too keep words that are not in use.
  [[nodiscard]] Holds holds() const {
    return kind >= Kind::kStack ? Holds::kForAWhile : Holds::kFirmly;
  }
};

/// All roots: readable and writable memory without Layout::not_roots, and without what lies below
/// the stack pointers of threads. In the order of kinds: of chains of equal length the first one
/// gives its name. `thread_locals`: bytes that variables of a thread take in front of its
/// control block.
[[nodiscard]] std::vector<Roots> roots_of(const Layout& layout, std::span<const Thread> threads,
                                          Bytes thread_locals);

/// The mapping that the executable begins with, or null. `path` is where /proc/PID/exe points to.
[[nodiscard]] const observe::Mapping* executable_in(const Layout& layout, std::string_view path);

/// Names of roots. Symbols are read once for each module.
class RootNames {
 public:
  explicit RootNames(ModuleFiles& files) : files_(files) {}

  /// For a scan. What they name must live as long as names are asked for. `executable` may be null.
  void use(const Layout& layout, std::span<const Thread> threads,
           const observe::Mapping* executable, Memory& memory);
  void use(std::span<const Roots> roots);
  /// Of the stack whose words come next; null: not known.
  void use(StackFrames* frames) { frames_ = frames; }
  /// Of the interpreter's stack whose words come next.
  void use(std::vector<PythonFrame> frames) { python_frames_ = std::move(frames); }

  /// Of the executable, and of libraries that were there from the start.
  [[nodiscard]] const std::vector<ThreadLocals>& thread_locals() const { return thread_locals_; }

  /// The group of the root word at `address`; the last one if there are too many.
  [[nodiscard]] RootGroup group_of(Address address);
  [[nodiscard]] RootGroup group_of_registers(const Thread& thread) {
    return group("registers of thread " + thread.name);
  }
  [[nodiscard]] RootGroup group_of_kernel(const KernelPointer& pointer) {
    return group(pointer.of == KernelPointer::Of::kEpoll ? "data of epoll descriptors"
                                                         : "values of timers");
  }
  [[nodiscard]] RootGroup group_of_mapped_since() { return group("memory mapped during the scan"); }
  /// Of a variable of one of CPython's modules. Where there are many, definitions (functions,
  /// classes, modules) have no names of their own, and then no variable has.
  [[nodiscard]] RootGroup group_of_variable(std::string_view module, std::string_view name,
                                            bool is_definition);
  [[nodiscard]] const std::string& name_of(RootGroup group) const { return names_[group]; }
  /// Whether both are of one stack: its functions, and the stack itself.
  [[nodiscard]] bool are_of_one_stack(RootGroup a, RootGroup b) const {
    return stacks_[a] == stacks_[b];
  }

  /// The vtable that an object at whose beginning `word` was found belongs to: its class. Else "".
  [[nodiscard]] std::string class_of(std::uint64_t word);

 private:
  struct Module {
    std::string path;
    Address start = 0;  ///< Of its first mapping.
    Address bias = 0;
    const symbolize::DataSymbols* symbols = nullptr;
  };

  [[nodiscard]] RootGroup group(const std::string& name);
  [[nodiscard]] RootGroup group_in_stack(Address address, const observe::Mapping& mapping);
  [[nodiscard]] RootGroup group_in_interpreter_stack(Address address);
  /// Of a function of a stack; the stack's own group if the function is not known.
  [[nodiscard]] RootGroup group_of_function(const std::string& function, const std::string& stack);
  [[nodiscard]] std::string name_at(Address address, const Roots& roots);
  [[nodiscard]] std::string variable_at(Address address, std::uint32_t mapping);
  [[nodiscard]] bool is_thread_local(Address address, const Thread& thread) const;
  [[nodiscard]] std::string thread_local_at(Address address, const Thread& thread);
  [[nodiscard]] const Module* module_of(std::uint32_t mapping);
  /// The address of a variable in the module whose file's name begins with `file`; 0: none.
  [[nodiscard]] Address variable(std::string_view file, std::string_view name);
  [[nodiscard]] std::uint64_t word(Address address) const;
  void find_thread_locals();

  ModuleFiles& files_;
  const Layout* layout_ = nullptr;
  std::span<const Roots> roots_;
  std::vector<std::size_t> by_address_;  ///< Into roots_.
  std::span<const Thread> threads_;
  std::uint32_t executable_ = 0;  ///< Its first mapping, or kNoMapping.
  Memory* memory_ = nullptr;
  StackFrames* frames_ = nullptr;
  std::vector<PythonFrame> python_frames_;
  std::map<std::uint32_t, Module> modules_;  ///< By first mapping, of this scan.
  std::vector<ThreadLocals> thread_locals_;
  std::unordered_map<std::string, RootGroup> groups_;
  std::vector<std::string> names_;
  std::vector<RootGroup> stacks_;  ///< By group: that of its stack, or itself.
  Span last_variable_;             ///< Words in it have the group last_group_.
  RootGroup last_group_ = 0;
};

}  // namespace geiger::holders
