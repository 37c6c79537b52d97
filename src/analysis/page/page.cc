#include "analysis/page/page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/export/streams/gzip.h"
#include "analysis/naming/display_name.h"
#include "analysis/page/call_tree.h"
#include "analysis/page/cells.h"
#include "analysis/page/compared.h"
#include "analysis/page/items.h"
#include "analysis/page/page_data.h"
#include "analysis/page/sources.h"
#include "analysis/page/timeline.h"
#include "analysis/present/format.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/select/totals.h"
#include "analysis/report/advice/advice.h"
#include "analysis/report/holders/holders.h"
#include "analysis/report/lives/leaks.h"
#include "analysis/report/lives/lifetimes.h"
#include "analysis/report/overview/finding.h"
#include "analysis/report/overview/rss.h"
#include "analysis/report/overview/summary.h"
#include "analysis/report/profiles/table.h"

namespace geiger::page {

// The facts, lifetimes and resident memory that a page shows above and beside its profiles.

/// Curves of functions that a page has, beside the one of all.
inline constexpr std::size_t kMostCurves = 12;

/// Title, facts, warnings, version and level.
void add_header(PageData& data, const profile::Recording& recording, const PageOptions& options);

/// How long what the selection leaves lives: all of it, then the functions with most bytes.
/// Nothing of aggregated recordings and of heaps that the program manages itself.
[[nodiscard]] std::vector<Survival> survival_curves(const profile::Recording& recording,
                                                    const PageOptions& options);

/// What the resident set consisted of when it was largest; empty where it was not observed. First
/// the whole, then its parts, which add up to it.
[[nodiscard]] std::vector<AccountLine> resident_account(const profile::Recording& recording,
                                                        const PageOptions& options);

// The verdicts of `geiger leaks` for a page: every site with its node in the call tree.

/// Nothing where leaks cannot be judged: of a part of a recording, of one that is followed, and
/// where the times of samples are not known.
[[nodiscard]] std::optional<Leaks> leaks_of(const profile::Recording& recording,
                                            const PageOptions& options, Gathering& gathering,
                                            const CallTree& tree, Names& names);

/// What `geiger holders` says of the recording; nothing of a part of one, and where it was not
/// looked for. What has no room is added to `left_out`.
[[nodiscard]] std::optional<report::HoldersReport> holders_of(const profile::Recording& recording,
                                                              const PageOptions& options,
                                                              std::vector<std::string>& left_out);

/// What `geiger advise` says of a whole recording that has ended; its names fit the page.
[[nodiscard]] std::optional<report::AdviceReport> advice_of(const profile::Recording& recording,
                                                            const PageOptions& options);

/// Their nodes numbered as the page's are: `moved`, per node of the call tree.
void renumber(Leaks& leaks, std::span<const std::uint32_t> moved);

namespace {

using profile::Recording;
using report::SummaryFact;

/// Facts may quote what programs call themselves.
constexpr std::size_t kMostWarnings = 50;

std::string started_text(const Recording& recording) {
  const auto& first = *std::ranges::min_element(recording.processes, {}, &profile::Process::start);
  constexpr Nanoseconds kSecond = 1'000'000'000;
  const auto seconds = static_cast<std::time_t>(first.start_realtime / kSecond);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
}

std::string scope_text(const present::Scope& scope) {
  const std::string only = present::only_text(scope);
  if (scope.when.empty()) return only;
  return only.empty() ? scope.when : scope.when + "; " + only;
}

/// Whether a fact means something where processes stand for hosts.
bool is_of_hosts(const SummaryFact& fact) {
  constexpr std::array<std::string_view, 7> kNames{
      "interval", "samples", "allocated", "exact total", "detection limit", "stacks", "dropped"};
  return std::ranges::find(kNames, fact.label) != kNames.end();
}

/// How much of a fleet was recorded, in a line.
std::string hosts_text(const PageOptions& options) {
  constexpr std::string_view kBegin = "Recorded: ";
  present::Style line;
  line.width = std::numeric_limits<std::size_t>::max();
  line.level = options.level;
  std::string text = text_of(options.scope.fleet, line);
  if (text.starts_with(kBegin)) text.erase(0, kBegin.size());
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void add_program(std::vector<SummaryFact>& facts, const Recording& recording,
                 const PageOptions& options) {
  if (options.only) {
    facts.push_back({"hosts", hosts_text(options)});
    facts.push_back({"only", scope_text(options.scope)});
    return;
  }
  facts.push_back({"program", report::program_text(recording), report::what_ran(recording)});
  if (!recording.processes.empty()) facts.push_back({"started", started_text(recording)});
  if (!options.scope.is_part()) return;
  facts.push_back({"only", scope_text(options.scope),
                   options.scope.is_split ? "located with a quarter of the samples" : ""});
}

/// The lengths that the page's table shows, from the start to the longest watched: between frees
/// the band widens with every object that is no longer watched.
const std::vector<double> kTableLengths{0,    1e6,    1e9,
                                        60e9, 3600e9, std::numeric_limits<double>::infinity()};

Survival survival_of(const report::LifetimeLine& line) {
  Survival curve;
  const std::string name = shortened(line.name, kMostTextBytes);
  curve.name = line.detail.empty() ? name : fmt::format("{} ({})", name, line.detail);
  curve.samples = line.allocated.samples;
  std::map<double, SurvivalPoint> points;
  for (const auto& steps : {line.bytes.steps, line.bytes.asked}) {
    for (const estimation::SurvivalStep& step : steps) {
      points[step.length] = {step.length, step.alive, step.band.lo, step.band.hi};
    }
  }
  for (const auto& [length, point] : points) curve.points.push_back(point);
  return curve;
}

}  // namespace

void add_header(PageData& data, const Recording& recording, const PageOptions& options) {
  data.version = options.version;
  data.level = options.level;
  report::SummaryOptions summary;
  summary.level = options.level;
  summary.selection = options.selection;
  summary.selection.kind = profile::Kind::kAllocated;
  summary.scope = options.scope;
  summary.is_followed = options.is_followed;
  summary.sites = 0;
  const report::SummaryReport report = report::summary_report(recording, summary);
  data.opening =
      profile::name_of(report.mapped_finding ? profile::Kind::kMappedAtPeak : report.finding.kind);
  data.title = shortened(options.title.empty() ? report::program_text(recording) : options.title,
                         kMostTextBytes);
  data.columns = report::table_columns(profile::GroupBy::kFunction);
  data.columns_without_totals = report::table_columns(profile::GroupBy::kThread);
  add_program(data.facts, recording, options);
  for (SummaryFact& fact : report::summary_facts(report, recording)) {
    if (!options.only || is_of_hosts(fact)) data.facts.push_back(std::move(fact));
  }
  for (SummaryFact& fact : data.facts) fact.value = shortened(fact.value, kMostTextBytes);
  data.fault = shortened(present::as_sentence(report.fault), kMostTextBytes);
  data.warnings = report::summary_warnings(report, recording);
  if (data.warnings.size() > kMostWarnings) {
    data.left_out.push_back(
        present::plural(data.warnings.size() - kMostWarnings, "further warning"));
    data.warnings.resize(kMostWarnings);
  }
  for (std::string& warning : data.warnings) warning = shortened(warning, kMostTextBytes);
}

std::vector<Survival> survival_curves(const Recording& recording, const PageOptions& options) {
  const profile::Selection& selection = options.selection;
  const bool is_told = recording.tallies.empty() && selection.heap == profile::kProcessHeap;
  if (!is_told) return {};
  report::LifetimesOptions lifetimes;
  lifetimes.level = options.level;
  lifetimes.top = kMostCurves;
  lifetimes.lengths = kTableLengths;
  lifetimes.selection.keeps = selection.keeps;
  if (selection.from) lifetimes.selection.allocated_in.from = *selection.from;
  if (selection.to) lifetimes.selection.allocated_in.to = *selection.to;
  const report::LifetimesReport report = report::lifetimes_report(recording, lifetimes);
  if (report.whole.allocated.samples == 0) return {};
  std::vector<Survival> curves{survival_of(report.whole)};
  for (const report::LifetimeLine& line : report.lines) curves.push_back(survival_of(line));
  return curves;
}

std::vector<AccountLine> resident_account(const Recording& recording, const PageOptions& options) {
  report::RssOptions rss;
  rss.level = options.level;
  if (!recording.tallies.empty()) return {};
  const auto account = report::rss_report(recording, rss);
  if (!account.has_value()) return {};
  const auto resident = static_cast<double>(account->resident);
  const char* name =
      account->excess > 0 ? "resident set; its parts contradict each other" : "resident set";
  std::vector<AccountLine> lines{{name, resident, {resident, resident}, 0}};
  for (const report::RssRow& row : account->rows) {
    lines.push_back(
        {std::string(report::text_of(row.part)), row.bytes.value, row.bytes.interval, 1});
  }
  return lines;
}

namespace {

/// Sites that a page lists, and what holds each.
constexpr std::size_t kMostSites = 50, kMostParts = 20;

bool is_whole(const PageOptions& options) {
  return !options.selection.is_part() && options.selection.heap == profile::kProcessHeap;
}

template <typename... Text>
void shorten(Text&... texts) {
  ((texts = shortened(texts, kMostTextBytes)), ...);
}
std::vector<std::string> all_shortened(std::vector<std::string> texts) {
  for (std::string& text : texts) shorten(text);
  return texts;
}

LeakSite site_of(const report::LeakLine& line, Gathering& gathering) {
  const profile::LeakSite& site = line.site;
  return {.node = gathering.node_of(site.group.stack),
          .verdict = std::string(report::name_of(site.verdict)),
          .live = shown_bytes(line.live),
          .samples = line.live.samples,
          .never_freed = line.never_freed.value,
          .never_freed_limits = line.never_freed.interval,
          .rate = line.rate.value,
          .rate_limits = line.rate.interval,
          .since = line.since,
          .oldest = site.oldest,
          .old_from = site.old_from,
          .p = site.p_value,
          .q = site.q_value,
          .open = std::string(report::name_of(site.open)),
          .kept = site.kept,
          .growth_limit = report::growth_limit(line),
          .in_use = site.late ? report::in_use_text(*site.late) : "",
          .held = report::live_text(line),
          .sites = "",
          .holders = all_shortened(report::holders_texts(line)),
          .owner = site.owner == profile::kNone ? std::nullopt : std::optional(site.owner)};
}

/// The node of the function itself, not where the stack goes on to.
LeakSite owner_of(const report::OwnerLine& owner, Gathering& gathering, const CallTree& tree,
                  Names& names) {
  LeakSite out = site_of(owner.line, gathering);
  const NameIndex function = names.intern(owner.line.site.group.name);
  const auto name_of = [&](std::uint32_t node) {
    return tree.frames()[tree.nodes()[node].frame].name;
  };
  std::uint32_t node = out.node;
  while (node != CallTree::kRoot && name_of(node) != function) node = tree.nodes()[node].parent;
  if (node != CallTree::kRoot) out.node = node;
  out.sites = report::sites_text(owner);
  return out;
}

}  // namespace

std::optional<Leaks> leaks_of(const profile::Recording& recording, const PageOptions& options,
                              Gathering& gathering, const CallTree& tree, Names& names) {
  if (!is_whole(options) || options.is_followed || !recording.tallies.empty()) return std::nullopt;
  report::LeaksOptions wanted;
  wanted.search.level = options.level;
  wanted.top = kMostSites;
  const report::LeaksReport report = report::leaks_report(recording, wanted);
  if (report.suspects + report.undecided + report.clear + report.not_judged == 0)
    return std::nullopt;
  Leaks out;
  out.finding = report::name_of(report.finding());
  out.why = report::name_of(report.judged.why);
  out.after_start = report.judged.after_start;
  out.before_end = report.judged.before_end;
  out.slow_frees_from = report.judged.freed_from;
  out.missing = report.missing;
  if (!report.growing.empty()) out.growing = report::growing_text(report.growing.front());
  if (!report.can_be_clear) out.may_have_leaked = report.may_have_leaked;
  out.live = shown_bytes(report.live);
  out.live_at_end = shown_bytes(report.live_at_end);
  out.counts = report::counts_text(report);
  out.suspects = report.suspects;
  out.undecided = report.undecided;
  out.tested = report.tested;
  out.samples_needed = report.samples_needed;
  out.q = wanted.search.q;
  for (const report::OwnerLine& owner : report.owners) {
    out.owners.push_back(owner_of(owner, gathering, tree, names));
  }
  for (const report::LeakLine& line : report.lines) out.sites.push_back(site_of(line, gathering));
  out.unreachable = all_shortened(report::unreachable_sentences(report));
  for (report::LeakLine line : report.stopped) {
    line.site.group.name = naming::display_name(line.site.group.name);
    out.stopped.push_back(report::stopped_sentence(line));
  }
  return out;
}

std::optional<report::HoldersReport> holders_of(const profile::Recording& recording,
                                                const PageOptions& options,
                                                std::vector<std::string>& left_out) {
  if (!is_whole(options) || recording.holders.empty()) return std::nullopt;
  report::HoldersOptions wanted;
  wanted.level = options.level;
  wanted.top = kMostSites;
  auto found = report::holders_report(recording, wanted);
  if (!found.has_value()) return std::nullopt;
  report::HoldersReport report = std::move(found.value());
  std::size_t more =
      report.all_sites - report.sites.size() + report.all_roots - report.roots.size();
  for (report::HeldSite& site : report.sites) {
    more += site.parts.size() - std::min(site.parts.size(), kMostParts);
    site.parts.resize(std::min(site.parts.size(), kMostParts));
    shorten(site.name, site.detail, site.where);
    for (report::HeldPart& part : site.parts) shorten(part.root, part.path);
  }
  for (report::HolderRoot& root : report.roots) shorten(root.name);
  if (more > 0) left_out.push_back(present::plural(more, "further line") + " of holders");
  return report;
}

std::optional<report::AdviceReport> advice_of(const profile::Recording& recording,
                                              const PageOptions& options) {
  if (!is_whole(options) || options.is_followed || !recording.tallies.empty()) return std::nullopt;
  report::AdviceReport report = report::advice_report(recording, {.level = options.level});
  report.allocators = options.allocators;
  auto& items = report.findings.items;
  items.resize(std::min(items.size(), kMostSites));
  for (advice::Item& item : items)
    shorten(item.name, item.module, item.where.file, item.callers, item.owner);
  return report;
}

void renumber(Leaks& leaks, std::span<const std::uint32_t> moved) {
  for (std::vector<LeakSite>* sites : {&leaks.owners, &leaks.sites}) {
    for (LeakSite& site : *sites) site.node = moved[site.node];
  }
}

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
  std::optional<Bytes> most_live_;
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
  fixed_.leaks = leaks_of(recording, options, gathering_, tree_, names_);
  fixed_.holders = holders_of(recording, options, fixed_.left_out);
  fixed_.advice = advice_of(recording, options);
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

/// How resident bytes are known, where processes were queried from inside; what contents leave
/// open.
std::string Draft::asked_note(const Selection& selection) const {
  if (profile::is_of_content(selection.kind)) {
    return fmt::format(" Upper limits include {}.", present::kUnknownContent);
  }
  const auto asked = present::asked_inside(recording_, selection.kind, selection.moment);
  if (!asked) return {};
  return " Residency is " + present::text_of(*asked) + ".";
}

PageFinding Draft::finding_of(const Profile& profile) {
  const report::Finding found = report::find(recording_, profile, options_.level);
  PageFinding out{
      .verdict = std::string(report::name_of(found.verdict)), .lives = found.lives, .sites = {}};
  for (const report::FoundSite& site : found.sites) {
    out.sites.push_back({.node = gathering_.node_of(site.stacks.front()),
                         .function = names_.intern(site.function),
                         .place = text_of(site.where),
                         .process = options_.only ? "" : site.process,
                         .share = site.share.value,
                         .limits = site.share.interval,
                         .sites = report::sites_text(site),
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
    page.bytes = present::estimated_bytes(total);
    page.objects = total.objects;
    page.exact_total = whole.exact();
    page.calibrates = whole.exact() && whole.calibrated_to();
    page.most_bytes = whole.most();
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
  if (is_live) {
    live_interval_ = profile.largest_interval;
    most_live_ = page.most_bytes;
  }
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
  for (estimation::Estimate& live : timeline.live)
    live = present::ended_at(live, most_live_).value_or(live);
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
