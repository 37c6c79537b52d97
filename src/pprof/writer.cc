#include "pprof/writer.h"

#include <protozero/pbf_writer.hpp>
#include <utility>

#include "base/utf8_text.h"
#include "pprof/profile_proto.h"

namespace geiger::pprof {

namespace {

using protozero::pbf_writer;

constexpr std::size_t kFlushAt = 1 << 18;

void write_tag(pbf_writer& sample, const InternedTag& tag) {
  pbf_writer out(sample, field::kLabel);
  out.add_int64(field::kKey, tag.key);
  if (tag.text != 0) return out.add_int64(field::kStr, tag.text);
  out.add_int64(field::kNum, tag.number);
  if (tag.unit != 0) out.add_int64(field::kNumUnit, tag.unit);
}

}  // namespace

Writer::Writer(Sink sink) : sink_(std::move(sink)) { static_cast<void>(intern("")); }

Text Writer::intern(std::string_view text) {
  const auto next = static_cast<Text>(texts_.size());
  const auto [at, is_new] = texts_.try_emplace(to_valid_utf8(text), next);
  if (is_new) texts_in_order_.push_back(&at->first);
  return at->second;
}

void Writer::flush(std::size_t threshold) {
  if (buffer_.size() < threshold) return;
  if (!buffer_.empty()) sink_(buffer_);
  buffer_.clear();
}

void Writer::write_value_type(std::uint32_t tag, const SampleType& type) {
  pbf_writer top(buffer_);
  pbf_writer value(top, tag);
  value.add_int64(field::kType, intern(type.type));
  value.add_int64(field::kUnit, intern(type.unit));
}

void Writer::write_sample_types(std::span<const SampleType> types) {
  for (const SampleType& type : types) write_value_type(field::kSampleType, type);
}

void Writer::write_shown_type(std::string_view type) {
  pbf_writer(buffer_).add_int64(field::kDefaultSampleType, intern(type));
}

void Writer::write_comment(std::string_view text) {
  pbf_writer(buffer_).add_int64(field::kComment, intern(text));
}

void Writer::write_extent(Nanoseconds start, Nanoseconds duration) {
  pbf_writer top(buffer_);
  top.add_int64(field::kTimeNanos, static_cast<std::int64_t>(start));
  top.add_int64(field::kDurationNanos, static_cast<std::int64_t>(duration));
}

void Writer::write_period(Bytes bytes) {
  write_value_type(field::kPeriodType, {"space", "bytes"});
  pbf_writer(buffer_).add_int64(field::kPeriod, static_cast<std::int64_t>(bytes));
}

void Writer::write(const Sample& sample) {
  {
    pbf_writer top(buffer_);
    pbf_writer out(top, field::kSample);
    out.add_packed_uint64(field::kLocationId, sample.locations.begin(), sample.locations.end());
    out.add_packed_int64(field::kValue, sample.values.begin(), sample.values.end());
    for (const InternedTag& tag : sample.tags) write_tag(out, tag);
  }
  flush(kFlushAt);
}

void Writer::write(const Mapping& mapping) {
  {
    pbf_writer top(buffer_);
    pbf_writer out(top, field::kMapping);
    out.add_uint64(field::kMappingId, ++mappings_);
    out.add_uint64(field::kStart, mapping.start);
    out.add_uint64(field::kLimit, mapping.limit);
    if (mapping.offset != 0) out.add_uint64(field::kOffset, mapping.offset);
    out.add_int64(field::kFilename, intern(mapping.file));
    out.add_int64(field::kBuildId, intern(mapping.build_id));
    if (mapping.has_functions) out.add_bool(field::kHasFunctions, true);
    if (mapping.has_files) out.add_bool(field::kHasFilenames, true);
    if (mapping.has_lines) out.add_bool(field::kHasLineNumbers, true);
    if (mapping.has_inlined) out.add_bool(field::kHasInlineFrames, true);
  }
  flush(kFlushAt);
}

void Writer::write(const Location& location) {
  {
    pbf_writer top(buffer_);
    pbf_writer out(top, field::kLocation);
    out.add_uint64(field::kLocId, location.id);
    if (location.mapping != 0) out.add_uint64(field::kMappingRef, location.mapping);
    out.add_uint64(field::kAddress, location.address);
    for (const Line& line : location.lines) {
      pbf_writer part(out, field::kLine);
      part.add_uint64(field::kFunctionRef, line.function);
      part.add_int64(field::kLineNumber, line.number);
    }
  }
  flush(kFlushAt);
}

std::uint64_t Writer::function(std::string_view name, std::string_view system_name,
                               std::string_view file) {
  const std::array<Text, 3> texts{intern(name), intern(system_name), intern(file)};
  const auto [at, is_new] = functions_.try_emplace(texts, functions_.size() + 1);
  if (!is_new) return at->second;
  pbf_writer top(buffer_);
  pbf_writer out(top, field::kFunction);
  out.add_uint64(field::kFunId, at->second);
  out.add_int64(field::kName, texts[0]);
  out.add_int64(field::kSystemName, texts[1]);
  out.add_int64(field::kFile, texts[2]);
  return at->second;
}

void Writer::finish() {
  for (const std::string* text : texts_in_order_) {
    pbf_writer(buffer_).add_string(field::kStringTable, *text);
    flush(kFlushAt);
  }
  flush(0);
}

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
