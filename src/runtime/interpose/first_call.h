// How a table of originals is filled: a first call that resolves its family, and what it finds put
// in place.
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
/// Leaves `target` as it is where nothing was found.
template <class F>
void assign(F*& target, const Definition& definition) {
  if (definition.address != nullptr) target = reinterpret_cast<F*>(definition.address);
}

/// A family's flag is set last, with release, and asked first, with acquire: a thread that finds it
/// set calls what another one has found. Entry points read the tables without: what they find
/// before is a first call, which asks here. So slots may be turned without a barrier (attach.cc).
inline bool is_set(const std::atomic<bool>& flag) { return flag.load(std::memory_order_acquire); }
inline void set(std::atomic<bool>& flag) { flag.store(true, std::memory_order_release); }

}  // namespace geiger::interpose
