#include "analysis/symbolize/dwarf/addresses.h"

#include <dwarf.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

namespace geiger::symbolize {

namespace {

/// Units that one address is looked for in. Correct files need one; two or three
/// happen with hand-made ranges.
constexpr std::uint8_t kMaxUnitsPerAddress = 4;

class Search {
 public:
  explicit Search(std::span<const Address> addresses)
      : addresses_(addresses), units_of_(addresses.size()) {}

  void add_unit(Dwarf_Die* unit) {
    const Dwarf_Off die = dwarf_dieoffset(unit);
    const std::size_t ranges =
        for_each_range(unit, [&](Address low, Address high) { add_range(die, low, high); });
    if (ranges == 0) without_ranges_.push_back(die);
  }

  void add_aranges(Dwarf* dwarf) {
    Dwarf_Aranges* aranges = nullptr;
    std::size_t count = 0;
    if (without_ranges_.empty() || dwarf_getaranges(dwarf, &aranges, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      Dwarf_Addr low = 0;
      Dwarf_Word bytes = 0;
      Dwarf_Off die = 0;
      if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &low, &bytes, &die) != 0) continue;
      // Units were added in file order, so their offsets ascend.
      const bool is_needed =
          std::binary_search(without_ranges_.begin(), without_ranges_.end(), die);
      if (is_needed) add_range(die, low, low + std::min(bytes, ~low));
    }
  }

  [[nodiscard]] std::vector<UnitHits> take() {
    std::sort(hits_.begin(), hits_.end());
    hits_.erase(std::unique(hits_.begin(), hits_.end()), hits_.end());
    std::vector<UnitHits> units;
    for (const auto& [die, address] : hits_) {
      if (units.empty() || units.back().die != die) units.push_back({die, {}});
      units.back().addresses.push_back(address);
    }
    return units;
  }

 private:
  void add_range(Dwarf_Off die, Address low, Address high) {
    const auto [first, end] = covered(addresses_, low, high);
    for (std::size_t i = first; i < end; ++i) {
      if (units_of_[i] == kMaxUnitsPerAddress) continue;
      ++units_of_[i];
      hits_.emplace_back(die, static_cast<std::uint32_t>(i));
    }
  }

  std::span<const Address> addresses_;
  std::vector<std::uint8_t> units_of_;
  std::vector<std::pair<Dwarf_Off, std::uint32_t>> hits_;
  std::vector<Dwarf_Off> without_ranges_;
};

}  // namespace

std::pair<std::size_t, std::size_t> covered(std::span<const Address> addresses, Address low,
                                            Address high) {
  const auto first = std::lower_bound(addresses.begin(), addresses.end(), low);
  const auto end = std::lower_bound(first, addresses.end(), high);
  return {static_cast<std::size_t>(first - addresses.begin()),
          static_cast<std::size_t>(end - addresses.begin())};
}

std::vector<UnitHits> find_units(Dwarf* dwarf, std::span<const Address> addresses) {
  Search search(addresses);
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  std::uint8_t type = 0;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &die, nullptr) == 0) {
    if (type == DW_UT_compile || type == DW_UT_skeleton) search.add_unit(&die);
  }
  search.add_aranges(dwarf);
  return search.take();
}

namespace {

/// Deeper nesting is cut off: it would overflow our stack before it made sense.
constexpr int kMaxScopeDepth = 512;

/// DIEs looked at per unit. Crafted sibling references can make a walk come by
/// the same DIEs again and again; the largest units known have 10 million.
constexpr std::size_t kMaxVisits = std::size_t{1} << 26;

bool is_type_with_methods(int tag) {
  return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
         tag == DW_TAG_interface_type;
}

bool is_transparent(int tag) {
  return tag == DW_TAG_lexical_block || tag == DW_TAG_namespace || tag == DW_TAG_module ||
         tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

}  // namespace

UnitScopes::UnitScopes(Dwarf_Die unit, std::span<const Address> addresses)
    : addresses_(addresses),
      innermost_(addresses.size(), kNoScope),
      subprogram_bytes_(addresses.size(), std::numeric_limits<Address>::max()) {
  walk_children(&unit, kNoScope, 0);
  const bool is_complete =
      std::find(innermost_.begin(), innermost_.end(), kNoScope) == innermost_.end();
  if (is_complete) return;
  scopes_.clear();
  std::fill(innermost_.begin(), innermost_.end(), kNoScope);
  std::fill(subprogram_bytes_.begin(), subprogram_bytes_.end(),
            std::numeric_limits<Address>::max());
  effort_ = Effort::kAll;
  visited_ = 0;
  walk_children(&unit, kNoScope, 0);
}

void UnitScopes::walk_children(Dwarf_Die* die, std::uint32_t parent, int depth) {
  Dwarf_Die child;
  if (depth > kMaxScopeDepth || dwarf_child(die, &child) != 0) return;
  while (++visited_ < kMaxVisits) {
    visit(&child, parent, depth + 1);
    // A sibling comes later; anything else would never end.
    const void* const here = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= here) return;
  }
}

void UnitScopes::visit(Dwarf_Die* die, std::uint32_t parent, int depth) {
  const int tag = dwarf_tag(die);
  if (tag == DW_TAG_subprogram) return visit_subprogram(die, depth);
  if (tag == DW_TAG_inlined_subroutine) return visit_inlined(die, parent, depth);
  const bool is_searched = effort_ == Effort::kAll || parent != kNoScope;
  if (is_transparent(tag) || (is_searched && is_type_with_methods(tag))) {
    walk_children(die, parent, depth);
  }
}

// Functions within functions (lambdas, local classes, nested functions) are
// subprograms of their own: their calls do not go through the enclosing one.
void UnitScopes::visit_subprogram(Dwarf_Die* die, int depth) {
  // Where ranges overlap the smaller subprogram is right: the other one was described carelessly,
  // or folded with this one by the linker.
  visit_function(die, kNoScope, depth, [&](std::size_t i, Address bytes) {
    if (subprogram_bytes_[i] <= bytes) return false;
    subprogram_bytes_[i] = bytes;
    return true;
  });
}

void UnitScopes::visit_inlined(Dwarf_Die* die, std::uint32_t parent, int depth) {
  visit_function(die, parent, depth, [&](std::size_t i, Address /*bytes*/) {
    return parent != kNoScope && innermost_[i] == parent;
  });
}

template <typename IsWithin>
void UnitScopes::visit_function(Dwarf_Die* die, std::uint32_t parent, int depth,
                                const IsWithin& is_within) {
  const auto scope = static_cast<std::uint32_t>(scopes_.size());
  bool is_hit = false;
  for_each_range(die, [&](Address low, Address high) {
    const auto [first, end] = covered(addresses_, low, high);
    for (std::size_t i = first; i < end; ++i) {
      if (!is_within(i, high - low)) continue;
      innermost_[i] = scope;
      is_hit = true;
    }
  });
  if (is_hit) scopes_.push_back({*die, parent});
  if (is_hit || effort_ == Effort::kAll) walk_children(die, is_hit ? scope : kNoScope, depth);
}

namespace {

std::uint32_t to_line(Dwarf_Word value) {
  return value <= std::numeric_limits<std::int32_t>::max() ? static_cast<std::uint32_t>(value) : 0;
}

std::optional<Dwarf_Word> number_of(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (dwarf_attr(die, attribute, &found) == nullptr) return std::nullopt;
  if (dwarf_formudata(&found, &value) != 0) return std::nullopt;
  return value;
}

/// Compilers leave "build/../src" in; readers and reports want one spelling.
std::string tidy(std::string path) {
  const bool is_tidy = path.find("/.") == std::string::npos && path.find("//") == std::string::npos;
  if (is_tidy || path.size() > 4096) return path;
  return std::filesystem::path(path).lexically_normal().string();
}

}  // namespace

UnitLines::UnitLines(Dwarf_Die unit, Dwarf_Die scopes) {
  if (dwarf_getsrclines(&unit, &lines_, &rows_) != 0) rows_ = 0;
  if (dwarf_getsrcfiles(&scopes, &files_, &file_count_) != 0) file_count_ = 0;
  Dwarf_Attribute found;
  const char* directory = nullptr;
  if (dwarf_attr(&unit, DW_AT_comp_dir, &found) != nullptr) directory = dwarf_formstring(&found);
  if (directory != nullptr) directory_ = directory;
}

SourceLine UnitLines::at(Address address) {
  // The last row that does not start after the address: libdw sorts them.
  std::size_t first = 0;
  std::size_t end = rows_;
  while (first < end) {
    const std::size_t middle = first + (end - first) / 2;
    Dwarf_Addr start = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines_, middle), &start);
    (start <= address ? first : end) = start <= address ? middle + 1 : middle;
  }
  if (first == 0) return {};
  Dwarf_Line* const row = dwarf_onesrcline(lines_, first - 1);
  bool is_end = false;
  int line = 0;
  if (dwarf_lineendsequence(row, &is_end) != 0 || is_end) return {};
  if (dwarf_lineno(row, &line) != 0 || line < 0) line = 0;
  return {absolute(dwarf_linesrc(row, nullptr, nullptr)), static_cast<std::uint32_t>(line)};
}

SourceLine UnitLines::call_of(Dwarf_Die* inlined) {
  SourceLine position;
  const auto file = number_of(inlined, DW_AT_call_file);
  if (file && *file < file_count_) {
    position.file = absolute(dwarf_filesrc(files_, *file, nullptr, nullptr));
  }
  position.line = to_line(number_of(inlined, DW_AT_call_line).value_or(0));
  return position;
}

std::string_view UnitLines::absolute(const char* file) {
  if (file == nullptr || *file == '\0' || std::string_view(file) == "???") return "";
  const auto [at, is_new] = absolute_.try_emplace(file);
  if (is_new) {
    const bool is_whole = *file == '/' || directory_.empty();
    at->second = tidy(is_whole ? file : directory_ + "/" + file);
  }
  return at->second;
}

}  // namespace geiger::symbolize
