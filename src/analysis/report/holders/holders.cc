#include "analysis/report/holders/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/recording_words.h"
#include "analysis/present/text.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/report/overview/summary.h"

namespace geiger::report {

namespace {

using estimation::NodeSums;
using profile::Hold;
using profile::kNone;
using profile::Recording;
using Samples = std::vector<std::uint32_t>;

/// A wider interval says hardly more than that it is a share.
bool has_share(const present::Share& share) {
  constexpr double kWidest = 0.5;
  return share.interval.hi - share.interval.lo <= kWidest;
}

bool is_held(const Recording& recording, std::uint32_t sample) {
  return recording.samples[sample].holder != kNone;
}
const profile::Holder& holder_of(const Recording& recording, std::uint32_t sample) {
  return recording.holders[recording.samples[sample].holder];
}

Samples alone_among(const Recording& recording, const Samples& samples) {
  Samples alone;
  std::ranges::copy_if(samples, std::back_inserter(alone),
                       [&](std::uint32_t i) { return holder_of(recording, i).is_alone; });
  return alone;
}

/// Its class, its type, or where it was allocated, as far as that is known.
std::string step_text(const Recording& recording, profile::ShownPath& shown,
                      const profile::HolderStep& step) {
  if (!step.type.empty()) return naming::display_name(step.type);
  if (step.is_sampled) {
    const profile::Sample& sample = recording.samples[step.sample];
    if (sample.type < recording.types.size()) return recording.types[sample.type].text;
    if (sample.stack < recording.stacks.size()) {
      shown.of(sample.stack);
      const std::string& function = shown.labels()[shown.path().front()].name;
      return fmt::format("block from {}", naming::display_name(function));
    }
  }
  return fmt::format("block ({})", present::exact_bytes(step.bytes));
}

/// A part of a path, and how many blocks it stands for.
struct Passage {
  std::string text;
  std::uint64_t blocks = 1;
  bool is_plain = false;  ///< Blocks of which only their size is known.
};

std::vector<Passage> passages_of(const Recording& recording, profile::ShownPath& shown,
                                 const std::vector<profile::HolderStep>& steps) {
  std::vector<Passage> passages;
  for (std::size_t i = 0; i < steps.size();) {
    const profile::HolderStep& first = steps[i];
    Passage passage;
    for (std::size_t k = 0; k < first.together; ++k) {
      passage.text += (k == 0 ? "" : " → ") + step_text(recording, shown, steps[i + k]);
    }
    if (first.together > 1) passage.text = "(" + passage.text + ")";
    if (first.times > 1) passage.text += fmt::format(" ×{}", present::exact_count(first.times));
    passage.blocks = std::uint64_t{first.times} * first.together;
    passage.is_plain = first.together == 1 && first.type.empty() && !first.is_sampled;
    i += first.together;
    if (passage.is_plain && !passages.empty() && passages.back().is_plain) {
      passages.back().blocks += passage.blocks;
      passages.back().text = present::plural(passages.back().blocks, "block");
    } else {
      passages.push_back(std::move(passage));
    }
  }
  return passages;
}

/// As many as are stored: what is before them is not known.
bool is_cut(const std::vector<Passage>& passages) {
  std::uint64_t blocks = 0;
  for (const Passage& passage : passages) blocks += passage.blocks;
  return blocks >= profile::kMostHolderBlocks;
}

/// Of a long one its two ends.
std::string path_text(const std::vector<Passage>& passages) {
  constexpr std::size_t kFirst = 3, kLast = 2;
  if (is_cut(passages) && passages.size() == 1) return passages.front().text + " or more";
  const bool is_long = passages.size() > kFirst + kLast + 1;
  std::string text = is_cut(passages) ? "more blocks" : "";
  for (std::size_t i = 0; i < passages.size(); ++i) {
    if (!text.empty()) text += " → ";
    text += passages[i].text;
    if (!is_long || i + 1 != kFirst) continue;
    std::uint64_t blocks = 0;
    for (; i + 1 < passages.size() - kLast; ++i) blocks += passages[i + 1].blocks;
    text += fmt::format(" → {} more", present::exact_count(blocks));
  }
  return text;
}

/// "1 sample", "both samples", "all 3 samples".
std::string all_samples(std::uint64_t count) {
  if (count == 2) return "both samples";
  return (count == 1 ? "" : "all ") + present::plural(count, "sample");
}

std::string portion_text(const HeldPart& part) {
  if (has_share(part.share)) return present::figure(part.share).text();
  const std::uint64_t some = part.live.samples;
  if (some < part.of_samples) {
    return fmt::format("{} of {}", present::exact_count(some),
                       present::plural(part.of_samples, "sample"));
  }
  return all_samples(some);
}

std::string others_text(const HeldPart& part) {
  if (part.hold != Hold::kReached || part.alone.value >= 1) return "";
  const present::Share others{1 - part.alone.value,
                              {1 - part.alone.interval.hi, 1 - part.alone.interval.lo}};
  const std::string roots = part.beside.empty()
                                ? "other roots"
                                : fmt::format("other roots, such as {},", shown_root(part.beside));
  if (has_share(others)) {
    return fmt::format("{} hold {} of it too", roots, present::figure(others).text());
  }
  const std::uint64_t all = part.live.samples, some = all - part.alone_samples;
  if (all == 1) return roots + " hold it too";
  return some == all ? fmt::format("{} hold {} of it too", roots, all_samples(all))
                     : fmt::format("{} hold {} of its {} samples too", roots, some, all);
}

class Builder {
 public:
  Builder(const Recording& recording, const HoldersOptions& options)
      : recording_(recording),
        options_(options),
        live_(present::all_live(recording)),
        shown_(recording) {
    report_.options = options;
  }

  base::Outcome<HoldersReport> build() {
    for (const profile::Observations& observations : recording_.observations) take(observations);
    if (report_.processes == 0) {
      return base::Failure{report_.faults.empty()
                               ? "its processes have ended, or this user may not read their "
                                 "memory, and no answer is stored: 'geiger run --holders' stores "
                                 "some while they run, --holders=exit only where they exit by "
                                 "themselves"
                               : report_.faults.front()};
    }
    add_totals();
    add_sites();
    add_roots();
    report_.sentence = sentence();
    cut(report_.sites, report_.all_sites);
    cut(report_.roots, report_.all_roots);
    add_listed();
    return std::move(report_);
  }

 private:
  void take(const profile::Observations& observations) {
    const profile::Process& process = recording_.processes[observations.process];
    if (!observations.holders_fault.empty()) {
      report_.faults.push_back(fmt::format("{}, pid {}: {}", process.executable, process.pid,
                                           observations.holders_fault));
    }
    if (!observations.holders) return;
    const profile::Holders& holders = *observations.holders;
    ++report_.processes;
    report_.process = fmt::format("{}, pid {}", present::printable(profile::program_name(process)),
                                  present::pid_text(process));
    const Nanoseconds start = profile::start_of(recording_);
    report_.time = std::max(report_.time, holders.time - std::min(holders.time, start));
    report_.scans = std::max(report_.scans, holders.scans);
    report_.is_inferred |= holders.is_inferred;
    report_.unread += holders.unread;
    report_.has_registers |= holders.has_registers;
    report_.unread_registers += holders.unread_registers;
    report_.not_understood += holders.not_understood;
    report_.has_interpreter |= std::ranges::any_of(recording_.interpreters, [&](const auto& one) {
      return one.process == observations.process;
    });
    for (std::uint32_t i = 0; i < recording_.samples.size(); ++i) {
      const profile::Sample& sample = recording_.samples[i];
      const bool was_live = sample.process == observations.process &&
                            sample.heap == profile::kProcessHeap && sample.time <= holders.time &&
                            (sample.free_time == 0 || sample.free_time > holders.time);
      if (was_live && !is_held(recording_, i)) others_.push_back(i);
    }
  }

  [[nodiscard]] NodeSums sums_of(const Samples& samples) const {
    return profile::sums_of_samples(recording_, samples);
  }
  [[nodiscard]] present::Measure measure_of(const Samples& samples) const {
    return live_.measure_row(sums_of(samples), options_.level);
  }
  [[nodiscard]] present::Measure measure_part(const Samples& samples) const {
    return live_.measure_part(sums_of(samples), options_.level);
  }

  void add_totals() {
    Samples all;
    std::array<Samples, profile::kHolds> by_hold;
    for (std::uint32_t i = 0; i < recording_.samples.size(); ++i) {
      if (!is_held(recording_, i)) continue;
      all.push_back(i);
      by_hold[static_cast<std::size_t>(holder_of(recording_, i).hold)].push_back(i);
    }
    report_.judged = measure_part(all);
    report_.others = measure_part(others_);
    Samples lost = by_hold[static_cast<std::size_t>(Hold::kUnreferenced)];
    const Samples& linked = by_hold[static_cast<std::size_t>(Hold::kUnreachable)];
    lost.insert(lost.end(), linked.begin(), linked.end());
    report_.unreachable = measure_part(lost);
    for (std::size_t i = 0; i < by_hold.size(); ++i) {
      report_.holds[i] = measure_part(by_hold[i]);
      report_.shares[i] = present::share_of(sums_of(by_hold[i]), sums_of(all), options_.level);
    }
  }

  void add_sites() {
    profile::LifetimeSelection selection;
    selection.with_unseen_allocations = true;
    selection.keeps = [this](const profile::Sample& sample) {
      const bool is_held = sample.holder != kNone && !is_suppressed(sample.stack);
      return is_held && options_.keeps ? options_.keeps(sample) : profile::Answer(is_held);
    };
    for (const auto& group : profile::lifetime_groups(recording_, options_.by, selection)) {
      report_.sites.push_back(
          {group.name, group.detail, text_of(group.where), measure_of(group.samples),
           held_parts(recording_, recording_, live_, shown_, group.samples, options_.level)});
    }
  }

  [[nodiscard]] bool is_suppressed(std::uint32_t stack) const {
    return options_.suppressions != nullptr &&
           options_.suppressions->match(recording_, stack) != kNone;
  }

  void add_roots() {
    std::map<std::string_view, Samples> roots;
    for (std::uint32_t i = 0; i < recording_.samples.size(); ++i) {
      if (!is_held(recording_, i)) continue;
      const profile::Holder& holder = holder_of(recording_, i);
      if (holder.hold == Hold::kReached) roots[holder.name].push_back(i);
    }
    for (const auto& [name, samples] : roots) {
      report_.roots.push_back(
          {std::string(name), measure_of(samples), measure_part(alone_among(recording_, samples))});
    }
    std::ranges::stable_sort(report_.roots, std::ranges::greater{},
                             [](const HolderRoot& root) { return shown_bytes(root.live).value; });
  }

  /// To what is listed.
  template <class Item>
  void cut(std::vector<Item>& items, std::uint64_t& all) const {
    all = items.size();
    if (options_.top > 0 && all > options_.top) {
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(options_.top), items.end());
    }
  }

  void add_listed() {
    if (report_.of(Hold::kListed).samples == 0) return;
    profile::LifetimeSelection selection;
    selection.with_unseen_allocations = true;
    selection.keeps = [this](const profile::Sample& sample) {
      return profile::Answer(sample.holder != kNone &&
                             recording_.holders[sample.holder].hold == Hold::kListed);
    };
    constexpr auto kByType = profile::LifetimeGrouping::kType;
    for (const auto& group : profile::lifetime_groups(recording_, kByType, selection)) {
      report_.listed.push_back({group.name, measure_of(group.samples)});
    }
  }

  /// What is surely unreachable and most, if it is worth saying; else what holds the largest site
  /// of which that is known.
  [[nodiscard]] std::string sentence() const {
    constexpr double kWorthSaying = 0.01;
    constexpr std::string_view kMoreSamples = "a smaller --interval takes more samples";
    if (report_.sites.empty()) {
      return fmt::format("No sampled object was live; {}.", kMoreSamples);
    }
    const HeldSite* site = nullptr;
    const HeldPart* lost = nullptr;
    for (const HeldSite& each : report_.sites) {
      for (const HeldPart& part : each.parts) {
        const bool is_more = profile::is_unreachable(part.hold) &&
                             part.live.bytes.interval.lo > 0 &&
                             (lost == nullptr || part.live.bytes.value > lost->live.bytes.value);
        if (!is_more) continue;
        lost = &part;
        site = &each;
      }
    }
    if (lost != nullptr && lost->live.bytes.value >= kWorthSaying * report_.judged.bytes.value) {
      return fmt::format("{} of {} is {}.", report::bytes_text(lost->live), site_text(*site),
                         words_of(lost->hold));
    }
    for (const HeldSite& each : report_.sites) {
      const HeldPart& part = each.parts.front();
      if (!has_share(part.share)) continue;
      const std::string others = others_text(part);
      return fmt::format("{}: {} of {} is {}{}{}.", site_text(each),
                         present::figure(part.share).text(), report::bytes_text(each.live),
                         held_text(part), others.empty() ? "" : "; ", others);
    }
    return fmt::format("{} of live memory: too few to say what holds most of any site; {}.",
                       present::plural(report_.judged.samples, "sample"), kMoreSamples);
  }

  const Recording& recording_;
  const HoldersOptions& options_;
  present::WholeSums live_;
  profile::ShownPath shown_;
  Samples others_;  ///< Live at a last scan, and not judged.
  HoldersReport report_;
};

}  // namespace

std::vector<HeldPart> held_parts(const Recording& recording, const Recording& whole,
                                 const present::WholeSums& live, profile::ShownPath& shown,
                                 const std::vector<std::uint32_t>& samples, double level) {
  Samples held;
  std::map<std::tuple<Hold, std::string_view>, Samples> by_holder;
  for (const std::uint32_t i : samples) {
    if (!is_held(recording, i)) continue;
    const profile::Holder& holder = holder_of(recording, i);
    by_holder[{holder.hold, holder.name}].push_back(i);
    held.push_back(i);
  }
  const auto sums_of = [&](const Samples& some) {
    return profile::sums_of_samples(recording, some);
  };
  std::vector<HeldPart> parts;
  for (const auto& [key, some] : by_holder) {
    const auto& [hold, name] = key;
    HeldPart part;
    part.hold = hold;
    part.live = live.measure_row(sums_of(some), level);
    part.of_samples = held.size();
    part.share = present::share_of(sums_of(some), sums_of(held), level);
    if (hold == Hold::kReached) {
      const profile::Holder& holder = holder_of(recording, some.front());
      const auto& paths = whole.observations[holder.observations].holders->paths;
      const auto passages = passages_of(whole, shown, paths[holder.path].steps);
      const Samples alone = alone_among(recording, some);
      part.root = name;
      part.beside = holder.beside;
      part.path = path_text(passages);
      part.is_path_cut = is_cut(passages);
      part.alone_samples = alone.size();
      part.alone = present::share_of(sums_of(alone), sums_of(some), level);
    }
    parts.push_back(std::move(part));
  }
  std::ranges::stable_sort(parts, std::ranges::greater{},
                           [](const HeldPart& part) { return shown_bytes(part.live).value; });
  return parts;
}

base::Outcome<HoldersReport> holders_report(const Recording& recording,
                                            const HoldersOptions& options) {
  return Builder(recording, options).build();
}

std::string_view words_of(Hold hold) {
  switch (hold) {
    case Hold::kReached:
      return "held";
    case Hold::kUnreferenced:
      return "unreachable: nothing points to it";
    case Hold::kUnreachable:
      return "unreachable: only other unreachable blocks point to it";
    case Hold::kMoving:
      return "undecided: the last scan did not reach it; it may move (try --snapshot)";
    case Hold::kUnread:
      return "undecided: not reached, but a part of the memory could not be read";
    case Hold::kTimeOver:
      return "undecided: not reached before the scan was broken off";
    case Hold::kNoBlock:
      return "undecided: not inside a block that the scan knows";
    case Hold::kNear:
      return "undecided: reached only if blocks begin a little before where that was inferred";
    case Hold::kListed:
      return "listed only by the garbage collector of CPython";
  }
  return "";
}

std::string listed_text(const HoldersReport& report) {
  constexpr std::size_t kTypes = 5;
  const auto types = present::first_of(report.listed, kTypes, [](const HeldType& type) {
    return fmt::format("{} {}", present::printable(type.name), report::bytes_text(type.live));
  });
  return fmt::format("Only the garbage collector of CPython lists {}: {}.",
                     report::bytes_text(report.of(Hold::kListed)), types);
}

std::string shown_root(const std::string& root) {
  return present::printable(naming::display_name(root));
}

std::string site_text(const HeldSite& site) {
  const std::string name = present::printable(naming::display_name(site.name));
  return site.where.empty() ? name : fmt::format("{} ({})", name, present::printable(site.where));
}

std::string held_text(const HeldPart& part) {
  if (part.hold != Hold::kReached) return std::string(words_of(part.hold));
  std::string text = fmt::format("held by {}", shown_root(part.root));
  if (!part.path.empty()) text += fmt::format(" through {}", present::printable(part.path));
  return text;
}

std::string part_text(const HeldPart& part) {
  const std::string others = others_text(part);
  return portion_text(part) + (has_share(part.share) ? " " : ", ") + held_text(part) +
         (others.empty() ? "" : "; " + others);
}

static const present::Fields<HolderRoot>& fields_of(present::Of<HolderRoot> /*type*/);
static constexpr std::string_view kFreedWithout = "freed without it";

namespace {

std::string scanned_text(const HoldersReport& report) {
  std::string text = fmt::format(
      "{} scanned {}, the last time {} after the start: {} of live memory{}.",
      report.processes == 1 ? report.process + ":" : present::plural(report.processes, "process"),
      present::plural(report.scans, "time"), present::duration(report.time),
      report::bytes_text(report.judged),
      report.unreachable.samples == 0
          ? ""
          : fmt::format(", of which {} is unreachable", report::bytes_text(report.unreachable)));
  if (report.is_inferred) {
    text += " Where its allocator's blocks begin is not known: that was inferred from pointers.";
  }
  if (report.others.samples > 0) {
    text += fmt::format(
        " {} more was live then, and is not judged: it was freed before the scan ended{}.",
        report::bytes_text(report.others),
        report.has_interpreter ? ", or is in the interpreter's own arenas" : "");
  }
  if (report.unread > 0) {
    text += fmt::format(" {} is in swap, or not in the core file: it was not read.",
                        present::exact_bytes(report.unread));
  }
  if (report.unread_registers > 0) {
    text += fmt::format(
        " The registers of {} were not read, as that would have ended what it waits for: what they "
        "alone hold seems unreachable.",
        present::plural(report.unread_registers, "thread"));
  }
  return text;
}

std::string root_lines(const HoldersReport& report, const present::Style& style) {
  if (report.roots.empty()) return "";
  const auto add = [](present::Grid& grid, std::vector<std::string> cells, const HolderRoot& root) {
    grid.add(std::move(cells));
    grid.name(root.name, "");
  };
  std::string out =
      present::fitting_grid(report.roots, style, add, present::kLittleRoomBesideAll).text(style);
  if (report.all_roots > report.roots.size()) {
    out += present::plural(report.all_roots - report.roots.size(), "more root") +
           "; --top 0 shows all.\n";
  }
  return out;
}

std::string site_lines(const HoldersReport& report, const present::Style& style) {
  if (report.sites.empty()) return "";
  std::string out = present::paint(style, present::Role::kFaint,
                                   fmt::format("live memory by {}", name_of(report.options.by))) +
                    "\n";
  for (const HeldSite& site : report.sites) {
    out += fmt::format("{}  {}\n", site_text(site), report::bytes_text(site.live));
    const std::size_t top = report.options.top;
    const std::size_t shown = top == 0 ? site.parts.size() : std::min(site.parts.size(), top);
    for (const HeldPart& part : std::span(site.parts).first(shown)) {
      out += "   " + present::wrap(part_text(part), 3, style.width) + "\n";
    }
    if (shown < site.parts.size()) {
      out += fmt::format("   {}; --top 0 shows all.\n",
                         present::plural(site.parts.size() - shown, "more holder"));
    }
  }
  if (report.all_sites > report.sites.size()) {
    out += present::plural(report.all_sites - report.sites.size(), "more site") +
           "; --top 0 shows all.\n";
  }
  return out;
}

}  // namespace

std::string to_text(const HoldersReport& report, const Recording& /*recording*/,
                    const present::Style& style) {
  std::string out =
      present::wrap_lines(report.sentence + "\n\n" + scanned_text(report) + "\n", style.width);
  if (!report.listed.empty()) out += present::wrap_lines(listed_text(report) + "\n", style.width);
  for (const std::string& fault : report.faults) {
    out += present::wrap_lines("Not scanned to the end: " + fault + "\n", style.width);
  }
  const std::string roots = root_lines(report, style);
  for (const std::string& part : {roots, site_lines(report, style)}) {
    if (!part.empty()) out += "\n" + part;
  }
  if (report.sites.empty()) return out;
  std::string notes =
      "\nUnreachable is strong evidence for a leak, not proof: hidden pointers (xored, compressed, "
      "only in registers) are not seen. Leftover pointers may make lost memory look held, and what "
      "one root holds look held by several.\n";
  if (roots.find(kFreedWithout) != std::string::npos) {
    notes +=
        "Held: by the nearest root; others may hold it too. Freed without it: what no other root "
        "holds, stacks aside.\n";
  }
  out += present::paint(style, present::Role::kFaint, present::wrap_lines(notes, style.width));
  return out;
}

using present::Cells;
using present::Fields;
using present::InRecording;
using present::Of;

std::string_view key_of(Hold hold) {
  constexpr std::string_view kKeys[] = {"reached",  "unreferenced", "unreachable",
                                        "moving",   "unread",       "time_over",
                                        "no_block", "near",         "listed"};
  return present::name_among(kKeys, hold);
}

const Fields<HeldPart>& fields_of(Of<HeldPart> /*type*/) {
  static const auto kFields =
      Fields<HeldPart>("held_part", "What the scans found of a part of a site's live bytes.")
          .field("hold", "", [](const HeldPart& it) { return key_of(it.hold); })
          .one_of(present::texts_of<Hold>([](Hold hold) { return key_of(hold); }))
          .field("root", "that a shortest chain begins at",
                 [](const HeldPart& it) { return present::if_true(!it.root.empty(), it.root); })
          .field("beside", "another root that holds much of what this one does not hold alone",
                 [](const HeldPart& it) { return present::if_true(!it.beside.empty(), it.beside); })
          .field("path", "blocks between the root and one of the objects",
                 [](const HeldPart& it) { return present::if_true(!it.path.empty(), it.path); })
          .field("is_path_cut", "more blocks may be before the first of it",
                 [](const HeldPart& it) { return present::if_true(it.is_path_cut, true); })
          .field("live", "", &HeldPart::live)
          .field("share", "of the site", &HeldPart::share)
          .field("in_samples", "where the share is too uncertain to be shown: \"2 of 3 samples\"",
                 [](const HeldPart& it) {
                   return present::if_true(!has_share(it.share), portion_text(it));
                 })
          .field("alone", "of this part, what no other root holds",
                 [](const HeldPart& it) {
                   return present::if_true(it.hold == Hold::kReached, it.alone);
                 })
          .field("others", "what other roots hold of it too, in words",
                 [](const HeldPart& it) {
                   return present::if_true(!others_text(it).empty(), others_text(it));
                 })
          .field("text", "\"held by g_sessions through block (64 B)\"",
                 [](const HeldPart& it) { return held_text(it); });
  return kFields;
}

const Fields<HeldSite>& fields_of(Of<HeldSite> /*type*/) {
  static const auto kFields =
      Fields<HeldSite>("held_site", "An allocation site with what holds its live objects.")
          .field("name", "", &HeldSite::name)
          .field("detail", "its module or callers", &HeldSite::detail)
          .field("where", "", &HeldSite::where)
          .field("live", "", &HeldSite::live)
          .field("parts", "the largest first", &HeldSite::parts)
          .field("text", "\"open_session (sessions.cc:13)\"",
                 [](const HeldSite& it) { return site_text(it); });
  return kFields;
}

static const Fields<HolderRoot>& fields_of(Of<HolderRoot> /*type*/) {
  static const auto kFields =
      Fields<HolderRoot>("holder_root", "A variable, stack or mapping that holds live objects.")
          .field("name", "", &HolderRoot::name)
          .only_column(Cells::kName, "root", present::kStays, &HolderRoot::name)
          .field("held", "objects of which a shortest chain begins at it", &HolderRoot::live)
          .column(Cells::kNumber, "held", present::kStays,
                  [](const HolderRoot& it) { return report::bytes_text(it.live); })
          .field("alone", "of them, those that no other root holds", &HolderRoot::alone)
          .column(Cells::kNumber, kFreedWithout, 1,
                  [](const HolderRoot& it) { return report::bytes_text(it.alone); })
          .field("text", "the name as people write it",
                 [](const HolderRoot& it) { return shown_root(it.name); });
  return kFields;
}

static const Fields<HeldType>& fields_of(Of<HeldType> /*type*/) {
  static const auto kFields = Fields<HeldType>("held_type", "Live objects of a type.")
                                  .field("name", "", &HeldType::name)
                                  .field("live", "", &HeldType::live);
  return kFields;
}

const Fields<HoldersReport>& fields_of(Of<HoldersReport> /*type*/) {
  static const auto kFields =
      Fields<HoldersReport>("holders")
          .field("sentence", "", &HoldersReport::sentence)
          .field("scanned", "what was, in words", &scanned_text)
          .field("after_ns", "the start of the recording, when the last scan began",
                 &HoldersReport::time)
          .field("scans", "", &HoldersReport::scans)
          .field("processes", "that were scanned", &HoldersReport::processes)
          .field("is_inferred", "where blocks begin was inferred from pointers",
                 &HoldersReport::is_inferred)
          .field("unread_bytes", "in swap, or not in the core file", &HoldersReport::unread)
          .field("registers_read", "registers of threads were roots too",
                 &HoldersReport::has_registers)
          .field("threads_without_registers", "of them, threads whose registers could not be read",
                 &HoldersReport::unread_registers)
          .field("not_understood_bytes", "of heaps; they count as roots",
                 &HoldersReport::not_understood)
          .field("judged", "what lived through all scans", &HoldersReport::judged)
          .field("unreachable", "of `judged`", &HoldersReport::unreachable)
          .field("not_judged", "what was live at the last scan besides", &HoldersReport::others)
          .field("roots", "the largest first", &HoldersReport::roots)
          .field("sites", "the largest first", &HoldersReport::sites)
          .field("listed", "what only CPython's collector lists; the largest first",
                 &HoldersReport::listed)
          .field("faults", "processes that could not be scanned, and why", &HoldersReport::faults);
  return kFields;
}

const Fields<InRecording<HoldersReport>>& fields_of(Of<InRecording<HoldersReport>> /*type*/) {
  using Document = InRecording<HoldersReport>;
  static const auto kFields = Fields<Document>("holders").inlined(
      [](const Document& it) -> const HoldersReport& { return it.it; });
  return kFields;
}

std::string to_json(const HoldersReport& report, const Recording& recording) {
  return present::document("holders", report, recording);
}

}  // namespace geiger::report
