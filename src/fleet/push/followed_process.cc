#include "fleet/push/followed_process.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <utility>
#include <vector>

#include "analysis/ingest/message_fields.h"
#include "analysis/profile/totals.h"
#include "fleet/document/encoding.h"
#include "fleet/document/ids.h"
#include "fleet/document/limits.h"
#include "fleet/push/durable_file.h"

namespace geiger::fleet {
namespace {

constexpr std::int64_t kPerSecond = 1'000'000'000;
constexpr Nanoseconds kPerMilli = 1'000'000;
/// What is older is told as a gap: it would change what reports of long ago said.
constexpr std::int64_t kOldest = std::int64_t{7} * 86'400;
constexpr std::size_t kMostState = std::size_t{64} << 20;
constexpr std::size_t kHashBytes = 8;
constexpr const char* kNextEnd = ".next";
constexpr const char* kStateEnd = ".state";

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

bool is_there(const std::string& path) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0;
}

std::uint64_t difference(std::uint64_t now, std::uint64_t before) {
  return now - std::min(now, before);
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

base::Outcome<void> recover(const Spool& spool) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(spool.state_directory(), error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == kNextEnd) found.push_back(entry->path());
  }
  for (std::filesystem::path next : found) {
    const auto bytes = read_whole(next, kMostState);
    const auto sent =
        bytes.has_value() ? decode_sent(bytes.value()) : base::Outcome<Sent>(bytes.failure());
    if (!sent.has_value()) return base::Failure{next.string() + ": " + sent.reason()};
    if (!spool.has(sent->key)) {
      unlink(next.c_str());
      continue;
    }
    const std::string from = next;
    const auto renamed = rename_durably(from, next.replace_extension(kStateEnd));
    if (!renamed.has_value()) return renamed;
  }
  return {};
}

FollowedProcess::FollowedProcess(std::string name, const Names& names, Spool& spool, Spool::Log log)
    : name_(std::move(name)),
      names_(names),
      spool_(spool),
      log_(std::move(log)),
      follower_(std::make_unique<follow::Follower>(follow::Follower::Detail::kSamplesOnly)) {}

std::string FollowedProcess::path(const char* kind) const {
  return spool_.state_directory() + "/" + name_ + kind;
}

base::Outcome<void> FollowedProcess::load() {
  if (!is_there(path(kStateEnd))) return {};
  const auto bytes = read_whole(path(kStateEnd), kMostState);
  auto sent = bytes.has_value() ? decode_sent(bytes.value()) : base::Outcome<Sent>(bytes.failure());
  if (!sent.has_value()) return base::Failure{path(kStateEnd) + ": " + sent.reason()};
  sent_ = std::move(sent.value());
  return {};
}

FollowedProcess::Span FollowedProcess::span_of(const profile::Process& process, const Now& now,
                                               bool is_running) const {
  Span span;
  const bool misses = process.misses_beginning();
  span.begin =
      sent_.end != 0 ? sent_.end : (misses ? process.segments.front().start : process.start);
  span.end = std::max(is_running ? now.monotonic : process.end, span.begin);
  // Of what runs, counted back from now: the clock may have been set since it began.
  const auto since_start = static_cast<std::int64_t>(span.begin - process.start);
  const std::int64_t begin =
      is_running ? now.realtime - static_cast<std::int64_t>(now.monotonic - span.begin)
                 : static_cast<std::int64_t>(process.start_realtime) + since_start - now.correction;
  span.begin_second = begin / kPerSecond;
  span.started = span.begin_second / now.grid * now.grid;
  if (sent_.key.started != 0) {
    span.started = std::max(span.started, sent_.key.started + now.grid);
  }
  span.is_due = span.started < now.realtime / kPerSecond / now.grid * now.grid;
  return span;
}

Document FollowedProcess::document_of(const profile::Recording& recording,
                                      const SharedStacks& stacks, const Span& span, const Now& now,
                                      Sent& next) const {
  Origin origin{next.key.service, next.key.version, next.key.host, names_.labels};
  Document document;
  Window& window = document.window = window_of(recording, 0, origin);
  window.key = next.key;
  window.recorded_ms = std::max<std::uint64_t>((span.end - span.begin) / kPerMilli, 1);
  window.alive_ms = window.recorded_ms;
  window.skew_ms = now.skew_ms;
  window.sequence = sent_.sequence;
  // What was settled within the window; what was not comes in a later one.
  window.exact_bytes = difference(next.exact_bytes, sent_.exact_bytes);
  window.unsettled_bytes = profile::process_totals(recording, 0).unsettled_bound;
  window.trials = difference(next.trials, sent_.trials);
  window.hits = difference(next.hits, sent_.hits);
  window.dropped = difference(next.dropped, sent_.dropped);
  Rows rows;
  for (const auto& [key, allocated] : next.allocated) {
    const auto before = sent_.allocated.find(key);
    const std::uint64_t since =
        difference(allocated, before == sent_.allocated.end() ? 0 : before->second);
    if (since != 0) rows[key].allocated = since;
  }
  add_rows(rows, recording, stacks, all_of(0, profile::Kind::kLiveAtEnd),
           recording.processes[0].thinning);
  add_counts(document, std::move(rows), stacks);
  return document;
}

base::Outcome<void> FollowedProcess::cut(const Now& now, bool is_last, bool is_written) {
  const profile::Recording& recording = follower_->recorded();
  if (sent_.is_finished || recording.processes.empty()) return {};
  const profile::Process& process = recording.processes[0];
  const bool has_ended = follower_->has_ended();
  const bool is_running = is_written && !has_ended;
  const Span span = span_of(process, now, is_running);
  if (!span.is_due && !has_ended && !is_last) return {};

  const SharedStacks stacks(recording);
  Rows rows;
  add_rows(rows, recording, stacks, all_of(0, profile::Kind::kAllocated), 0);
  const profile::ProcessTotals totals = profile::process_totals(recording, 0);
  Sent next;
  next.key = sent_.key;
  for (const auto& [key, numbers] : rows) next.allocated[key] = numbers.allocated;
  next.exact_bytes = totals.exact_bytes;
  next.trials = totals.trials;
  next.hits = totals.hits;
  next.dropped = std::accumulate(process.drops.begin(), process.drops.end(), std::uint64_t{0});
  next.end = span.end;
  next.sequence = sent_.sequence + 1;
  next.is_finished = has_ended;
  if (!process.segments.empty()) {
    next.first_segment = process.segments.front().number;
    next.missing_segments =
        process.segments.back().number - next.first_segment + 1 - process.segments.size();
  }
  if (sent_.sequence == 0 && sent_.end == 0) {
    const ProcessNames names = names_of(recording, process, names_.given);
    next.key = {names.service, names.version, names_.host, id_of(process, names_.host), 0};
  } else if (next.first_segment != sent_.first_segment) {
    return begin_anew(span, std::move(next), "segments removed");
  }
  if (span.begin_second < now.realtime / kPerSecond - kOldest) {
    return begin_anew(span, std::move(next), "too old");
  }
  const bool has_news = sent_.sequence == 0 || next.allocated != sent_.allocated ||
                        next.exact_bytes != sent_.exact_bytes;
  if (!has_news && !is_running) {
    if (!has_ended) return {};
    next.key = sent_.key;
    next.sequence = sent_.sequence;
    const auto kept = write_durably(spool_.state_directory(), name_ + kStateEnd, encode(next));
    if (kept.has_value()) sent_ = std::move(next);
    return kept;
  }
  if (next.missing_segments > sent_.missing_segments) {
    const std::int64_t seconds = static_cast<std::int64_t>(span.end - span.begin) / kPerSecond;
    const auto told = spool_.put(GapRow{next.key.host, next.key.process, span.begin_second,
                                        span.begin_second + seconds, "segments removed"});
    if (!told.has_value()) return told;
  }
  next.key.started = span.started;
  next.is_document = true;
  const Document document = document_of(recording, stacks, span, now, next);
  if (const auto problem = problem_with(document)) {
    return begin_anew(span, std::move(next), *problem);
  }
  const auto kept = keep(document, next);
  if (kept.has_value()) sent_ = std::move(next);
  return kept;
}

/// Tells that what was counted since the last document cannot be sent, and goes on from here.
base::Outcome<void> FollowedProcess::begin_anew(const Span& span, Sent next,
                                                const std::string& reason) {
  const std::int64_t seconds = static_cast<std::int64_t>(span.end - span.begin) / kPerSecond;
  log_(next.key.service + ": nothing is sent of " + std::to_string(seconds) + " s: " + reason);
  const auto told = spool_.put(GapRow{next.key.host, next.key.process, span.begin_second,
                                      span.begin_second + seconds, reason});
  if (!told.has_value()) return told;
  next.key.started = sent_.key.started;
  next.sequence = sent_.sequence;
  const auto kept = write_durably(spool_.state_directory(), name_ + kStateEnd, encode(next));
  if (kept.has_value()) sent_ = std::move(next);
  return kept;
}

base::Outcome<void> FollowedProcess::keep(const Document& document, const Sent& next) {
  auto done = write_durably(spool_.state_directory(), name_ + kNextEnd, encode(next));
  if (!done.has_value()) return done;
  done = spool_.put(document.window.key, pack(document));
  if (!done.has_value()) {
    unlink(path(kNextEnd).c_str());
    return done;
  }
  return rename_durably(path(kNextEnd), path(kStateEnd));
}

}  // namespace geiger::fleet
