#include "analysis/import/pprof.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <protozero/pbf_reader.hpp>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/ingest/payload.h"
#include "estimation/counts.h"
#include "estimation/sums.h"
#include "pprof/profile_proto.h"

namespace geiger::imports {

namespace {

using ingest::OnField;
using ingest::read_fields;
using protozero::pbf_reader;

/// What the message says wrongly though it is protobuf.
class Contradiction : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::string_view view_of(const protozero::data_view& data) { return {data.data(), data.size()}; }

namespace field = pprof::field;

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  PprofMessage decode() {
    read_strings();
    pbf_reader reader(bytes_.data(), bytes_.size());
    while (reader.next()) read_field(reader);
    if (message_.sample_types.empty()) throw Contradiction("it has no sample types");
    return std::move(message_);
  }

 private:
  /// The table comes last in most files, and everything refers to it.
  void read_strings() {
    pbf_reader reader(bytes_.data(), bytes_.size());
    while (reader.next(field::kStringTable)) strings_.push_back(view_of(reader.get_view()));
  }

  [[nodiscard]] std::string_view text(std::int64_t index) const {
    if (index == 0 && strings_.empty()) return {};
    if (index < 0 || static_cast<std::uint64_t>(index) >= strings_.size()) {
      throw Contradiction(fmt::format("text {} is not in its table of {}", index, strings_.size()));
    }
    return strings_[static_cast<std::size_t>(index)];
  }

  void read_field(pbf_reader& reader) {
    switch (reader.tag()) {
      case field::kSampleType:
        return message_.sample_types.push_back(value_type(reader.get_message()));
      case field::kSample:
        return read_sample(reader.get_message());
      case field::kMapping:
        return read_mapping(reader.get_message());
      case field::kLocation:
        return read_location(reader.get_message());
      case field::kFunction:
        return read_function(reader.get_message());
      case field::kTimeNanos:
        message_.time = reader.get_int64();
        return;
      case field::kDurationNanos:
        message_.duration = reader.get_int64();
        return;
      case field::kPeriodType:
        message_.period_type = value_type(reader.get_message());
        return;
      case field::kPeriod:
        message_.period = reader.get_int64();
        return;
      default:
        reader.skip();
    }
  }

  [[nodiscard]] PprofValueType value_type(pbf_reader reader) const {
    PprofValueType type;
    read_fields(reader, OnField(field::kType, [&] { type.type = text(reader.get_int64()); }),
                OnField(field::kUnit, [&] { type.unit = text(reader.get_int64()); }));
    return type;
  }

  /// Numbers packed or one by one: protobuf allows both.
  template <typename Value, typename GetOne, typename GetPacked>
  static void append(std::vector<Value>& values, pbf_reader& reader, const GetOne& get_one,
                     const GetPacked& get_packed) {
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
      return values.push_back(get_one(reader));
    }
    for (const auto value : get_packed(reader)) values.push_back(value);
  }

  void read_sample(pbf_reader reader) {
    PprofSample sample;
    while (reader.next()) {
      if (reader.tag() == field::kLocationId) {
        append(
            sample.locations, reader, [](pbf_reader& from) { return from.get_uint64(); },
            [](pbf_reader& from) { return from.get_packed_uint64(); });
      } else if (reader.tag() == field::kValue) {
        append(
            sample.values, reader, [](pbf_reader& from) { return from.get_int64(); },
            [](pbf_reader& from) { return from.get_packed_int64(); });
      } else if (reader.tag() == field::kLabel) {
        sample.labels.push_back(label(reader.get_message()));
      } else {
        reader.skip();
      }
    }
    if (sample.values.size() != message_.sample_types.size()) {
      throw Contradiction(fmt::format("sample {} has {} values for {} sample types",
                                      message_.samples.size() + 1, sample.values.size(),
                                      message_.sample_types.size()));
    }
    message_.samples.push_back(std::move(sample));
  }

  [[nodiscard]] PprofLabel label(pbf_reader reader) const {
    PprofLabel label;
    read_fields(reader, OnField(field::kKey, [&] { label.key = text(reader.get_int64()); }),
                OnField(field::kStr, [&] { label.text = text(reader.get_int64()); }),
                OnField(field::kNum, [&] { label.number = reader.get_int64(); }));
    return label;
  }

  void read_mapping(pbf_reader reader) {
    PprofMapping mapping;
    read_fields(reader, OnField(field::kMappingId, [&] { mapping.id = reader.get_uint64(); }),
                OnField(field::kStart, [&] { mapping.start = reader.get_uint64(); }),
                OnField(field::kLimit, [&] { mapping.end = reader.get_uint64(); }),
                OnField(field::kOffset, [&] { mapping.offset = reader.get_uint64(); }),
                OnField(field::kFilename, [&] { mapping.file = text(reader.get_int64()); }),
                OnField(field::kBuildId, [&] { mapping.build_id = text(reader.get_int64()); }));
    message_.mappings.push_back(mapping);
  }

  void read_location(pbf_reader reader) {
    PprofLocation location;
    read_fields(
        reader, OnField(field::kLocId, [&] { location.id = reader.get_uint64(); }),
        OnField(field::kMappingRef, [&] { location.mapping = reader.get_uint64(); }),
        OnField(field::kAddress, [&] { location.address = reader.get_uint64(); }),
        OnField(field::kLine, [&] { location.lines.push_back(line(reader.get_message())); }));
    message_.locations.push_back(std::move(location));
  }

  static PprofLine line(pbf_reader reader) {
    PprofLine line;
    read_fields(reader, OnField(field::kFunctionRef, [&] { line.function = reader.get_uint64(); }),
                OnField(field::kLineNumber, [&] { line.line = reader.get_int64(); }));
    return line;
  }

  void read_function(pbf_reader reader) {
    PprofFunction function;
    read_fields(
        reader, OnField(field::kFunId, [&] { function.id = reader.get_uint64(); }),
        OnField(field::kName, [&] { function.name = text(reader.get_int64()); }),
        OnField(field::kSystemName, [&] { function.system_name = text(reader.get_int64()); }),
        OnField(field::kFile, [&] { function.file = text(reader.get_int64()); }));
    message_.functions.push_back(function);
  }

  std::string_view bytes_;
  std::vector<std::string_view> strings_;
  PprofMessage message_;
};

}  // namespace

bool is_pprof(std::string_view head) {
  std::size_t fields = 0;
  try {
    pbf_reader reader(head.data(), head.size());
    while (reader.next()) {
      const bool is_number = reader.tag() == field::kTimeNanos ||
                             reader.tag() == field::kDurationNanos ||
                             reader.tag() == field::kPeriod;
      const bool is_message =
          reader.tag() <= field::kStringTable || reader.tag() == field::kPeriodType;
      const auto wire = reader.wire_type();
      if (reader.tag() > field::kDocumentation ||
          (is_number && wire != protozero::pbf_wire_type::varint) ||
          (is_message && wire != protozero::pbf_wire_type::length_delimited)) {
        return false;
      }
      reader.skip();
      ++fields;
    }
  } catch (const protozero::end_of_buffer_exception&) {
    return fields >= 2;  // The head ends within a field.
  } catch (const protozero::exception&) {
    return false;
  }
  return fields >= 2;
}

std::vector<std::string> labels_of(const PprofSample& sample) {
  std::vector<pprof::Tag> tags;
  for (const PprofLabel& label : sample.labels) {
    tags.push_back({std::string(label.key), std::string(label.text)});
  }
  return pprof::labels_of_tags(tags);
}

base::Outcome<PprofMessage> decode_pprof(std::string_view bytes) {
  try {
    return Decoder(bytes).decode();
  } catch (const protozero::exception& error) {
    return base::Failure{fmt::format("the protobuf message is damaged ({})", error.what())};
  } catch (const Contradiction& error) {
    return base::Failure{error.what()};
  }
}

namespace {

using estimation::Count;

/// The sums are whole numbers, moved by less than one to keep their columns' totals.
constexpr double kRounding = 1.5;
/// Relative: beyond what doubles do to sums of many samples.
constexpr double kNoise = 1e-9;

/// `count` samples that stand for `weight` objects of `size` bytes each.
Count of_weight(double size, double weight, std::uint64_t count) {
  const auto whole = static_cast<Bytes>(std::llround(std::max(size, 1.0)));
  if (!(weight > 1)) return {whole, estimation::kCertainRate, count};
  return {whole, -std::log1p(-1 / weight) / static_cast<double>(whole), count};
}

/// Two weights x1 > x2 >= 1, n samples of x1, with the mean m and the variance v of all s: x1 = m +
/// sqrt(v (s - n)/n), x2 = m - sqrt(v n/(s - n)), and x2 >= 1 for n <= s (m - 1)^2/(v + (m - 1)^2).
/// The largest n gives the smallest x1.
std::vector<Count> of_two_weights(double size, double mean, double variance, std::uint64_t count) {
  const double above = (mean - 1) * (mean - 1);
  const auto samples = static_cast<double>(count);
  const double most = std::floor(samples * above / (variance + above));
  const double n = std::clamp(most, 1.0, std::floor(samples / 2));
  const double high = mean + std::sqrt(variance * (samples - n) / n);
  const double low = mean - std::sqrt(variance * n / (samples - n));
  const auto first = static_cast<std::uint64_t>(n);
  return {of_weight(size, high, first), of_weight(size, low, count - first)};
}

}  // namespace

std::vector<Count> samples_behind(const RowSums& row, double lambda) {
  if (row.samples == 0 || !(row.bytes > 0)) return {};
  const auto samples = static_cast<double>(row.samples);
  const auto size = static_cast<double>(row.size);
  const double slack = kRounding + kNoise * row.bytes;
  const bool is_certain = row.bytes_variance == 0 && std::abs(row.objects - samples) < 1;
  if (is_certain) return {of_weight(row.bytes / samples, 1, row.samples)};
  const double pi = estimation::inclusion_probability(Count{row.size, lambda, 1});
  if (std::abs(samples * size / pi - row.bytes) <= slack) return {{row.size, lambda, row.samples}};
  // Parts of objects (resident bytes): the average stands for each.
  const bool is_of_sizes = std::abs(row.objects * size - row.bytes) <= size + slack;
  const double summed = is_of_sizes ? size : row.bytes / std::max(row.objects, samples);
  const double mean = std::max(row.bytes / (samples * summed), 1.0);
  const double square = row.bytes_variance / (samples * summed * summed) + mean;
  const double variance = square - mean * mean;
  const bool is_mixed = row.samples > 1 && variance > 1e-6 * mean * mean;
  if (!is_mixed) return {of_weight(summed, mean, row.samples)};
  return of_two_weights(summed, mean, variance, row.samples);
}

std::uint64_t unscaled(std::int64_t value, double pi) {
  if (value <= 0 || !(pi > 0)) return 0;
  const double least = static_cast<double>(value) * pi;
  // Rounded down, the value is of exactly one count: those of neighbours lie 1/pi >= 1 apart.
  const double up = std::ceil(least - 1e-9 * (1 + least));
  const double count = up < least + pi ? up : std::round(least);
  return static_cast<std::uint64_t>(std::min(count, 0x1p62));
}

namespace {

using ingest::Error;

constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);
/// Rows are integers: a part of the whole that rounding cannot explain is a contradiction.
constexpr double kMostDifference = 0.01;

Error fault(std::string reason) { return {"", std::nullopt, std::move(reason)}; }

/// The columns of objects and bytes, and of the samples behind them if the profile has one.
struct Columns {
  std::size_t objects = kNoColumn, bytes = kNoColumn, samples = kNoColumn;
  std::size_t variance = kNoColumn;  ///< Of the bytes.

  /// As geiger writes them: the sums of the samples, from which these are got back.
  [[nodiscard]] bool has_sums() const {
    return objects != kNoColumn && samples != kNoColumn && variance != kNoColumn;
  }
};

Columns columns_named(const PprofMessage& message, std::string_view objects, std::string_view bytes,
                      std::string_view samples) {
  Columns columns;
  for (std::size_t i = 0; i < message.sample_types.size(); ++i) {
    const PprofValueType& type = message.sample_types[i];
    if (type.type == objects && type.unit == "count") columns.objects = i;
    if (type.type == bytes && type.unit == "bytes") columns.bytes = i;
    if (type.type == samples && type.unit == "count") columns.samples = i;
    const bool is_variance = type.type == std::string(bytes) + "_variance";
    if (is_variance && type.unit == "bytes^2") columns.variance = i;
  }
  return columns;
}

/// One sample of the message, as both kinds have it.
struct Value {
  std::int64_t objects = 0, bytes = 0;
  std::uint64_t samples = 0;  ///< Told by the file, or got back.
};

class PprofReader {
 public:
  PprofReader(const PprofMessage& message, ForeignProcess& process, Origin& origin)
      : message_(message), process_(process), origin_(origin) {}

  ingest::FileOutcome read() {
    GEIGER_TRY(find_columns());
    GEIGER_TRY(check_values());
    index();
    describe();
    for (std::size_t i = 0; i < message_.samples.size(); ++i) {
      GEIGER_TRY(store(i));
    }
    return {};
  }

 private:
  ingest::FileOutcome find_columns() {
    allocated_ = columns_named(message_, "alloc_objects", "alloc_space", "samples");
    live_ = columns_named(message_, "inuse_objects", "inuse_space", "inuse_samples");
    // The names that readers of older formats, node and tcmalloc give.
    if (live_.bytes == kNoColumn && allocated_.bytes == kNoColumn) {
      live_ = columns_named(message_, "objects", "space", "");
    }
    if (live_.bytes != kNoColumn || allocated_.bytes != kNoColumn) {
      leave_out_empty();
      return {};
    }
    std::string types;
    for (const PprofValueType& type : message_.sample_types) {
      types += fmt::format("{}{}/{}", types.empty() ? "" : ", ", type.type, type.unit);
    }
    return fault(fmt::format("not a heap profile: it contains {}", types));
  }

  /// A writer of one kind leaves the columns of the other at 0. (Nothing allocated, with something
  /// live, is not known; nothing live may just be true.)
  void leave_out_empty() {
    const auto is_zero = [&](const Columns& columns) {
      return std::ranges::all_of(message_.samples, [&](const PprofSample& sample) {
        return columns.bytes == kNoColumn || sample.values[columns.bytes] == 0;
      });
    };
    const bool has_live = !is_zero(live_);
    if (has_live && is_zero(allocated_)) allocated_ = {};
    process_.process().lacks_frees = !has_live;
  }

  [[nodiscard]] ingest::FileOutcome check_values() const {
    for (std::size_t i = 0; i < message_.samples.size(); ++i) {
      for (const Columns* columns : {&allocated_, &live_}) {
        for (const std::size_t column :
             {columns->objects, columns->bytes, columns->samples, columns->variance}) {
          if (column != kNoColumn && message_.samples[i].values[column] < 0) {
            return fault(
                fmt::format("sample {} has a negative value: this is a difference of two "
                            "profiles, not a profile",
                            i + 1));
          }
        }
      }
    }
    return {};
  }

  void index() {
    for (const PprofMapping& mapping : message_.mappings) {
      process_.map_file(std::string(mapping.file), std::string(mapping.build_id), mapping.start,
                        mapping.end, mapping.offset);
    }
    for (const PprofLocation& location : message_.locations) {
      locations_.try_emplace(location.id, &location);
    }
    for (const PprofFunction& function : message_.functions) {
      functions_.try_emplace(function.id, &function);
    }
    profile::Process& process = process_.process();
    const bool is_named = !message_.mappings.empty() && !message_.mappings.front().file.empty();
    if (is_named) process.executable = message_.mappings.front().file;
    constexpr std::int64_t kLongest = std::int64_t{1} << 60;
    process.end = process.start + static_cast<Nanoseconds>(
                                      std::clamp<std::int64_t>(message_.duration, 0, kLongest));
    process.start_realtime = static_cast<Nanoseconds>(std::max<std::int64_t>(message_.time, 0));
  }

  /// Whether the values are what samples of the period give decides what can be said of them.
  void describe() {
    const bool is_of_bytes =
        message_.period_type.type == "space" || message_.period_type.unit == "bytes";
    if (message_.period <= 0 || !is_of_bytes) {
      origin_.what = "pprof heap profile";
      origin_.notes.emplace_back(
          "it has no sampling period in bytes: its values are shown as they are, without "
          "intervals");
      process_.lacks_errors();
      return note_kinds();
    }
    period_ = static_cast<double>(message_.period);
    if (has_sums()) return describe_sums();
    if (message_.period == 1) {
      origin_.what = "pprof heap profile, every allocation recorded";
      return note_kinds();
    }
    origin_.what =
        fmt::format("pprof heap profile, one byte in {} sampled on average", message_.period);
    is_sampled_ = is_explained_by_samples();
    if (is_sampled_) {
      process_.set_interval(period_);
      origin_.notes.emplace_back("sample counts were recovered from its estimates");
    } else {
      process_.lacks_errors();
      origin_.notes.emplace_back(
          "its values do not match samples with this period: they are shown as they are, "
          "without intervals");
    }
    note_kinds();
  }

  /// Whether every kind in the file has the sums of its samples.
  [[nodiscard]] bool has_sums() const {
    return std::ranges::all_of(std::array{&allocated_, &live_}, [](const Columns* columns) {
      return columns->bytes == kNoColumn || columns->has_sums();
    });
  }

  void describe_sums() {
    origin_.what = fmt::format("pprof heap profile of geiger, one byte in {} sampled on average",
                               message_.period);
    process_.set_interval(period_, estimation::rate_of_interval(std::max(period_, 1.0)));
    process_.process().is_pure = false;
    is_of_sums_ = true;
    note_kinds();
  }

  void note_kinds() {
    if (allocated_.bytes != kNoColumn) return;
    process_.set_live_only();
    origin_.notes.emplace_back("it contains only the heap that was live when it was written");
  }

  [[nodiscard]] bool is_explained_by_samples() const {
    for (const Columns* columns : {&allocated_, &live_}) {
      double given = 0;
      double explained = 0;
      if (columns->bytes == kNoColumn) continue;
      if (columns->objects == kNoColumn) return false;
      for (const PprofSample& sample : message_.samples) {
        const Value value = value_of(sample, *columns);
        if (value.bytes <= 0) continue;
        given += static_cast<double>(value.bytes);
        const double size = size_of(sample, value);
        const double pi = is_certain(value, *columns, size) ? 1 : probability(size);
        explained += static_cast<double>(value.samples) * size / pi;
      }
      if (std::abs(explained - given) > kMostDifference * given) return false;
    }
    return true;
  }

  /// geiger records objects as large as its interval with certainty, and writes the numbers of
  /// samples: then there is one for each object.
  [[nodiscard]] bool is_certain(const Value& value, const Columns& columns, double size) const {
    return columns.samples != kNoColumn && size >= period_ &&
           value.samples == static_cast<std::uint64_t>(value.objects);
  }

  [[nodiscard]] double probability(double size) const { return -std::expm1(-size / period_); }

  /// A positive number in a label of the sample.
  static std::optional<double> number_of(const PprofSample& sample, std::string_view key) {
    for (const PprofLabel& label : sample.labels) {
      if (label.key == key && label.text.empty() && label.number > 0) {
        return static_cast<double>(label.number);
      }
    }
    return std::nullopt;
  }

  /// Size of one object: by the sample's label, else the average.
  static double size_of(const PprofSample& sample, const Value& value) {
    if (const auto size = number_of(sample, pprof::kSizeLabel)) return *size;
    const double objects = static_cast<double>(std::max<std::int64_t>(value.objects, 1));
    return std::max(static_cast<double>(value.bytes) / objects, 1.0);
  }

  [[nodiscard]] Value value_of(const PprofSample& sample, const Columns& columns) const {
    Value value;
    if (columns.bytes == kNoColumn) return value;
    value.bytes = sample.values[columns.bytes];
    if (columns.objects == kNoColumn) {
      value.objects = value.bytes > 0 ? 1 : 0;
    } else {
      value.objects = sample.values[columns.objects];
    }
    if (columns.samples != kNoColumn) {
      value.samples = static_cast<std::uint64_t>(sample.values[columns.samples]);
    } else if (period_ > 1) {
      value.samples = unscaled(value.objects, probability(size_of(sample, value)));
    }
    return value;
  }

  ingest::FileOutcome store(std::size_t index) {
    const PprofSample& sample = message_.samples[index];
    std::vector<std::uint32_t> locations;
    locations.reserve(sample.locations.size());
    for (const std::uint64_t id : sample.locations) {
      const auto known = locations_.find(id);
      if (known == locations_.end()) {
        return fault(
            fmt::format("sample {} refers to location {}, which is missing", index + 1, id));
      }
      locations.push_back(location_of(*known->second));
    }
    const std::uint32_t stack = process_.stack(std::move(locations));
    process_.set_labels(labels_of(sample));
    if (is_of_sums_) {
      store_sums(stack, sample);
      return {};
    }
    const CountedObjects live = objects_of(sample, live_);
    process_.add(stack, live);
    CountedObjects freed = objects_of(sample, allocated_);
    if (freed.count <= live.count || freed.bytes < live.bytes) return {};
    freed.count -= live.count;
    freed.bytes -= live.bytes;
    freed.is_freed = true;
    process_.add(stack, freed);
    return {};
  }

  void store_sums(std::uint32_t stack, const PprofSample& sample) {
    std::vector<CountedObjects> live = behind(sample, live_);
    std::vector<CountedObjects> allocated = behind(sample, allocated_);
    // What is live is a part of what was allocated, unless it was estimated from other samples (the
    // peak) or is of parts of objects.
    const bool is_part = live.size() == 1 && allocated.size() == 1 &&
                         live[0].epoch == allocated[0].epoch &&
                         live[0].bytes / live[0].count == allocated[0].bytes / allocated[0].count &&
                         live[0].count <= allocated[0].count;
    if (is_part) {
      allocated[0].count -= live[0].count;
      allocated[0].bytes -= live[0].bytes;
    }
    for (CountedObjects& objects : live) {
      objects.is_live_only = !is_part;
      process_.add(stack, objects);
    }
    for (CountedObjects& objects : allocated) {
      objects.is_freed = true;
      process_.add(stack, objects);
    }
  }

  [[nodiscard]] std::vector<CountedObjects> behind(const PprofSample& sample,
                                                   const Columns& columns) {
    if (columns.bytes == kNoColumn) return {};
    const auto number = [&](std::size_t column) {
      return static_cast<double>(sample.values[column]);
    };
    RowSums row;
    row.samples = static_cast<std::uint64_t>(sample.values[columns.samples]);
    row.objects = number(columns.objects);
    row.bytes = number(columns.bytes);
    row.bytes_variance = number(columns.variance);
    row.size = static_cast<Bytes>(std::llround(size_of(sample, value_of(sample, columns))));
    const double interval = number_of(sample, pprof::kIntervalLabel).value_or(period_);
    const double lambda = estimation::rate_of_interval(std::max(interval, 1.0));
    std::vector<CountedObjects> kinds;
    for (const estimation::Count& kind : samples_behind(row, lambda)) {
      CountedObjects objects{kind.count, kind.size * kind.count, false,
                             estimation::is_certain(kind)};
      const double own = kind.lambda == lambda ? interval : 1 / kind.lambda;
      objects.epoch = process_.epoch_of(objects.is_certain ? interval : own,
                                        objects.is_certain ? lambda : kind.lambda);
      const bool is_large = !objects.is_certain && static_cast<double>(kind.size) >= interval;
      if (is_large) process_.process().is_pure = true;
      kinds.push_back(objects);
    }
    return kinds;
  }

  [[nodiscard]] CountedObjects objects_of(const PprofSample& sample, const Columns& columns) const {
    const Value value = value_of(sample, columns);
    if (!is_sampled_) {
      return {static_cast<std::uint64_t>(std::max<std::int64_t>(value.objects, value.bytes > 0)),
              static_cast<Bytes>(value.bytes), false};
    }
    constexpr double kMost = 0x1p62;
    const double size = size_of(sample, value);
    const double bytes = static_cast<double>(value.samples) * size;
    return {value.samples, static_cast<Bytes>(std::llround(std::min(bytes, kMost))), false,
            is_certain(value, columns, size)};
  }

  /// pprof's addresses lie in the call, ours after it.
  std::uint32_t location_of(const PprofLocation& known) {
    const bool has_address = known.address != 0;
    const std::uint32_t location = has_address ? process_.location_of_return(known.address + 1)
                                               : process_.named_location("", known.id);
    if (known.lines.empty() || process_.has_names(location)) return location;
    std::vector<profile::Frame> frames;
    for (const PprofLine& line : known.lines) frames.push_back(frame_of(line));
    process_.name(location, std::move(frames));
    return location;
  }

  [[nodiscard]] profile::Frame frame_of(const PprofLine& line) const {
    const auto known = functions_.find(line.function);
    if (known == functions_.end()) return {"?", "", "", 0};
    const PprofFunction& function = *known->second;
    const auto number = std::clamp<std::int64_t>(line.line, 0, 0x7fffffff);
    return {std::string(function.name), std::string(function.system_name),
            std::string(function.file), static_cast<std::uint32_t>(number)};
  }

  const PprofMessage& message_;
  ForeignProcess& process_;
  Origin& origin_;
  Columns allocated_, live_;
  double period_ = 0;        ///< 0: not given in bytes.
  bool is_sampled_ = false;  ///< Numbers of samples could be got back.
  bool is_of_sums_ = false;  ///< geiger's own: contains the sums of samples.
  std::unordered_map<std::uint64_t, const PprofLocation*> locations_;
  std::unordered_map<std::uint64_t, const PprofFunction*> functions_;
};

}  // namespace

ingest::FileOutcome read_pprof(std::string_view bytes, ForeignProcess& process, Origin& origin) {
  const auto message = decode_pprof(bytes);
  if (!message.has_value()) return fault(message.reason());
  return PprofReader(message.value(), process, origin).read();
}

}  // namespace geiger::imports
