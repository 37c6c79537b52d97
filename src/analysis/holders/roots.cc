#include "analysis/holders/roots.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/text.h"

namespace geiger::holders {

namespace {

using observe::Mapping;
using symbolize::DataSymbol;

/// A function may use it below the stack pointer without moving that.
constexpr Bytes kRedZone = 128;

const Mapping* mapping_at(const Layout& layout, Address address) {
  const auto after = std::ranges::upper_bound(layout.mappings, address, {}, &Mapping::start);
  const bool is_one = after != layout.mappings.begin() && std::prev(after)->holds(address);
  return is_one ? &*std::prev(after) : nullptr;
}

const Thread* thread_in(std::span<const Thread> threads, const Mapping& mapping,
                        Address Thread::*place) {
  const auto at = std::ranges::find_if(
      threads, [&](const Thread& thread) { return mapping.holds(thread.*place); });
  return at == threads.end() ? nullptr : &*at;
}

/// Makes roots of their own of `parts` where they are of the kind `from`, or of any.
void split(std::span<const Span> parts, Roots::Kind kind, std::optional<Roots::Kind> from,
           std::vector<Roots>& roots) {
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const Roots whole = roots[i];
    if (whole.kind == kind || (from && whole.kind != *from)) continue;
    const auto first = std::ranges::find_if(parts, [&](const Span& span) {
      return span.end > whole.span.start && span.start < whole.span.end;
    });
    if (first == parts.end()) continue;
    const Span part{std::max(first->start, whole.span.start), std::min(first->end, whole.span.end)};
    roots[i].span.end = part.start;
    roots.push_back({part, kind, whole.mapping});
    roots.push_back({{part.end, whole.span.end}, whole.kind, whole.mapping});
  }
  std::erase_if(roots, [](const Roots& each) { return each.span.start == each.span.end; });
}

}  // namespace

const Mapping* executable_in(const Layout& layout, std::string_view path) {
  const auto at = std::ranges::find_if(layout.mappings, [&](const Mapping& mapping) {
    return mapping.path == path && mapping.offset == 0;
  });
  return at == layout.mappings.end() ? nullptr : &*at;
}

void find_control_blocks(const Layout& layout, Memory& memory, std::span<Thread> threads) {
  constexpr Bytes kTid = 720;
  constexpr Bytes kMost = 64 * kMiB;  // Of stacks with usual limits.
  Words words(memory);
  const Bytes page = memory.page_bytes();
  for (const Mapping& mapping : layout.mappings) {
    const bool may_have = mapping.path.empty() && mapping.is_writable && !mapping.is_shared &&
                          mapping.end - mapping.start <= kMost;
    if (!may_have) continue;
    auto out = std::ranges::lower_bound(layout.not_roots, mapping.start, {}, &Span::end);
    for (Address at = mapping.start; at + kTid + 8 <= mapping.end;) {
      if (out != layout.not_roots.end() && at >= out->start) {
        at = (std::max(at, out->end) + 15) / 16 * 16;
        ++out;
        continue;
      }
      if (at % page == 0 && memory.is_absent(at)) {
        at += page;
        continue;
      }
      if (words.at(at, mapping.end) == at && words.at(at + 16, mapping.end) == at) {
        const auto tid = static_cast<pid_t>(words.at(at + kTid, mapping.end));
        const auto thread = std::ranges::find(threads, tid, &Thread::tid);
        if (thread != threads.end()) thread->control_block = at;
      }
      at += 16;
    }
  }
}

std::vector<Thread> threads_of(const observe::ProcessFiles& files) {
  constexpr std::size_t kMost = 1000;
  std::vector<Thread> threads;
  const int fd = files.open("task").release();
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(fd < 0 ? nullptr : ::fdopendir(fd), &::closedir);
  if (!tasks) return threads;
  for (const dirent* entry = ::readdir(tasks.get()); entry != nullptr && threads.size() < kMost;
       entry = ::readdir(tasks.get())) {
    const auto tid = base::number_in<int>(std::string_view(entry->d_name));
    if (!tid) continue;
    Thread& thread = threads.emplace_back(Thread{*tid, "", 0});
    if (auto name = files.read(fmt::format("task/{}/comm", *tid).c_str())) {
      thread.name = name->substr(0, name->find('\n'));
    }
    thread.halt = halt_of(files, *tid);
    if (thread.halt) thread.stack_pointer = thread.halt->stack_pointer;
  }
  return threads;
}

std::vector<KernelPointer> kernel_pointers_of(const observe::ProcessFiles& files) {
  std::vector<KernelPointer> found;
  const auto add_after = [&](std::string_view text, std::string_view mark, KernelPointer::Of of) {
    for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at)) {
      at += mark.size();
      const std::size_t first = std::min(text.find_first_not_of(' ', at), text.size());
      std::uint64_t word = 0;
      const auto read = std::from_chars(text.data() + first, text.data() + text.size(), word, 16);
      if (read.ec == std::errc()) found.push_back({of, word});
    }
  };
  const auto timers = files.read("timers").value_or("");
  for (std::size_t at = timers.find("signal: "); at != std::string::npos;
       at = timers.find("signal: ", at + 1)) {
    const std::string_view line(timers.data() + at,
                                std::min(timers.find('\n', at), timers.size()) - at);
    add_after(line, "/", KernelPointer::Of::kTimer);
  }
  const int fd = files.open("fd").release();
  const std::unique_ptr<DIR, int (*)(DIR*)> all(fd < 0 ? nullptr : ::fdopendir(fd), &::closedir);
  if (!all) return found;
  for (const dirent* entry = ::readdir(all.get()); entry != nullptr; entry = ::readdir(all.get())) {
    const std::string name = entry->d_name;
    if (files.link(("fd/" + name).c_str()) != "anon_inode:[eventpoll]") continue;
    add_after(files.read(("fdinfo/" + name).c_str()).value_or(""),
              " data:", KernelPointer::Of::kEpoll);
  }
  return found;
}

std::vector<Roots> roots_of(const Layout& layout, std::span<const Thread> threads,
                            Bytes thread_locals) {
  std::vector<Roots> roots;
  for (std::uint32_t i = 0; i < layout.mappings.size(); ++i) {
    const Mapping& mapping = layout.mappings[i];
    // What the program has made read-only holds what it points to.
    const bool is_sealed = mapping.path.empty() && !mapping.is_shared;
    const bool may_hold = mapping.is_readable && (mapping.is_writable || is_sealed);
    if (!may_hold || mapping.path == "[vvar]") continue;
    Span span{mapping.start, mapping.end};
    Roots::Kind kind =
        layout.modules[i] != kNoMapping ? Roots::Kind::kModule : Roots::Kind::kMapping;
    Address lowest = 0, firm = mapping.end;  // From there on: thread-local variables.
    if (const Thread* thread = thread_in(threads, mapping, &Thread::control_block)) {
      kind = Roots::Kind::kThreadLocal;
      firm = span.start;
      // A thread's stack ends where they begin; the main thread's is elsewhere.
      if (thread->stack_pointer == 0 || mapping.holds(thread->stack_pointer)) {
        firm = std::max(span.start, thread->control_block - thread_locals);
        kind = Roots::Kind::kStack;
      }
    }
    for (const Thread& thread : threads) {
      if (!mapping.holds(thread.stack_pointer)) continue;
      kind = Roots::Kind::kStack;
      const Address from = (thread.stack_pointer - kRedZone) / 8 * 8;
      lowest = lowest == 0 ? from : std::min(lowest, from);
    }
    if (mapping.path == "[stack]") kind = Roots::Kind::kStack;
    span.start = std::max(span.start, lowest);
    auto out = std::ranges::lower_bound(layout.not_roots, span.start, {}, &Span::end);
    while (span.start < span.end) {
      const Address end = out == layout.not_roots.end() ? span.end : std::min(span.end, out->start);
      const Address until = std::min(end, firm);
      const Address stack =
          lowest == 0 ? span.start : std::max(span.start, std::min(lowest + kRedZone, until));
      if (span.start < stack) roots.push_back({{span.start, stack}, Roots::Kind::kBelowStack, i});
      if (stack < until) roots.push_back({{stack, until}, kind, i});
      const Address from = std::max(span.start, firm);
      if (from < end) roots.push_back({{from, end}, Roots::Kind::kThreadLocal, i});
      if (out == layout.not_roots.end()) break;
      span.start = std::max(span.start, out->end);
      ++out;
    }
  }
  split(layout.stale, Roots::Kind::kStale, Roots::Kind::kModule, roots);
  split(layout.interpreter_stacks, Roots::Kind::kInterpreterStack, std::nullopt, roots);
  std::ranges::stable_sort(roots, {}, &Roots::kind);
  return roots;
}

void RootNames::use(const Layout& layout, std::span<const Thread> threads,
                    const Mapping* executable, Memory& memory) {
  layout_ = &layout;
  executable_ = executable == nullptr
                    ? kNoMapping
                    : static_cast<std::uint32_t>(executable - layout.mappings.data());
  threads_ = threads;
  memory_ = &memory;
  frames_ = nullptr;
  modules_.clear();
  find_thread_locals();
}

void RootNames::use(std::span<const Roots> roots) {
  roots_ = roots;
  last_variable_ = {};
  by_address_.resize(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) by_address_[i] = i;
  std::ranges::sort(by_address_, {}, [&](std::size_t i) { return roots[i].span.start; });
}

std::uint64_t RootNames::word(Address address) const {
  std::uint64_t word = 0;
  const Piece piece{address, sizeof word};
  memory_->read({&piece, 1}, reinterpret_cast<std::byte*>(&word));
  return word;
}

Address RootNames::variable(std::string_view file, std::string_view name) {
  for (std::uint32_t i = 0; i < layout_->mappings.size(); ++i) {
    const bool is_its =
        layout_->modules[i] == i && base::file_name_of(layout_->mappings[i].path).starts_with(file);
    if (!is_its) continue;
    const Module& module = *module_of(i);
    const auto found = std::ranges::find(module.symbols->globals, name, &DataSymbol::name);
    if (found != module.symbols->globals.end()) return module.bias + found->start;
  }
  return 0;
}

// The loader's list of modules (struct link_map) has where it put their thread-local variables, in
// a member whose place the C library tells debuggers: three numbers, of which the last is its
// offset.
void RootNames::find_thread_locals() {
  thread_locals_.clear();
  std::map<Address, std::uint32_t> modules;  // By bias.
  for (std::uint32_t i = 0; i < layout_->mappings.size(); ++i) {
    const Mapping& mapping = layout_->mappings[i];
    if (layout_->modules[i] == i) modules[files_.bias(mapping)] = i;
  }
  if (executable_ != kNoMapping) {
    const Bytes bytes = files_.headers(layout_->mappings[executable_]).thread_locals;
    if (bytes > 0) thread_locals_.push_back({executable_, bytes, bytes});
  }
  // Newer loaders have a longer one at the same address.
  Address list = variable("ld-linux", "_r_debug_extended");
  if (list == 0) list = variable("ld-linux", "_r_debug");
  const Address told = variable("libc.so", "_thread_db_link_map_l_tls_offset");
  const Mapping* holds_told = mapping_at(*layout_, told);
  const Bytes member = holds_told == nullptr ? 0 : files_.constant(*holds_told, told + 8);
  if (list == 0 || member == 0) return;
  constexpr int kMostModules = 10'000;
  constexpr Bytes kMost = 64 * kMiB;
  Address map = word(list + 8);
  for (int i = 0; map != 0 && i < kMostModules; map = word(map + 24), ++i) {
    const auto module = modules.find(word(map));
    const Bytes before = word(map + member);  // Others than those of static TLS have 0 or -1.
    const bool is_static = module != modules.end() && before > 0 && before < kMost;
    if (!is_static || module->second == executable_) continue;
    const Mapping& mapping = layout_->mappings[module->second];
    thread_locals_.push_back({module->second, before, files_.headers(mapping).thread_locals});
  }
}

RootGroup RootNames::group(const std::string& name) {
  const bool has_room = names_.size() + 1 < kMostGroups;
  const std::string& shown = has_room ? name : "other roots";
  const auto [at, is_new] = groups_.try_emplace(shown, static_cast<RootGroup>(names_.size()));
  if (is_new) {
    names_.push_back(shown);
    stacks_.push_back(at->second);
  }
  return at->second;
}

RootGroup RootNames::group_of_variable(std::string_view module, std::string_view name,
                                       bool is_definition) {
  constexpr std::size_t kMany = kMostGroups / 4, kMost = kMostGroups / 4 * 3;
  const bool has_room = !name.empty() && names_.size() < (is_definition ? kMany : kMost);
  return group(has_room ? fmt::format("{}.{}", module, name) : fmt::format("module {}", module));
}

RootGroup RootNames::group_of(Address address) {
  if (last_variable_.holds(address)) return last_group_;
  const auto after = std::ranges::upper_bound(by_address_, address, {},
                                              [&](std::size_t i) { return roots_[i].span.start; });
  last_variable_ = {};
  if (after == by_address_.begin()) return last_group_ = group("memory without a name");
  const Roots& roots = roots_[*std::prev(after)];
  last_group_ = roots.is_of_stack() ? group_in_stack(address, layout_->mappings[roots.mapping])
                : roots.kind == Roots::Kind::kInterpreterStack ? group_in_interpreter_stack(address)
                                                               : group(name_at(address, roots));
  return last_group_;
}

RootGroup RootNames::group_in_stack(Address address, const Mapping& mapping) {
  const Thread* thread = thread_in(threads_, mapping, &Thread::stack_pointer);
  if (thread == nullptr) thread = thread_in(threads_, mapping, &Thread::control_block);
  return group_of_function(frames_ == nullptr ? "" : frames_->function_at(address),
                           thread == nullptr ? "stack of the main thread"
                                             : fmt::format("stack of thread {}", thread->name));
}

RootGroup RootNames::group_in_interpreter_stack(Address address) {
  const auto frame = std::ranges::find_if(
      python_frames_, [&](const PythonFrame& each) { return each.span.holds(address); });
  return group_of_function(frame == python_frames_.end() ? "" : frame->function, "stack of Python");
}

RootGroup RootNames::group_of_function(const std::string& function, const std::string& stack) {
  const RootGroup whole = group(stack);
  if (function.empty()) return whole;
  const RootGroup found = group(fmt::format("{}, {}", function, stack));
  const bool has_own_group = names_[found].ends_with(stack);  // Else there were too many.
  if (has_own_group) stacks_[found] = stacks_[whole];
  return found;
}

std::string RootNames::name_at(Address address, const Roots& roots) {
  const Mapping& mapping = layout_->mappings[roots.mapping];
  if (roots.kind == Roots::Kind::kModule || roots.kind == Roots::Kind::kStale)
    return variable_at(address, roots.mapping);
  if (roots.kind == Roots::Kind::kThreadLocal) {
    const Thread* thread = thread_in(threads_, mapping, &Thread::control_block);
    if (thread != nullptr && is_thread_local(address, *thread))
      return thread_local_at(address, *thread);
  }
  last_variable_ = roots.span;
  if (!mapping.path.empty()) return mapping.path;
  return "anonymous memory";
}

/// The kernel joins other mappings to that of the control block.
bool RootNames::is_thread_local(Address address, const Thread& thread) const {
  constexpr Bytes kControlBlock = 4 * kKiB;
  Bytes before = 0;
  for (const ThreadLocals& block : thread_locals_) before = std::max(before, block.before);
  return address + before >= thread.control_block && address < thread.control_block + kControlBlock;
}

std::string RootNames::thread_local_at(Address address, const Thread& thread) {
  for (const ThreadLocals& block : thread_locals_) {
    const Address begin = thread.control_block - block.before;
    if (address - begin >= block.bytes) continue;
    const auto& symbols = module_of(block.module)->symbols->thread_locals;
    if (const auto* symbol = symbolize::find_symbol(symbols, address - begin)) {
      const auto& members = files_.members(layout_->mappings[block.module]).thread_locals;
      const auto* member = symbolize::find_symbol(members, address - begin);
      return fmt::format("thread_local {}{} of thread {}", symbol->name,
                         member == nullptr ? "" : member->name, thread.name);
    }
    return fmt::format("thread-local data of {} in thread {}",
                       base::file_name_of(layout_->mappings[block.module].path), thread.name);
  }
  return fmt::format("thread-local data of thread {}", thread.name);
}

std::string RootNames::variable_at(Address address, std::uint32_t mapping) {
  const Module* module = module_of(mapping);
  if (module == nullptr) return "memory without a name";
  const Address vaddr = address - module->bias;
  if (const auto* symbol = symbolize::find_symbol(module->symbols->globals, vaddr)) {
    const auto& members = files_.members(layout_->mappings[layout_->modules[mapping]]).globals;
    const auto* member = symbolize::find_symbol(members, vaddr);
    const auto& [start, bytes, name] = member == nullptr ? *symbol : *member;
    last_variable_ = {start + module->bias, start + bytes + module->bias};
    return member == nullptr ? symbol->name : symbol->name + member->name;
  }
  return fmt::format("{}+0x{:x}", base::file_name_of(module->path), vaddr);
}

const RootNames::Module* RootNames::module_of(std::uint32_t mapping) {
  const std::uint32_t first = layout_->modules[mapping];
  if (first == kNoMapping) return nullptr;
  const auto [at, is_new] = modules_.try_emplace(first);
  Module& module = at->second;
  if (!is_new) return &module;
  const Mapping& begin = layout_->mappings[first];
  module.path = begin.path;
  module.start = begin.start;
  module.bias = files_.bias(begin);
  module.symbols = &files_.symbols(begin);
  return &module;
}

std::string RootNames::class_of(std::uint64_t word) {
  constexpr std::string_view kVtable = "vtable for ";
  const Mapping* mapping = word % 8 == 0 ? mapping_at(*layout_, word) : nullptr;
  if (mapping == nullptr) return "";
  const Module* module = module_of(static_cast<std::uint32_t>(mapping - layout_->mappings.data()));
  const auto* symbol = module == nullptr
                           ? nullptr
                           : symbolize::find_symbol(module->symbols->globals, word - module->bias);
  if (symbol == nullptr || !symbol->name.starts_with(kVtable)) return "";
  return symbol->name.substr(kVtable.size());
}

}  // namespace geiger::holders
