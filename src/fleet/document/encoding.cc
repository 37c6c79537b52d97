#include "fleet/document/encoding.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/ingest/zstd_frame.h"
#include "base/check.h"
#include "fleet/document/ids.h"
#include "fleet/document/limits.h"
#include "fleet/document/location_columns.h"
#include "fleet/document/message.h"
#include "fleet/document/stack_columns.h"

namespace geiger::fleet {
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

}  // namespace geiger::fleet
