#include "analysis/export/pprof.h"

#include <algorithm>
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <unordered_map>

#include "analysis/export/frame_name.h"
#include "analysis/export/gzip.h"
#include "analysis/export/pprof_rows.h"
#include "analysis/profile/groupings.h"
#include "analysis/profile/types.h"
#include "pprof/profile_proto.h"

namespace geiger::exports {
namespace {

using profile::Recording;
using protozero::pbf_writer;

namespace field = pprof::field;

constexpr std::size_t kFlushMessageAt = 1 << 18;

/// The largest interval that was in force: what left no sample may have been missed by it.
Bytes period_of(const Recording& recording) {
  Bytes largest = recording.processes.empty() ? 0 : recording.processes.front().interval;
  for (const profile::Epoch& epoch : recording.epochs) largest = std::max(largest, epoch.interval);
  return largest;
}

class PprofWriter {
 public:
  PprofWriter(const Recording& recording, const Sink& sink)
      : recording_(recording),
        types_(recording),
        gzip_(sink),
        location_ids_(recording.locations.size()),
        function_of_frame_(recording.frames.size()) {
    intern("");
    number_mappings();
  }

  void write_sample_types(bool is_of_live) {
    for (const pprof::SampleType& type : pprof::kSampleTypes) {
      write_value_type(field::kSampleType, type.type, type.unit);
    }
    top_.add_int64(field::kDefaultSampleType, intern(is_of_live ? "inuse_space" : "alloc_space"));
  }

  void write_samples(const profile::Profile& allocated, const profile::Profile& live) {
    const PprofTable table = pprof_table(recording_, types_, allocated, live);
    const Labels labels{intern(pprof::kSizeLabel), intern("thread"), intern("label"), intern("type"),
                        intern(pprof::kIntervalLabel)};
    for (const profile::Thread& thread : recording_.threads) {
      thread_names_.push_back(
          intern(thread.name.empty() ? "tid " + std::to_string(thread.tid) : thread.name));
    }
    for (std::size_t i = 0; i < table.rows.size(); ++i) write_sample(table, i, labels);
  }

  void write_header(const PprofOptions& options) {
    write_value_type(field::kPeriodType, "space", "bytes");
    for (const std::string& comment : options.comments) {
      top_.add_int64(field::kComment, intern(comment));
    }
    if (recording_.processes.empty()) return;
    const profile::Process& first = recording_.processes.front();
    Nanoseconds start = first.start;
    Nanoseconds end = first.end;
    Nanoseconds realtime = first.start_realtime;
    for (const profile::Process& process : recording_.processes) {
      start = std::min(start, process.start);
      end = std::max(end, process.end);
      realtime = std::min(realtime, process.start_realtime);
    }
    top_.add_int64(field::kTimeNanos, static_cast<std::int64_t>(realtime));
    top_.add_int64(field::kDurationNanos, static_cast<std::int64_t>(end - std::min(start, end)));
    top_.add_int64(field::kPeriod, static_cast<std::int64_t>(period_));
  }

  /// Everything that samples refer to; strings last, as all the rest adds some.
  void finish() {
    for (const std::uint32_t module : modules_) write_mapping(module);
    for (const std::uint32_t location : locations_) write_location(location);
    for (const std::string_view text : strings_in_order()) {
      top_.add_string(field::kStringTable, text.data(), text.size());
      flush(kFlushMessageAt);
    }
    flush(0);
    gzip_.finish();
  }

 private:
  struct Labels {
    std::int64_t bytes, thread, label, type, interval;
  };

  void flush(std::size_t threshold) {
    if (buffer_.size() < threshold) return;
    gzip_.write(buffer_);
    buffer_.clear();
  }

  std::int64_t intern(std::string_view text) {
    const auto next = static_cast<std::int64_t>(strings_.size());
    return strings_.try_emplace(to_valid_utf8(text), next).first->second;
  }

  std::vector<std::string_view> strings_in_order() const {
    std::vector<std::string_view> ordered(strings_.size());
    for (const auto& [text, id] : strings_) ordered[static_cast<std::size_t>(id)] = text;
    return ordered;
  }

  void write_value_type(std::uint32_t tag, std::string_view type, std::string_view unit) {
    pbf_writer value(top_, tag);
    value.add_int64(field::kType, intern(type));
    value.add_int64(field::kUnit, intern(unit));
  }

  /// The main binary comes first: readers take the first mapping for the program.
  void number_mappings() {
    for (std::uint32_t i = 0; i < recording_.modules.size(); ++i) modules_.push_back(i);
    if (!recording_.processes.empty()) {
      const std::string& program = recording_.processes.front().executable;
      std::stable_partition(modules_.begin(), modules_.end(),
                            [&](std::uint32_t i) { return recording_.modules[i].path == program; });
    }
    mapping_ids_.resize(modules_.size());
    for (std::uint32_t i = 0; i < modules_.size(); ++i) mapping_ids_[modules_[i]] = i + 1;
    has_.resize(modules_.size());
  }

  std::uint64_t location_id(std::uint32_t location) {
    if (location_ids_[location] == 0) {
      locations_.push_back(location);
      location_ids_[location] = locations_.size();
      note_symbols(location);
    }
    return location_ids_[location];
  }

  struct Symbols {
    bool functions = false, files = false, lines = false, inlined = false;
  };

  void note_symbols(std::uint32_t index) {
    const profile::Location& location = recording_.locations[index];
    if (location.module >= has_.size() || location.frames.empty()) return;
    Symbols& has = has_[location.module];
    has.functions = true;
    has.inlined = true;  // Inlined frames are listed wherever there are any.
    for (const std::uint32_t frame : location.frames) {
      has.files |= !recording_.frames[frame].file.empty();
      has.lines |= recording_.frames[frame].line != 0;
    }
  }

  void write_sample(const PprofTable& table, std::size_t index, const Labels& labels) {
    const PprofRow& row = table.rows[index];
    {
      pbf_writer sample(top_, field::kSample);
      write_stack(sample, row.stack);
      {
        protozero::packed_field_int64 values(sample, field::kValue);
        for (const auto& column : table.columns) values.add_element(column[index]);
      }
      write_labels(sample, row, labels);
    }
    flush(kFlushMessageAt);
  }

  void write_stack(pbf_writer& sample, std::uint32_t stack) {
    if (stack >= recording_.stacks.size()) return;
    protozero::packed_field_uint64 ids(sample, field::kLocationId);
    for (const std::uint32_t location : recording_.stacks[stack].locations) {
      ids.add_element(location_id(location));
    }
  }

  void write_labels(pbf_writer& sample, const PprofRow& row, const Labels& labels) {
    write_bytes(sample, labels.bytes, row.requested, labels);
    if (row.interval != period_) write_bytes(sample, labels.interval, row.interval, labels);
    if (row.thread < recording_.threads.size()) {
      write_label(sample, labels.thread, thread_names_[row.thread]);
    }
    if (row.label < recording_.labels.size()) {
      write_label(sample, labels.label, intern(profile::path_of_label(recording_, row.label)));
    }
    if (row.type != profile::Types::kUnknown) {
      write_label(sample, labels.type, intern(types_[row.type]));
    }
  }

  static void write_bytes(pbf_writer& sample, std::int64_t key, Bytes bytes, const Labels& labels) {
    pbf_writer label(sample, field::kLabel);
    label.add_int64(field::kKey, key);
    label.add_int64(field::kNum, static_cast<std::int64_t>(bytes));
    label.add_int64(field::kNumUnit, labels.bytes);
  }

  static void write_label(pbf_writer& sample, std::int64_t key, std::int64_t text) {
    pbf_writer label(sample, field::kLabel);
    label.add_int64(field::kKey, key);
    label.add_int64(field::kStr, text);
  }

  void write_mapping(std::uint32_t index) {
    const profile::Module& module = recording_.modules[index];
    const Symbols& has = has_[index];
    pbf_writer mapping(top_, field::kMapping);
    mapping.add_uint64(field::kMappingId, mapping_ids_[index]);
    mapping.add_uint64(field::kStart, module.start);
    mapping.add_uint64(field::kLimit, module.end);
    mapping.add_int64(field::kFilename, intern(module.path));
    mapping.add_int64(field::kBuildId, intern(module.build_id));
    mapping.add_bool(field::kHasFunctions, has.functions);
    mapping.add_bool(field::kHasFilenames, has.files);
    mapping.add_bool(field::kHasLineNumbers, has.lines);
    mapping.add_bool(field::kHasInlineFrames, has.inlined);
  }

  void write_location(std::uint32_t index) {
    const profile::Location& location = recording_.locations[index];
    const bool has_module = location.module < recording_.modules.size();
    // Functions are written as they are met, so before the location is begun.
    for (const std::uint32_t frame : location.frames) function_id(frame);
    {
      pbf_writer out(top_, field::kLocation);
      out.add_uint64(field::kLocId, location_ids_[index]);
      if (has_module) out.add_uint64(field::kMappingRef, mapping_ids_[location.module]);
      // Traces hold return addresses; pprof wants the calling instruction.
      const Address bias = has_module ? recording_.modules[location.module].bias : 0;
      out.add_uint64(field::kAddress, location.vaddr + bias - 1);
      for (const std::uint32_t frame : location.frames) write_line(out, frame);
    }
    flush(kFlushMessageAt);
  }

  void write_line(pbf_writer& location, std::uint32_t frame) {
    pbf_writer line(location, field::kLine);
    line.add_uint64(field::kFunctionRef, function_of_frame_[frame]);
    line.add_int64(field::kLineNumber, recording_.frames[frame].line);
  }

  /// One function per name and file, numbered and written at its first use.
  std::uint64_t function_id(std::uint32_t index) {
    if (function_of_frame_[index] != 0) return function_of_frame_[index];
    const profile::Frame& frame = recording_.frames[index];
    const std::int64_t name = intern(frame.function);
    const std::int64_t system =
        intern(frame.system_name.empty() ? frame.function : frame.system_name);
    const std::int64_t file = intern(frame.file);
    const std::string key =
        std::to_string(name) + "/" + std::to_string(system) + "/" + std::to_string(file);
    const auto [at, is_new] = functions_.try_emplace(key, functions_.size() + 1);
    if (is_new) {
      pbf_writer out(top_, field::kFunction);
      out.add_uint64(field::kFunId, at->second);
      out.add_int64(field::kName, name);
      out.add_int64(field::kSystemName, system);
      out.add_int64(field::kFile, file);
    }
    return function_of_frame_[index] = at->second;
  }

  const Recording& recording_;
  const profile::Types types_;
  const Bytes period_ = period_of(recording_);
  GzipStream gzip_;
  std::string buffer_;
  pbf_writer top_{buffer_};
  std::unordered_map<std::string, std::int64_t> strings_;
  std::unordered_map<std::string, std::uint64_t> functions_;
  std::vector<std::int64_t> thread_names_;  // By thread.
  std::vector<std::uint32_t> modules_;      // In the order of their mapping ids.
  std::vector<std::uint64_t> mapping_ids_;  // By module.
  std::vector<Symbols> has_;                // By module.
  std::vector<std::uint32_t> locations_;    // In the order of their ids.
  std::vector<std::uint64_t> location_ids_;
  std::vector<std::uint64_t> function_of_frame_;
};

}  // namespace

void write_pprof(const Recording& recording, const profile::Profile& allocated,
                 const profile::Profile& live, const PprofOptions& options, const Sink& sink) {
  PprofWriter writer(recording, sink);
  writer.write_sample_types(!live.entries.empty() && !options.is_of_allocated);
  writer.write_samples(allocated, live);
  writer.write_header(options);
  writer.finish();
}

}  // namespace geiger::exports
