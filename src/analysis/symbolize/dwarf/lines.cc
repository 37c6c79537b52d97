#include "analysis/symbolize/dwarf/lines.h"

#include <dwarf.h>

#include <filesystem>
#include <limits>
#include <optional>

namespace geiger::symbolize {
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
