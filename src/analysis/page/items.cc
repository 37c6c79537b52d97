#include "analysis/page/items.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "analysis/present/format.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/select/totals.h"
#include "base/check.h"
#include "base/index_of.h"

namespace geiger::page {

using profile::Kind;

std::string title_of(Kind kind, bool is_followed) {
  const profile::KindRules& rules = profile::rules_of(kind);
  std::string title(is_followed && !rules.text_now.empty() ? rules.text_now : rules.text);
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

std::vector<Kind> kinds_in_order(bool is_followed) {
  std::vector<Kind> kinds(kKinds.begin(), kKinds.end());
  if (is_followed) std::swap(kinds[0], kinds[1]);
  return kinds;
}

std::string_view about(Kind kind, bool is_followed) {
  const profile::KindRules& rules = profile::rules_of(kind);
  return is_followed && !rules.meaning_now.empty() ? rules.meaning_now : rules.meaning;
}

std::string why_unavailable(const profile::Recording& recording,
                            const profile::Selection& selection) {
  const Kind kind = selection.kind;
  const bool is_filtered = selection.keeps || selection.heap != profile::kProcessHeap;
  if (profile::is_of_mappings(kind)) {
    if (is_filtered) return std::string(profile::kNoFilters);
    if (recording.mappings.empty()) return "the program made no mmap calls of its own";
  }
  const bool has_window = selection.from || selection.to;
  if (has_window && profile::is_of_snapshot(kind))
    return "it exists for the largest resident set, not for a window";
  if (has_window && profile::is_of_live_blocks(kind))
    return "it exists for the end, not for a window";
  return profile::check_kind(recording, kind, selection.moment).reason();
}

using estimation::Count;
using profile::kNone;
using profile::Recording;
using profile::Sample;
using profile::Selection;

/// Shapes by number, each once.
class Gathering::Shapes {
 public:
  explicit Shapes(std::vector<Shape>& shapes) : shapes_(shapes) {}

  std::uint32_t of(Count count, bool is_open = false) {
    count.count = 1;
    return base::index_of(known_, {count, is_open}, shapes_);
  }

 private:
  struct Hash {
    std::size_t operator()(const Shape& shape) const {
      using profile::spread;
      const Count& count = shape.count;
      std::uint64_t hash = spread(profile::table_seed(), count.size);
      hash = spread(hash, std::bit_cast<std::uint64_t>(count.lambda));
      hash = spread(hash, shape.is_open ? 1 : 0);
      return spread(spread(hash, count.value), std::bit_cast<std::uint64_t>(count.keep));
    }
  };

  std::vector<Shape>& shapes_;
  tsl::robin_map<Shape, std::uint32_t, Hash> known_;
};

namespace {

/// What estimates nothing goes into no sum (estimation::make_canonical).
bool adds_something(const Count& count) {
  return count.value > 0 && count.lambda > 0 && count.keep > 0;
}

/// "cc1plus, process 22694, 10.0 s"; of a host of a fleet, which has no number, its name.
std::string process_text(const profile::Process& process) {
  const std::string name(profile::program_name(process));
  if (process.pid == 0) return name;
  return fmt::format("{}, process {}, {}", name, process.pid,
                     present::duration(process.end - std::min(process.start, process.end)));
}

bool lived_in(const Sample& sample, Nanoseconds from, Nanoseconds limit) {
  return sample.time < limit && (sample.free_time == 0 || sample.free_time >= from);
}

}  // namespace

Gathering::Gathering(const Recording& recording, CallTree& tree, Names& names, bool tells_lines)
    : recording_(recording), nodes_(recording, tree, names, tells_lines), types_(recording) {
  for (const profile::Process& process : recording.processes) {
    processes_.push_back(names.intern(process_text(process)));
  }
  for (const profile::Thread& thread : recording.threads) {
    const NameIndex name = names.intern(thread.name.empty() ? "[no name]" : thread.name);
    threads_.push_back(name);
    if (thread.earlier_name.empty()) continue;
    threads_.back() = names.intern(fmt::format("{}, then {}", thread.earlier_name, thread.name));
    may_be_.push_back({threads_.back(), name});
    may_be_.push_back({threads_.back(), names.intern(thread.earlier_name)});
  }
  threads_.push_back(names.intern("[no thread]"));
  for (std::uint32_t i = 0; i < types_.size(); ++i) type_names_.push_back(names.intern(types_[i]));
  for (std::uint32_t i = 0; i < recording.labels.size(); ++i) {
    labels_.push_back(names.intern(profile::path_of_label(recording, i)));
  }
}

bool Gathering::can_tell_times(const Selection& selection) const {
  return recording_.tallies.empty() && !selection.is_chosen_by_samples;
}

Items Gathering::with_times(const Selection& selection, const Span& span, bool is_of_fates) {
  GEIGER_CHECK(can_tell_times(selection));
  Items out;
  out.has_times = out.has_threads = out.has_types = out.has_labels = true;
  out.has_processes = processes_.size() > 1;
  Shapes shapes(out.shapes);
  const Nanoseconds limit = selection.to ? span.to : kNever;
  const std::vector<bool> there = there_at_end(recording_, selection);
  for (const Sample& sample : recording_.samples_beside(selection.heap)) {
    if (sample.heap != selection.heap || !lived_in(sample, span.from, limit)) continue;
    const profile::Answer answer = answer_of(selection.keeps, sample);
    if (answer == profile::Answer::kNo) continue;
    if (is_of_fates && sample.is_thinned_out) continue;
    const Count shape = is_of_fates ? profile::count_of_fate(recording_, sample)
                                    : profile::count_of(recording_, sample);
    if (!adds_something(shape)) continue;
    Item item = item_of(sample);
    item.shape = shapes.of(shape, answer == profile::Answer::kOpen);
    item.born = profile::is_allocation_seen(sample) ? sample.time : 0;
    const profile::Process& process = recording_.processes[sample.process];
    const bool is_there = limit == kNever ? there[sample.process] : is_running(process, limit - 1);
    if (sample.free_time != 0 && sample.free_time < limit) {
      item.died = sample.free_time;
    } else if (process.is_finalizing(sample.time)) {
      item.died = sample.time;  // Not live at the end of the program's own work.
    } else if (!is_there) {
      item.died = process.end;
    }
    out.items.push_back(item);
  }
  return out;
}

Items Gathering::of(const profile::Profile& profile) {
  Items out;
  const bool is_of_samples = !profile::is_of_mappings(profile.kind);
  out.has_threads = out.has_types = out.has_labels = is_of_samples;
  out.has_processes = processes_.size() > 1;
  Shapes shapes(out.shapes);
  add_entries(out, shapes, profile, false);
  add_entries(out, shapes, profile::open_of(profile), true);
  return out;
}

void Gathering::add_entries(Items& items, Shapes& shapes, const profile::Profile& profile,
                            bool is_open) {
  for (const profile::Entry& entry : profile.entries) {
    const Count shape = count_of(entry, recording_, profile);
    if (!adds_something(shape)) continue;
    Item item = item_of(entry);
    item.shape = shapes.of(shape, is_open);
    item.count = entry.count;
    items.items.push_back(item);
  }
}

template <typename Of>
Item Gathering::item_of(const Of& of) {
  return {.node = nodes_.of(of.stack),
          .process = processes_[of.process],
          .thread = threads_[std::min<std::size_t>(of.thread, recording_.threads.size())],
          .type = type_names_[types_.of(of.type, of.stack)],
          .label = of.label == kNone ? kNoName : labels_[of.label]};
}

}  // namespace geiger::page
