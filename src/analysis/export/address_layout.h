// Gives every location an address of its own, for formats that identify locations only by address.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "analysis/profile/recording.h"

namespace geiger::exports {

/// A module where its locations have their addresses.
struct PlacedModule {
  std::uint32_t module = profile::kNone;
  Address start = 0, end = 0;
};

/// Modules stay where they were mapped, unless another one is there: those of several processes
/// may overlap. Then they move, whole, after all others.
class AddressLayout {
 public:
  /// The recording must outlive it.
  explicit AddressLayout(const profile::Recording& recording);

  /// Where the program's module stands first.
  [[nodiscard]] const std::vector<PlacedModule>& modules() const { return modules_; }
  /// Of a location: the run-time address that was recorded, moved as its module was; an unused one
  /// where that is another location's (the same place without what was trimmed) or, outside of
  /// modules, means something else too. Never 0.
  [[nodiscard]] Address of(std::uint32_t location);
  /// An address that no location has.
  [[nodiscard]] Address unused() { return next_++; }

 private:
  /// Takes at least this many bytes.
  void place(PlacedModule& placed, Address least);
  [[nodiscard]] bool is_free(Address start, Address end) const;
  [[nodiscard]] Address distance(const profile::Location& location) const;

  const profile::Recording& recording_;
  std::vector<PlacedModule> modules_;
  std::vector<Address> starts_;       ///< By module.
  std::map<Address, Address> taken_;  ///< By modules; ends by starts.
  std::set<Address> given_;           ///< What locations have already.
  std::vector<Address> by_location_;  ///< 0: not looked up yet.
  Address next_ = 0;                  ///< Nothing is here or after.
};

}  // namespace geiger::exports
