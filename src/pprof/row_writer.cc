#include "pprof/row_writer.h"

#include "pprof/label_tags.h"

namespace geiger::pprof {

RowWriter::RowWriter(Writer& writer, Bytes period)
    : writer_(writer),
      period_(period),
      bytes_(writer.intern(kSizeLabel)),
      interval_(writer.intern(kIntervalLabel)),
      thread_(writer.intern(kThreadLabel)),
      type_(writer.intern(kTypeLabel)) {}

std::vector<InternedTag> RowWriter::own_tags(std::span<const std::string_view> innermost_first) {
  std::vector<InternedTag> tags;
  for (const Tag& tag : tags_of_labels(innermost_first)) {
    tags.push_back({writer_.intern(tag.key), writer_.intern(tag.value)});
  }
  return tags;
}

void RowWriter::write(const Row& row, std::span<const std::uint64_t> locations,
                      std::span<const std::int64_t> values, const RowEnd* end) {
  // "bytes" is a key and a unit.
  tags_.assign(1, {bytes_, 0, static_cast<std::int64_t>(row.requested), bytes_});
  if (row.interval != period_) {
    tags_.push_back({interval_, 0, static_cast<std::int64_t>(row.interval), bytes_});
  }
  if (end != nullptr) add_end(*end);
  if (row.thread != 0) tags_.push_back({thread_, row.thread});
  if (row.type != 0) tags_.push_back({type_, row.type});
  tags_.insert(tags_.end(), row.tags.begin(), row.tags.end());
  writer_.write(Sample{locations, values, tags_});
}

void RowWriter::add_end(const RowEnd& end) {
  tags_.push_back({writer_.intern(kPairLabel), 0, static_cast<std::int64_t>(end.pair)});
  tags_.push_back({writer_.intern(kLifetimeLabel), 0, static_cast<std::int64_t>(end.least_age),
                   writer_.intern("nanoseconds")});
  tags_.push_back({writer_.intern(kEndLabel), writer_.intern(end.is_freed ? "freed" : "alive")});
}

}  // namespace geiger::pprof
