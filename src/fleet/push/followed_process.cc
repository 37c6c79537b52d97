#include "fleet/push/followed_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/ingest/payload.h"
#include "analysis/profile/select/totals.h"
#include "base/text.h"
#include "fleet/document/document.h"
#include "fleet/document/encoding.h"
#include "fleet/push/spool.h"
#include "otlp/writer.h"

namespace geiger::fleet {

namespace {

/// The first digits of a build id distinguish builds.
constexpr std::size_t kBuildDigits = 12;
constexpr std::size_t kMostEnvironment = std::size_t{1} << 20;

/// Of a process id that may be another process's by now: the executable must be the same.
bool is_running(const RunningProgram& program) {
  std::error_code error;
  const auto executable =
      std::filesystem::read_symlink("/proc/" + std::to_string(program.pid) + "/exe", error);
  return !error && executable == program.executable;
}

std::string environment_of(std::uint32_t pid) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (text.size() > kMostEnvironment) text.resize(kMostEnvironment);
  return text;
}

std::string first_valid(std::initializer_list<std::string> names) {
  const auto* const found = std::ranges::find_if(
      names, [](const std::string& name) { return check_name(name).has_value(); });
  return found == names.end() ? "unknown" : *found;
}

}  // namespace

namespace {

constexpr const char *kServiceName = "service.name", *kServiceVersion = "service.version";

void take_names(ProcessNames& names) {
  for (const auto& [key, name] :
       {std::pair(kServiceName, &names.service), {kServiceVersion, &names.version}}) {
    if (const auto said = names.resource.find(key); said != names.resource.end()) {
      *name = said->second;
    }
  }
}

}  // namespace

ProcessNames names_in_environment(std::string_view environment) {
  constexpr std::string_view kService = "OTEL_SERVICE_NAME=";
  constexpr std::string_view kAttributes = "OTEL_RESOURCE_ATTRIBUTES=";
  ProcessNames names;
  while (!environment.empty()) {
    const std::string_view variable = base::take_part(environment, '\0');
    if (variable.starts_with(kService)) names.service = variable.substr(kService.size());
    if (!variable.starts_with(kAttributes)) continue;
    for (auto& [key, value] : otlp::pairs_of(variable.substr(kAttributes.size()))) {
      names.resource.emplace(document_text(key), document_text(value));
    }
  }
  if (!names.service.empty()) names.resource[kServiceName] = names.service;
  take_names(names);
  return names;
}

ProcessNames names_of(const RunningProgram& program, const ProcessNames& given) {
  ProcessNames said;
  if (is_running(program)) {
    said = names_in_environment(environment_of(program.pid));
    // The SDK wins: its own profiles, traces and logs have these.
    for (auto& [key, value] : published_resource(program.pid)) said.resource[key] = value;
    take_names(said);
  }
  const std::string file = std::filesystem::path(program.executable).filename();
  if (!given.service.empty()) said.resource.erase(kServiceName);
  if (!given.version.empty()) said.resource.erase(kServiceVersion);
  return {first_valid({given.service, said.service, file}),
          first_valid({given.version, said.version, program.build_id.substr(0, kBuildDigits)}),
          said.resource};
}

RunningProgram program_of(const profile::Recording& recording, const profile::Process& process) {
  RunningProgram program{process.pid, process.executable, {}};
  for (const profile::Module& module : recording.modules) {
    if (module.path == process.executable) program.build_id = module.build_id;
  }
  return program;
}

void ResidentMean::add(Nanoseconds now, Bytes bytes) {
  if (bytes_ == 0) begin_ = now;
  sum_ = sum_until(now);
  latest_ = now;
  bytes_ = bytes;
}

double ResidentMean::sum_until(Nanoseconds now) const {
  return sum_ + static_cast<double>(bytes_) * static_cast<double>(now - std::min(now, latest_));
}

std::uint64_t ResidentMean::byte_seconds(Nanoseconds now, Nanoseconds length) const {
  constexpr double kPerSecond = 1e9;
  const auto covered = static_cast<double>(now - std::min(now, begin_));
  const double mean = covered > 0 ? sum_until(now) / covered : static_cast<double>(bytes_);
  return static_cast<std::uint64_t>(mean * static_cast<double>(length) / kPerSecond);
}

void ResidentMean::begin_anew(Nanoseconds now) {
  begin_ = latest_ = now;
  sum_ = 0;
}

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
                  sent.trials, sent.hits, sent.dropped, sent.unsettled);
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
  if (numbers.size() + 1 == std::tuple_size_v<decltype(numbers_of(sent))>) {
    numbers.push_back(sent.unsettled);  // Of an older geiger.
  }
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

namespace {

constexpr std::int64_t kPerSecond = 1'000'000'000;
constexpr Nanoseconds kPerMilli = 1'000'000;
/// Older windows are reported as gaps: it would change what reports of long ago said.
constexpr std::int64_t kOldest = std::int64_t{7} * 86'400;

std::uint64_t difference(std::uint64_t now, std::uint64_t before) {
  return now - std::min(now, before);
}

}  // namespace

FollowedProcess::FollowedProcess(std::string name, const Names& names, Spool& spool, Spool::Log log)
    : name_(std::move(name)),
      names_(names),
      spool_(spool),
      log_(std::move(log)),
      follower_(std::make_unique<follow::Follower>(follow::Follower::Detail::kSamplesOnly)) {}

base::Outcome<void> FollowedProcess::load() {
  if (!spool_.state().has(name_ + kStateEnd)) return {};
  sent_ = GEIGER_TRY(read_sent(spool_.state(), name_ + kStateEnd));
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
  // Unsigned, as a damaged trace may have any times: sums wrap, and what is too old becomes a gap.
  const std::uint64_t begun =
      is_running ? static_cast<std::uint64_t>(now.realtime) - (now.monotonic - span.begin)
                 : process.start_realtime + (span.begin - process.start) -
                       static_cast<std::uint64_t>(now.correction);
  const auto begin = static_cast<std::int64_t>(begun);
  span.begin_ms = begin / static_cast<std::int64_t>(kPerMilli);
  span.begin_second = begin / kPerSecond;
  span.started = span.begin_second / now.grid * now.grid;
  if (sent_.key.started != 0) {
    span.started = std::max(span.started, sent_.key.started + now.grid);
  }
  span.is_due = span.started < now.realtime / kPerSecond / now.grid * now.grid;
  return span;
}

void FollowedProcess::note_resource(const profile::Recording& recording) {
  if (!names_.has_resource) return;
  ProcessNames names = names_of(program_of(recording, recording.processes[0]), names_.given);
  if (!names.resource.empty()) resource_ = std::move(names.resource);
}

Document FollowedProcess::document_of(const profile::Recording& recording,
                                      const SharedStacks& stacks, const Span& span, const Now& now,
                                      Sent& next) const {
  Origin origin{next.key.service, next.key.version, next.key.host, names_.labels};
  origin.labels.insert(resource_.begin(), resource_.end());
  Document document;
  Window& window = document.window = window_of(recording, 0, origin);
  window.key = next.key;
  window.began_ms = span.begin_ms;
  window.recorded_ms = std::max<std::uint64_t>((span.end - span.begin) / kPerMilli, 1);
  window.alive_ms = window.recorded_ms;
  window.rss_byte_seconds = resident_.byte_seconds(now.monotonic, span.end - span.begin);
  window.skew_ms = now.skew_ms;
  window.sequence = sent_.sequence;
  // What was settled within the window; what was not comes in a later one.
  window.exact_bytes = difference(next.exact_bytes, sent_.exact_bytes);
  window.unsettled_bytes = next.unsettled;
  if (sent_.end != 0) window.unsettled_before = std::min(sent_.unsettled, *window.exact_bytes);
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
  if (is_written) oom_kills_ = now.oom_kills;
  const bool may_be_due = is_last || follower_->has_ended() || now.realtime >= next_due_;
  if (!may_be_due) return {};
  const profile::Recording& recording = follower_->recorded();
  if (sent_.is_finished || recording.processes.empty()) return {};
  const profile::Process& process = recording.processes[0];
  const bool has_ended = follower_->has_ended();
  const bool is_running = is_written && !has_ended;
  const Span span = span_of(process, now, is_running);
  if (!span.is_due && !has_ended && !is_last) {
    next_due_ = (span.started + now.grid) * kPerSecond;
    return {};
  }

  const SharedStacks stacks(recording);
  Rows rows;
  add_rows(rows, recording, stacks, all_of(0, profile::Kind::kAllocated), 0);
  const profile::ProcessTotals totals = profile::process_totals(recording, 0);
  Sent next;
  next.key = sent_.key;
  for (const auto& [key, numbers] : rows) next.allocated[key] = numbers.allocated;
  next.exact_bytes = totals.exact_bytes;
  next.unsettled = totals.unsettled_bound;
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
    const ProcessNames names = names_of(program_of(recording, process), names_.given);
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
    // At first the end of the trace may only have been written after it was read.
    const bool was_exhausted = std::exchange(is_exhausted_, true);
    if (!has_ended) return was_exhausted ? record_end(span, now) : base::Outcome<void>();
    next.key = sent_.key;
    next.sequence = sent_.sequence;
    GEIGER_TRY(spool_.state().write(name_ + kStateEnd, encode(next)));
    sent_ = std::move(next);
    return {};
  }
  if (next.missing_segments > sent_.missing_segments) {
    const std::int64_t seconds = static_cast<std::int64_t>(span.end - span.begin) / kPerSecond;
    GEIGER_TRY(spool_.put(GapRow{next.key.host, next.key.process, span.begin_second,
                                 span.begin_second + seconds, "segments removed"}));
  }
  next.key.started = span.started;
  next.is_document = true;
  note_resource(recording);
  const Document document = document_of(recording, stacks, span, now, next);
  if (const auto checked = check_limits(document); !checked.has_value()) {
    return begin_anew(span, std::move(next), checked.reason());
  }
  GEIGER_TRY(keep(document, next));
  log_(fmt::format("{} {}, process {}: {:.1f} s with {} kinds of samples to send", next.key.service,
                   next.key.version, process.pid,
                   static_cast<double>(document.window.recorded_ms) / 1000,
                   document.counts.size()));
  sent_ = std::move(next);
  resident_.begin_anew(now.monotonic);
  return {};
}

/// Reports that the counts since the last document cannot be sent, and begins anew.
base::Outcome<void> FollowedProcess::begin_anew(const Span& span, Sent next,
                                                const std::string& reason) {
  const std::int64_t seconds = static_cast<std::int64_t>(span.end - span.begin) / kPerSecond;
  log_(next.key.service + ": nothing is sent of " + std::to_string(seconds) + " s: " + reason);
  GEIGER_TRY(spool_.put(GapRow{next.key.host, next.key.process, span.begin_second,
                               span.begin_second + seconds, reason}));
  next.key.started = sent_.key.started;
  GEIGER_TRY(spool_.state().write(name_ + kStateEnd, encode(next)));
  sent_ = std::move(next);
  return {};
}

/// Reports, once, that the process ended without exit(): it was killed, or crashed.
base::Outcome<void> FollowedProcess::record_end(const Span& span, const Now& now) {
  if (is_end_recorded_) return {};
  const bool is_out_of_memory = oom_kills_ && now.oom_kills > *oom_kills_;
  const auto told =
      spool_.put(GapRow{sent_.key.host, sent_.key.process, span.begin_second, span.begin_second,
                        std::string(is_out_of_memory ? kOutOfMemory : kKilled)});
  is_end_recorded_ = told.has_value();
  return told;
}

base::Outcome<void> FollowedProcess::keep(const Document& document, const Sent& next) {
  GEIGER_TRY(spool_.state().write(name_ + kNextEnd, encode(next)));
  const auto put = spool_.put(document.window.key, pack(document));
  if (!put.has_value()) {
    spool_.state().remove(name_ + kNextEnd);
    return put;
  }
  return spool_.state().move(name_ + kNextEnd, spool_.state(), name_ + kStateEnd);
}

}  // namespace geiger::fleet
