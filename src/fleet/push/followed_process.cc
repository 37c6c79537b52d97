#include "fleet/push/followed_process.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/profile/totals.h"
#include "fleet/document/encoding.h"
#include "fleet/document/ids.h"
#include "fleet/document/limits.h"
#include "fleet/push/durable_directory.h"

namespace geiger::fleet {
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
  window.rss_byte_seconds = resident_.byte_seconds(now.monotonic, span.end - span.begin);
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
  const Document document = document_of(recording, stacks, span, now, next);
  if (const auto checked = check_limits(document); !checked.has_value()) {
    return begin_anew(span, std::move(next), checked.reason());
  }
  GEIGER_TRY(keep(document, next));
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
  next.sequence = sent_.sequence;
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
