#include "analysis/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/export/streams/gzip.h"
#include "analysis/page/cells.h"
#include "analysis/page/compared.h"
#include "analysis/page/header.h"
#include "analysis/page/items.h"
#include "analysis/page/kind_pages.h"
#include "analysis/page/leaks.h"
#include "analysis/page/short_names.h"
#include "analysis/page/sources.h"
#include "analysis/page/timeline.h"
#include "analysis/present/asked_inside.h"
#include "analysis/present/format.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/profile/thinned.h"
#include "analysis/profile/totals.h"
#include "analysis/report/overview/finding.h"

namespace geiger::page {
namespace {

using profile::Kind;
using profile::Profile;
using profile::Recording;
using profile::Selection;

/// All that a page is made from, before it is bounded.
class Draft {
 public:
  Draft(const Recording& recording, const PageOptions& options);

  /// The page at a step; nothing if it could not fit.
  [[nodiscard]] std::optional<PageData> at(const Coarseness& coarseness) const;

 private:
  void add_kind(Kind kind);
  [[nodiscard]] PageFinding finding_of(const Profile& profile);
  [[nodiscard]] std::string asked_note(const Selection& selection) const;
  void add_timed(PageProfile& page, const Profile& profile, const Selection& selection);
  void weigh_nodes();
  void add_doubts(PageData& data, UsedNames& names) const;
  void add_timeline(PageData& data, const Buckets& buckets) const;
  static void say_what_is_left_out(PageData& data, const Coarseness& coarseness,
                                   const Pruned& pruned, std::uint64_t cut);

  const Recording& recording_;
  const PageOptions& options_;
  Span span_;
  Names names_;
  CallTree tree_;
  Gathering gathering_;
  PageData fixed_;  ///< What no step changes.
  std::vector<Items> tables_;
  std::optional<ComparedTree> compared_;
  Sources sources_;
  ShortNames short_names_;
  std::optional<std::size_t> timed_allocated_, timed_live_;  ///< Into tables_.
  double live_interval_ = 0;
  std::vector<double> weights_;  ///< Per node of the tree: its largest share of any table.
  NameIndex smaller_ones_, others_;
};

/// A comparison is of functions: with lines its stacks would be others than those of the profiles.
bool tells_lines(const PageOptions& options) {
  return options.compared == nullptr || static_cast<bool>(options.read_source);
}

Draft::Draft(const Recording& recording, const PageOptions& options)
    : recording_(recording),
      options_(options),
      span_(span_of(recording, options.selection)),
      tree_(names_),
      gathering_(recording, tree_, names_, tells_lines(options)),
      smaller_ones_(names_.intern(kSmallerOnes)),
      others_(names_.intern("[others]")) {
  add_header(fixed_, recording, options);
  const std::vector<Kind> kinds =
      options.only ? std::vector{*options.only} : kinds_in_order(options.is_followed);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (options.progress) options.progress(i, kKinds.size() + 1);
    add_kind(kinds[i]);
  }
  fixed_.lifetimes = survival_curves(recording, options);
  fixed_.resident = resident_account(recording, options);
  fixed_.leaks = leaks_of(recording, options, gathering_);
  fixed_.open = options.scope.open;
  fixed_.refresh = options.refresh;
  fixed_.preset = options.preset;
  if (options.compared != nullptr) {
    fixed_.diff = diff_of(*options.compared, fixed_.left_out);
    compared_.emplace(options.compared->tree, tree_, names_);
  }
  if (options.read_source) sources_ = read_sources(tree_, names_, options.read_source);
  short_names_ = ShortNames(tree_, names_);
  weigh_nodes();
  if (options.progress) options.progress(kKinds.size(), kKinds.size() + 1);
}

/// What is live at the end of a window is what is so just before it ends.
Selection selection_of(const Selection& all, Kind kind) {
  Selection selection = of_kind(all, kind);
  if (kind == Kind::kLiveAtEnd && selection.at) selection.at = *selection.at - 1;
  return selection;
}

/// How resident bytes are known, where processes were queried from inside.
std::string Draft::asked_note(const Selection& selection) const {
  const auto asked = present::asked_inside(recording_, selection.kind, selection.moment);
  if (!asked) return {};
  return " Residency is " + present::text_of(*asked) + ".";
}

PageFinding Draft::finding_of(const Profile& profile) {
  const report::Finding found = report::find(recording_, profile, options_.level);
  PageFinding out{.verdict = std::string(report::name_of(found.verdict)), .sites = {}};
  for (const report::FoundSite& site : found.sites) {
    out.sites.push_back({.node = gathering_.node_of(site.stack),
                         .function = names_.intern(site.function),
                         .place = text_of(site.where),
                         .process = options_.only ? "" : site.process,
                         .share = site.share.value,
                         .limits = site.share.interval,
                         .parts = {}});
    for (const report::FoundPart& part : site.parts) {
      out.sites.back().parts.push_back({.function = names_.intern(part.function),
                                        .is_own = part.is_own,
                                        .place = text_of(part.where),
                                        .share = part.share.value,
                                        .limits = part.share.interval});
    }
  }
  return out;
}

void Draft::add_kind(Kind kind) {
  const Selection selection = selection_of(options_.selection, kind);
  PageProfile page;
  page.kind = profile::name_of(kind);
  page.title = title_of(kind, options_.is_followed);
  page.about = about(kind, options_.is_followed);
  page.unavailable = why_unavailable(recording_, selection);
  if (options_.is_followed && !page.unavailable.empty()) return;
  if (page.unavailable.empty()) {
    const Profile profile = select(recording_, selection);
    const present::Whole whole(recording_, profile);
    const present::Measure total = whole.measure_total(options_.level);
    page.bytes = total.bytes;
    page.objects = total.objects;
    page.exact_total = whole.exact();
    page.calibrates = whole.calibrated_to().has_value();
    page.largest_interval = profile.largest_interval;
    page.object_interval = profile.largest_interval / profile.largest_ratio;
    const double complete = profile::complete_from(recording_, profile);
    if (std::isfinite(complete)) page.complete_from = complete;
    if (profile.rate_factor < 1) {
      page.about += " " + present::split_note();
      page.about.pop_back();  // A note of text ends its line.
    }
    page.about += asked_note(selection);
    page.finding = finding_of(profile);
    add_timed(page, profile, selection);
    if (kind == Kind::kLiveAtPeak) {
      if (!fixed_.timeline) fixed_.timeline.emplace();
      fixed_.timeline->peak = peak_of(recording_, profile);
    }
  }
  fixed_.profiles.push_back(std::move(page));
}

/// The cells of a profile. Of what was allocated and what lives they have times, so that the
/// page can tell the same of any window; where no fate was thinned, both have the same cells.
void Draft::add_timed(PageProfile& page, const Profile& profile, const Selection& selection) {
  const bool is_allocated = selection.kind == Kind::kAllocated;
  const bool is_live = selection.kind == Kind::kLiveAtEnd;
  const bool is_timed = (is_allocated || is_live) && gathering_.can_tell_times(selection);
  if (!is_timed) {
    page.cells = static_cast<std::int32_t>(tables_.size());
    tables_.push_back(gathering_.of(profile));
    return;
  }
  page.counts = is_allocated ? Counts::kBorn : Counts::kAlive;
  auto& table = is_allocated ? timed_allocated_ : timed_live_;
  if (is_live && !profile::is_any_thinned(recording_)) table = timed_allocated_;
  if (!table) {
    table = tables_.size();
    tables_.push_back(gathering_.with_times(options_.selection, span_, is_live));
  }
  if (is_live) live_interval_ = profile.largest_interval;
  page.cells = static_cast<std::int32_t>(*table);
}

void Draft::weigh_nodes() {
  const std::vector<CallTree::Node>& nodes = tree_.nodes();
  weights_.assign(nodes.size(), 0);
  for (const Items& table : tables_) {
    std::vector<double> own(nodes.size(), 0);
    const std::vector<double> weights = weights_of(table);
    for (std::size_t i = 0; i < table.items.size(); ++i) own[table.items[i].node] += weights[i];
    for (std::size_t i = nodes.size(); i-- > 1;) own[nodes[i].parent] += own[i];
    const double all = own[CallTree::kRoot];
    if (!(all > 0)) continue;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      weights_[i] = std::max(weights_[i], own[i] / all);
    }
  }
  if (compared_) compared_->weigh(weights_);
}

std::optional<PageData> Draft::at(const Coarseness& coarseness) const {
  PageData data = fixed_;
  const Buckets buckets(span_, coarseness.buckets);
  UsedNames names(names_);
  Pruned pruned = prune(tree_, weights_, coarseness.nodes, names, smaller_ones_);
  data.nodes = std::move(pruned.nodes);
  data.frames = std::move(pruned.frames);
  const CellPlan plan{coarseness, buckets, pruned.moved, others_, gathering_.unknown_type()};
  std::size_t cells = 0;
  std::size_t strata = 0;
  for (const Items& table : tables_) {
    data.cells.push_back(cells_of(table, plan, names));
    cells += data.cells.back().cells.size();
    strata += data.cells.back().strata.size();
  }
  if (cells > kMostCells || strata > kMostStrata) return std::nullopt;
  add_doubts(data, names);
  if (coarseness.told >= kToldWithSources) {
    data.sources = sources_.found;
    for (Source& source : data.sources) source.file = names.of(source.file);
  }
  data.left_out.insert(data.left_out.end(), sources_.left_out.begin(), sources_.left_out.end());
  if (data.leaks) renumber(*data.leaks, pruned.moved);
  for (PageProfile& profile : data.profiles) {
    for (PageSite& site : profile.finding.sites) {
      site.node = pruned.moved[site.node];
      site.function = names.of(site.function);
      for (PagePart& part : site.parts) part.function = names.of(part.function);
    }
  }
  if (compared_) data.diff->nodes = compared_->nodes(pruned, names);
  if (!options_.only) add_timeline(data, buckets);
  std::uint64_t cut = 0;
  data.names = names.texts(coarseness.name_bytes, cut);
  data.short_names = short_names_.of(names, coarseness.name_bytes);
  say_what_is_left_out(data, coarseness, pruned, cut);
  return data;
}

/// The threads and types that cells do not distinguish.
void Draft::add_doubts(PageData& data, UsedNames& names) const {
  data.unknown_type = names.of(gathering_.unknown_type());
  const bool has_others = std::ranges::find(names.used(), others_) != names.used().end();
  for (const MayBe& either : gathering_.may_be()) {
    data.may_be.push_back({names.of(either.thread), names.of(either.other)});
    if (has_others) data.may_be.push_back({names.of(others_), names.of(either.other)});
  }
}

void Draft::add_timeline(PageData& data, const Buckets& buckets) const {
  if (!data.timeline) data.timeline.emplace();
  Timeline& timeline = *data.timeline;
  timeline.edges = buckets.edges(profile::start_of(recording_));
  timeline.rss = resident_series(recording_, span_);
  timeline.mapped = mapped_series(recording_, span_);
  MarksOfPage marks = marks_of(recording_, span_);
  if (marks.all > marks.marks.size()) {
    data.left_out.push_back(present::plural(marks.all - marks.marks.size(), "later mark"));
  }
  timeline.marks = std::move(marks.marks);
  const auto& table = timed_live_ ? timed_live_ : timed_allocated_;
  if (!table) return;
  timeline.live = live_over_time(tables_[*table], buckets, live_interval_, options_.level);
}

void Draft::say_what_is_left_out(PageData& data, const Coarseness& coarseness, const Pruned& pruned,
                                 std::uint64_t cut) {
  std::vector<std::string>& lines = data.left_out;
  if (data.timeline && coarseness.buckets < kSteps.front().buckets) {
    lines.push_back(fmt::format("times are rounded to {}",
                                present::plural(data.timeline->edges.size() - 1, "step")));
  }
  if (coarseness.size_steps > 0) {
    lines.push_back(fmt::format(
        "sizes within 1/{} of a power of two are replaced by their mean; totals are exact sums",
        coarseness.size_steps));
  }
  if (pruned.left_out > 0) {
    lines.push_back(fmt::format("{} of the call tree with the fewest bytes are combined in {}",
                                present::plural(pruned.left_out, "node"), kSmallerOnes));
  }
  if (cut > 0) {
    lines.push_back(fmt::format("{} truncated to {} bytes", present::plural(cut, "name"),
                                present::exact_count(coarseness.name_bytes)));
  }
}

std::size_t compressed_size(const std::string& text) {
  std::size_t size = 0;
  exports::GzipStream stream([&](std::string_view bytes) { size += bytes.size(); },
                             exports::Effort::kSmall);
  stream.write(text);
  stream.finish();
  return size;
}

/// The finest page that fits, and its document.
std::pair<PageData, std::string> fitting(const Recording& recording, const PageOptions& options) {
  const Draft draft(recording, options);
  std::pair<PageData, std::string> made;
  for (const Coarseness& coarseness : kSteps) {
    auto data = draft.at(coarseness);
    if (!data) continue;
    made = {std::move(*data), {}};
    made.second = to_json(made.first);
    const bool fits = made.second.size() <= options.most_bytes ||
                      compressed_size(made.second) <= options.most_bytes;
    if (fits) break;
  }
  return made;
}

}  // namespace

PageData page_of(const Recording& recording, const PageOptions& options) {
  return fitting(recording, options).first;
}

std::string page_data(const Recording& recording, const PageOptions& options) {
  return fitting(recording, options).second;
}

}  // namespace geiger::page
