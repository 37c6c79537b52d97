#include "analysis/profile/observations.h"

namespace geiger::profile {

std::string_view name_of(MapKind kind) {
  switch (kind) {
    case MapKind::kMallocHeap:
      return "malloc heap";
    case MapKind::kMapped:
      return "mapped by the program";
    case MapKind::kAnonymous:
      return "other anonymous";
    case MapKind::kStack:
      return "stacks";
    case MapKind::kFile:
      return "files";
    case MapKind::kShared:
      return "shared memory";
    case MapKind::kRuntime:
      return "geiger";
    case MapKind::kOther:
      return "other";
  }
  return "other";
}

}  // namespace geiger::profile
