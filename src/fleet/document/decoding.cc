#include <algorithm>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <tuple>
#include <utility>

#include "analysis/ingest/message_fields.h"
#include "analysis/ingest/zstd_frame.h"
#include "fleet/document/encoding.h"
#include "fleet/document/ids.h"
#include "fleet/document/limits.h"
#include "fleet/document/location_columns.h"
#include "fleet/document/message.h"
#include "fleet/document/stack_columns.h"

namespace geiger::fleet {
namespace {

/// Each byte can be a number, and each number a location: limits unpacked data to a multiple of its
/// bytes.
template <typename Number, typename Range>
std::vector<Number> bounded_numbers(const Range& range) {
  std::vector<Number> numbers;
  numbers.reserve(std::min(range.size(), kMostNumbers));
  for (auto number = range.begin(); number != range.end(); ++number) {
    if (numbers.size() == kMostNumbers) throw protozero::invalid_length_exception();
    numbers.push_back(*number);
  }
  return numbers;
}

Numbers numbers_in(protozero::pbf_reader& reader) {
  return bounded_numbers<std::uint64_t>(reader.get_packed_uint64());
}

Differences differences_in(protozero::pbf_reader& reader) {
  return bounded_numbers<std::int64_t>(reader.get_packed_sint64());
}

struct CountColumns {
  Numbers ids, rows, sizes, intervals, sorts, allocated, live;
};

/// The stacks that columns have rows of: first those of the document.
std::vector<StackId> stacks_of(const CountColumns& columns, const std::vector<Stack>& stacks) {
  std::vector<StackId> ids;
  for (const Stack& stack : stacks) ids.push_back(stack.id);
  ids.insert(ids.end(), columns.ids.begin(), columns.ids.end());
  return ids;
}

base::Outcome<std::vector<CountRow>> rows_of(const CountColumns& columns,
                                             const std::vector<StackId>& stacks) {
  const std::size_t count = columns.sizes.size();
  if (count > kMostRows) return base::Failure{"it has too many rows"};
  const bool is_even = columns.intervals.size() == count && columns.sorts.size() == count &&
                       columns.allocated.size() == count && columns.live.size() == count &&
                       columns.rows.size() == stacks.size();
  if (!is_even) return base::Failure{"its columns differ in length"};
  std::vector<CountRow> rows;
  rows.reserve(count);
  for (std::size_t stack = 0; stack < stacks.size(); ++stack) {
    if (columns.rows[stack] > count - rows.size()) {
      return base::Failure{"its columns differ in length"};
    }
    for (std::uint64_t i = 0; i < columns.rows[stack]; ++i) {
      const std::size_t at = rows.size();
      if (columns.sorts[at] >> 1 > profile::kMostThinning) {
        return base::Failure{"it has rows thinned beyond what is possible"};
      }
      rows.push_back({stacks[stack], columns.sizes[at], columns.intervals[at],
                      static_cast<std::uint32_t>(columns.sorts[at] >> 1),
                      (columns.sorts[at] & 1) != 0, columns.allocated[at], columns.live[at]});
    }
  }
  if (rows.size() != count) return base::Failure{"its columns differ in length"};
  std::ranges::sort(rows);
  return rows;
}

base::Outcome<void> read_measured(protozero::pbf_reader reader, Window& window,
                                  CountColumns& columns) {
  namespace f = in_measured;
  Numbers numbers;
  std::vector<std::string> names, values;
  const auto text = [&reader] { return reader.get_string(); };
  const auto take_label = [&](std::vector<std::string>& texts) {
    if (texts.size() > kMostLabels) return reader.skip();
    texts.push_back(text());
  };
  ingest::read_fields(
      reader, ingest::OnField(f::kService, [&] { window.key.service = text(); }),
      ingest::OnField(f::kVersion, [&] { window.key.version = text(); }),
      ingest::OnField(f::kHost, [&] { window.key.host = text(); }),
      ingest::OnField(f::kProcess, [&] { window.key.process = reader.get_fixed64(); }),
      ingest::OnField(f::kStarted, [&] { window.key.started = reader.get_sint64(); }),
      ingest::OnField(f::kNumbers, [&] { numbers = numbers_in(reader); }),
      ingest::OnField(f::kSeed, [&] { window.seed = reader.get_fixed64(); }),
      ingest::OnField(f::kExact, [&] { window.exact_bytes = reader.get_uint64(); }),
      ingest::OnField(f::kSkew, [&] { window.skew_ms = reader.get_sint32(); }),
      ingest::OnField(f::kExecutable, [&] { window.executable = text(); }),
      ingest::OnField(f::kLabelName, [&] { take_label(names); }),
      ingest::OnField(f::kLabelValue, [&] { take_label(values); }),
      ingest::OnField(f::kStackIds,
                      [&] {
                        const auto range = reader.get_packed_fixed64();
                        columns.ids.assign(range.begin(), range.end());
                      }),
      ingest::OnField(f::kRowsOfStack, [&] { columns.rows = numbers_in(reader); }),
      ingest::OnField(f::kSizes, [&] { columns.sizes = numbers_in(reader); }),
      ingest::OnField(f::kIntervals, [&] { columns.intervals = numbers_in(reader); }),
      ingest::OnField(f::kSorts, [&] { columns.sorts = numbers_in(reader); }),
      ingest::OnField(f::kAllocated, [&] { columns.allocated = numbers_in(reader); }),
      ingest::OnField(f::kLive, [&] { columns.live = numbers_in(reader); }));
  constexpr std::size_t kFlags = 3;
  if (numbers.size() < kPlainNumbers + kFlags) return base::Failure{"its window is incomplete"};
  std::size_t at = 0;
  std::apply([&](auto&... each) { ((each = numbers[at++]), ...); }, plain_numbers(window));
  if (numbers[at] > profile::kMostThinning) {
    return base::Failure{"it was thinned beyond what is possible"};
  }
  window.thinning = static_cast<std::uint32_t>(numbers[at]);
  window.is_from_start = numbers[at + 1] != 0;
  window.is_pure = numbers[at + 2] != 0;
  if (names.size() != values.size()) return base::Failure{"it has labels without values"};
  for (std::size_t i = 0; i < names.size(); ++i) window.labels[names[i]] = values[i];
  return {};
}

base::Outcome<Document> read_document(std::string_view message) {
  namespace f = in_document;
  Document document;
  LocationColumns locations;
  StackColumns stacks;
  CountColumns columns;
  base::Outcome<void> measured = base::Failure{"it has no window"};
  protozero::pbf_reader reader(message.data(), message.size());
  const auto numbers = [&reader](int field, Numbers& column) {
    return ingest::OnField(field, [&] { column = numbers_in(reader); });
  };
  const auto differences = [&reader](int field, Differences& column) {
    return ingest::OnField(field, [&] { column = differences_in(reader); });
  };
  ingest::read_fields(
      reader,
      ingest::OnField(
          f::kMeasured,
          [&] { measured = read_measured(reader.get_message(), document.window, columns); }),
      ingest::OnField(f::kTexts, [&] { locations.texts = reader.get_string(); }),
      numbers(f::kKinds, locations.kinds), differences(f::kPaths, locations.paths),
      differences(f::kBuildIds, locations.build_ids),
      differences(f::kModulesOfLocations, locations.modules),
      differences(f::kAddresses, locations.addresses),
      numbers(f::kFramesOfLocations, locations.frames),
      differences(f::kFunctions, locations.functions),
      differences(f::kSystemNames, locations.system_names), differences(f::kFiles, locations.files),
      differences(f::kLines, locations.lines), numbers(f::kLeft, stacks.left),
      numbers(f::kTruncated, stacks.truncated), numbers(f::kSteps, stacks.steps),
      differences(f::kOthers, stacks.others));
  GEIGER_TRY(measured);
  GEIGER_TRY(add_locations(locations, document));
  GEIGER_TRY(add_stacks(stacks, document));
  document.counts = GEIGER_TRY(rows_of(columns, stacks_of(columns, document.stacks)));
  GEIGER_TRY(check_limits(document));
  return document;
}

std::uint64_t number_at(std::string_view bytes, std::size_t place, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[place + i])} << (8 * i);
  }
  return number;
}

}  // namespace

std::size_t unpacked_size(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < kHeaderBytes) return 0;
  return number_at(bytes, kMagic.size(), kSizeBytes);
}

base::Outcome<Document> unpack(std::string_view bytes) {
  if (bytes.size() > kMostPackedBytes) return base::Failure{"it is too large for a document"};
  if (!bytes.starts_with(kMagic) || bytes.size() < kHeaderBytes) {
    return base::Failure{"it is not a geiger document"};
  }
  const std::size_t size = unpacked_size(bytes);
  if (size > kMostBytes) return base::Failure{"it would unpack to more than a document may have"};
  const std::string_view frame = bytes.substr(kHeaderBytes);
  if (hash_of(frame) != number_at(bytes, kMagic.size() + kSizeBytes, kHashBytes)) {
    return base::Failure{"it was cut off or damaged"};
  }
  const auto message = ingest::from_zstd_frame(frame, size);
  if (!message) return base::Failure{"it cannot be unpacked"};
  try {
    return read_document(*message);
  } catch (const protozero::exception&) {
    return base::Failure{"it is damaged"};
  }
}

}  // namespace geiger::fleet
