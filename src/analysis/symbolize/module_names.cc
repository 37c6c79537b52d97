// Unit by unit: the functions at its addresses and their source lines (dwarf/addresses.h), and
// their names (dwarf/names.h). Then the symbol table (elf/debug_file.h) for the addresses that
// DWARF does not cover.
#include "analysis/symbolize/module_names.h"

#include <dwarf.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "analysis/symbolize/demangle.h"
#include "analysis/symbolize/dwarf/addresses.h"
#include "analysis/symbolize/dwarf/names.h"
#include "analysis/symbolize/elf/debug_file.h"

namespace geiger::symbolize {
namespace {

/// libdw keeps the line tables that it has read until its handle ends. After so
/// many rows (some 100 MB) a new handle takes over.
constexpr std::size_t kMaxRowsKept = std::size_t{1} << 21;

struct EndDwarf {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};

class ModuleSymbolizer {
 public:
  ModuleSymbolizer(const ModuleJob& job, const DebugFile& file)
      : job_(job), file_(file), symbols_(file), frames_(job.addresses.size()) {}

  void use_dwarf(const std::function<void(std::size_t)>& progress);
  void use_symbols();
  [[nodiscard]] SymbolSet take();
  /// What debug information of the addresses is in a file that is not there; "" if nothing.
  [[nodiscard]] std::string missing_file() const {
    return missing_unit_.empty() ? file_.missing_alternate() : missing_unit_;
  }

 private:
  void look_into_unit(Dwarf* dwarf, const UnitHits& unit);
  void keep_position(std::uint32_t index, const SourceLine& position);
  std::vector<std::uint32_t> chain(UnitScopes& scopes, std::uint32_t innermost, UnitLines& lines,
                                   Address address);
  std::uint32_t frame(const FunctionName& name, const SourceLine& position);
  std::uint32_t frame(std::string_view function, std::string_view system_name,
                      const SourceLine& position);
  std::uint32_t demangled(std::string_view system_name);
  const FunctionName& outermost_name(Dwarf_Die* die, Address address);
  void renew(Dwarf* dwarf);

  /// The address of the call itself, in the file's own addresses.
  [[nodiscard]] Address call_address(std::size_t index) const { return job_.addresses[index] - 1; }

  const ModuleJob& job_;
  const DebugFile& file_;
  ElfSymbols symbols_;
  SymbolSetBuilder names_;
  std::vector<std::vector<std::uint32_t>> frames_;  ///< Per address; empty = none yet.
  /// Positions of addresses in no function, by address index.
  std::unordered_map<std::uint32_t, SourceLine> lines_only_;
  std::unordered_set<std::string> files_;  ///< That lines_only_ points to.
  std::unordered_map<std::string_view, std::uint32_t> demangled_;
  std::optional<FunctionNames> functions_;
  std::unique_ptr<Dwarf, EndDwarf> own_dwarf_;
  std::size_t rows_kept_ = 0;
  std::string missing_unit_;  ///< The first .dwo file that was not found.
  FunctionName symbol_name_;
};

void ModuleSymbolizer::use_dwarf(const std::function<void(std::size_t)>& progress) {
  constexpr std::size_t kUnitsPerReport = 64;
  std::vector<Address> addresses;
  addresses.reserve(job_.addresses.size());
  const Dwarf_Addr bias = file_.bias() - file_.dwarf_bias();
  for (std::size_t i = 0; i < job_.addresses.size(); ++i) {
    addresses.push_back(call_address(i) + bias);
  }
  functions_.emplace();
  Dwarf* dwarf = file_.dwarf();
  std::size_t units_done = 0;
  std::size_t addresses_done = 0;
  for (const UnitHits& unit : find_units(dwarf, addresses)) {
    if (!own_dwarf_ || rows_kept_ > kMaxRowsKept) renew(dwarf);
    look_into_unit(own_dwarf_ ? own_dwarf_.get() : dwarf, unit);
    addresses_done += unit.addresses.size();
    if (progress && ++units_done % kUnitsPerReport == 0) {
      progress(std::min(addresses_done, job_.addresses.size()));
    }
  }
}

void ModuleSymbolizer::renew(Dwarf* dwarf) {
  std::unique_ptr<Dwarf, EndDwarf> fresh(
      dwarf_begin_elf(dwarf_getelf(dwarf), DWARF_C_READ, nullptr));
  rows_kept_ = 0;
  if (!fresh) return;
  if (Dwarf* const alt = dwarf_getalt(dwarf)) dwarf_setalt(fresh.get(), alt);
  functions_.emplace();
  demangled_.clear();
  own_dwarf_ = std::move(fresh);
}

/// The .dwo file that a skeleton unit names; "" of other units.
std::string split_unit_of(Dwarf_Die unit) {
  for (const unsigned attribute : {DW_AT_dwo_name, DW_AT_GNU_dwo_name}) {
    Dwarf_Attribute found;
    const bool has_name = dwarf_attr(&unit, attribute, &found) != nullptr;
    const char* const name = has_name ? dwarf_formstring(&found) : nullptr;
    if (name != nullptr) return name;
  }
  return "";
}

void ModuleSymbolizer::look_into_unit(Dwarf* dwarf, const UnitHits& unit) {
  Dwarf_Die die;
  if (dwarf_offdie(dwarf, unit.die, &die) == nullptr) return;
  Dwarf_Die split{};
  dwarf_cu_info(die.cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr);
  const Dwarf_Die root = split.addr != nullptr ? split : die;
  if (split.addr == nullptr && missing_unit_.empty()) missing_unit_ = split_unit_of(die);
  const Dwarf_Addr bias = file_.bias() - file_.dwarf_bias();
  std::vector<Address> addresses;
  for (const std::uint32_t index : unit.addresses) addresses.push_back(call_address(index) + bias);
  UnitScopes scopes(root, addresses);
  UnitLines lines(die, root);
  rows_kept_ += lines.rows();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::uint32_t index = unit.addresses[i];
    const std::uint32_t innermost = scopes.innermost(i);
    if (!frames_[index].empty()) continue;
    if (innermost == kNoScope) {
      keep_position(index, lines.at(addresses[i]));
    } else {
      frames_[index] = chain(scopes, innermost, lines, addresses[i]);
    }
  }
}

/// The unit's texts are freed with it; the symbol table is searched last.
void ModuleSymbolizer::keep_position(std::uint32_t index, const SourceLine& position) {
  const std::string& file = *files_.emplace(position.file).first;
  lines_only_.try_emplace(index, SourceLine{file, position.line});
}

std::vector<std::uint32_t> ModuleSymbolizer::chain(UnitScopes& scopes, std::uint32_t innermost,
                                                   UnitLines& lines, Address address) {
  std::vector<std::uint32_t> frames;
  SourceLine position = lines.at(address);
  for (std::uint32_t at = innermost; at != kNoScope;) {
    Scope& scope = scopes.scope(at);
    const bool is_outermost = scope.parent == kNoScope;
    const FunctionName& name =
        is_outermost ? outermost_name(&scope.die, address) : functions_->name_of(&scope.die);
    // An inlined call without a name is told by the function that it is in.
    const bool is_named = !name.plain.empty() || !name.linkage.empty();
    if (is_outermost || is_named) frames.push_back(frame(name, position));
    if (!is_outermost) position = lines.call_of(&scope.die);
    at = scope.parent;
  }
  return frames;
}

/// Little debug info (-g1) leaves linkage names out; the symbol table has them.
const FunctionName& ModuleSymbolizer::outermost_name(Dwarf_Die* die, Address address) {
  const FunctionName& name = functions_->name_of(die);
  if (!name.linkage.empty()) return name;
  const Address vaddr = address - (file_.bias() - file_.dwarf_bias());
  const ElfSymbol* const symbol = symbols_.find(vaddr);
  if (symbol == nullptr || (!name.plain.empty() && !is_mangled(symbol->name))) return name;
  symbol_name_ = {symbol->name, name.is_in_lambda() ? name.plain : ""};
  return symbol_name_;
}

std::uint32_t ModuleSymbolizer::frame(const FunctionName& name, const SourceLine& position) {
  if (!name.plain.empty() || name.linkage.empty()) {
    // With a scope put before it, the name is in no symbol table.
    const bool is_own = name.plain.find("::") == std::string::npos;
    const std::string_view own = is_own ? name.plain : std::string_view();
    return frame(name.plain, name.linkage.empty() ? own : name.linkage, position);
  }
  const NamedFrame frame{demangled(name.linkage), names_.string(name.linkage),
                         names_.string(position.file), position.line};
  return names_.frame(frame);
}

std::uint32_t ModuleSymbolizer::frame(std::string_view function, std::string_view system_name,
                                      const SourceLine& position) {
  constexpr std::string_view kNameless = "(nameless)";
  const NamedFrame frame{names_.string(function.empty() ? kNameless : function),
                         names_.string(system_name), names_.string(position.file), position.line};
  return names_.frame(frame);
}

/// Demangling costs more than everything else here, so once per name.
std::uint32_t ModuleSymbolizer::demangled(std::string_view system_name) {
  const auto known = demangled_.find(system_name);
  if (known != demangled_.end()) return known->second;
  const std::uint32_t index = names_.string(demangle(system_name));
  demangled_.emplace(system_name, index);
  return index;
}

void ModuleSymbolizer::use_symbols() {
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    if (!frames_[i].empty()) continue;
    const ElfSymbol* const symbol = symbols_.find(call_address(i));
    if (symbol == nullptr) continue;
    const auto line = lines_only_.find(static_cast<std::uint32_t>(i));
    const SourceLine position = line == lines_only_.end() ? SourceLine{} : line->second;
    frames_[i].push_back(frame(FunctionName{symbol->name, ""}, position));
  }
}

SymbolSet ModuleSymbolizer::take() {
  ModuleNames module{job_.path, job_.build_id, {}};
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    if (frames_[i].empty()) continue;
    module.addresses.push_back({job_.addresses[i], std::move(frames_[i])});
  }
  names_.set().modules.push_back(std::move(module));
  return std::move(names_).take();
}

}  // namespace

ModuleAnswer symbolize_module(const ModuleJob& job, const SearchOptions& options,
                              const std::function<void(std::size_t)>& progress) {
  const auto file = open_debug_file(job.opened(), job.build_id, options);
  ModuleAnswer answer{file->file_state(), file->found_build_id(), {}, {}};
  if (file->module() == nullptr) return answer;
  ModuleSymbolizer symbolizer(job, *file);
  if (file->dwarf() != nullptr) symbolizer.use_dwarf(progress);
  symbolizer.use_symbols();
  answer.missing = symbolizer.missing_file();
  answer.names = symbolizer.take();
  return answer;
}

}  // namespace geiger::symbolize
