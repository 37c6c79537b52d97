// The samples of a token, which may be in several consecutive traces.
//
// A sample that is live when its trace ends is carried into the next one, where its free refers to
// the carried record. A sample that is neither freed nor carried ended in between.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "api/profile.h"
#include "trace/survivors.h"

namespace geiger::api {
namespace {

/// Index of a profile's samples by their reference in the current trace.
using Living = std::unordered_map<trace::Ref, std::size_t>;

/// The samples that a trace carries over from the previous one.
struct Checkpoint : trace::RecordSink {
  using RecordSink::on;

  void on(const trace::Record& record, const trace::CarriedRecord& layout) {
    if (const auto index = before.take(layout, true)) carried.emplace(record.ref(), *index);
  }
  void on(const trace::Record&, const trace::CheckpointRecord& layout) {
    if (layout.lost == 0) whole_at = layout.time;
  }

  trace::Survivors<std::size_t> before;
  Living carried;
  std::optional<Nanoseconds> whole_at;  ///< All live samples were carried by then.
};

/// Frees of carried samples. Copies the stacks of the frees.
struct Frees : trace::RecordSink {
  using RecordSink::on;

  Frees(Profile& into, Living& carried) : profile(into), living(carried) {}

  void on(const trace::Record& record, const trace::FreeRecord& layout) {
    const auto at = living.find(layout.sample);
    if (at == living.end()) return;
    Drawn& drawn = profile.samples[at->second];
    end_by(drawn, record, layout);
    drawn.free_stack = profile.records.add_stack(drawn.free_stack);
    living.erase(at);
  }

  Profile& profile;
  Living& living;
};

/// Ends a sample whose free has no record.
void end_at(Drawn& drawn, Nanoseconds time) {
  drawn.is_freed = true;
  drawn.until = time;
}

/// Applies this trace's frees, up to `end`, to the samples live at the end of the previous one.
/// Returns those still live.
Living follow(Profile& profile, const MappedTrace& trace, Bytes end, const Living& before) {
  profile.records.read_from(trace);
  Checkpoint checkpoint;
  for (const auto& [ref, index] : before) {
    const trace::SampleRecord& sample = profile.records.view().sample(profile.samples[index].ref);
    checkpoint.before.add(ref, sample.time, sample.address, index);
  }
  walk(trace, trace::kRecordsOffset, trace.end, checkpoint);
  checkpoint.before.for_each_left([&](std::size_t index, Nanoseconds, Address) {
    if (checkpoint.whole_at) end_at(profile.samples[index], *checkpoint.whole_at);
  });
  Frees frees(profile, checkpoint.carried);
  walk(trace, trace::kRecordsOffset, end, frees);
  return std::move(checkpoint.carried);
}

/// The part of a token that is in one trace.
Profile part_of(const Profile& whole, const MappedTrace& trace) {
  Profile part;
  part.kind = whole.has_lifetimes() ? GEIGER_LIFETIMES : GEIGER_ALLOCATIONS;
  part.trace = trace;
  part.begin = trace.image == whole.started.image ? whole.started.at : trace::kRecordsOffset;
  part.end = trace.image == whole.stopped.image ? whole.stopped.at : trace.end;
  part.interval = whole.interval;
  part.to = whole.to;
  return part;
}

/// Adds a part, and its samples that are still live to `living`.
void add(Profile& whole, Profile& part, Living& living) {
  whole.unfinished += part.unfinished;
  whole.largest_interval = std::max(whole.largest_interval, part.largest_interval);
  whole.records.read_from(part.trace);
  for (Drawn& drawn : part.samples) {
    if (whole.has_lifetimes() && !drawn.is_freed) living.emplace(drawn.ref, whole.samples.size());
    drawn.ref = whole.records.add(drawn.ref);
    drawn.free_stack = whole.records.add_stack(drawn.free_stack);
    whole.samples.push_back(drawn);
  }
}

geiger_status read_part(Profile& profile, std::uint32_t number, Directory& directory,
                        Living& living) {
  HeldTrace held;
  const geiger_status status = held.hold(number);
  if (status != GEIGER_OK) return status;
  directory.read(*held, held.first_image());
  Profile part = part_of(profile, *held);
  read_window(part);
  if (number != profile.started.image) living = follow(profile, *held, part.end, living);
  add(profile, part, living);
  return GEIGER_OK;
}

}  // namespace

geiger_status read_token(Profile& profile, Directory& directory) {
  profile.samples.clear();
  profile.records = {};
  profile.unfinished = 0;
  Living living;
  for (std::uint32_t number = profile.started.image; number <= profile.stopped.image; ++number) {
    const geiger_status status = read_part(profile, number, directory, living);
    if (status != GEIGER_OK) return status;
  }
  if (profile.kind == GEIGER_COMPLETE_LIFETIMES) {
    std::erase_if(profile.samples, [](const Drawn& drawn) { return !drawn.is_freed; });
  }
  profile.trace = profile.records.view();
  return GEIGER_OK;
}

}  // namespace geiger::api
