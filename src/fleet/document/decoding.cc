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
#include "fleet/document/message.h"

namespace geiger::fleet {
namespace {

/// Each byte can be a number, and each number a location: limits unpacked data to a multiple of its
/// bytes.
template <typename Number, typename Range>
std::vector<Number> bounded_numbers(const Range& range) {
  std::vector<Number> numbers;
  for (auto number = range.begin(); number != range.end(); ++number) {
    if (numbers.size() == kMostPositions) throw protozero::invalid_length_exception();
    numbers.push_back(*number);
  }
  return numbers;
}

Numbers numbers_in(protozero::pbf_reader& reader) {
  return bounded_numbers<std::uint64_t>(reader.get_packed_uint64());
}

struct Columns {
  Numbers ids, rows, sizes, intervals, sorts, allocated, live;
};

/// The stacks that columns have rows of: first those of the document.
std::vector<StackId> stacks_of(const Columns& columns, const std::vector<Stack>& stacks) {
  std::vector<StackId> ids;
  for (const Stack& stack : stacks) ids.push_back(stack.id);
  ids.insert(ids.end(), columns.ids.begin(), columns.ids.end());
  return ids;
}

base::Outcome<std::vector<CountRow>> rows_of(const Columns& columns,
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

base::Outcome<void> read_measured(protozero::pbf_reader reader, Window& window, Columns& columns) {
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

constexpr std::size_t kMostNames = 2 * kMostLocations;  // Of functions that were inlined, too.

/// The columns about stacks, before they are put together.
struct Referents {
  std::vector<Location> modules;  ///< With their module's fields only.
  Numbers location_modules, shared, depths, truncated, locations;
  std::vector<std::int64_t> addresses;
  std::vector<std::pair<std::uint64_t, profile::Frame>> names;  ///< By location.
};

Location read_module(protozero::pbf_reader reader) {
  Location module;
  std::uint32_t kind = 0;
  ingest::read_fields(
      reader, ingest::OnField(in_module::kBuildId, [&] { module.build_id = reader.get_string(); }),
      ingest::OnField(in_module::kPath, [&] { module.module = reader.get_string(); }),
      ingest::OnField(in_module::kKind, [&] { kind = reader.get_uint32(); }));
  constexpr auto kLast = static_cast<std::uint32_t>(profile::ModuleKind::kSource);
  module.kind = static_cast<profile::ModuleKind>(std::min(kind, kLast));
  return module;
}

std::pair<std::uint64_t, profile::Frame> read_name(protozero::pbf_reader reader) {
  std::pair<std::uint64_t, profile::Frame> name;
  profile::Frame& frame = name.second;
  ingest::read_fields(
      reader, ingest::OnField(in_names::kLocation, [&] { name.first = reader.get_uint64(); }),
      ingest::OnField(in_names::kFunction, [&] { frame.function = reader.get_string(); }),
      ingest::OnField(in_names::kSystemName, [&] { frame.system_name = reader.get_string(); }),
      ingest::OnField(in_names::kFile, [&] { frame.file = reader.get_string(); }),
      ingest::OnField(in_names::kLine, [&] { frame.line = reader.get_uint32(); }));
  return name;
}

base::Outcome<void> add_stacks(const Referents& referents, Document& document) {
  std::size_t next = 0, positions = 0;
  std::vector<LocationId> path;  // From the root.
  for (std::size_t i = 0; i < referents.depths.size(); ++i) {
    const std::uint64_t shared = referents.shared[i], depth = referents.depths[i];
    const bool is_sound = shared <= path.size() && depth <= referents.locations.size() - next &&
                          shared + depth <= kMostDepth;
    if (!is_sound) return base::Failure{"a stack is deeper than its locations"};
    positions += shared + depth;
    if (positions > kMostPositions) return base::Failure{"it has too many stacks"};
    path.resize(shared);
    for (std::uint64_t level = 0; level < depth; ++level) {
      const std::uint64_t at = referents.locations[next++];
      if (at >= document.locations.size()) return base::Failure{"a stack has an unknown location"};
      path.push_back(document.locations[at].id);
    }
    Stack stack;
    stack.is_truncated = referents.truncated[i] != 0;
    stack.locations.assign(path.rbegin(), path.rend());
    stack.id = id_of(stack);
    document.stacks.push_back(std::move(stack));
  }
  return {};
}

base::Outcome<void> put_together(const Referents& referents, Document& document) {
  if (referents.location_modules.size() != referents.addresses.size() ||
      referents.depths.size() != referents.truncated.size() ||
      referents.depths.size() != referents.shared.size()) {
    return base::Failure{"its columns differ in length"};
  }
  if (referents.addresses.size() > kMostLocations || referents.depths.size() > kMostStacks ||
      referents.names.size() > kMostNames || referents.modules.size() > kMostLocations) {
    return base::Failure{"it has too many stacks"};
  }
  Address address = 0;
  for (std::size_t i = 0; i < referents.addresses.size(); ++i) {
    if (referents.location_modules[i] >= referents.modules.size()) {
      return base::Failure{"a location has no module"};
    }
    Location& location =
        document.locations.emplace_back(referents.modules[referents.location_modules[i]]);
    location.address = address += static_cast<Address>(referents.addresses[i]);
  }
  for (const auto& [at, frame] : referents.names) {
    if (at >= document.locations.size()) return base::Failure{"a name has no location"};
    document.locations[at].frames.push_back(frame);
  }
  for (Location& location : document.locations) location.id = id_of(location);
  return add_stacks(referents, document);
}

base::Outcome<Document> read_document(std::string_view message) {
  namespace f = in_document;
  Document document;
  Referents referents;
  Columns columns;
  base::Outcome<void> measured = base::Failure{"it has no window"};
  protozero::pbf_reader reader(message.data(), message.size());
  ingest::read_fields(
      reader,
      ingest::OnField(
          f::kMeasured,
          [&] { measured = read_measured(reader.get_message(), document.window, columns); }),
      ingest::OnField(f::kModule,
                      [&] {
                        if (referents.modules.size() > kMostLocations) return reader.skip();
                        referents.modules.push_back(read_module(reader.get_message()));
                      }),
      ingest::OnField(f::kLocationModules,
                      [&] { referents.location_modules = numbers_in(reader); }),
      ingest::OnField(
          f::kAddresses,
          [&] { referents.addresses = bounded_numbers<std::int64_t>(reader.get_packed_sint64()); }),
      ingest::OnField(f::kNames,
                      [&] {
                        if (referents.names.size() > kMostNames) return reader.skip();
                        referents.names.push_back(read_name(reader.get_message()));
                      }),
      ingest::OnField(f::kShared, [&] { referents.shared = numbers_in(reader); }),
      ingest::OnField(f::kDepths, [&] { referents.depths = numbers_in(reader); }),
      ingest::OnField(f::kTruncated, [&] { referents.truncated = numbers_in(reader); }),
      ingest::OnField(f::kLocations, [&] { referents.locations = numbers_in(reader); }));
  if (!measured.has_value()) return measured.failure();
  const auto whole = put_together(referents, document);
  if (!whole.has_value()) return whole.failure();
  auto rows = rows_of(columns, stacks_of(columns, document.stacks));
  if (!rows.has_value()) return rows.failure();
  document.counts = std::move(rows.value());
  if (const auto checked = check_limits(document); !checked.has_value()) return checked.failure();
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
