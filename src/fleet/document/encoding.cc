// The message that a document becomes: its fields, and the frame around it. Shared by encoding.cc
// and encoding.cc.
#include "fleet/document/encoding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/ingest/payload.h"
#include "base/check.h"
#include "fleet/document/columns.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

// Field numbers. A number is never used again for another field.
//
// Columns of like numbers and texts, since like beside like packs best. Rows are those of the
// document's stacks, in their order, and then those of the stacks that are only named by their ids.
namespace in_document {
inline constexpr int kMeasured = 1, kModulesOfLocations = 12, kAddresses = 13,
                     kFramesOfLocations = 14, kTexts = 15, kKinds = 16, kPaths = 17, kBuildIds = 18,
                     kFunctions = 19, kSystemNames = 20, kFiles = 21, kLines = 22, kLeft = 23,
                     kTruncated = 7, kSteps = 24, kOthers = 25;
}
namespace in_measured {
inline constexpr int kService = 1, kVersion = 2, kHost = 3, kProcess = 4, kStarted = 5,
                     kNumbers = 6, kSeed = 7, kExact = 8, kSkew = 9, kExecutable = 10,
                     kLabelName = 11, kLabelValue = 12, kStackIds = 13, kRowsOfStack = 20,
                     kSizes = 15, kIntervals = 16, kSorts = 17, kAllocated = 18, kLive = 19,
                     kBegan = 21, kUnsettledBefore = 22;
}

/// The plain numbers of Window, in the order of the message.
template <typename Its>
auto plain_numbers(Its& window) {
  return std::tie(window.recorded_ms, window.alive_ms, window.interval, window.unsettled_bytes,
                  window.rss_byte_seconds, window.trials, window.hits, window.dropped,
                  window.sequence);
}
inline constexpr std::size_t kPlainNumbers =
    std::tuple_size_v<decltype(plain_numbers(std::declval<Window&>()))>;

inline constexpr std::string_view kMagic = "geigdoc3";
// After the magic: the unpacked size, and a hash of the frame, so that a damaged bit never changes
// a count.
inline constexpr std::size_t kSizeBytes = 4, kHashBytes = 8;
inline constexpr std::size_t kHeaderBytes = kMagic.size() + kSizeBytes + kHashBytes;

namespace {

constexpr int kLevel = 9;  // Once per window: small rather than quick.

/// A message that is written field by field. Each column is packed with a code of its own.
class MessageWriter {
 public:
  MessageWriter() : fields_(bytes_) {}
  MessageWriter(const MessageWriter&) = delete;
  MessageWriter& operator=(const MessageWriter&) = delete;

  [[nodiscard]] protozero::pbf_writer& fields() { return fields_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string packed() const {
    return ingest::zstd_frame_of(bytes_, kLevel, column_ends_);
  }

  void add_text(protozero::pbf_tag_type field, std::string_view text) {
    fields_.add_string(field, document_text(text));
  }
  void add_column(protozero::pbf_tag_type field, const std::string& texts) {
    fields_.add_string(field, texts);
    column_ends_.push_back(bytes_.size());
  }
  void add_column(protozero::pbf_tag_type field, const Numbers& numbers) {
    fields_.add_packed_uint64(field, numbers.begin(), numbers.end());
    column_ends_.push_back(bytes_.size());
  }
  void add_column(protozero::pbf_tag_type field, const Differences& differences) {
    fields_.add_packed_sint64(field, differences.begin(), differences.end());
    column_ends_.push_back(bytes_.size());
  }
  void add_message(protozero::pbf_tag_type field, const MessageWriter& message) {
    fields_.add_message(field, message.bytes_);
    const std::size_t start = bytes_.size() - message.bytes_.size();
    for (const std::size_t end : message.column_ends_) column_ends_.push_back(start + end);
  }

 private:
  std::string bytes_;
  protozero::pbf_writer fields_;
  std::vector<std::size_t> column_ends_;
};

void add_window(MessageWriter& writer, const Window& window) {
  writer.add_text(in_measured::kService, window.key.service);
  writer.add_text(in_measured::kVersion, window.key.version);
  writer.add_text(in_measured::kHost, window.key.host);
  writer.fields().add_fixed64(in_measured::kProcess, window.key.process);
  writer.fields().add_sint64(in_measured::kStarted, window.key.started);
  Numbers numbers;
  std::apply([&](const auto&... each) { (numbers.push_back(each), ...); }, plain_numbers(window));
  numbers.insert(numbers.end(), {window.thinning, window.is_from_start, window.is_pure});
  writer.add_column(in_measured::kNumbers, numbers);
  writer.fields().add_fixed64(in_measured::kSeed, window.seed);
  if (window.exact_bytes) writer.fields().add_uint64(in_measured::kExact, *window.exact_bytes);
  writer.fields().add_sint32(in_measured::kSkew, window.skew_ms);
  writer.add_text(in_measured::kExecutable, window.executable);
  for (const auto& [name, value] : window.labels) {
    writer.add_text(in_measured::kLabelName, name);
    writer.add_text(in_measured::kLabelValue, value);
  }
}

/// How a row's samples were drawn.
std::uint64_t sort_of(const CountRow& row) {
  return std::uint64_t{row.thinning} << 1 | static_cast<std::uint64_t>(row.is_certain);
}

/// The rows of one stack.
using RowsOfStack = std::span<const CountRow>;

std::map<StackId, RowsOfStack> by_stack(const std::vector<CountRow>& counts) {
  std::map<StackId, RowsOfStack> groups;
  for (std::size_t i = 0, end = 0; i < counts.size(); i = end) {
    while (end < counts.size() && counts[end].stack == counts[i].stack) ++end;
    groups[counts[i].stack] = RowsOfStack(counts).subspan(i, end - i);
  }
  return groups;
}

/// `stacks` are those that the reader finds in the document: they need no ids.
void add_counts(MessageWriter& writer, const std::vector<CountRow>& counts,
                const std::vector<Stack>& stacks) {
  Numbers ids, rows, sizes, intervals, sorts, allocated, live;
  const auto add = [&](RowsOfStack of_stack) {
    rows.push_back(of_stack.size());
    for (const CountRow& row : of_stack) {
      sizes.push_back(row.size);
      intervals.push_back(row.interval);
      sorts.push_back(sort_of(row));
      allocated.push_back(row.allocated);
      live.push_back(row.live);
    }
  };
  auto groups = by_stack(counts);
  for (const Stack& stack : stacks) add(std::exchange(groups[stack.id], {}));
  for (const auto& [id, of_stack] : groups) {
    if (of_stack.empty()) continue;
    ids.push_back(id);
    add(of_stack);
  }
  writer.fields().add_packed_fixed64(in_measured::kStackIds, ids.begin(), ids.end());
  writer.add_column(in_measured::kRowsOfStack, rows);
  writer.add_column(in_measured::kSizes, sizes);
  writer.add_column(in_measured::kIntervals, intervals);
  writer.add_column(in_measured::kSorts, sorts);
  writer.add_column(in_measured::kAllocated, allocated);
  writer.add_column(in_measured::kLive, live);
}

/// The window and its counts, as they are sent with `stacks`.
void add_measured(MessageWriter& writer, const Document& document,
                  const std::vector<Stack>& stacks) {
  add_window(writer, document.window);
  add_counts(writer, document.counts, stacks);
}

void add_locations(MessageWriter& writer, const std::vector<Location>& locations) {
  namespace f = in_document;
  const LocationColumns columns = columns_of(locations);
  writer.add_column(f::kTexts, columns.texts);
  writer.add_column(f::kKinds, columns.kinds);
  writer.add_column(f::kPaths, columns.paths);
  writer.add_column(f::kBuildIds, columns.build_ids);
  writer.add_column(f::kModulesOfLocations, columns.modules);
  writer.add_column(f::kAddresses, columns.addresses);
  writer.add_column(f::kFramesOfLocations, columns.frames);
  writer.add_column(f::kFunctions, columns.functions);
  writer.add_column(f::kSystemNames, columns.system_names);
  writer.add_column(f::kFiles, columns.files);
  writer.add_column(f::kLines, columns.lines);
}

void add_stacks(MessageWriter& writer, const Document& document) {
  namespace f = in_document;
  const StackColumns columns = columns_of_stacks(document);
  writer.add_column(f::kLeft, columns.left);
  writer.add_column(f::kTruncated, columns.truncated);
  writer.add_column(f::kSteps, columns.steps);
  writer.add_column(f::kOthers, columns.others);
}

void append_number(std::string& bytes, std::uint64_t number, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(number >> (8 * i) & 0xff));
  }
}

}  // namespace

std::string pack(const Document& document) {
  GEIGER_CHECK(check_limits(document).has_value());
  MessageWriter measured, message;
  add_measured(measured, document, document.stacks);
  // Not part of the content: a window that an older geiger stored without them is the same.
  measured.fields().add_sint64(in_measured::kBegan, document.window.began_ms);
  measured.fields().add_uint64(in_measured::kUnsettledBefore, document.window.unsettled_before);
  message.add_message(in_document::kMeasured, measured);
  add_locations(message, document.locations);
  add_stacks(message, document);
  const std::string frame = message.packed();
  std::string bytes(kMagic);
  append_number(bytes, message.bytes().size(), kSizeBytes);
  append_number(bytes, hash_of(frame), kHashBytes);
  return bytes + frame;
}

std::uint64_t content_of(const Document& document) {
  MessageWriter measured;
  add_measured(measured, document, {});
  return hash_of(measured.bytes());
}

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
      ingest::OnField(f::kBegan, [&] { window.began_ms = reader.get_sint64(); }),
      ingest::OnField(f::kUnsettledBefore, [&] { window.unsettled_before = reader.get_uint64(); }),
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
  if (window.began_ms == 0) window.began_ms = window.key.started * 1000;  // Of an older geiger.
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
