#include "fleet/store/store.h"

namespace geiger::fleet {

std::string_view text_of(Receipt receipt) {
  switch (receipt) {
    case Receipt::kStored:
      return "stored";
    case Receipt::kKnown:
      return "known";
    case Receipt::kOtherContents:
      return "its window is there with other contents";
    case Receipt::kOtherStack:
      return "one of its stacks is there with other locations";
    case Receipt::kTooOld:
      return "it is older than what the store keeps";
  }
  return {};
}

}  // namespace geiger::fleet
