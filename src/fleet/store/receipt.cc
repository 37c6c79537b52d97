#include "fleet/store/store.h"

namespace geiger::fleet {

std::string_view text_of(Receipt receipt) {
  switch (receipt) {
    case Receipt::kStored:
      return "stored";
    case Receipt::kKnown:
      return "known";
    case Receipt::kOtherContents:
      return "its window is stored with different contents";
    case Receipt::kOtherStack:
      return "one of its stacks is stored with different locations";
    case Receipt::kTooOld:
      return "it is older than the store keeps documents";
  }
  return {};
}

}  // namespace geiger::fleet
