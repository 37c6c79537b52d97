#include "analysis/export/pprof.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/export/profile_rows.h"
#include "analysis/export/streams/gzip.h"
#include "analysis/present/format.h"
#include "analysis/present/measure.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/gaps.h"
#include "analysis/profile/select/profile.h"
#include "pprof/profile_proto.h"
#include "pprof/writer.h"

namespace geiger::exports {

namespace {

using profile::Recording;

class PprofExport {
 public:
  PprofExport(const Recording& recording, const Sink& sink)
      : recording_(recording),
        types_(recording),
        gzip_(sink),
        location_ids_(recording.locations.size()),
        function_of_frame_(recording.frames.size()),
        own_tags_(recording.labels.size()) {
    number_mappings();
  }

  void write_sample_types(bool is_of_live) {
    writer_.write_sample_types(pprof::kSampleTypes);
    writer_.write_shown_type(is_of_live ? "inuse_space" : "alloc_space");
  }

  void write_samples(const profile::Profile& allocated, const profile::Profile& live,
                     const PprofOptions& options) {
    const ProfileTable table = profile_table(recording_, types_, allocated, live, options.extent);
    has_sizes_ = !options.extent.has_stacks_only;
    for (const auto& [stack, owner] : options.accused) {
      std::vector<pprof::InternedTag>& tags = leak_tags_[stack];
      tags.push_back({writer_.intern(pprof::kLeakLabel), writer_.intern("suspect")});
      if (owner.empty()) continue;
      tags.push_back({writer_.intern(pprof::kLeakOwnerLabel), writer_.intern(owner)});
    }
    for (const profile::Thread& thread : recording_.threads) {
      thread_names_.push_back(
          writer_.intern(thread.name.empty() ? "tid " + std::to_string(thread.tid) : thread.name));
    }
    for (std::size_t i = 0; i < table.rows.size(); ++i) write_row(table, i);
  }

  void write_header(const PprofOptions& options) {
    for (const std::string& comment : options.comments) writer_.write_comment(comment);
    if (recording_.processes.empty()) return;
    const RecordedTime time = recorded_time(recording_);
    writer_.write_extent(time.realtime, time.end - time.start);
    writer_.write_period(period_);
  }

  /// Everything that samples refer to.
  void finish() {
    for (const std::uint32_t module : modules_) write_mapping(module);
    for (const std::uint32_t location : locations_) {
      if (location != profile::kNone) write_location(location);
    }
    for (const auto& [name, id] : marks_) write_mark(std::string(name), id);
    writer_.finish();
    gzip_.finish();
  }

 private:
  /// The main binary comes first: readers take the first mapping for the program.
  void number_mappings() {
    for (std::uint32_t i = 0; i < recording_.modules.size(); ++i) {
      const bool is_mapped = recording_.modules[i].kind != profile::ModuleKind::kSource;
      if (is_mapped) modules_.push_back(i);
    }
    if (!recording_.processes.empty()) {
      const std::string& program = recording_.processes.front().executable;
      std::stable_partition(modules_.begin(), modules_.end(),
                            [&](std::uint32_t i) { return recording_.modules[i].path == program; });
    }
    mapping_ids_.resize(recording_.modules.size());
    for (std::uint32_t i = 0; i < modules_.size(); ++i) mapping_ids_[modules_[i]] = i + 1;
    has_.resize(recording_.modules.size());
  }

  std::uint64_t location_id(std::uint32_t location) {
    if (location_ids_[location] == 0) {
      locations_.push_back(location);
      location_ids_[location] = locations_.size();
      note_symbols(location);
    }
    return location_ids_[location];
  }

  /// Of a location that stands for frames that are missing.
  std::uint64_t mark_id(std::string_view name) {
    const auto [place, is_new] = marks_.try_emplace(name, locations_.size() + 1);
    if (is_new) locations_.push_back(profile::kNone);
    return place->second;
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

  void write_row(const ProfileTable& table, std::size_t index) {
    const ProfileRow& row = table.rows[index];
    ids_.clear();
    if (row.stack < recording_.stacks.size()) {
      for (const std::uint32_t location : recording_.stacks[row.stack].locations) {
        ids_.push_back(location_id(location));
      }
      if (recording_.stacks[row.stack].is_truncated) ids_.push_back(mark_id("[truncated]"));
    } else if (row.stack == kOtherStacks) {
      ids_.push_back(mark_id(profile::kUntoldStacks));
    }
    std::array<std::int64_t, pprof::kSampleTypes.size()> values{};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = table.columns[i][index];
    pprof::Row out;
    out.requested = row.requested;
    out.interval = row.interval;
    if (row.thread < thread_names_.size()) out.thread = thread_names_[row.thread];
    if (row.type != profile::Types::kUnknown) out.type = writer_.intern(types_[row.type]);
    const std::span<const pprof::InternedTag> own = own_tags_of(row.label);
    tags_.assign(own.begin(), own.end());
    const auto leak = leak_tags_.find(row.stack);
    if (leak != leak_tags_.end())
      tags_.insert(tags_.end(), leak->second.begin(), leak->second.end());
    out.tags = tags_;
    if (has_sizes_) {
      rows_.write(out, ids_, values);
    } else {
      writer_.write(pprof::Sample{ids_, values, {}});
    }
  }

  std::span<const pprof::InternedTag> own_tags_of(std::uint32_t innermost) {
    if (innermost >= own_tags_.size()) return {};
    std::vector<pprof::InternedTag>& known = own_tags_[innermost];
    if (!known.empty()) return known;
    std::vector<std::string_view> texts;
    for (std::uint32_t at = innermost; at != profile::kNone; at = recording_.labels[at].parent) {
      texts.emplace_back(recording_.labels[at].text);
    }
    return known = rows_.own_tags(texts);
  }

  void write_mapping(std::uint32_t index) {
    const profile::Module& module = recording_.modules[index];
    const Symbols& has = has_[index];
    writer_.write(pprof::Mapping{module.start, module.end, 0, module.path, module.build_id,
                                 has.functions, has.files, has.lines, has.inlined});
  }

  void write_location(std::uint32_t index) {
    const profile::Location& location = recording_.locations[index];
    const bool is_source = recording_.is_source(location);
    const bool has_module = location.module < recording_.modules.size() && !is_source;
    lines_.clear();
    for (const std::uint32_t frame : location.frames) {
      lines_.push_back({function_id(frame), recording_.frames[frame].line});
    }
    // Traces hold return addresses; pprof wants the calling instruction.
    const Address bias = has_module ? recording_.modules[location.module].bias : 0;
    writer_.write(pprof::Location{location_ids_[index],
                                  has_module ? mapping_ids_[location.module] : 0,
                                  is_source ? 0 : location.vaddr + bias - 1, lines_});
  }

  void write_mark(const std::string& name, std::uint64_t id) {
    lines_.assign(1, {writer_.function(name, name, ""), 0});
    writer_.write(pprof::Location{id, 0, 0, lines_});
  }

  std::uint64_t function_id(std::uint32_t index) {
    std::uint64_t& id = function_of_frame_[index];
    const profile::Frame& frame = recording_.frames[index];
    const std::string& system = frame.system_name.empty() ? frame.function : frame.system_name;
    if (id == 0) id = writer_.function(frame.function, system, frame.file);
    return id;
  }

  const Recording& recording_;
  const profile::Types types_;
  const Bytes period_ = period_of(recording_);
  GzipStream gzip_;
  pprof::Writer writer_{[this](std::string_view bytes) { gzip_.write(bytes); }};
  pprof::RowWriter rows_{writer_, period_};
  std::vector<pprof::Text> thread_names_;   // By thread.
  std::vector<std::uint32_t> modules_;      // In the order of their mapping ids.
  std::vector<std::uint64_t> mapping_ids_;  // By module.
  std::vector<Symbols> has_;                // By module.
  std::vector<std::uint32_t> locations_;    // In the order of their ids.
  std::vector<std::uint64_t> location_ids_;
  std::map<std::string_view, std::uint64_t> marks_;
  bool has_sizes_ = true;
  std::vector<std::uint64_t> function_of_frame_;
  std::vector<std::vector<pprof::InternedTag>> own_tags_;  // By label; those that occur.
  std::map<std::uint32_t, std::vector<pprof::InternedTag>> leak_tags_;  // By stack.
  std::vector<pprof::InternedTag> tags_;  // Of the row that is written.
  std::vector<std::uint64_t> ids_;        // Of the row that is written.
  std::vector<pprof::Line> lines_;        // Of the location that is written.
};

}  // namespace

void write_pprof(const Recording& recording, const profile::Profile& allocated,
                 const profile::Profile& live, const PprofOptions& options, const Sink& sink) {
  PprofExport writer(recording, sink);
  writer.write_sample_types(!live.entries.empty() && !options.is_of_allocated);
  writer.write_samples(allocated, live, options);
  writer.write_header(options);
  writer.finish();
}

namespace {

std::string total_comment(const char* name, const profile::Recording& recording,
                          const profile::Profile& profile, double level) {
  const auto measure = present::measure_total(recording, profile, level);
  return fmt::format("{}_space {} ({} interval, {}); {}_objects {}", name,
                     present::figure(measure.bytes, present::Quantity::kBytes).text(),
                     present::level_text(level), present::plural(measure.samples, "sample"), name,
                     present::objects_figure(measure).text());
}

}  // namespace

std::vector<std::string> pprof_comments(const profile::Recording& recording,
                                        const profile::Profile* allocated,
                                        const profile::Profile& live, double level,
                                        std::string_view part) {
  std::vector<std::string> comments;
  const bool is_mapped = profile::is_of_mappings(live.kind);
  if (is_mapped) {
    comments.emplace_back("mapped by the program's own calls of mmap, all counted by geiger");
  } else if (profile::is_any_without_errors(recording)) {
    comments.emplace_back("values of another profile, which does not contain their errors");
  } else if (!recording.processes.empty()) {
    comments.push_back(fmt::format("estimated by geiger from samples, one byte in {} on average",
                                   present::exact_bytes(recording.processes.front().interval)));
  }
  if (!part.empty()) comments.emplace_back(part);
  if (is_mapped) return comments;
  if (allocated != nullptr) {
    comments.push_back(total_comment("alloc", recording, *allocated, level));
  }
  comments.push_back(total_comment("inuse", recording, live, level));
  return comments;
}

}  // namespace geiger::exports
