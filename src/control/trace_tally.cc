#include "control/trace_tally.h"

namespace geiger::control {

bool TraceTally::update(Nanoseconds now) {
  return image_.update(now, *this) != ingest::GrowingImage::Progress::kUnreadable;
}

}  // namespace geiger::control
