#include "analysis/symbolize/types/new_types.h"

#include <gelf.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "analysis/symbolize/dwarf/scopes.h"
#include "analysis/symbolize/dwarf/units.h"
#include "analysis/symbolize/elf/elf_symbols.h"
#include "analysis/symbolize/types/fresh_pointer.h"
#include "analysis/symbolize/types/linkage_table.h"

namespace geiger::symbolize {
namespace {

/// The executable bytes of a module by ELF vaddr.
class Code {
 public:
  explicit Code(Elf* elf) {
    GElf_Ehdr header;
    if (elf == nullptr || gelf_getehdr(elf, &header) == nullptr) return;
    if (header.e_machine != EM_X86_64) return;
    std::size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr segment;
      if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) continue;
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      const Elf_Data* const data = elf_getdata_rawchunk(
          elf, static_cast<std::int64_t>(segment.p_offset), segment.p_filesz, ELF_T_BYTE);
      if (data == nullptr) continue;
      segments_.push_back(
          {segment.p_vaddr, {static_cast<const std::uint8_t*>(data->d_buf), data->d_size}});
    }
  }

  [[nodiscard]] bool empty() const { return segments_.empty(); }
  [[nodiscard]] std::span<const std::uint8_t> at(Address address) const {
    for (const auto& [start, bytes] : segments_) {
      if (address >= start && address - start < bytes.size()) {
        return bytes.subspan(address - start);
      }
    }
    return {};
  }

 private:
  struct Part {
    Address start;
    std::span<const std::uint8_t> bytes;
  };
  std::vector<Part> segments_;
};

class ModuleTypes {
 public:
  ModuleTypes(const DebugFile& file, Elf* elf)
      : file_(file),
        code_(elf),
        linkage_(elf),
        symbols_(file),
        bias_(file.bias() - file.dwarf_bias()) {}

  [[nodiscard]] SymbolSet find(const ModuleJob& job, const NewSites& sites) {
    SymbolSetBuilder found;
    ModuleNames module{job.path, job.build_id, {}};
    if (!code_.empty()) {
      follow(job);
      name_targets();
      std::map<Address, std::string> types = types_of(job, sites);
      for (const auto& [address, type] : types) {
        const std::uint32_t nothing = found.string("");
        const NamedFrame frame{found.string(type), nothing, nothing, 0};
        module.addresses.push_back({address, {found.frame(frame)}});
      }
    }
    found.set().modules.push_back(std::move(module));
    return std::move(found).take();
  }

 private:
  void follow(const ModuleJob& job) {
    const auto code_at = [&](Address address) { return code_.at(address); };
    for (const Address address : job.addresses) {
      trails_.push_back(follow_pointer(address, code_at));
      for (PointerCall& call : trails_.back().calls) {
        call.target = linkage_.function_behind(call.target, code_at);
        targets_.try_emplace(call.target);
      }
    }
  }

  /// Calls `visit(root, address index, innermost scope)` for those of `addresses` (ascending
  /// ELF vaddrs) that are in a function.
  template <typename Visit>
  void for_each_scope(const std::vector<Address>& addresses, const Visit& visit) {
    std::vector<Address> places;
    for (const Address address : addresses) places.push_back(address + bias_);
    for (const UnitHits& unit : find_units(file_.dwarf(), places)) {
      Dwarf_Die die;
      if (dwarf_offdie(file_.dwarf(), unit.die, &die) == nullptr) continue;
      Dwarf_Die split{};
      dwarf_cu_info(die.cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr);
      const Dwarf_Die root = split.addr != nullptr ? split : die;
      std::vector<Address> here;
      for (const std::uint32_t index : unit.addresses) here.push_back(places[index]);
      UnitScopes scopes(root, here);
      UnitTypes types(die, root, bias_);
      for (std::size_t i = 0; i < here.size(); ++i) {
        const std::uint32_t innermost = scopes.innermost(i);
        if (innermost != kNoScope) visit(types, unit.addresses[i], scopes, innermost);
      }
    }
  }

  /// Which of the called functions are constructors. Copies of a function that a compiler made
  /// for itself (f.isra.0) may have other parameters.
  void name_targets() {
    std::vector<Address> addresses;
    for (const auto& [target, type] : targets_) addresses.push_back(target);
    std::ranges::sort(addresses);
    for_each_scope(addresses, [&](UnitTypes&, std::uint32_t index, UnitScopes& scopes,
                                  std::uint32_t at) {
      while (scopes.scope(at).parent != kNoScope) at = scopes.scope(at).parent;
      Dwarf_Die* const function = &scopes.scope(at).die;
      const Address target = addresses[index];
      Dwarf_Addr entry = 0;
      if (dwarf_entrypc(function, &entry) != 0) return;
      const ElfSymbol* const symbol = symbols_.find(target);
      const bool is_copy = symbol != nullptr && symbol->name.find('.') != std::string_view::npos;
      if (entry == target + bias_ && !is_copy) {
        targets_[target] = class_constructed_by(*function);
      }
    });
  }

  [[nodiscard]] std::map<Address, std::string> types_of(const ModuleJob& job,
                                                        const NewSites& sites) {
    std::vector<Address> calls;
    for (const Address address : job.addresses) calls.push_back(address - 1);
    std::map<Address, std::string> found;
    for_each_scope(
        calls, [&](UnitTypes& types, std::uint32_t index, UnitScopes& scopes, std::uint32_t at) {
          const Address address = job.addresses[index];
          std::vector<std::optional<ClassType>> made;
          for (const PointerCall& call : trails_[index].calls)
            made.push_back(targets_[call.target]);
          auto type = types.type_at(calls[index], scopes.scope(at).die, sites.at(address),
                                    trails_[index], made);
          if (type) found.emplace(address, *std::move(type));
        });
    return found;
  }

  const DebugFile& file_;
  Code code_;
  LinkageTable linkage_;
  ElfSymbols symbols_;
  Dwarf_Addr bias_;
  std::vector<PointerTrail> trails_;  ///< By address of the job.
  std::unordered_map<Address, std::optional<ClassType>> targets_;
};

}  // namespace

ModuleAnswer find_new_types(const ModuleJob& job, const NewSites& sites,
                            const SearchOptions& options,
                            const std::function<void(std::size_t)>& progress) {
  const DebugFile file(job.path, job.build_id, options);
  ModuleAnswer answer{file.file_state(), file.found_build_id(), {}};
  if (file.module() == nullptr || file.dwarf() == nullptr) return answer;
  Dwarf_Addr bias = 0;
  answer.names = ModuleTypes(file, dwfl_module_getelf(file.module(), &bias)).find(job, sites);
  if (progress) progress(job.addresses.size());
  return answer;
}

}  // namespace geiger::symbolize
