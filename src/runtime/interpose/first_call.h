// Fills a table of originals: the first call of a function resolves its family.
#pragma once

#include <atomic>

#include "runtime/interpose/elf_lookup.h"

namespace geiger::interpose {

/// First call of a function: resolves its family, then calls the original.
template <auto& kTable, auto kMember, void (*kResolve)()>
struct FirstCall;
template <class Table, Table& kTable, class R, class... A, R (*Table::*kMember)(A...),
          void (*kResolve)()>
struct FirstCall<kTable, kMember, kResolve> {
  static R call(A... arguments) {
    kResolve();
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): no original is ever null.
    return (kTable.*kMember)(arguments...);
  }
};
/// Does not change `target` if nothing was found.
template <class F>
void assign(F*& target, const Definition& definition) {
  if (definition.address != nullptr) target = reinterpret_cast<F*>(definition.address);
}

/// A family's flag is set last, with release, and tested first, with acquire: a thread that sees it
/// set sees the functions that another one found. Entry points read the tables without it: before,
/// they find a first call, which tests the flag. So slots may be changed without a barrier
/// (attach.cc).
inline bool is_set(const std::atomic<bool>& flag) { return flag.load(std::memory_order_acquire); }
inline void set(std::atomic<bool>& flag) { flag.store(true, std::memory_order_release); }

}  // namespace geiger::interpose
