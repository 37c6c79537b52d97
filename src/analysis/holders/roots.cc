#include "analysis/holders/roots.h"

#include <dirent.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/text.h"

namespace geiger::holders {

namespace {

using observe::Mapping;

constexpr std::uint32_t kNoMapping = 0xffffffff;
/// A function may use it below the stack pointer without moving that.
constexpr Bytes kRedZone = 128;

bool is_file(const Mapping& mapping) { return mapping.path.starts_with('/'); }

/// By mapping, the first mapping of its module. Anonymous memory that continues a module's data is
/// its .bss.
std::vector<std::uint32_t> modules_of(std::span<const Mapping> mappings) {
  std::vector<std::uint32_t> modules(mappings.size(), kNoMapping);
  std::map<std::string_view, std::uint32_t> latest;
  for (std::uint32_t i = 0; i < mappings.size(); ++i) {
    const Mapping& mapping = mappings[i];
    if (is_file(mapping)) {
      const bool begins = mapping.offset == 0 && !mapping.is_writable;
      const auto [at, is_new] = latest.try_emplace(mapping.path, i);
      if (begins) at->second = std::min(at->second, i);
      modules[i] = at->second;
    } else if (i > 0 && mapping.path.empty() && mapping.is_writable &&
               mappings[i - 1].end == mapping.start && is_file(mappings[i - 1])) {
      modules[i] = modules[i - 1];
    }
  }
  return modules;
}

/// ELF vaddr of the byte at `start`, where the file's header is mapped.
Address first_vaddr(Memory& memory, Address start) {
  Elf64_Ehdr header{};
  const Piece piece{start, sizeof header};
  memory.read({&piece, 1}, reinterpret_cast<std::byte*>(&header));
  constexpr std::size_t kMost = 64;
  std::array<Elf64_Phdr, kMost> segments{};
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMost) return 0;
  const Piece table{start + header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)};
  memory.read({&table, 1}, reinterpret_cast<std::byte*>(segments.data()));
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const Elf64_Phdr& segment = segments[i];
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) return segment.p_vaddr;
  }
  return 0;
}

}  // namespace

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
    const auto call = files.read(fmt::format("task/{}/syscall", *tid).c_str());
    if (call) thread.stack_pointer = observe::parse_stack_pointer(*call).value_or(0);
  }
  return threads;
}

std::vector<Roots> roots_of(const Layout& layout, std::span<const Thread> threads) {
  const std::vector<std::uint32_t> modules = modules_of(layout.mappings);
  std::vector<Roots> roots;
  for (std::uint32_t i = 0; i < layout.mappings.size(); ++i) {
    const Mapping& mapping = layout.mappings[i];
    if (!mapping.is_readable || !mapping.is_writable || mapping.path == "[vvar]") continue;
    Span span{mapping.start, mapping.end};
    Roots::Kind kind = modules[i] != kNoMapping ? Roots::Kind::kModule : Roots::Kind::kMapping;
    Address lowest = 0;
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
      if (span.start < end) roots.push_back({{span.start, end}, kind, i});
      if (out == layout.not_roots.end()) break;
      span.start = std::max(span.start, out->end);
      ++out;
    }
  }
  std::ranges::stable_sort(roots, {}, &Roots::kind);
  return roots;
}

void RootNames::use(const Layout& layout, std::span<const Roots> roots,
                    std::span<const Thread> threads, Memory& memory) {
  layout_ = &layout;
  roots_ = roots;
  threads_ = threads;
  memory_ = &memory;
  module_mapping_ = modules_of(layout.mappings);
  modules_.clear();
  last_variable_ = {};
  by_address_.resize(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) by_address_[i] = i;
  std::ranges::sort(by_address_, {}, [&](std::size_t i) { return roots[i].span.start; });
}

RootGroup RootNames::group(const std::string& name) {
  const bool has_room = names_.size() + 1 < kMostGroups;
  const std::string& shown = has_room ? name : "other roots";
  const auto [at, is_new] = groups_.try_emplace(shown, static_cast<RootGroup>(names_.size()));
  if (is_new) names_.push_back(shown);
  return at->second;
}

RootGroup RootNames::group_of(Address address) {
  if (last_variable_.holds(address)) return last_group_;
  const auto after = std::ranges::upper_bound(
      by_address_, address, {}, [&](std::size_t i) { return roots_[i].span.start; });
  last_variable_ = {};
  last_group_ = group(after == by_address_.begin() ? "memory without a name"
                                                   : name_at(address, roots_[*std::prev(after)]));
  return last_group_;
}

std::string RootNames::name_at(Address address, const Roots& roots) {
  const Mapping& mapping = layout_->mappings[roots.mapping];
  if (roots.kind == Roots::Kind::kModule) return variable_at(address, roots.mapping);
  last_variable_ = roots.span;
  if (roots.kind == Roots::Kind::kStack) {
    for (const Thread& thread : threads_) {
      if (!mapping.holds(thread.stack_pointer)) continue;
      return fmt::format("stack of thread {}", thread.name);
    }
    return "stack of the main thread";
  }
  if (!mapping.path.empty()) return mapping.path;
  return "anonymous memory";
}

std::string RootNames::variable_at(Address address, std::uint32_t mapping) {
  const Module* module = module_of(mapping);
  if (module == nullptr) return "memory without a name";
  const Address vaddr = address - module->bias;
  if (const auto* symbol = symbolize::find_symbol(module->symbols.globals, vaddr)) {
    last_variable_ = {symbol->start + module->bias, symbol->start + symbol->bytes + module->bias};
    return symbol->name;
  }
  return fmt::format("{}+0x{:x}", base::file_name_of(module->path), vaddr);
}

const RootNames::Module* RootNames::module_of(std::uint32_t mapping) {
  const std::uint32_t first = module_mapping_[mapping];
  if (first == kNoMapping) return nullptr;
  const auto [at, is_new] = modules_.try_emplace(first);
  Module& module = at->second;
  if (!is_new) return &module;
  const Mapping& begin = layout_->mappings[first];
  module.path = begin.path;
  module.start = begin.start;
  module.bias = begin.start - first_vaddr(*memory_, begin.start);
  const auto [symbols, is_unread] = symbols_.try_emplace(module.path);
  if (is_unread) symbols->second = symbolize::data_symbols(root_ + module.path);
  module.symbols = symbols->second;
  return &module;
}

std::string RootNames::class_of(std::uint64_t word) {
  constexpr std::string_view kVtable = "vtable for ";
  const auto after =
      std::ranges::upper_bound(layout_->mappings, word, {}, &Mapping::start);
  if (word % 8 != 0 || after == layout_->mappings.begin() || !std::prev(after)->holds(word)) {
    return "";
  }
  const auto index = static_cast<std::uint32_t>(std::prev(after) - layout_->mappings.begin());
  const Module* module = module_of(index);
  const auto* symbol = module == nullptr ? nullptr
                                         : symbolize::find_symbol(module->symbols.globals,
                                                                  word - module->bias);
  if (symbol == nullptr || !symbol->name.starts_with(kVtable)) return "";
  return symbol->name.substr(kVtable.size());
}

}  // namespace geiger::holders
