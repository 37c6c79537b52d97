#include "analysis/symbolize/types/infer_types.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/profile/frames/types.h"
#include "analysis/symbolize/dwarf/addresses.h"
#include "analysis/symbolize/dwarf/names.h"
#include "analysis/symbolize/elf/debug_file.h"
#include "analysis/symbolize/module_names.h"
#include "analysis/symbolize/types/fresh_pointer.h"
#include "analysis/symbolize/worker.h"
#include "base/units.h"

namespace geiger::symbolize {

// Infers the types of `new Foo` in one unit of DWARF (infer_types.cc).

/// The calls of operator new with one return address: their form and requested sizes.
struct NewSite {
  bool is_array = false;     ///< operator new[]
  std::vector<Bytes> sizes;  ///< All that were seen, each once.
};

class UnitTypes {
 public:
  /// `lines` has the line table of the unit, `root` its scopes; `bias`: from ELF vaddrs to its
  /// addresses.
  UnitTypes(Dwarf_Die lines, Dwarf_Die root, Dwarf_Addr bias)
      : lines_(lines), root_(root), bias_(bias) {}

  /// `scope`: the innermost around the call; `constructed_by_call`: for each call of the trail the
  /// class whose constructor it calls, if any.
  [[nodiscard]] std::optional<std::string> type_at(
      Address call_of_new, Dwarf_Die scope, const NewSite& site, const PointerTrail& trail,
      const std::vector<std::optional<ClassType>>& constructed_by_call);

 private:
  /// An inlined call in the function that calls operator new.
  struct Inlined {
    Dwarf_Die die{};
    std::uint32_t parent = kNoScope;  ///< The inlined call around it.
    std::optional<ClassType> constructed;
    bool is_matched = false;  ///< Its `this` is the new object.
  };

  /// A place of the source; no column = unknown.
  struct Position {
    int line = 0;
    int column = 0;

    [[nodiscard]] bool is_known() const { return line > 0 && column > 0; }
  };

  void collect(Dwarf_Die* parent, std::uint32_t around, int depth);
  void match(Inlined& one, const NewSite& site, const PointerTrail& trail) const;
  [[nodiscard]] std::optional<std::int64_t> offset_at(Dwarf_Attribute* location,
                                                      const PointerPlace& place,
                                                      Dwarf_Die* scope) const;
  [[nodiscard]] std::uint32_t innermost(Address address);
  void propose(const ClassType& type, std::uint32_t around, const Position& position);
  [[nodiscard]] bool is_of_new(const Position& position) const;
  [[nodiscard]] static Position position_of_call(Dwarf_Die* inlined);
  [[nodiscard]] Position position_at(Address address);
  [[nodiscard]] bool is_wrapped(const NewSite& site);

  Dwarf_Die lines_;
  Dwarf_Die root_;
  Dwarf_Addr bias_;
  std::optional<int> columns_to_constructor_;
  Position position_of_new_;
  std::vector<Inlined> inlined_;  ///< Those around others come first.
  std::vector<std::string> candidates_;
  bool is_unclear_ = false;
  std::optional<Aggregates> aggregates_;
};

// The types of `new Foo` in one module, from its code and its DWARF.
//
// Compiled code does not name the type. But a constructor that runs on the memory that
// operator new just returned does: the pointer is followed from the return address
// (fresh_pointer.h) into the first argument of a constructor that is called, or into the place
// where DWARF has the `this` of one that was inlined. The class must have the size that was
// asked for. Where another class could be meant, or nothing is constructed, there is no type.

/// By return address, an ELF vaddr.
using NewSites = std::map<Address, NewSite>;

/// For each address of the job whose type is known one frame, whose function is the type.
/// x86-64 only.
[[nodiscard]] ModuleAnswer find_new_types(const ModuleJob& job, const NewSites& sites,
                                          const SearchOptions& options,
                                          const std::function<void(std::size_t)>& progress);

namespace {

/// What a compiler puts in front of an array to remember its length.
constexpr std::array<std::int64_t, 2> kArrayHeaders{8, 16};

/// Inlined calls looked at below one function.
constexpr std::size_t kMaxInlined = 20'000;
constexpr int kMaxTypeDepth = 256;

bool fits(const NewSite& site, Bytes size, std::int64_t offset) {
  const bool has_header =
      site.is_array && std::ranges::find(kArrayHeaders, offset) != kArrayHeaders.end();
  if (offset != 0 && !has_header) return false;
  if (!site.is_array) return site.sizes.size() == 1 && site.sizes.front() == size;
  const auto header = static_cast<Bytes>(offset);
  return std::ranges::all_of(
      site.sizes, [&](Bytes asked) { return asked > header && (asked - header) % size == 0; });
}

/// The general register that DWARF gives a number.
std::uint8_t register_of_dwarf(unsigned number) {
  constexpr std::array<std::uint8_t, 16> kNumbers{0, 2, 1,  3,  6,  7,  5,  4,
                                                  8, 9, 10, 11, 12, 13, 14, 15};
  return number < kNumbers.size() ? kNumbers[number] : kNoRegister;
}

/// How many columns after operator new a compiler places the constructor of the new object,
/// where it places those of its members, if it is an aggregate, elsewhere. GCC makes no
/// difference for arrays.
std::optional<int> columns_to_constructor(Dwarf_Die* unit, bool is_array) {
  Dwarf_Attribute producer;
  if (dwarf_attr(unit, DW_AT_producer, &producer) == nullptr) return std::nullopt;
  const char* const text = dwarf_formstring(&producer);
  if (text == nullptr) return std::nullopt;
  const std::string_view name = text;
  if (name.starts_with("GNU ")) return is_array ? std::nullopt : std::optional(0);
  if (name.find("clang") == std::string_view::npos) return std::nullopt;
  return is_array ? 0 : 4;  // At the type, which "new " precedes.
}

/// Where the first parameter of an inlined call is.
bool find_this(Dwarf_Die inlined, Dwarf_Attribute* location) {
  Dwarf_Die child;
  if (dwarf_child(&inlined, &child) != 0) return false;
  for (;;) {
    Dwarf_Attribute artificial;
    const bool is_this = dwarf_tag(&child) == DW_TAG_formal_parameter &&
                         dwarf_attr_integrate(&child, DW_AT_artificial, &artificial) != nullptr &&
                         dwarf_diename(&child) != nullptr &&
                         std::string_view(dwarf_diename(&child)) == "this";
    if (is_this) return dwarf_attr(&child, DW_AT_location, location) != nullptr;
    const void* const here = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= here) return false;
  }
}

}  // namespace

std::optional<std::string> UnitTypes::type_at(
    Address call_of_new, Dwarf_Die scope, const NewSite& site, const PointerTrail& trail,
    const std::vector<std::optional<ClassType>>& constructed_by_call) {
  position_of_new_ = position_at(call_of_new);
  columns_to_constructor_ = columns_to_constructor(&root_, site.is_array);
  inlined_.clear();
  collect(&scope, kNoScope, 0);
  candidates_.clear();
  is_unclear_ = false;
  for (Inlined& one : inlined_) match(one, site, trail);
  for (Inlined& one : inlined_) {
    if (one.is_matched) {
      propose(*one.constructed, one.parent, position_of_call(&one.die));
    }
  }
  for (std::size_t i = 0; i < trail.calls.size(); ++i) {
    const PointerCall& call = trail.calls[i];
    const auto& made = constructed_by_call[i];
    if (made && fits(site, made->size, call.offset)) {
      propose(*made, innermost(call.at), position_at(call.at));
    }
  }
  if (is_unclear_ || candidates_.size() != 1 || is_wrapped(site)) return std::nullopt;
  return candidates_.front();
}

void UnitTypes::collect(Dwarf_Die* parent, std::uint32_t around, int depth) {
  Dwarf_Die child;
  if (depth > kMaxTypeDepth || dwarf_child(parent, &child) != 0) return;
  while (inlined_.size() < kMaxInlined) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block) {
      collect(&child, around, depth + 1);
    } else if (tag == DW_TAG_inlined_subroutine) {
      const auto index = static_cast<std::uint32_t>(inlined_.size());
      inlined_.push_back({child, around, class_constructed_by(child)});
      collect(&child, index, depth + 1);
    }
    const void* const here = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= here) return;
  }
}

void UnitTypes::match(Inlined& one, const NewSite& site, const PointerTrail& trail) const {
  if (!one.constructed) return;
  Dwarf_Attribute location;
  if (!find_this(one.die, &location)) return;
  for (const PointerPlace& place : trail.places) {
    const auto offset = offset_at(&location, place, &one.die);
    if (!offset || !fits(site, one.constructed->size, *offset)) continue;
    one.is_matched = true;
    return;
  }
}

/// The pointer's offset in what the location says at a place of the code.
std::optional<std::int64_t> UnitTypes::offset_at(Dwarf_Attribute* location,
                                                 const PointerPlace& place,
                                                 Dwarf_Die* scope) const {
  const Dwarf_Addr at = place.at + bias_;
  if (dwarf_haspc(scope, at) != 1) return std::nullopt;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_getlocation_addr(location, at, &operations, &count, 1) != 1) return std::nullopt;
  if (count == 1 && operations[0].atom >= DW_OP_reg0 && operations[0].atom <= DW_OP_reg15) {
    return place.registers[register_of_dwarf(operations[0].atom - DW_OP_reg0)];
  }
  const bool is_sum = count == 2 && operations[0].atom >= DW_OP_breg0 &&
                      operations[0].atom <= DW_OP_breg15 && operations[1].atom == DW_OP_stack_value;
  if (!is_sum) return std::nullopt;
  const auto value = place.registers[register_of_dwarf(operations[0].atom - DW_OP_breg0)];
  if (!value) return std::nullopt;
  return *value + static_cast<std::int64_t>(operations[0].number);
}

/// The innermost inlined call at an address of the code.
std::uint32_t UnitTypes::innermost(Address address) {
  std::uint32_t found = kNoScope;
  for (std::uint32_t i = 0; i < inlined_.size(); ++i) {
    if (dwarf_haspc(&inlined_[i].die, address + bias_) == 1) found = i;
  }
  return found;
}

/// A constructor within another one of the same object makes a base or a member of it.
void UnitTypes::propose(const ClassType& type, std::uint32_t around, const Position& position) {
  const bool is_direct = around == kNoScope;
  for (; around != kNoScope; around = inlined_[around].parent) {
    if (inlined_[around].is_matched) return;
  }
  // Compilers leave out classes that no variable has, also aggregates that could be meant.
  if (!is_direct || !is_of_new(position)) is_unclear_ = true;
  if (std::ranges::find(candidates_, type.name) == candidates_.end()) {
    candidates_.push_back(type.name);
  }
}

bool UnitTypes::is_of_new(const Position& position) const {
  return columns_to_constructor_ && position.is_known() && position_of_new_.is_known() &&
         position.line == position_of_new_.line &&
         position.column == position_of_new_.column + *columns_to_constructor_;
}

UnitTypes::Position UnitTypes::position_at(Address address) {
  Position position;
  Dwarf_Line* const line = dwarf_getsrc_die(&lines_, address + bias_);
  if (line == nullptr || dwarf_lineno(line, &position.line) != 0 ||
      dwarf_linecol(line, &position.column) != 0) {
    return {};
  }
  return position;
}

bool UnitTypes::is_wrapped(const NewSite& site) {
  if (!aggregates_) aggregates_.emplace(root_);
  return aggregates_->wraps(candidates_.front(), [&](Bytes size) {
    return fits(site, size, 0) || fits(site, size, 8) || fits(site, size, 16);
  });
}

UnitTypes::Position UnitTypes::position_of_call(Dwarf_Die* inlined) {
  Position position;
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) == 0) {
    position.line = static_cast<int>(number);
  }
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_column, &attribute), &number) == 0) {
    position.column = static_cast<int>(number);
  }
  return position;
}

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
  const auto file = open_debug_file(job.path, job.build_id, options);
  ModuleAnswer answer{file->file_state(), file->found_build_id(), {}, {}};
  if (file->module() == nullptr || file->dwarf() == nullptr) return answer;
  Dwarf_Addr bias = 0;
  answer.names = ModuleTypes(*file, dwfl_module_getelf(file->module(), &bias)).find(job, sites);
  if (progress) progress(job.addresses.size());
  return answer;
}

namespace {

using profile::kNone;
using profile::Recording;
using profile::Sample;

/// A module by path and build id.
using ModuleKey = std::pair<std::string, std::string>;

class Inference {
 public:
  Inference(Recording& recording, const Options& options)
      : recording_(recording), options_(options), types_(recording) {}

  void run() {
    for_each_sample([&](const Sample& sample) { ask(sample); });
    for (auto& [module, sites] : sites_) {
      ModuleJob job{module.first, module.second, {}};
      for (auto& [address, site] : sites) job.addresses.push_back(address);
      jobs_.push_back(std::move(job));
    }
    for (std::size_t next = 0; next < jobs_.size();) next = work_from(next);
    for_each_sample([&](Sample& sample) { answer(sample); });
  }

 private:
  template <typename Visit>
  void for_each_sample(const Visit& visit) {
    for (Sample& sample : recording_.samples) visit(sample);
    for (profile::Tally& tally : recording_.tallies) visit(tally.alike);
  }

  /// The location that called operator new, if the type of its objects is not known.
  [[nodiscard]] const profile::Location* open_location(const Sample& sample) const {
    if (sample.stack == kNone || !is_new(sample.entry_point)) return nullptr;
    if (types_.of(sample.type, sample.stack) != profile::Types::kUnknown) return nullptr;
    const profile::Stack& stack = recording_.stacks[sample.stack];
    if (stack.locations.empty()) return nullptr;
    const profile::Location& location = recording_.locations[stack.locations.front()];
    const bool has_module = location.module < recording_.modules.size() && location.vaddr != 0;
    return has_module && key_of(location).first.starts_with('/') ? &location : nullptr;
  }
  [[nodiscard]] ModuleKey key_of(const profile::Location& location) const {
    const profile::Module& module = recording_.modules[location.module];
    return {module.path, module.build_id};
  }

  void ask(const Sample& sample) {
    const profile::Location* const location = open_location(sample);
    if (location == nullptr) return;
    NewSite& site = sites_[key_of(*location)][location->vaddr];
    site.is_array |= is_array_new(sample.entry_point);
    if (std::ranges::find(site.sizes, sample.requested) == site.sizes.end()) {
      site.sizes.push_back(sample.requested);
    }
  }

  /// Works from a job on; returns the one to go on with. A job that its process died of has
  /// no answers.
  std::size_t work_from(std::size_t first) {
    WorkerLimits limits;
    limits.silence = options_.patience;
    limits.may_use_network = options_.use_debuginfod;
    limits.of_job = [&](const ModuleJob& job) {
      const Bytes bytes =
          options_.use_debuginfod ? kGiB : bytes_to_read(job.path, job.build_id, options_);
      return job_limits(bytes, job.addresses.size(), true);
    };
    const auto work = [&](const ModuleJob& job, const std::function<void(std::size_t)>& progress) {
      if (!options_.use_debuginfod) ::unsetenv("DEBUGINFOD_URLS");
      return find_new_types(job, sites_.at({job.path, job.build_id}),
                            {options_.debug_dirs, options_.kept_files, options_.use_debuginfod,
                             true, latest_start(recording_)},
                            progress);
    };
    const std::span<const ModuleJob> jobs = std::span(jobs_).subspan(first);
    Worker worker(jobs, work, limits);
    for (std::size_t job = first; job < jobs_.size();) {
      const auto message = worker.receive();
      if (!message) return job + 1;
      if (!message->answer) continue;
      keep(message->answer->names);
      ++job;
      if (options_.progress) options_.progress(job, jobs_.size());
    }
    return jobs_.size();
  }

  void keep(const SymbolSet& names) {
    for (const ModuleNames& module : names.modules) {
      for (const NamedAddress& address : module.addresses) {
        const std::string& type = names.strings[names.frames[address.frames.front()].function];
        found_[{module.path, module.build_id}].emplace(address.address, number(type));
      }
    }
  }

  /// The place of a marked name in the recording's types.
  std::uint32_t number(const std::string& type) {
    const auto next = static_cast<std::uint32_t>(recording_.types.size());
    const auto [place, is_new] = numbers_.try_emplace(type, next);
    if (is_new) recording_.types.push_back({type + std::string(kInferredMark)});
    return place->second;
  }

  void answer(Sample& sample) const {
    const profile::Location* const location = open_location(sample);
    if (location == nullptr) return;
    const auto module = found_.find(key_of(*location));
    if (module == found_.end()) return;
    const auto type = module->second.find(location->vaddr);
    if (type != module->second.end()) sample.type = type->second;
  }

  Recording& recording_;
  const Options& options_;
  const profile::Types types_;  ///< Before anything is inferred.
  std::map<ModuleKey, NewSites> sites_;
  std::vector<ModuleJob> jobs_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::map<ModuleKey, std::unordered_map<Address, std::uint32_t>> found_;
};

}  // namespace

void infer_types(Recording& recording, const Options& options) {
  Inference(recording, options).run();
}

}  // namespace geiger::symbolize
