#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analysis/holders/layout.h"

namespace geiger::holders {

namespace {

constexpr Bytes kDictionary = 16, kName = 48;  ///< In a module.

std::uint64_t word_at(Memory& memory, Address address) {
  std::uint64_t word = 0;
  const Piece piece{address, sizeof word};
  memory.read({&piece, 1}, reinterpret_cast<std::byte*>(&word));
  return word;
}

/// The module that sys.modules belongs to lists itself there.
void find_imported(Memory& memory, observe::PythonTypes& types, std::span<const Address> modules,
                   std::vector<ModuleVariables>& found) {
  const auto each_value = [&](const object_types::Entries& entries, const auto& visit) {
    for (std::uint64_t i = 0; i < entries.count; ++i) {
      const Address key = entries.first + i * entries.stride;
      if (const Address value = word_at(memory, key + kWord); value != 0) visit(key, value);
    }
  };
  for (const ModuleVariables& variables : found) {
    if (variables.module != "sys") continue;
    each_value(variables.entries, [&](Address key, Address value) {
      if (types.text_of(word_at(memory, key)) != "modules") return;
      each_value(types.entries_of(value), [&](Address, Address module) {
        const auto at = std::ranges::find(modules, module);
        if (at != modules.end())
          found[static_cast<std::size_t>(at - modules.begin())].is_imported = true;
      });
    });
  }
}

class StaleRoots {
 public:
  StaleRoots(Layout& layout, Memory& memory) : layout_(layout), words_(memory) {}

  void find_in(Span span) {
    for (Address at = span.start; at + kWord <= span.end;) {
      const Bytes bytes = std::max(kept_at(at, span.end), cache_at(at, span.end));
      if (bytes > 0) layout_.stale.push_back({at, at + bytes});
      at += std::max(bytes, kWord);
    }
  }

 private:
  /// Arrays of objects, of which so many as a number behind them says are kept. The others are
  /// left over, or were never used. One array, or two and then the numbers of both. 0: there is
  /// none.
  Bytes kept_at(Address at, Address end) {
    constexpr Bytes kArray = kMostKept * kWord;
    constexpr unsigned kNumberBits = 32;
    const std::uint64_t used = used_at(at, end);
    if (used == 0) return 0;
    const std::uint64_t counts = words_.at(at + kArray, end);
    if (counts << kNumberBits >> kNumberBits <= used) return kArray;
    const std::uint64_t used_too = used_at(at + kArray, end);
    const std::uint64_t both = words_.at(at + 2 * kArray, end);
    const bool are_two = used_too > 0 && both << kNumberBits >> kNumberBits <= used &&
                         both >> kNumberBits <= used_too;
    return are_two ? 2 * kArray : 0;
  }

  /// How many entries of an array have been used, the others being 0; 0 if this is not an array.
  std::uint64_t used_at(Address at, Address end) {
    if (at + (kMostKept + 1) * kWord > end) return 0;
    std::uint64_t used = 0;
    while (used < kMostKept && is_pointer(words_.at(at + used * kWord, end))) ++used;
    for (std::uint64_t i = used; i < kMostKept; ++i) {
      if (words_.at(at + i * kWord, end) != 0) return 0;
    }
    return used;
  }

  /// Entries of a version, a name and an attribute, of which there are 4,096.
  Bytes cache_at(Address at, Address end) {
    constexpr Bytes kEntry = 3 * kWord;
    constexpr Bytes kFewest = 256;
    Bytes entries = 0;
    while (at + (entries + 1) * kEntry <= end && is_cached(at + entries * kEntry, end)) ++entries;
    return entries < kFewest ? 0 : entries * kEntry;
  }
  bool is_cached(Address at, Address end) {
    const std::uint64_t attribute = words_.at(at + 2 * kWord, end);
    return words_.at(at, end) >> 32 == 0 && is_pointer(words_.at(at + kWord, end)) &&
           (attribute == 0 || is_pointer(attribute));
  }

  static constexpr std::uint64_t kMostKept = 80;

  static bool is_pointer(std::uint64_t word) {
    constexpr Address kFirst = 65'536;
    return word >= kFirst && word >> 47 == 0 && word % kWord == 0;
  }

  Layout& layout_;
  Words words_;
};

/// Leaves out the text of a name and the rest of its block, which CPython does not clear.
void leave_out_text(Layout& layout, Address name) {
  constexpr Bytes kText = 48;  // At least.
  const auto block = layout.blocks.block_at(name);
  if (!block || block->is_free) return;
  Area& area = *layout.blocks.area_of(name);
  const Address end = area.end_of(block->start);
  for (Address at = (name + kText) / kGrain * kGrain; at < end; at += kGrain) area.set_link(at);
}

}  // namespace

std::vector<ModuleVariables> take_module_variables(Layout& layout, Memory& memory,
                                                   observe::PythonTypes& types,
                                                   std::span<const Address> modules) {
  std::vector<ModuleVariables> found;
  for (const Address module : modules) {
    found.push_back({types.text_of(word_at(memory, module + kName)),
                     types.entries_of(word_at(memory, module + kDictionary))});
  }
  find_imported(memory, types, modules, found);
  const auto take = [&](const ModuleVariables& variables) {
    const auto& [first, stride, count] = variables.entries;
    const Address last = first + count * stride;
    Area* area = layout.blocks.area_of(first);
    if (count == 0 || variables.module.empty() || area == nullptr || last > area->span().end)
      return false;
    for (Address at = first / kGrain * kGrain; at < last; at += kGrain) area->set_link(at);
    for (std::uint64_t i = 0; i < count; ++i) {
      leave_out_text(layout, word_at(memory, first + i * stride));
    }
    return true;
  };
  std::erase_if(found, [&](const ModuleVariables& variables) { return !take(variables); });
  // The program's own have names for certain.
  std::stable_partition(found.begin(), found.end(), [](const ModuleVariables& variables) {
    return variables.module == "__main__";
  });
  return found;
}

void find_stale(Layout& layout, Memory& memory, std::span<const Span> interpreter) {
  StaleRoots stale(layout, memory);
  for (const Span& span : interpreter) stale.find_in(span);
  settle(layout.stale);
}

}  // namespace geiger::holders
