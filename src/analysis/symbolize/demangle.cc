#include "analysis/symbolize/demangle.h"

#include <cxxabi.h>
#include <llvm/Demangle/Demangle.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

namespace geiger::symbolize {
namespace {

// From version 17 on LLVM's demanglers take other arguments than the C++ library's.
[[maybe_unused]] char* call(char* (*demangler)(const char*, char*, std::size_t*, int*),
                            const std::string& name) {
  return demangler(name.c_str(), nullptr, nullptr, nullptr);
}
[[maybe_unused]] char* call(char* (*demangler)(std::string_view, bool), const std::string& name) {
  return demangler(name, true);
}
[[maybe_unused]] char* call(char* (*demangler)(std::string_view), const std::string& name) {
  return demangler(name);
}

template <typename Demangler>
std::optional<std::string> run(Demangler* demangler, const std::string& name) {
  const std::unique_ptr<char, decltype(&std::free)> text(call(demangler, name), &std::free);
  if (!text) return std::nullopt;
  const std::string_view view(text.get());
  if (view.empty() || view.size() > kMaxDemangledBytes) return std::nullopt;
  return std::string(view);
}

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/// Rust's legacy mangling is Itanium's with a last component `h` + 16 hex digits.
constexpr std::size_t kRustHashBytes = 3 + 16;  // "::h" and the digits

bool has_rust_hash(std::string_view demangled) {
  if (demangled.size() <= kRustHashBytes) return false;
  const std::string_view hash = demangled.substr(demangled.size() - kRustHashBytes);
  return hash.starts_with("::h") && std::all_of(hash.begin() + 3, hash.end(), is_lower_hex);
}

/// LLVM appends `.llvm.NUMBER` to Rust and ThinLTO names it had to make unique.
std::string_view without_llvm_suffix(std::string_view name) {
  const std::size_t at = name.find(".llvm.");
  return at == std::string_view::npos ? name : name.substr(0, at);
}

struct Escape {
  std::string_view code, text;
};
constexpr std::array<Escape, 8> kEscapes = {{{"$SP$", "@"},
                                             {"$BP$", "*"},
                                             {"$RF$", "&"},
                                             {"$LT$", "<"},
                                             {"$GT$", ">"},
                                             {"$LP$", "("},
                                             {"$RP$", ")"},
                                             {"$C$", ","}}};

/// `$uXX$` with a printable ASCII code; nothing else is ever needed in names.
std::optional<std::pair<char, std::size_t>> unicode_escape(std::string_view text) {
  if (!text.starts_with("$u")) return std::nullopt;
  const std::size_t end = text.find('$', 2);
  if (end == std::string_view::npos || end == 2 || end > 4) return std::nullopt;
  unsigned code = 0;
  for (const char c : text.substr(2, end - 2)) {
    if (!is_lower_hex(c)) return std::nullopt;
    code = code * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (code < 0x20 || code > 0x7e) return std::nullopt;
  return std::pair{static_cast<char>(code), end + 1};
}

/// Appends what `text` starts with, unescaped; returns the bytes consumed.
std::size_t append_unescaped(std::string_view text, std::string& out) {
  for (const Escape& escape : kEscapes) {
    if (!text.starts_with(escape.code)) continue;
    out += escape.text;
    return escape.code.size();
  }
  if (const auto code = unicode_escape(text)) {
    out += code->first;
    return code->second;
  }
  if (text.starts_with("..")) {
    out += "::";
    return 2;
  }
  out += text.front();
  return 1;
}

std::string unescape_rust(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    // A component may not start with `$`, so rustc puts `_` before it.
    const bool at_start = out.empty() || out.ends_with("::");
    if (at_start && text.starts_with("_$")) text.remove_prefix(1);
    text.remove_prefix(append_unescaped(text, out));
  }
  return out;
}

/// The C++ library's demangler writes names as gdb and binutils do, and limits
/// its recursion; LLVM's knows what only clang emits.
std::optional<std::string> run_itanium(const std::string& name) {
  auto text = run(&abi::__cxa_demangle, name);
  return text ? text : run(&llvm::itaniumDemangle, name);
}

std::optional<std::string> demangle_itanium(std::string_view name) {
  auto full = run_itanium(std::string(name));
  const std::string_view base = without_llvm_suffix(name);
  if (base.size() == name.size() && !(full && has_rust_hash(*full))) return full;
  auto plain = run_itanium(std::string(base));
  if (!plain || !has_rust_hash(*plain)) return full;
  plain->resize(plain->size() - kRustHashBytes);
  return unescape_rust(*plain);
}

bool starts_like_itanium(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("__Z") || name.starts_with("___Z");
}

}  // namespace

bool is_mangled(std::string_view name) {
  return starts_like_itanium(name) || name.starts_with("_R");
}

std::string demangle(std::string_view name) {
  if (name.size() > kMaxMangledBytes || !is_mangled(name)) return std::string(name);
  if (name.find('\0') != std::string_view::npos) return std::string(name);
  auto text = name.starts_with("_R")
                  ? run(&llvm::rustDemangle, std::string(without_llvm_suffix(name)))
                  : demangle_itanium(name);
  return text ? *std::move(text) : std::string(name);
}

}  // namespace geiger::symbolize
