#include "fleet/document/encoding.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/ingest/zstd_frame.h"
#include "base/check.h"
#include "base/utf8_text.h"
#include "fleet/document/ids.h"
#include "fleet/document/limits.h"
#include "fleet/document/message.h"

namespace geiger::fleet {
namespace {

constexpr int kLevel = 9;  // Once per window: small rather than quick.

/// Texts are names of programs and files, which may contain any bytes.
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
void add_counts(protozero::pbf_writer& writer, const std::vector<CountRow>& counts,
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
  writer.add_packed_fixed64(in_measured::kStackIds, ids.begin(), ids.end());
  add_numbers(writer, in_measured::kRowsOfStack, rows);
  add_numbers(writer, in_measured::kSizes, sizes);
  add_numbers(writer, in_measured::kIntervals, intervals);
  add_numbers(writer, in_measured::kSorts, sorts);
  add_numbers(writer, in_measured::kAllocated, allocated);
  add_numbers(writer, in_measured::kLive, live);
}

/// The window and its counts, as they are sent with `stacks`.
std::string measured(const Document& document, const std::vector<Stack>& stacks) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  add_window(writer, document.window);
  add_counts(writer, document.counts, stacks);
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
  Numbers shared, depths, truncated, locations;
  const std::vector<LocationId> none;
  const std::vector<LocationId>* before = &none;
  for (const Stack& stack : document.stacks) {
    const auto root = stack.locations.rbegin();
    const auto differs =
        std::mismatch(root, stack.locations.rend(), before->rbegin(), before->rend()).first;
    shared.push_back(static_cast<std::uint64_t>(differs - root));
    depths.push_back(static_cast<std::uint64_t>(stack.locations.rend() - differs));
    truncated.push_back(static_cast<std::uint64_t>(stack.is_truncated));
    for (auto at = differs; at != stack.locations.rend(); ++at) locations.push_back(places.at(*at));
    before = &stack.locations;
  }
  add_numbers(writer, in_document::kShared, shared);
  add_numbers(writer, in_document::kDepths, depths);
  add_numbers(writer, in_document::kTruncated, truncated);
  add_numbers(writer, in_document::kLocations, locations);
}

void append_number(std::string& bytes, std::uint64_t number, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(number >> (8 * i) & 0xff));
  }
}

}  // namespace

std::string pack(const Document& document) {
  GEIGER_CHECK(check_limits(document).has_value());
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_message(in_document::kMeasured, measured(document, document.stacks));
  add_locations(writer, document.locations);
  add_stacks(writer, document);
  const std::string frame = ingest::zstd_frame_of(message, kLevel);
  std::string bytes(kMagic);
  append_number(bytes, message.size(), kSizeBytes);
  append_number(bytes, hash_of(frame), kHashBytes);
  return bytes + frame;
}

std::uint64_t content_of(const Document& document) { return hash_of(measured(document, {})); }

}  // namespace geiger::fleet
