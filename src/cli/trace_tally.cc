#include "cli/trace_tally.h"

namespace geiger::cli {

bool TraceTally::update(Nanoseconds now) {
  return image_.update(now, *this) != ingest::GrowingImage::Progress::kUnreadable;
}

}  // namespace geiger::cli
