#include "control/trace_tally.h"

namespace geiger::control {

bool TraceTally::update(Nanoseconds now) {
  return image_.update(now, [this](const trace::Record& record) { take(record); }) !=
         ingest::GrowingImage::Progress::kUnreadable;
}

void TraceTally::take(const trace::Record& record) {
  switch (record.header.type) {
    case trace::RecordType::kSample:
      ++counts_.samples;
      break;
    case trace::RecordType::kFree:
      ++counts_.frees;
      break;
    case trace::RecordType::kCarried:
      ++counts_.carried;
      break;
    case trace::RecordType::kStack:
      ++counts_.stacks;
      break;
    case trace::RecordType::kMapping:
      ++counts_.mappings;
      break;
    case trace::RecordType::kEpoch:
      ++counts_.epochs;
      counts_.interval = record.as<trace::EpochRecord>().interval;
      break;
    default:
      break;
  }
}

}  // namespace geiger::control
