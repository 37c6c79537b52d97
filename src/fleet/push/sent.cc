#include "fleet/push/sent.h"

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/ingest/message_fields.h"
#include "fleet/document/ids.h"
#include "fleet/push/durable_directory.h"

namespace geiger::fleet {
namespace {

constexpr std::size_t kMostState = std::size_t{64} << 20;
constexpr std::size_t kHashBytes = 8;

// Field numbers of a state.
namespace in_sent {
constexpr int kService = 1, kVersion = 2, kHost = 3, kNumbers = 4, kStarted = 5, kStacks = 6,
              kSizes = 7, kSteps = 8, kCertain = 9, kCounts = 10;
}

template <typename Its>
auto numbers_of(Its& sent) {
  return std::tie(sent.key.process, sent.end, sent.sequence, sent.first_segment,
                  sent.missing_segments, sent.is_finished, sent.is_document, sent.exact_bytes,
                  sent.trials, sent.hits, sent.dropped);
}

std::string hash_text(std::string_view bytes) {
  const std::uint64_t hash = hash_of(bytes);
  return {reinterpret_cast<const char*>(&hash), sizeof hash};
}

}  // namespace

std::string encode(const Sent& sent) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(in_sent::kService, sent.key.service);
  writer.add_string(in_sent::kVersion, sent.key.version);
  writer.add_string(in_sent::kHost, sent.key.host);
  writer.add_sint64(in_sent::kStarted, sent.key.started);
  std::vector<std::uint64_t> numbers, stacks, sizes, steps, certain, counts;
  std::apply([&](const auto&... each) { (numbers.push_back(each), ...); }, numbers_of(sent));
  for (const auto& [key, allocated] : sent.allocated) {
    stacks.push_back(std::get<0>(key));
    sizes.push_back(std::get<1>(key));
    steps.push_back(std::get<2>(key));
    certain.push_back(static_cast<std::uint64_t>(std::get<4>(key)));
    counts.push_back(allocated);
  }
  const auto add = [&](int field, const std::vector<std::uint64_t>& column) {
    writer.add_packed_uint64(static_cast<protozero::pbf_tag_type>(field), column.begin(),
                             column.end());
  };
  add(in_sent::kNumbers, numbers);
  add(in_sent::kStacks, stacks);
  add(in_sent::kSizes, sizes);
  add(in_sent::kSteps, steps);
  add(in_sent::kCertain, certain);
  add(in_sent::kCounts, counts);
  return hash_text(bytes) + bytes;
}

base::Outcome<Sent> decode_sent(std::string_view bytes) {
  const base::Failure damaged{"it is damaged"};
  if (bytes.size() < kHashBytes ||
      hash_text(bytes.substr(kHashBytes)) != bytes.substr(0, kHashBytes)) {
    return damaged;
  }
  bytes.remove_prefix(kHashBytes);
  Sent sent;
  std::vector<std::uint64_t> numbers, stacks, sizes, steps, certain, counts;
  protozero::pbf_reader reader(bytes.data(), bytes.size());
  const auto take = [&reader](std::vector<std::uint64_t>& column) {
    const auto range = reader.get_packed_uint64();
    column.assign(range.begin(), range.end());
  };
  ingest::read_fields(
      reader, ingest::OnField(in_sent::kService, [&] { sent.key.service = reader.get_string(); }),
      ingest::OnField(in_sent::kVersion, [&] { sent.key.version = reader.get_string(); }),
      ingest::OnField(in_sent::kHost, [&] { sent.key.host = reader.get_string(); }),
      ingest::OnField(in_sent::kStarted, [&] { sent.key.started = reader.get_sint64(); }),
      ingest::OnField(in_sent::kNumbers, [&] { take(numbers); }),
      ingest::OnField(in_sent::kStacks, [&] { take(stacks); }),
      ingest::OnField(in_sent::kSizes, [&] { take(sizes); }),
      ingest::OnField(in_sent::kSteps, [&] { take(steps); }),
      ingest::OnField(in_sent::kCertain, [&] { take(certain); }),
      ingest::OnField(in_sent::kCounts, [&] { take(counts); }));
  const std::size_t rows = stacks.size();
  const bool is_even = sizes.size() == rows && steps.size() == rows && certain.size() == rows &&
                       counts.size() == rows &&
                       numbers.size() == std::tuple_size_v<decltype(numbers_of(sent))>;
  if (!is_even) return damaged;
  std::size_t at = 0;
  const auto set = [&](auto& number) {
    number = static_cast<std::decay_t<decltype(number)>>(numbers[at++]);
  };
  std::apply([&](auto&... each) { (set(each), ...); }, numbers_of(sent));
  for (std::size_t i = 0; i < rows; ++i) {
    sent.allocated[{stacks[i], sizes[i], steps[i], 0, certain[i] != 0}] = counts[i];
  }
  return sent;
}

base::Outcome<Sent> read_sent(const DurableDirectory& state, const std::string& name) {
  const auto bytes = GEIGER_TRY(state.read(name, kMostState));
  return decode_sent(bytes).with_prefix(state.path_of(name) + ": ");
}

base::Outcome<void> recover(const Spool& spool) {
  const DurableDirectory& state = spool.state();
  const std::string_view end = kNextEnd;
  for (const auto& [next, size] : state.tidied()) {
    if (!next.ends_with(end)) continue;
    const auto sent = GEIGER_TRY(read_sent(state, next));
    if (!spool.has(sent.key)) {
      state.remove(next);
      continue;
    }
    const std::string name = next.substr(0, next.size() - end.size()) + kStateEnd;
    GEIGER_TRY(state.move(next, state, name));
  }
  return {};
}

}  // namespace geiger::fleet
