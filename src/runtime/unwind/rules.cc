#include "runtime/unwind/rules.h"

#include "runtime/unwind/modules.h"

namespace geiger::unwind {

constinit RuleCache Rules::cache_{};

GEIGER_SLOW_PATH bool Rules::recheck(std::uint32_t module, std::uint64_t pc) {
  if (!is_still(module, pc)) return false;
  checked_ = module;
  return true;
}

GEIGER_SLOW_PATH Rule Rules::find_slow(std::uint64_t pc) {
  FoundModule module;
  if (!find_module(pc, module)) return Rule::without_row();
  FoundRow found;
  const bool has_row = module.cfi.header != 0 && find_row(module.cfi, pc, found);
  const Rule rule = (has_row ? Rule::of(found) : Rule::without_row())
                        .in_module(module.id, module.is_permanent);
  if (module.is_recognizable) {
    cache_.store(pc, rule);
    checked_ = module.id;
  }
  return rule;
}

bool find_full_row(std::uint64_t pc, FoundRow& found, std::uint32_t& module) {
  FoundModule place;
  module = 0;
  if (!find_module(pc, place)) return false;
  module = place.id;
  return place.cfi.header != 0 && find_row(place.cfi, pc, found);
}

}  // namespace geiger::unwind
