#include "analysis/report/overview/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/heading.h"
#include "analysis/present/text.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/lives/owners.h"

namespace geiger::report {

namespace {

using estimation::NodeSums;
using profile::Labels;
using profile::Recording;

/// What one stack adds, and its functions that may be named, innermost first, each once.
struct Path {
  NodeSums sums;
  std::vector<std::uint32_t> functions;  ///< Labels.
  std::vector<std::uint32_t> frames;     ///< Beside them: the innermost frame of each, or kNone.
  std::uint32_t outermost = profile::kNone;  ///< Label.
  std::uint32_t process = 0;                 ///< The one with most of it.
  std::uint32_t stack = profile::kNone;
};

/// A function with all stacks that pass through it.
struct Passing {
  std::uint32_t label = 0;
  NodeSums sums;
  present::Share share = {};
  /// Weighted bytes of it that pass on through another candidate. <= sums.all_bytes().
  double passed_on = 0;
};

/// Stacks among which functions are looked for.
struct Scene {
  std::span<const Path> paths;
  std::size_t labels = 0;             ///< All that paths have are less.
  double least_share = kShareToName;  ///< Of a function that is named.
};

constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr double kMost = 0.5;

std::uint64_t samples_of(const NodeSums& sums) { return sums.samples + sums.certain_samples; }

class Search {
 public:
  Search(const NamedRecording& named, const profile::Profile& profile, double level)
      : recording_(named.recording),
        profile_(profile),
        level_(level),
        whole_(recording_, profile),
        labels_(named.labels),
        roles_(named.roles),
        total_(whole_.measure_total(level)) {
    collect_paths();
  }

  [[nodiscard]] Finding finish() const {
    Finding finding;
    finding.kind = profile_.kind;
    finding.total = total_;
    if (total_.samples == 0) return finding;
    if (total_.bytes.interval.hi <= 0) {
      finding.verdict = FindingVerdict::kEmpty;
      return finding;
    }
    std::vector<Passing> named = leaders(all());
    keep_rivals(named);
    finding.verdict = named.empty() ? FindingVerdict::kSpread : FindingVerdict::kFound;
    if (named.empty() && total_.samples < kSamplesToName) {
      finding.verdict = FindingVerdict::kTooFew;
      return finding;
    }
    if (named.empty()) named = largest_allocator();
    for (const Passing& one : named) finding.sites.push_back(site_of(one));
    if (named.size() == 1) put_owner(named.front(), finding);
    if (named.size() == 1 && finding.sites.front().share.value >= kNearlyAll) {
      finding.sites.front().parts = parts_of(named.front().label);
    }
    if (profile_.kind == profile::Kind::kAllocated && named.size() == 1) {
      finding.lives = lives_text(finding.sites.front().stacks);
    }
    return finding;
  }

 private:
  void collect_paths() {
    const std::vector<std::uint32_t> processes = process_of_stacks();
    for (profile::StackSums& stack : profile::sums_by_stack(recording_, profile_)) {
      Path path;
      path.sums = stack.sums;
      path.process = processes[stack.stack + 1U];
      path.stack = stack.stack;
      add_functions(path, stack.stack);
      paths_.push_back(std::move(path));
    }
  }

  /// By the stack's number, of which kNone wraps to 0.
  [[nodiscard]] std::vector<std::uint32_t> process_of_stacks() const {
    std::vector<std::uint32_t> processes(recording_.stacks.size() + 1, 0);
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> bytes;
    std::vector<double> most(processes.size(), 0);
    for (const profile::Entry& entry : profile_.entries) {
      NodeSums sums;
      profile::accumulate(sums, entry, recording_, profile_);
      double& of_process = bytes[{entry.stack, entry.process}];
      of_process += sums.all_bytes();
      const std::size_t slot = entry.stack + 1U;
      if (of_process <= most[slot]) continue;
      most[slot] = of_process;
      processes[slot] = entry.process;
    }
    return processes;
  }

  /// The frames of the program's own code that have source lines. A stack without any, of a
  /// stripped program or inside a library, has all that views show of it. A stack with nothing but
  /// plumbing, such as that of an interpreter's startup, names no function.
  void add_functions(Path& path, std::uint32_t stack) const {
    std::vector<std::uint32_t> labels, frames;
    labels_.collect(recording_, stack, labels);
    labels_.collect_frames(recording_, stack, frames);
    roles_.keep_shown(labels, frames);
    path.outermost = labels.empty() ? profile::kNone : labels.back();
    const auto is_own = [&](std::size_t i) {
      return roles_[labels[i]] == profile::FrameRole::kOwn && frames[i] != profile::kNone &&
             recording_.frames[frames[i]].line != 0;
    };
    bool has_own = false;
    for (std::size_t i = 0; i < labels.size(); ++i) has_own |= is_own(i);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (has_own ? !is_own(i) : profile::is_plumbing(roles_[labels[i]])) continue;
      if (std::ranges::find(path.functions, labels[i]) != path.functions.end()) continue;
      path.functions.push_back(labels[i]);
      path.frames.push_back(frames[i]);
    }
  }

  /// Where nothing is estimated (T = 1, mappings) one object proves its share.
  [[nodiscard]] bool has_enough(std::uint64_t samples) const {
    return samples >= kSamplesToName || (samples > 0 && total_.bytes.variance <= 0);
  }

  /// Bytes that are known exactly prove a share whatever the number of their objects.
  [[nodiscard]] bool is_proved(const NodeSums& sums, double least_share) const {
    return has_enough(samples_of(sums)) ||
           sums.certain_bytes >= least_share * total_.bytes.interval.hi;
  }

  [[nodiscard]] Scene all() const { return {.paths = paths_, .labels = labels_.size()}; }

  /// The stacks of each function, the first `most` functions of a stack only.
  [[nodiscard]] static std::vector<Passing> passing(const Scene& scene, std::size_t most) {
    std::vector<NodeSums> sums(scene.labels);
    for (const Path& path : scene.paths) {
      const std::size_t count = std::min(most, path.functions.size());
      for (std::size_t i = 0; i < count; ++i) sums[path.functions[i]].merge(path.sums);
    }
    std::vector<Passing> all;
    for (std::uint32_t label = 0; label < sums.size(); ++label) {
      if (samples_of(sums[label]) > 0) all.push_back({.label = label, .sums = sums[label]});
    }
    return all;
  }

  [[nodiscard]] present::Share share_of(const NodeSums& sums) const {
    return present::share_of(whole_.measure_row(sums, level_), sums, whole_, level_);
  }

  /// Functions with a proved share.
  [[nodiscard]] std::vector<Passing> candidates(const Scene& scene) const {
    std::vector<Passing> found;
    const double whole = whole_.bytes_for_order(whole_.sums());
    for (Passing& one : passing(scene, SIZE_MAX)) {
      if (!is_proved(one.sums, scene.least_share)) continue;
      // A share is not below its lower limit: this saves estimating most functions.
      if (whole_.bytes_for_order(one.sums) < scene.least_share * whole) continue;
      one.share = share_of(one.sums);
      if (one.share.interval.lo >= scene.least_share) found.push_back(std::move(one));
    }
    return found;
  }

  /// Candidates most of whose bytes pass through no other one further in, the largest first.
  [[nodiscard]] std::vector<Passing> leaders(const Scene& scene) const {
    std::vector<Passing> found = candidates(scene);
    std::vector<std::uint32_t> index_of(scene.labels, profile::kNone);
    for (std::uint32_t i = 0; i < found.size(); ++i) index_of[found[i].label] = i;
    for (const Path& path : scene.paths) {
      bool is_innermost = true;
      for (const std::uint32_t label : path.functions) {
        const std::uint32_t index = index_of[label];
        if (index == profile::kNone || std::exchange(is_innermost, false)) continue;
        found[index].passed_on += path.sums.all_bytes();
      }
    }
    std::erase_if(found,
                  [](const Passing& one) { return one.passed_on > one.sums.all_bytes() / 2; });
    sort(found);
    return found;
  }

  void sort(std::vector<Passing>& all) const {
    std::ranges::stable_sort(all, [&](const Passing& a, const Passing& b) {
      const double more = whole_.bytes_for_order(a.sums), less = whole_.bytes_for_order(b.sums);
      return more != less ? more > less : name_of(a.label) < name_of(b.label);
    });
  }

  /// Nothing for the lines of a function, which are in order already.
  [[nodiscard]] std::string_view name_of(std::uint32_t label) const {
    return label < labels_.size() ? std::string_view(labels_[label].name) : std::string_view();
  }

  /// The first, and those beside it whose intervals reach into its own. Its callers and callees are
  /// not rivals: they share its bytes.
  void keep_rivals(std::vector<Passing>& sorted) const {
    if (sorted.empty()) return;
    const Passing first = sorted.front();
    std::erase_if(sorted, [&](const Passing& one) {
      if (one.label == first.label) return false;
      return one.share.interval.hi <= first.share.interval.lo || share_a_path(all(), one, first);
    });
    if (sorted.size() > kMostNamed) sorted.resize(kMostNamed);
  }

  [[nodiscard]] static bool share_a_path(const Scene& scene, const Passing& one,
                                         const Passing& other) {
    return std::ranges::any_of(scene.paths, [&](const Path& path) {
      const auto has = [&](const Passing& which) {
        return std::ranges::find(path.functions, which.label) != path.functions.end();
      };
      return has(one) && has(other);
    });
  }

  /// Of functions by what they allocate without calling another one that may be named.
  [[nodiscard]] std::vector<Passing> largest_allocator() const {
    std::vector<Passing> found = passing(all(), 1);
    sort(found);
    if (found.size() > 1) found.resize(1);
    for (Passing& one : found) one.share = share_of(one.sums);
    return found;
  }

  /// What explains most of what is held, in place of a function that everything else runs through
  /// too, or of the largest of many. Not where that has nearly everything: the owner is then one of
  /// its parts.
  void put_owner(const Passing& first, Finding& finding) const {
    const bool is_spread = finding.verdict == FindingVerdict::kSpread;
    FoundSite& named = finding.sites.front();
    if (!is_spread && (named.is_blamed || named.share.value >= kNearlyAll)) return;
    std::vector<std::vector<std::uint32_t>> functions;
    std::vector<profile::HeldSite> sites;
    double outermost = 0;
    for (const Path& path : paths_) {
      std::erase(functions.emplace_back(path.functions), path.outermost);
      sites.push_back({static_cast<double>(samples_of(path.sums)), path.sums.all_bytes()});
      if (path.outermost == first.label) outermost += path.sums.all_bytes();
    }
    const profile::HeldBy held = held_by(functions, sites);
    const bool is_program = outermost > kMost * first.sums.all_bytes() ||
                            std::ranges::binary_search(held.program, first.label);
    if (!is_spread && !is_program) return;
    const auto is_below_first = [&](const Passing& owner) {
      double below = 0;
      for (const Path& path : paths_) {
        const auto has = [&](std::uint32_t label) {
          return std::ranges::find(path.functions, label) != path.functions.end();
        };
        if (has(owner.label) && has(first.label)) below += path.sums.all_bytes();
      }
      return below > kMost * owner.sums.all_bytes();
    };
    std::vector<Passing> owners;
    const double least = is_spread ? kShareOfPart : kShareToName;
    for (Passing& one : passing(all(), SIZE_MAX)) {
      if (std::ranges::find(held.owners, one.label, &profile::OwnerGroup::function) ==
          held.owners.end()) {
        continue;
      }
      one.share = share_of(one.sums);
      const bool explains = is_spread ? one.share.value > named.share.value : is_below_first(one);
      if (is_proved(one.sums, least) && one.share.interval.lo >= least && explains)
        owners.push_back(std::move(one));
    }
    if (owners.empty()) return;
    sort(owners);
    named = site_of(owners.front());
    named.owned = named.stacks.size();
  }

  /// The stacks that pass through a function, without what calls it. Where they end in it, one of
  /// its lines stands for it, by a number after those of all labels.
  [[nodiscard]] std::vector<Path> paths_inside(std::uint32_t label,
                                               std::vector<std::uint32_t>& frame_of_line) const {
    std::map<std::pair<std::string_view, std::uint32_t>, std::uint32_t> lines;
    std::vector<Path> inside;
    for (const Path& path : paths_) {
      const auto found = std::ranges::find(path.functions, label);
      if (found == path.functions.end()) continue;
      Path& part = inside.emplace_back(path);
      const auto outer = static_cast<std::size_t>(found - path.functions.begin());
      part.functions.resize(std::max(outer, std::size_t{1}));
      if (outer > 0) continue;
      const std::uint32_t frame = part.frames.front();
      const auto next = static_cast<std::uint32_t>(labels_.size() + lines.size());
      const auto key = frame == profile::kNone
                           ? std::pair(std::string_view(), 0U)
                           : std::pair(std::string_view(recording_.frames[frame].file),
                                       recording_.frames[frame].line);
      const auto [line, is_new] = lines.try_emplace(key, next);
      if (is_new) frame_of_line.push_back(frame);
      part.functions.front() = line->second;
    }
    return inside;
  }

  [[nodiscard]] std::vector<FoundPart> parts_of(std::uint32_t label) const {
    std::vector<std::uint32_t> frame_of_line;
    const std::vector<Path> inside = paths_inside(label, frame_of_line);
    const Scene scene{.paths = inside,
                      .labels = labels_.size() + frame_of_line.size(),
                      .least_share = kShareOfPart};
    std::vector<Passing> named;
    for (Passing& one : leaders(scene)) {
      if (one.share.value >= kNearlyAll) return {};
      const bool is_counted = std::ranges::any_of(
          named, [&](const Passing& larger) { return share_a_path(scene, one, larger); });
      if (!is_counted && named.size() < kMostNamed) named.push_back(std::move(one));
    }
    // One line alone is named already.
    if (named.size() == 1 && named.front().label >= labels_.size()) return {};
    std::vector<FoundPart> parts;
    for (const Passing& one : named) {
      const bool is_own = one.label >= labels_.size();
      const profile::SourceLine where =
          is_own ? profile::source_line_of(recording_, frame_of_line[one.label - labels_.size()])
                 : site_of(one).where;
      parts.push_back({std::string(name_of(is_own ? label : one.label)), is_own, where, one.share});
    }
    return parts;
  }

  [[nodiscard]] FoundSite site_of(const Passing& one) const {
    FoundSite site;
    site.function = labels_[one.label].name;
    site.held = whole_.measure_row(one.sums, level_);
    site.share = one.share;
    add_place(site, one.label);
    return site;
  }

  /// How soon most of what these stacks allocated was freed; empty where most was not, surely.
  [[nodiscard]] std::string lives_text(const std::vector<std::uint32_t>& stacks) const {
    std::vector<bool> is_of_site(recording_.stacks.size(), false);
    for (const std::uint32_t stack : stacks) {
      if (stack != profile::kNone) is_of_site[stack] = true;
    }
    profile::LifetimeSelection selection;
    selection.keeps = [&](const profile::Sample& sample) {
      return sample.stack != profile::kNone && is_of_site[sample.stack];
    };
    const auto groups = lifetime_groups(recording_, profile::LifetimeGrouping::kWhole, selection);
    if (groups.empty()) return "";
    const auto curve =
        survival_of(recording_, groups.front().samples, profile::CurveOver::kBytes, level_);
    for (const Nanoseconds soon : {kMillisecond, 10 * kMillisecond, 100 * kMillisecond}) {
      const estimation::SurvivalStep step = curve.at(static_cast<double>(soon));
      const present::Share freed{1 - step.alive, {1 - step.band.hi, 1 - step.band.lo}};
      if (freed.interval.lo < kMost) continue;
      return fmt::format("{} of it was freed within {}", present::figure(freed).text(),
                         present::duration(soon));
    }
    return "";
  }

  /// Its stacks, the line with most of its bytes, and the process.
  void add_place(FoundSite& site, std::uint32_t label) const {
    std::map<std::pair<std::string_view, std::uint32_t>, double> lines;
    std::map<std::uint32_t, double> processes;
    std::map<std::pair<std::string_view, std::uint32_t>, std::uint32_t> frames;
    double most_bytes = 0, blamed_bytes = 0, all_bytes = 0;
    for (const Path& path : paths_) {
      const auto found = std::ranges::find(path.functions, label);
      if (found == path.functions.end()) continue;
      const double bytes = path.sums.all_bytes();
      all_bytes += bytes;
      if (found == path.functions.begin()) blamed_bytes += bytes;
      site.stacks.push_back(path.stack);
      if (bytes > most_bytes) {
        most_bytes = bytes;
        std::swap(site.stacks.front(), site.stacks.back());
      }
      processes[path.process] += bytes;
      const std::uint32_t frame = path.frames[found - path.functions.begin()];
      if (frame == profile::kNone || recording_.frames[frame].line == 0) continue;
      const profile::Frame& known = recording_.frames[frame];
      lines[{known.file, known.line}] += bytes;
      frames[{known.file, known.line}] = frame;
    }
    site.is_blamed = blamed_bytes >= kMost * all_bytes;
    const auto by_bytes = [](const auto& entry) { return entry.second; };
    if (!lines.empty()) {
      const auto most = std::ranges::max_element(lines, {}, by_bytes);
      site.where = profile::source_line_of(recording_, frames[most->first]);
      for (const auto& [place, line_bytes] : lines) {
        if (place != most->first) site.where.add_other(place.first, place.second);
      }
    }
    if (profile_has_several_processes() && !processes.empty()) {
      const auto most = std::ranges::max_element(processes, {}, by_bytes);
      site.process = profile::program_name(recording_.processes[most->first]);
    }
  }

  [[nodiscard]] bool profile_has_several_processes() const {
    return std::ranges::any_of(profile_.entries, [&](const profile::Entry& entry) {
      return entry.process != profile_.entries.front().process;
    });
  }

  const Recording& recording_;
  const profile::Profile& profile_;
  const double level_;
  const present::Whole whole_;
  const Labels& labels_;
  const profile::FrameRoles& roles_;
  const present::Measure total_;
  std::vector<Path> paths_;
};

}  // namespace

Finding find(const NamedRecording& named, const profile::Profile& profile, double level) {
  return Search(named, profile, level).finish();
}

Finding find(const Recording& recording, const profile::Profile& profile, double level) {
  return find(NamedRecording(recording), profile, level);
}

// The finding in words, and as JSON.

namespace {

/// "58.0 MiB [44.1, 74.9]"; what was counted needs no interval.
std::string whole_text(const Finding& finding) {
  const present::Figure total = present::total_figure(finding.total);
  return is_counted(finding.total) ? total.value : total.text();
}

std::string owned_text(const FoundSite& site) {
  return site.owned == 0 ? "" : ", in " + sites_text(site);
}

std::string found_text(const Finding& finding) {
  const std::vector<FoundSite>& sites = finding.sites;
  std::string names, shares;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const char* joint = i == 0 ? "" : i + 1 == sites.size() ? " and " : ", ";
    names += joint + site_text(sites[i]);
    shares += joint + present::figure(sites[i].share).text();
  }
  std::string out = fmt::format("{}{} {} {} of {}{}{}", rules_of(finding.kind).when, names,
                                rules_of(finding.kind).verb, shares, whole_text(finding),
                                rules_of(finding.kind).which, owned_text(sites.front()));
  if (sites.size() > 1) out += "; which is the largest is not certain";
  const char* joint = ": ";
  for (const FoundPart& part : sites.front().parts) {
    out += fmt::format("{}{} {}", std::exchange(joint, ", "), present::figure(part.share).text(),
                       part_text(part));
  }
  if (!finding.lives.empty()) out += "; " + finding.lives;
  return out;
}

std::string named_place(const std::string& function, const profile::SourceLine& where) {
  const std::string place = present::printable(text_of(where));
  return present::printable(naming::display_name(function)) +
         (place.empty() ? "" : fmt::format(" ({})", place));
}

std::string spread_text(const Finding& finding) {
  std::string out = fmt::format("{}no single function dominates", rules_of(finding.kind).when);
  if (finding.sites.empty()) return out + " the " + whole_text(finding);
  const FoundSite& largest = finding.sites.front();
  return out + fmt::format("; the largest, {}, {} {} of {}{}{}", site_text(largest),
                           rules_of(finding.kind).verb, present::figure(largest.share).text(),
                           whole_text(finding), rules_of(finding.kind).which, owned_text(largest));
}

}  // namespace

static const present::Fields<FoundPart>& fields_of(present::Of<FoundPart> /*type*/) {
  static const auto kFields =
      present::Fields<FoundPart>("found_part", "A line of its own, or a function that it calls.")
          .inlined([](const FoundPart& it) { return present::Named{it.function}; })
          .inlined(&FoundPart::where)
          .field("is_own", "a line of the function itself", &FoundPart::is_own)
          .field("share", "of the whole", &FoundPart::share);
  return kFields;
}

static const present::Fields<FoundSite>& fields_of(present::Of<FoundSite> /*type*/) {
  static const auto kFields =
      present::Fields<FoundSite>("found_site", "A function that the sentence names.")
          .inlined([](const FoundSite& it) { return present::Named{it.function}; })
          .inlined(&FoundSite::where)
          .field("process", "where several have samples: the one with most of it",
                 &FoundSite::process)
          .field("held", "with all that it calls", &FoundSite::held)
          .field("share", "", &FoundSite::share)
          .field("sites", "of an owner: stacks through it that hold something",
                 [](const FoundSite& it) { return present::if_true(it.owned > 0, it.owned); })
          .field("parts", "of a function with nearly everything", &FoundSite::parts);
  return kFields;
}

std::string part_text(const FoundPart& part) {
  if (!part.is_own) return "in " + named_place(part.function, part.where);
  const std::string place = present::printable(text_of(part.where));
  return place.empty() ? "in its own code" : "at " + place;
}

std::string sites_text(const FoundSite& site) {
  return site.owned == 0 ? "" : present::plural(site.owned, "site");
}

std::string site_text(const FoundSite& site) {
  std::string out = named_place(site.function, site.where);
  if (!site.process.empty()) out += fmt::format(" in {}", present::printable(site.process));
  return out;
}

std::string clause(const Finding& finding) {
  switch (finding.verdict) {
    case FindingVerdict::kNothing:
      return fmt::format("{}nothing was sampled", rules_of(finding.kind).when);
    case FindingVerdict::kEmpty:
      return fmt::format("{}only empty blocks (0 bytes) were {}", rules_of(finding.kind).when,
                         rules_of(finding.kind).verb);
    case FindingVerdict::kTooFew:
      return fmt::format("too few samples to name a function ({} of the {} needed)",
                         present::exact_count(finding.total.samples), kSamplesToName);
    case FindingVerdict::kSpread:
      return spread_text(finding);
    case FindingVerdict::kFound:
      return found_text(finding);
  }
  return "";
}

std::string sentence(const Finding& finding) {
  std::string out = clause(finding) + ".";
  // One that begins with the name of a function keeps it.
  const bool begins_with_name =
      finding.verdict == FindingVerdict::kFound && rules_of(finding.kind).when.empty();
  if (!begins_with_name) out[0] = static_cast<char>(std::toupper(out[0]));
  return out;
}

const present::Fields<Finding>& fields_of(present::Of<Finding> /*type*/) {
  static const auto kFields =
      present::Fields<Finding>("finding", "The sentence that a report opens with.")
          .field("verdict", "", [](const Finding& it) { return name_of(it.verdict); })
          .one_of(present::texts_of<FindingVerdict>(
              [](FindingVerdict verdict) { return name_of(verdict); }))
          .field("kind", "of which profile", &Finding::kind)
          .field("sentence", "", [](const Finding& it) { return sentence(it); })
          .field("total", "", &Finding::total)
          .field("sites", "the largest first", &Finding::sites)
          .field("lives", "how soon most of what the first one allocated was freed",
                 &Finding::lives);
  return kFields;
}

std::string_view name_of(FindingVerdict verdict) {
  switch (verdict) {
    case FindingVerdict::kNothing:
      return "nothing";
    case FindingVerdict::kEmpty:
      return "empty";
    case FindingVerdict::kTooFew:
      return "too_few";
    case FindingVerdict::kSpread:
      return "spread";
    case FindingVerdict::kFound:
      return "found";
  }
  return "";
}

namespace {

/// What find() says as far as opening() needs it. Searching is most of the work, and for its
/// verdict it takes a search only where samples are few or of no bytes.
Finding outlook(const NamedRecording& named, const profile::Profile& profile, double level) {
  Finding finding;
  finding.kind = profile.kind;
  finding.total = present::Whole(named.recording, profile).measure_total(level);
  const bool has_bytes = finding.total.bytes.interval.hi > 0;
  if (finding.total.samples < kSamplesToName || !has_bytes) return find(named, profile, level);
  finding.verdict = FindingVerdict::kSpread;
  return finding;
}

/// It names no function, or one that everything passes through, and nothing in it.
bool names_nothing_in_particular(const Finding& finding) {
  if (finding.verdict != FindingVerdict::kFound) return true;
  const FoundSite& first = finding.sites.front();
  return first.share.value >= kNearlyAll && !first.is_blamed && first.parts.empty();
}

}  // namespace

Opening find_opening(const NamedRecording& named, const profile::Profile& allocated,
                     const profile::Profile& live, const profile::Profile& peak, bool has_peak,
                     double level) {
  Opening found;
  const Finding of_allocated = outlook(named, allocated, level);
  const Finding of_live = outlook(named, live, level);
  const Finding of_peak = outlook(named, peak, level);
  const Finding& first = opening(of_allocated, of_live, has_peak ? &of_peak : nullptr);
  const profile::Profile& shown =
      &first == &of_allocated ? allocated : (&first == &of_live ? live : peak);
  found.finding = find(named, shown, level);
  const double heap = found.finding.total.bytes.interval.hi;
  const double churn = of_allocated.total.bytes.interval.lo;
  const bool is_vague = names_nothing_in_particular(found.finding);
  if (&shown != &allocated && (is_vague || churn >= kChurn * heap)) {
    Finding beside = find(named, allocated, level);
    if (!names_nothing_in_particular(beside)) {
      found.beside = std::move(beside);
      const bool is_mostly_churn = heap < kSmallHeap && churn >= kMostlyChurn * heap;
      if (is_vague || is_mostly_churn) std::swap(found.finding, *found.beside);
    }
  }
  found.allocated = of_allocated.total;
  found.live_at_end = of_live.total;
  found.live_at_peak = of_peak.total;
  return found;
}

const Finding& opening(const Finding& allocated, const Finding& live, const Finding* peak) {
  const auto is_named = [](const Finding& finding) {
    return finding.verdict == FindingVerdict::kFound || finding.verdict == FindingVerdict::kSpread;
  };
  const bool has_peak = peak != nullptr && is_named(*peak);
  const bool stays =
      is_named(live) && (!has_peak || 2 * live.total.bytes.interval.lo > peak->total.bytes.value);
  if (stays) return live;
  return has_peak ? *peak : allocated;
}

}  // namespace geiger::report
