#include "analysis/ingest/observation_chunk.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "analysis/ingest/payload.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::ingest {
namespace {

using profile::ChunkCensus;
using profile::HeapCensus;
using profile::MapTable;
using profile::MemoryCounts;
using profile::Observations;
using profile::SeriesPoint;
using profile::Snapshot;

// Field numbers. None is ever used again for something else.
namespace in_observations {
constexpr int kSeries = 1, kHighWater = 2, kCost = 3, kRefused = 4, kFault = 5, kAtMaximum = 6,
              kLast = 7, kTypeNames = 8, kTypedSamples = 9, kTypes = 10, kTypesFault = 11,
              kWalks = 12, kWalkFault = 13, kHolders = 14, kHoldersFault = 15,
              kContentAtMaximum = 16, kLastContent = 17, kContentFault = 18, kWorked = 19;
}
namespace in_content {
constexpr int kTime = 1, kCost = 2, kResident = 3, kSamples = 4, kZero = 5, kUnread = 6,
              kCopies = 7, kMostCopies = 8;
}
namespace in_holders {
constexpr int kTime = 1, kCost = 2, kScans = 3, kIsInferred = 4, kNotUnderstood = 5, kUnread = 6,
              kBlocks = 7, kRoots = 8, kTypes = 9, kPaths = 10, kSamples = 11, kHolds = 12,
              kHeldBy = 13, kHeldAlong = 14, kIsAlone = 15, kHasRegisters = 16,
              kUnreadRegisters = 17, kBeside = 18;
}
namespace in_walk {
constexpr int kTime = 1, kBytes = 2, kCounts = 3;
}
namespace in_point {
constexpr int kTime = 1, kCounts = 2, kLeast = 3;
}
namespace in_snapshot {
constexpr int kTime = 1, kCost = 2, kMaps = 3, kCounts = 4, kSamples = 5, kResident = 6,
              kSwapped = 7, kResidencyFault = 8, kWasteSamples = 9, kWaste = 10, kWasteFault = 11,
              kCensus = 12;
}

/// Memory of any machine is below it, so sums of a few cannot overflow.
constexpr Bytes kMostBytes = Bytes{1} << 56;
constexpr std::size_t kMostPoints = 1U << 20;
constexpr std::size_t kMostText = 1000;
constexpr std::size_t kMostTypeNames = 1U << 20;

// ---------------------------------------------------------------- encoding ---

using Numbers = std::vector<std::uint64_t>;

void add_numbers(protozero::pbf_writer& writer, int field, const Numbers& numbers) {
  writer.add_packed_uint64(static_cast<protozero::pbf_tag_type>(field), numbers.begin(),
                           numbers.end());
}

void add_number(protozero::pbf_writer& writer, int field, std::uint64_t value) {
  writer.add_uint64(static_cast<protozero::pbf_tag_type>(field), value);
}

void add_text(protozero::pbf_writer& writer, int field, std::string_view text) {
  if (text.empty()) return;
  writer.add_string(static_cast<protozero::pbf_tag_type>(field), text.data(),
                    std::min(text.size(), kMostText));
}

Numbers numbers_of(const MemoryCounts& counts) {
  return {counts.anonymous, counts.file, counts.shared, counts.swapped, counts.resident};
}

Numbers numbers_of(const MapTable& maps) {
  Numbers numbers;
  for (const profile::MapTotals& totals : maps) {
    numbers.insert(numbers.end(), {totals.size, totals.resident, totals.swapped});
  }
  return numbers;
}

/// Mapped, then size and resident of each part.
Numbers numbers_of(const HeapCensus& census) {
  Numbers numbers{census.mapped};
  for (const profile::MapTotals& part : census.parts) {
    numbers.insert(numbers.end(), {part.size, part.resident});
  }
  return numbers;
}

std::string encode(const SeriesPoint& point) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  add_number(writer, in_point::kTime, point.time);
  add_numbers(writer, in_point::kCounts, numbers_of(point.counts));
  add_number(writer, in_point::kLeast, point.least);
  return bytes;
}

/// A column of a list; references as differences, which are small.
template <class List, class Of>
Numbers column(const List& list, Of of) {
  Numbers numbers;
  for (const auto& each : list) numbers.push_back(of(each));
  return numbers;
}

Numbers differences(Numbers numbers) {
  for (std::size_t i = numbers.size(); i-- > 1;) numbers[i] -= numbers[i - 1];
  return numbers;
}

std::string encode(const Snapshot& snapshot) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  add_number(writer, in_snapshot::kTime, snapshot.time);
  add_number(writer, in_snapshot::kCost, snapshot.cost);
  add_numbers(writer, in_snapshot::kMaps, numbers_of(snapshot.maps));
  add_numbers(writer, in_snapshot::kCounts, numbers_of(snapshot.counts));
  const auto& residency = snapshot.residency;
  add_numbers(writer, in_snapshot::kSamples,
              differences(column(residency, [](const auto& each) { return each.sample; })));
  add_numbers(writer, in_snapshot::kResident,
              column(residency, [](const auto& each) { return each.resident; }));
  add_numbers(writer, in_snapshot::kSwapped,
              column(residency, [](const auto& each) { return each.swapped; }));
  add_text(writer, in_snapshot::kResidencyFault, snapshot.residency_fault);
  const auto& waste = snapshot.waste;
  add_numbers(writer, in_snapshot::kWasteSamples,
              differences(column(waste, [](const auto& each) { return each.sample; })));
  add_numbers(writer, in_snapshot::kWaste,
              column(waste, [](const auto& each) { return each.bytes; }));
  add_text(writer, in_snapshot::kWasteFault, snapshot.waste_fault);
  if (snapshot.census) add_numbers(writer, in_snapshot::kCensus, numbers_of(*snapshot.census));
  return bytes;
}

std::string encode(const ChunkCensus& walk) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  add_number(writer, in_walk::kTime, walk.time);
  add_numbers(writer, in_walk::kBytes,
              differences(column(walk.in_use, [](const auto& each) { return each.bytes; })));
  add_numbers(writer, in_walk::kCounts,
              column(walk.in_use, [](const auto& each) { return each.count; }));
  return bytes;
}

/// A name that is empty would be left out, and shift the others; no type has one.
void encode(const profile::ObjectTypes& types, protozero::pbf_writer& writer) {
  for (const std::string& name : types.names) add_text(writer, in_observations::kTypeNames, name);
  add_numbers(writer, in_observations::kTypedSamples,
              differences(column(types.samples, [](const auto& each) { return each.sample; })));
  add_numbers(writer, in_observations::kTypes,
              column(types.samples, [](const auto& each) { return each.type; }));
  add_text(writer, in_observations::kTypesFault, types.fault);
}

constexpr std::size_t kStepNumbers = 5;

/// Of each step: bytes, the type's place from 1 on, whether it is a sample with its reference, how
/// often it is there, and how many are so together.
Numbers numbers_of(const profile::HolderPath& path, std::vector<std::string>& types) {
  Numbers numbers;
  for (const profile::HolderStep& step : path.steps) {
    std::uint64_t type = 0;
    if (!step.type.empty()) {
      const auto known = std::ranges::find(types, step.type);
      type = 1 + static_cast<std::uint64_t>(known - types.begin());
      if (known == types.end()) types.push_back(step.type);
    }
    numbers.insert(numbers.end(),
                   {step.bytes, type, step.is_sampled ? 1 + std::uint64_t{step.sample} : 0,
                    step.times, step.together});
  }
  return numbers;
}

std::string encode(const profile::Holders& holders) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  add_number(writer, in_holders::kTime, holders.time);
  add_number(writer, in_holders::kCost, holders.cost);
  add_number(writer, in_holders::kScans, holders.scans);
  add_number(writer, in_holders::kIsInferred, holders.is_inferred ? 1 : 0);
  add_number(writer, in_holders::kNotUnderstood, holders.not_understood);
  add_number(writer, in_holders::kUnread, holders.unread);
  add_number(writer, in_holders::kBlocks, holders.blocks);
  add_number(writer, in_holders::kHasRegisters, holders.has_registers ? 1 : 0);
  add_number(writer, in_holders::kUnreadRegisters, holders.unread_registers);
  for (const std::string& root : holders.roots) add_text(writer, in_holders::kRoots, root);
  add_numbers(writer, in_holders::kBeside, column(holders.beside, [](std::uint32_t root) {
                return root == profile::kNone ? 0 : std::uint64_t{root} + 1;
              }));
  std::vector<std::string> types;
  for (const profile::HolderPath& path : holders.paths) {
    // A field without numbers would be left out.
    Numbers numbers = numbers_of(path, types);
    numbers.insert(numbers.begin(), numbers.size());
    add_numbers(writer, in_holders::kPaths, numbers);
  }
  for (const std::string& type : types) add_text(writer, in_holders::kTypes, type);
  const auto& samples = holders.samples;
  add_numbers(writer, in_holders::kSamples,
              differences(column(samples, [](const auto& each) { return each.sample; })));
  add_numbers(writer, in_holders::kHolds, column(samples, [](const auto& each) {
                return static_cast<std::uint64_t>(each.hold);
              }));
  add_numbers(writer, in_holders::kHeldBy,
              column(samples, [](const auto& each) { return each.root; }));
  add_numbers(writer, in_holders::kHeldAlong,
              column(samples, [](const auto& each) { return each.path; }));
  add_numbers(writer, in_holders::kIsAlone,
              column(samples, [](const auto& each) { return each.is_alone ? 1 : 0; }));
  return bytes;
}

std::string encode(const profile::Content& content) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  add_number(writer, in_content::kTime, content.time);
  add_number(writer, in_content::kCost, content.cost);
  add_number(writer, in_content::kResident, content.resident);
  const auto& samples = content.samples;
  add_numbers(writer, in_content::kSamples,
              differences(column(samples, [](const auto& each) { return each.sample; })));
  add_numbers(writer, in_content::kZero,
              column(samples, [](const auto& each) { return each.zero; }));
  add_numbers(writer, in_content::kUnread,
              column(samples, [](const auto& each) { return each.unread; }));
  add_numbers(writer, in_content::kCopies,
              column(samples, [](const auto& each) { return each.copies; }));
  add_numbers(writer, in_content::kMostCopies,
              column(samples, [](const auto& each) { return each.most_copies; }));
  return bytes;
}

// ---------------------------------------------------------------- decoding ---

/// Thrown and caught within this file, like protozero's own exceptions.
struct Implausible {};

template <class Value>
Value checked(Value value, bool is_plausible) {
  if (!is_plausible) throw Implausible{};
  return value;
}

/// A damaged tag may ask for a field as what it is not; protozero asserts that it never does.
void expect(const protozero::pbf_reader& reader, protozero::pbf_wire_type type) {
  checked(0, reader.has_wire_type(type));
}

std::uint64_t read_number(protozero::pbf_reader& reader) {
  expect(reader, protozero::pbf_wire_type::varint);
  return reader.get_uint64();
}

protozero::pbf_reader read_message(protozero::pbf_reader& reader) {
  expect(reader, protozero::pbf_wire_type::length_delimited);
  return reader.get_message();
}

Numbers read_numbers(protozero::pbf_reader& reader) {
  expect(reader, protozero::pbf_wire_type::length_delimited);
  const auto range = reader.get_packed_uint64();
  return {range.begin(), range.end()};
}

Bytes read_bytes(std::uint64_t value) { return checked(value, value <= kMostBytes); }

std::string read_text(protozero::pbf_reader& reader) {
  expect(reader, protozero::pbf_wire_type::length_delimited);
  const auto view = reader.get_view();
  return {view.data(), std::min(view.size(), kMostText)};
}

MemoryCounts counts_of(const Numbers& numbers) {
  checked(0, numbers.size() >= 5);
  return {.resident = read_bytes(numbers[4]),
          .anonymous = read_bytes(numbers[0]),
          .file = read_bytes(numbers[1]),
          .shared = read_bytes(numbers[2]),
          .swapped = read_bytes(numbers[3])};
}

MapTable maps_of(const Numbers& numbers) {
  MapTable maps{};
  checked(0, numbers.size() >= 3 * maps.size());
  for (std::size_t i = 0; i < maps.size(); ++i) {
    maps[i] = {read_bytes(numbers[3 * i]), read_bytes(numbers[3 * i + 1]),
               read_bytes(numbers[3 * i + 2])};
  }
  return maps;
}

/// Earlier versions knew fewer parts; what the others have now was counted among those.
HeapCensus census_of(const Numbers& numbers) {
  constexpr std::size_t kFewestParts = 8;
  HeapCensus census;
  checked(0, numbers.size() >= 1 + 2 * kFewestParts);
  census.mapped = read_bytes(numbers[0]);
  const std::size_t parts = std::min(numbers.size() / 2, census.parts.size());
  for (std::size_t i = 0; i < parts; ++i) {
    census.parts[i] = {read_bytes(numbers[1 + 2 * i]), read_bytes(numbers[2 + 2 * i]), 0};
  }
  return census;
}

SeriesPoint decode_point(protozero::pbf_reader reader) {
  SeriesPoint point;
  read_fields(reader, OnField(in_point::kTime, [&] { point.time = read_number(reader); }),
              OnField(in_point::kCounts, [&] { point.counts = counts_of(read_numbers(reader)); }),
              OnField(in_point::kLeast, [&] { point.least = read_bytes(read_number(reader)); }));
  return point;
}

/// The columns of a snapshot as in the payload.
struct Columns {
  Numbers samples, resident, swapped, waste_samples, waste;
};

trace::Ref next_ref(std::uint64_t& last, std::uint64_t difference) {
  last += difference;
  return static_cast<trace::Ref>(checked(last, last <= ~trace::Ref{0}));
}

void take_residency(const Columns& columns, const SampleOf& sample_of, Snapshot& snapshot) {
  const std::size_t count = columns.samples.size();
  checked(0, columns.resident.size() == count && columns.swapped.size() == count);
  std::uint64_t ref = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t sample = sample_of(next_ref(ref, columns.samples[i]));
    if (sample == profile::kNone) continue;
    snapshot.residency.push_back(
        {sample, read_bytes(columns.resident[i]), read_bytes(columns.swapped[i])});
  }
}

/// The types of samples as in the payload.
struct TypeColumns {
  std::vector<std::string> names;
  Numbers samples, types;
};

void take_types(TypeColumns& columns, const SampleOf& sample_of, profile::ObjectTypes& types) {
  checked(0, columns.samples.size() == columns.types.size());
  std::uint64_t ref = 0;
  for (std::size_t i = 0; i < columns.samples.size(); ++i) {
    const std::uint32_t sample = sample_of(next_ref(ref, columns.samples[i]));
    const std::uint64_t type = checked(columns.types[i], columns.types[i] < columns.names.size());
    if (sample == profile::kNone) continue;
    types.samples.push_back({sample, static_cast<std::uint32_t>(type)});
  }
  types.names = std::move(columns.names);
}

void take_waste(const Columns& columns, const SampleOf& sample_of, Snapshot& snapshot) {
  checked(0, columns.waste.size() == columns.waste_samples.size());
  std::uint64_t ref = 0;
  for (std::size_t i = 0; i < columns.waste.size(); ++i) {
    const std::uint32_t sample = sample_of(next_ref(ref, columns.waste_samples[i]));
    if (sample != profile::kNone) snapshot.waste.push_back({sample, read_bytes(columns.waste[i])});
  }
}

profile::Content decode_content(protozero::pbf_reader reader, const SampleOf& sample_of) {
  profile::Content content;
  Numbers samples, zero, unread, copies, most_copies;
  read_fields(
      reader, OnField(in_content::kTime, [&] { content.time = read_number(reader); }),
      OnField(in_content::kCost, [&] { content.cost = read_number(reader); }),
      OnField(in_content::kResident, [&] { content.resident = read_bytes(read_number(reader)); }),
      OnField(in_content::kSamples, [&] { samples = read_numbers(reader); }),
      OnField(in_content::kZero, [&] { zero = read_numbers(reader); }),
      OnField(in_content::kUnread, [&] { unread = read_numbers(reader); }),
      OnField(in_content::kCopies, [&] { copies = read_numbers(reader); }),
      OnField(in_content::kMostCopies, [&] { most_copies = read_numbers(reader); }));
  const std::size_t count = samples.size();
  checked(0, zero.size() == count && unread.size() == count && copies.size() == count &&
                 most_copies.size() == count);
  std::uint64_t ref = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t sample = sample_of(next_ref(ref, samples[i]));
    checked(0,
            copies[i] >= 1 && copies[i] <= most_copies[i] && most_copies[i] <= profile::kAnyCopies);
    if (sample == profile::kNone) continue;
    content.samples.push_back({sample, read_bytes(zero[i]), read_bytes(unread[i]),
                               static_cast<std::uint32_t>(copies[i]),
                               static_cast<std::uint32_t>(most_copies[i])});
  }
  return content;
}

Snapshot decode_snapshot(protozero::pbf_reader reader, const SampleOf& sample_of) {
  Snapshot snapshot;
  snapshot.waste_fault.clear();
  Columns columns;
  read_fields(
      reader, OnField(in_snapshot::kTime, [&] { snapshot.time = read_number(reader); }),
      OnField(in_snapshot::kCost, [&] { snapshot.cost = read_number(reader); }),
      OnField(in_snapshot::kMaps, [&] { snapshot.maps = maps_of(read_numbers(reader)); }),
      OnField(in_snapshot::kCounts, [&] { snapshot.counts = counts_of(read_numbers(reader)); }),
      OnField(in_snapshot::kSamples, [&] { columns.samples = read_numbers(reader); }),
      OnField(in_snapshot::kResident, [&] { columns.resident = read_numbers(reader); }),
      OnField(in_snapshot::kSwapped, [&] { columns.swapped = read_numbers(reader); }),
      OnField(in_snapshot::kResidencyFault, [&] { snapshot.residency_fault = read_text(reader); }),
      OnField(in_snapshot::kWasteSamples, [&] { columns.waste_samples = read_numbers(reader); }),
      OnField(in_snapshot::kWaste, [&] { columns.waste = read_numbers(reader); }),
      OnField(in_snapshot::kWasteFault, [&] { snapshot.waste_fault = read_text(reader); }),
      OnField(in_snapshot::kCensus, [&] { snapshot.census = census_of(read_numbers(reader)); }));
  take_residency(columns, sample_of, snapshot);
  take_waste(columns, sample_of, snapshot);
  return snapshot;
}

ChunkCensus decode_walk(protozero::pbf_reader reader) {
  ChunkCensus walk;
  Numbers bytes, counts;
  read_fields(reader, OnField(in_walk::kTime, [&] { walk.time = read_number(reader); }),
              OnField(in_walk::kBytes, [&] { bytes = read_numbers(reader); }),
              OnField(in_walk::kCounts, [&] { counts = read_numbers(reader); }));
  checked(0, bytes.size() == counts.size());
  Bytes size = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    size = read_bytes(size + checked(read_bytes(bytes[i]), bytes[i] > 0));
    walk.in_use.push_back({size, read_bytes(counts[i])});
  }
  return walk;
}

/// What holders say, as in the payload.
struct HolderColumns {
  std::vector<std::string> types;
  std::vector<Numbers> paths;
  Numbers samples, holds, roots, along, is_alone, beside;
};

profile::HolderPath path_of(const Numbers& numbers, const std::vector<std::string>& types,
                            const SampleOf& sample_of) {
  checked(0, !numbers.empty() && numbers.size() % kStepNumbers == 1);
  profile::HolderPath path;
  for (std::size_t i = 1; i < numbers.size(); i += kStepNumbers) {
    profile::HolderStep& step = path.steps.emplace_back();
    step.bytes = read_bytes(numbers[i]);
    checked(0, numbers[i + 1] <= types.size() && numbers[i + 2] <= std::uint64_t{1} << 32);
    if (numbers[i + 1] > 0) step.type = types[numbers[i + 1] - 1];
    if (numbers[i + 2] > 0) step.sample = sample_of(static_cast<trace::Ref>(numbers[i + 2] - 1));
    step.is_sampled = numbers[i + 2] > 0 && step.sample != profile::kNone;
    step.times = static_cast<std::uint32_t>(std::min<std::uint64_t>(numbers[i + 3], UINT32_MAX));
    checked(0, numbers[i + 4] >= 1 && numbers[i + 4] <= (numbers.size() - i) / kStepNumbers);
    step.together = static_cast<std::uint32_t>(numbers[i + 4]);
  }
  return path;
}

void take_holds(const HolderColumns& columns, const SampleOf& sample_of,
                profile::Holders& holders) {
  const std::size_t count = columns.samples.size();
  for (const Numbers* column :
       {&columns.holds, &columns.roots, &columns.along, &columns.is_alone}) {
    checked(0, column->size() == count);
  }
  for (const Numbers& path : columns.paths) {
    holders.paths.push_back(path_of(path, columns.types, sample_of));
  }
  for (const std::uint64_t other : columns.beside) {
    checked(0, other <= holders.roots.size());
    holders.beside.push_back(other == 0 ? profile::kNone : static_cast<std::uint32_t>(other - 1));
  }
  std::uint64_t ref = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t sample = sample_of(next_ref(ref, columns.samples[i]));
    checked(0, columns.holds[i] < profile::kHolds);
    const auto hold = static_cast<profile::Hold>(columns.holds[i]);
    const bool is_named =
        columns.roots[i] < holders.roots.size() && columns.along[i] < holders.paths.size();
    checked(0, is_named || hold != profile::Hold::kReached);
    if (sample == profile::kNone) continue;
    holders.samples.push_back({sample, hold, columns.is_alone[i] != 0,
                               static_cast<std::uint32_t>(columns.roots[i]),
                               static_cast<std::uint32_t>(columns.along[i])});
  }
}

profile::Holders decode_holders(protozero::pbf_reader reader, const SampleOf& sample_of) {
  profile::Holders holders;
  HolderColumns columns;
  const auto add = [&](std::vector<std::string>& names) {
    checked(0, names.size() < kMostTypeNames);
    names.push_back(read_text(reader));
  };
  read_fields(
      reader, OnField(in_holders::kTime, [&] { holders.time = read_number(reader); }),
      OnField(in_holders::kCost, [&] { holders.cost = read_number(reader); }),
      OnField(in_holders::kScans,
              [&] { holders.scans = static_cast<std::uint32_t>(read_number(reader)); }),
      OnField(in_holders::kIsInferred, [&] { holders.is_inferred = read_number(reader) != 0; }),
      OnField(in_holders::kNotUnderstood,
              [&] { holders.not_understood = read_bytes(read_number(reader)); }),
      OnField(in_holders::kUnread, [&] { holders.unread = read_bytes(read_number(reader)); }),
      OnField(in_holders::kBlocks, [&] { holders.blocks = read_number(reader); }),
      OnField(in_holders::kHasRegisters, [&] { holders.has_registers = read_number(reader) != 0; }),
      OnField(in_holders::kUnreadRegisters,
              [&] { holders.unread_registers = static_cast<std::uint32_t>(read_number(reader)); }),
      OnField(in_holders::kRoots, [&] { add(holders.roots); }),
      OnField(in_holders::kBeside, [&] { columns.beside = read_numbers(reader); }),
      OnField(in_holders::kTypes, [&] { add(columns.types); }),
      OnField(in_holders::kPaths,
              [&] {
                checked(0, columns.paths.size() < kMostTypeNames);
                columns.paths.push_back(read_numbers(reader));
              }),
      OnField(in_holders::kSamples, [&] { columns.samples = read_numbers(reader); }),
      OnField(in_holders::kHolds, [&] { columns.holds = read_numbers(reader); }),
      OnField(in_holders::kHeldBy, [&] { columns.roots = read_numbers(reader); }),
      OnField(in_holders::kHeldAlong, [&] { columns.along = read_numbers(reader); }),
      OnField(in_holders::kIsAlone, [&] { columns.is_alone = read_numbers(reader); }));
  take_holds(columns, sample_of, holders);
  return holders;
}

Observations decode(protozero::pbf_reader reader, const SampleOf& sample_of) {
  Observations observations;
  TypeColumns types;
  read_fields(
      reader,
      OnField(in_observations::kSeries,
              [&] {
                checked(0, observations.series.size() < kMostPoints);
                observations.series.push_back(decode_point(read_message(reader)));
              }),
      OnField(in_observations::kHighWater,
              [&] { observations.high_water = read_bytes(read_number(reader)); }),
      OnField(in_observations::kCost, [&] { observations.cost = read_number(reader); }),
      OnField(in_observations::kWorked, [&] { observations.worked = read_number(reader); }),
      OnField(in_observations::kRefused, [&] { observations.refused = read_number(reader); }),
      OnField(in_observations::kFault, [&] { observations.fault = read_text(reader); }),
      OnField(in_observations::kAtMaximum,
              [&] { observations.at_maximum = decode_snapshot(read_message(reader), sample_of); }),
      OnField(in_observations::kLast,
              [&] { observations.last = decode_snapshot(read_message(reader), sample_of); }),
      OnField(in_observations::kTypeNames,
              [&] {
                checked(0, types.names.size() < kMostTypeNames);
                types.names.push_back(read_text(reader));
              }),
      OnField(in_observations::kTypedSamples, [&] { types.samples = read_numbers(reader); }),
      OnField(in_observations::kTypes, [&] { types.types = read_numbers(reader); }),
      OnField(in_observations::kTypesFault, [&] { observations.types.fault = read_text(reader); }),
      OnField(in_observations::kWalks,
              [&] {
                checked(0, observations.walks.size() < profile::kMostWalks);
                observations.walks.push_back(decode_walk(read_message(reader)));
              }),
      OnField(in_observations::kWalkFault, [&] { observations.walk_fault = read_text(reader); }),
      OnField(in_observations::kHolders,
              [&] { observations.holders = decode_holders(read_message(reader), sample_of); }),
      OnField(in_observations::kHoldersFault,
              [&] { observations.holders_fault = read_text(reader); }),
      OnField(in_observations::kContentAtMaximum,
              [&] {
                observations.content_at_maximum = decode_content(read_message(reader), sample_of);
              }),
      OnField(in_observations::kLastContent,
              [&] { observations.last_content = decode_content(read_message(reader), sample_of); }),
      OnField(in_observations::kContentFault,
              [&] { observations.content_fault = read_text(reader); }));
  take_types(types, sample_of, observations.types);
  checked(0, std::ranges::is_sorted(observations.series, {}, &SeriesPoint::time));
  checked(0, std::ranges::is_sorted(observations.walks, {}, &ChunkCensus::time));
  return observations;
}

}  // namespace

std::string encode_observations(const Observations& observations) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const SeriesPoint& point : observations.series) {
    writer.add_message(in_observations::kSeries, encode(point));
  }
  add_number(writer, in_observations::kHighWater, observations.high_water);
  add_number(writer, in_observations::kCost, observations.cost);
  add_number(writer, in_observations::kWorked, observations.worked);
  add_number(writer, in_observations::kRefused, observations.refused);
  add_text(writer, in_observations::kFault, observations.fault);
  if (observations.at_maximum) {
    writer.add_message(in_observations::kAtMaximum, encode(*observations.at_maximum));
  }
  if (observations.last) writer.add_message(in_observations::kLast, encode(*observations.last));
  encode(observations.types, writer);
  for (const ChunkCensus& walk : observations.walks) {
    writer.add_message(in_observations::kWalks, encode(walk));
  }
  add_text(writer, in_observations::kWalkFault, observations.walk_fault);
  if (observations.holders) {
    writer.add_message(in_observations::kHolders, encode(*observations.holders));
  }
  add_text(writer, in_observations::kHoldersFault, observations.holders_fault);
  if (observations.content_at_maximum) {
    writer.add_message(in_observations::kContentAtMaximum,
                       encode(*observations.content_at_maximum));
  }
  if (observations.last_content) {
    writer.add_message(in_observations::kLastContent, encode(*observations.last_content));
  }
  add_text(writer, in_observations::kContentFault, observations.content_fault);
  return bytes;
}

std::optional<Observations> decode_observations(std::string_view payload,
                                                const SampleOf& sample_of) {
  try {
    return decode(protozero::pbf_reader(payload.data(), payload.size()), sample_of);
  } catch (const Implausible&) {
    return std::nullopt;
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
}

}  // namespace geiger::ingest
