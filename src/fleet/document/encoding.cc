#include "fleet/document/encoding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/ingest/message_fields.h"
#include "analysis/ingest/zstd_frame.h"
#include "base/check.h"
#include "base/utf8_text.h"
#include "fleet/document/ids.h"
#include "fleet/document/limits.h"

namespace geiger::fleet {
namespace {

using Numbers = std::vector<std::uint64_t>;

constexpr std::string_view kMagic = "geigdoc1";
constexpr int kLevel = 9;  // Once per window: small rather than quick.

// Field numbers. None is ever used again for something else.
namespace in_document {
constexpr int kMeasured = 1, kModule = 2, kLocationModules = 3, kAddresses = 4, kNames = 5,
              kDepths = 6, kTruncated = 7, kLocations = 8;
}
namespace in_measured {
constexpr int kService = 1, kVersion = 2, kHost = 3, kProcess = 4, kStarted = 5, kNumbers = 6,
              kSeed = 7, kExact = 8, kSkew = 9, kExecutable = 10, kLabelName = 11, kLabelValue = 12,
              kStackIds = 13, kRowsOfStack = 14, kSizes = 15, kIntervals = 16, kSorts = 17,
              kAllocated = 18, kLive = 19;
}
namespace in_module {
constexpr int kBuildId = 1, kPath = 2, kKind = 3;
}
namespace in_names {
constexpr int kLocation = 1, kFunction = 2, kSystemName = 3, kFile = 4, kLine = 5;
}

/// What Window has as plain numbers, in the order of the message.
template <typename Its>
auto plain_numbers(Its& window) {
  return std::tie(window.recorded_ms, window.alive_ms, window.interval, window.unsettled_bytes,
                  window.rss_byte_seconds, window.trials, window.hits, window.dropped,
                  window.sequence);
}
constexpr std::size_t kPlainNumbers =
    std::tuple_size_v<decltype(plain_numbers(std::declval<Window&>()))>;

// ---------------------------------------------------------------- packing ----

/// Texts are what programs and files are called, so bytes of any kind.
void add_text(protozero::pbf_writer& writer, int field, std::string_view text) {
  writer.add_string(static_cast<protozero::pbf_tag_type>(field),
                    to_valid_utf8(text.substr(0, kMostText)));
}

void add_numbers(protozero::pbf_writer& writer, int field, const Numbers& numbers) {
  writer.add_packed_uint64(static_cast<protozero::pbf_tag_type>(field), numbers.begin(),
                           numbers.end());
}

void add_window(protozero::pbf_writer& writer, const Window& window) {
  add_text(writer, in_measured::kService, window.key.service);
  add_text(writer, in_measured::kVersion, window.key.version);
  add_text(writer, in_measured::kHost, window.key.host);
  writer.add_fixed64(in_measured::kProcess, window.key.process);
  writer.add_sint64(in_measured::kStarted, window.key.started);
  Numbers numbers;
  std::apply([&](const auto&... each) { (numbers.push_back(each), ...); }, plain_numbers(window));
  numbers.insert(numbers.end(), {window.thinning, window.is_from_start, window.is_pure});
  add_numbers(writer, in_measured::kNumbers, numbers);
  writer.add_fixed64(in_measured::kSeed, window.seed);
  if (window.exact_bytes) writer.add_uint64(in_measured::kExact, *window.exact_bytes);
  writer.add_sint32(in_measured::kSkew, window.skew_ms);
  add_text(writer, in_measured::kExecutable, window.executable);
  for (const auto& [name, value] : window.labels) {
    add_text(writer, in_measured::kLabelName, name);
    add_text(writer, in_measured::kLabelValue, value);
  }
}

/// How a row's samples were drawn.
std::uint64_t sort_of(const CountRow& row) {
  return std::uint64_t{row.thinning} << 1 | static_cast<std::uint64_t>(row.is_certain);
}

void add_counts(protozero::pbf_writer& writer, const std::vector<CountRow>& counts) {
  Numbers stacks, rows, sizes, intervals, sorts, allocated, live;
  for (const CountRow& row : counts) {
    if (stacks.empty() || stacks.back() != row.stack) {
      stacks.push_back(row.stack);
      rows.push_back(0);
    }
    ++rows.back();
    sizes.push_back(row.size);
    intervals.push_back(row.interval);
    sorts.push_back(sort_of(row));
    allocated.push_back(row.allocated);
    live.push_back(row.live);
  }
  writer.add_packed_fixed64(in_measured::kStackIds, stacks.begin(), stacks.end());
  add_numbers(writer, in_measured::kRowsOfStack, rows);
  add_numbers(writer, in_measured::kSizes, sizes);
  add_numbers(writer, in_measured::kIntervals, intervals);
  add_numbers(writer, in_measured::kSorts, sorts);
  add_numbers(writer, in_measured::kAllocated, allocated);
  add_numbers(writer, in_measured::kLive, live);
}

std::string measured(const Document& document) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  add_window(writer, document.window);
  add_counts(writer, document.counts);
  return bytes;
}

void add_locations(protozero::pbf_writer& writer, const std::vector<Location>& locations) {
  std::map<std::tuple<std::string, std::string, profile::ModuleKind>, std::uint64_t> known;
  Numbers modules;
  std::vector<std::int64_t> addresses;
  Address before = 0;
  for (const Location& location : locations) {
    const auto [at, is_new] =
        known.try_emplace({location.build_id, location.module, location.kind}, known.size());
    if (is_new) {
      protozero::pbf_writer module(writer, in_document::kModule);
      add_text(module, in_module::kBuildId, location.build_id);
      add_text(module, in_module::kPath, location.module);
      module.add_uint32(in_module::kKind, static_cast<std::uint32_t>(location.kind));
    }
    modules.push_back(at->second);
    addresses.push_back(static_cast<std::int64_t>(location.address - before));
    before = location.address;
  }
  add_numbers(writer, in_document::kLocationModules, modules);
  writer.add_packed_sint64(in_document::kAddresses, addresses.begin(), addresses.end());
  for (std::size_t i = 0; i < locations.size(); ++i) {
    for (const profile::Frame& frame : locations[i].frames) {
      protozero::pbf_writer name(writer, in_document::kNames);
      name.add_uint64(in_names::kLocation, i);
      add_text(name, in_names::kFunction, frame.function);
      add_text(name, in_names::kSystemName, frame.system_name);
      add_text(name, in_names::kFile, frame.file);
      name.add_uint32(in_names::kLine, frame.line);
    }
  }
}

void add_stacks(protozero::pbf_writer& writer, const Document& document) {
  std::unordered_map<LocationId, std::uint64_t> places;
  for (std::size_t i = 0; i < document.locations.size(); ++i) places[document.locations[i].id] = i;
  Numbers depths, truncated, locations;
  for (const Stack& stack : document.stacks) {
    depths.push_back(stack.locations.size());
    truncated.push_back(static_cast<std::uint64_t>(stack.is_truncated));
    for (const LocationId location : stack.locations) locations.push_back(places.at(location));
  }
  add_numbers(writer, in_document::kDepths, depths);
  add_numbers(writer, in_document::kTruncated, truncated);
  add_numbers(writer, in_document::kLocations, locations);
}

// -------------------------------------------------------------- unpacking ----

/// A byte can be a number, and a number a location: what is unpacked stays within some times its
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
  Numbers stacks, rows, sizes, intervals, sorts, allocated, live;
};

base::Outcome<std::vector<CountRow>> rows_of(const Columns& columns) {
  const std::size_t count = columns.sizes.size();
  if (count > kMostRows) return base::Failure{"it has more rows than any document"};
  const bool is_even = columns.intervals.size() == count && columns.sorts.size() == count &&
                       columns.allocated.size() == count && columns.live.size() == count &&
                       columns.rows.size() == columns.stacks.size();
  if (!is_even) return base::Failure{"its columns differ in length"};
  std::vector<CountRow> rows;
  rows.reserve(count);
  for (std::size_t stack = 0; stack < columns.stacks.size(); ++stack) {
    if (columns.rows[stack] > count - rows.size()) {
      return base::Failure{"its columns differ in length"};
    }
    for (std::uint64_t i = 0; i < columns.rows[stack]; ++i) {
      const std::size_t at = rows.size();
      if (columns.sorts[at] >> 1 > profile::kMostThinning) {
        return base::Failure{"it has rows thinned beyond what is possible"};
      }
      rows.push_back({columns.stacks[stack], columns.sizes[at], columns.intervals[at],
                      static_cast<std::uint32_t>(columns.sorts[at] >> 1),
                      (columns.sorts[at] & 1) != 0, columns.allocated[at], columns.live[at]});
    }
  }
  if (rows.size() != count) return base::Failure{"its columns differ in length"};
  return rows;
}

base::Outcome<void> read_measured(protozero::pbf_reader reader, Document& document) {
  namespace f = in_measured;
  Window& window = document.window;
  Numbers numbers;
  Columns columns;
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
                        columns.stacks.assign(range.begin(), range.end());
                      }),
      ingest::OnField(f::kRowsOfStack, [&] { columns.rows = numbers_in(reader); }),
      ingest::OnField(f::kSizes, [&] { columns.sizes = numbers_in(reader); }),
      ingest::OnField(f::kIntervals, [&] { columns.intervals = numbers_in(reader); }),
      ingest::OnField(f::kSorts, [&] { columns.sorts = numbers_in(reader); }),
      ingest::OnField(f::kAllocated, [&] { columns.allocated = numbers_in(reader); }),
      ingest::OnField(f::kLive, [&] { columns.live = numbers_in(reader); }));
  constexpr std::size_t kFlags = 3;
  if (numbers.size() < kPlainNumbers + kFlags) return base::Failure{"its window is not complete"};
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
  auto rows = rows_of(columns);
  if (!rows.has_value()) return rows.failure();
  document.counts = std::move(rows.value());
  return {};
}

constexpr std::size_t kMostNames = 2 * kMostLocations;  // Of functions that were inlined, too.

/// What a document says of its stacks, before it is put together.
struct Referents {
  std::vector<Location> modules;  ///< Only what concerns the module.
  Numbers location_modules, depths, truncated, locations;
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

base::Outcome<void> put_together(const Referents& referents, Document& document) {
  if (referents.location_modules.size() != referents.addresses.size() ||
      referents.depths.size() != referents.truncated.size()) {
    return base::Failure{"its columns differ in length"};
  }
  if (referents.addresses.size() > kMostLocations || referents.depths.size() > kMostStacks ||
      referents.names.size() > kMostNames || referents.modules.size() > kMostLocations) {
    return base::Failure{"it has more stacks than any document"};
  }
  Address address = 0;
  for (std::size_t i = 0; i < referents.addresses.size(); ++i) {
    if (referents.location_modules[i] >= referents.modules.size()) {
      return base::Failure{"a location is in no module"};
    }
    Location& location =
        document.locations.emplace_back(referents.modules[referents.location_modules[i]]);
    location.address = address += static_cast<Address>(referents.addresses[i]);
  }
  for (const auto& [at, frame] : referents.names) {
    if (at >= document.locations.size()) return base::Failure{"a name is of no location"};
    document.locations[at].frames.push_back(frame);
  }
  for (Location& location : document.locations) location.id = id_of(location);
  std::size_t next = 0;
  for (std::size_t i = 0; i < referents.depths.size(); ++i) {
    const std::uint64_t depth = referents.depths[i];
    if (depth > kMostDepth || depth > referents.locations.size() - next) {
      return base::Failure{"a stack is deeper than what it consists of"};
    }
    Stack stack;
    stack.is_truncated = referents.truncated[i] != 0;
    for (std::uint64_t level = 0; level < depth; ++level) {
      const std::uint64_t at = referents.locations[next++];
      if (at >= document.locations.size()) return base::Failure{"a stack has an unknown location"};
      stack.locations.push_back(document.locations[at].id);
    }
    stack.id = id_of(stack);
    document.stacks.push_back(std::move(stack));
  }
  return {};
}

base::Outcome<Document> read_document(std::string_view message) {
  namespace f = in_document;
  Document document;
  Referents referents;
  base::Outcome<void> measured = base::Failure{"it has no window"};
  protozero::pbf_reader reader(message.data(), message.size());
  ingest::read_fields(
      reader,
      ingest::OnField(f::kMeasured,
                      [&] { measured = read_measured(reader.get_message(), document); }),
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
      ingest::OnField(f::kDepths, [&] { referents.depths = numbers_in(reader); }),
      ingest::OnField(f::kTruncated, [&] { referents.truncated = numbers_in(reader); }),
      ingest::OnField(f::kLocations, [&] { referents.locations = numbers_in(reader); }));
  if (!measured.has_value()) return measured.failure();
  const auto whole = put_together(referents, document);
  if (!whole.has_value()) return whole.failure();
  if (const auto problem = problem_with(document)) return base::Failure{*problem};
  return document;
}

// Behind the magic: the size unpacked, and a hash of the frame. A disk that changed a bit must not
// change a count.
constexpr std::size_t kSizeBytes = 4, kHashBytes = 8;
constexpr std::size_t kHeaderBytes = kMagic.size() + kSizeBytes + kHashBytes;

void append_number(std::string& bytes, std::uint64_t number, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(number >> (8 * i) & 0xff));
  }
}

std::uint64_t number_at(std::string_view bytes, std::size_t place, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(bytes[place + i])} << (8 * i);
  }
  return number;
}

}  // namespace

std::string pack(const Document& document) {
  GEIGER_CHECK(!problem_with(document));
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_message(in_document::kMeasured, measured(document));
  add_locations(writer, document.locations);
  add_stacks(writer, document);
  const std::string frame = ingest::zstd_frame_of(message, kLevel);
  std::string bytes(kMagic);
  append_number(bytes, message.size(), kSizeBytes);
  append_number(bytes, hash_of(frame), kHashBytes);
  return bytes + frame;
}

std::size_t unpacked_size(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < kHeaderBytes) return 0;
  return number_at(bytes, kMagic.size(), kSizeBytes);
}

base::Outcome<Document> unpack(std::string_view bytes) {
  if (bytes.size() > kMostPackedBytes) return base::Failure{"it is larger than any document"};
  if (!bytes.starts_with(kMagic) || bytes.size() < kHeaderBytes) {
    return base::Failure{"it is no document of geiger's"};
  }
  const std::size_t size = unpacked_size(bytes);
  if (size > kMostBytes) return base::Failure{"it would unpack to more than any document"};
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

std::uint64_t content_of(const Document& document) { return hash_of(measured(document)); }

}  // namespace geiger::fleet
