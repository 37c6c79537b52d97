#include "analysis/holders/module_files.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace geiger::holders {

namespace {

using observe::Mapping;

ModuleHeaders read_headers(const base::UniqueFd& file) {
  constexpr std::size_t kMost = 64;
  ModuleHeaders found;
  Elf64_Ehdr header{};
  std::array<Elf64_Phdr, kMost> segments{};
  if (::pread(file.get(), &header, sizeof header, 0) != sizeof header) return found;
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMost) return found;
  const auto bytes = static_cast<ssize_t>(header.e_phnum * sizeof(Elf64_Phdr));
  const auto at = static_cast<off_t>(header.e_phoff);
  if (::pread(file.get(), segments.data(), static_cast<std::size_t>(bytes), at) != bytes) {
    return found;
  }
  Address end = 0;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const Elf64_Phdr& segment = segments[i];
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) found.first_vaddr = segment.p_vaddr;
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_vaddr + segment.p_memsz);
    if (segment.p_type != PT_TLS) continue;
    const Bytes alignment = std::max<Bytes>(segment.p_align, 1);
    found.thread_locals = (segment.p_memsz + alignment - 1) / alignment * alignment;
  }
  found.bytes = end - std::min(end, found.first_vaddr);
  return found;
}

}  // namespace

const ModuleHeaders& ModuleFiles::headers(const Mapping& mapping) {
  const auto [at, is_new] = headers_.try_emplace({mapping.path, mapping.inode});
  if (is_new) at->second = read_headers(open(mapping));
  return at->second;
}

// By its path where that leads to the same file: debug files may lie beside it.
template <class Read>
auto ModuleFiles::read_file(const Mapping& mapping, const Read& read) const
    -> decltype(read(std::string())) {
  if (root_ && root_->sees_same(mapping.path)) return read(mapping.path);
  const base::UniqueFd file = open(mapping);
  if (!file.is_open()) return {};
  if (open_) return read(mapping.path);
  return read(fmt::format("/proc/{}/fd/{}", ::getpid(), file.get()));
}

const symbolize::DataSymbols& ModuleFiles::symbols(const Mapping& mapping) {
  const auto [at, is_new] = symbols_.try_emplace({mapping.path, mapping.inode});
  if (is_new) at->second = read_file(mapping, symbolize::data_symbols);
  return at->second;
}

const symbolize::DataSymbols& ModuleFiles::members(const Mapping& mapping) {
  const auto [at, is_new] = members_.try_emplace({mapping.path, mapping.inode});
  if (is_new) at->second = read_file(mapping, symbolize::data_members);
  return at->second;
}

template <class Value, class Read>
const ModuleFiles::ByAddress<Value>& ModuleFiles::look_up(std::map<Key, ByAddress<Value>>& known,
                                                          const Mapping& mapping,
                                                          const std::vector<Address>& addresses,
                                                          const Read& read) {
  ByAddress<Value>& values = known[{mapping.path, mapping.inode}];
  std::vector<Address> missing;
  for (const Address address : addresses) {
    if (address != 0 && values.try_emplace(address).second) missing.push_back(address);
  }
  if (missing.empty()) return values;
  std::ranges::sort(missing);
  for (auto& [address, value] :
       read_file(mapping, [&](const std::string& path) { return read(path, missing); })) {
    values[address] = std::move(value);
  }
  return values;
}

const ModuleFiles::ByAddress<symbolize::CallerRules>& ModuleFiles::rules(
    const Mapping& mapping, const std::vector<Address>& addresses) {
  return look_up(rules_, mapping, addresses, symbolize::caller_rules);
}

const ModuleFiles::ByAddress<symbolize::FunctionPlace>& ModuleFiles::functions(
    const Mapping& mapping, const std::vector<Address>& addresses) {
  return look_up(functions_, mapping, addresses, symbolize::function_places);
}

std::uint32_t ModuleFiles::constant(const Mapping& mapping, Address address) const {
  const auto at = static_cast<off_t>(mapping.offset + (address - mapping.start));
  std::uint32_t number = 0;
  return ::pread(open(mapping).get(), &number, sizeof number, at) == sizeof number ? number : 0;
}

base::UniqueFd ModuleFiles::open(const Mapping& mapping) const {
  if (open_) return open_(mapping);
  if (!root_) return {};
  const foreign::MappedAs file{mapping.path, mapping.device, mapping.inode, mapping.start,
                               mapping.end};
  return root_->open_mapped(file, O_RDONLY | O_CLOEXEC);
}

}  // namespace geiger::holders
