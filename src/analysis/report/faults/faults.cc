#include "analysis/report/faults/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/report/overview/finding.h"

namespace geiger::report {

namespace {

using profile::Fault;
using profile::Recording;
using vocabulary::Access;
using vocabulary::FaultKind;

/// Frames of a stack that a fault shows.
constexpr std::size_t kMostFrames = 16;

/// Stacks as a report shows them.
class Stacks {
 public:
  explicit Stacks(const Recording& recording) : recording_(recording) {}

  [[nodiscard]] std::vector<FaultFrame> of(std::uint32_t stack) {
    std::vector<FaultFrame> frames;
    if (stack >= recording_.stacks.size()) return frames;
    if (!shown_) shown_.emplace(recording_);
    shown_->of(stack);
    const std::size_t count = std::min(shown_->path().size(), kMostFrames);
    for (std::size_t i = 0; i < count; ++i) {
      const profile::Label& label = shown_->labels()[shown_->path()[i]];
      FaultFrame frame{label.name, "", source_line_of(recording_, shown_->frames()[i])};
      if (label.module < recording_.modules.size()) {
        frame.module = profile::file_name_of(recording_.modules[label.module].path);
      }
      frames.push_back(std::move(frame));
    }
    return frames;
  }

 private:
  const Recording& recording_;
  std::optional<profile::ShownPath> shown_;  ///< Takes a pass over all names: once one is needed.
};

/// "drop (uaf.cc:5)"; of a stack without frames "a place that is not known".
std::string place_of(const FaultStack& stack) {
  if (stack.frames.empty()) return "an unknown function";
  FoundSite site;
  site.function = stack.frames.front().function;
  site.where = stack.frames.front().where;
  return site_text(site);
}

/// "offset 48 of an object of 48 bytes".
std::string spot_of(const Fault& fault) {
  if (fault.object == 0) return fmt::format("{:#x}", fault.address);
  return fmt::format("offset {} of an object of {}",
                     static_cast<std::int64_t>(fault.address - fault.object),
                     present::plural(fault.bytes, "byte"));
}

std::string_view verb_of(Access access) {
  switch (access) {
    case Access::kRead:
      return "reads";
    case Access::kWrite:
      return "writes";
    default:
      return "accesses";
  }
}

std::string done_to(const FaultLine& line, std::string_view what) {
  const auto done =
      std::ranges::find(line.stacks, what, [](const FaultStack& stack) { return stack.what; });
  if (done == line.stacks.end()) return "";
  return fmt::format(" that {} {}", place_of(*done), what);
}

/// What is wrong, after the name of the kind.
std::string happened(const Fault& fault, const FaultLine& line) {
  const std::string who = place_of(line.stacks.front());
  if (fault.access == Access::kEarlierWrite) {
    return fmt::format("{}{} was written to, some time before {} freed it", spot_of(fault),
                       done_to(line, "allocated"), who);
  }
  switch (fault.kind) {
    case FaultKind::kUseAfterFree:
      return fmt::format("{} {} {}{}", who, verb_of(fault.access), spot_of(fault),
                         done_to(line, "freed"));
    case FaultKind::kOverflow:
    case FaultKind::kUnderflow:
      return fmt::format("{} {} {}{}", who, verb_of(fault.access), spot_of(fault),
                         done_to(line, "allocated"));
    case FaultKind::kDoubleFree:
      return fmt::format("{} frees an object of {}{}", who, present::plural(fault.bytes, "byte"),
                         done_to(line, "freed"));
    case FaultKind::kInvalidFree:
      return fmt::format("{} frees {}{}", who, spot_of(fault), done_to(line, "allocated"));
    case FaultKind::kBypassingFree:
      return fmt::format(
          "{} frees an object of {}{} by a free that geiger does not see (RTLD_DEEPBIND, or a "
          "library's own), which guard mode does not support: this is not a bug of the program",
          who, present::plural(fault.bytes, "byte"), done_to(line, "allocated"));
  }
  return "";
}

std::string own_verb(const Fault& fault) {
  switch (fault.access) {
    case Access::kRead:
      return "read";
    case Access::kWrite:
      return "written";
    case Access::kFree:
    case Access::kEarlierWrite:
      return fault.kind == FaultKind::kDoubleFree ? "freed again" : "freed";
    case Access::kUnknown:
      break;
  }
  return "accessed";
}

FaultLine line_of(const Recording& recording, std::uint32_t index, Stacks& stacks) {
  const Fault& fault = recording.faults[index];
  FaultLine line;
  line.index = index;
  const std::uint64_t tid =
      fault.thread < recording.threads.size() ? recording.threads[fault.thread].tid : 0;
  line.stacks.push_back({own_verb(fault), 0, tid, stacks.of(fault.stack)});
  const auto add = [&](const char* what, const Fault::Event& event) {
    if (event.time == 0) return;
    line.stacks.push_back(
        {what, fault.time - std::min(event.time, fault.time), event.tid, stacks.of(event.stack)});
  };
  if (fault.access != Access::kEarlierWrite) add("freed", fault.freed);
  add("allocated", fault.allocated);
  line.sentence = fmt::format("{}: {}", words_of(fault.kind).text, happened(fault, line));
  return line;
}

/// Faults with the same are one line.
using Likeness = std::tuple<FaultKind, Access, std::uint32_t, std::uint32_t>;
Likeness likeness_of(const Fault& fault) {
  return {fault.kind, fault.access, fault.stack, fault.allocated.stack};
}

}  // namespace

GuardedObjects guarding_of(const Recording& recording) {
  GuardedObjects all;
  for (const profile::Process& process : recording.processes) {
    const profile::Guarding& guarding = process.guarding;
    if (!guarding.is_on) continue;
    all.is_on = true;
    all.rate = std::max(all.rate, guarding.rate);
    all.has_changed = all.has_changed || guarding.has_changed;
    all.is_exact = all.is_exact && guarding.is_exact;
    all.chosen += guarding.chosen;
    all.large += guarding.large;
    all.full += guarding.full;
    const std::string obstacle(words_of(guarding.obstacle).text);
    if (!obstacle.empty() && std::ranges::find(all.obstacles, obstacle) == all.obstacles.end()) {
      all.obstacles.push_back(obstacle);
    }
  }
  all.samples = static_cast<std::uint64_t>(
      std::ranges::count_if(recording.samples, [&](const profile::Sample& sample) {
        return recording.processes[sample.process].guarding.is_on;
      }));
  all.is_exact = all.is_exact && all.is_on;
  return all;
}

std::string unguarded_text(const GuardedObjects& guarding) {
  std::string text;
  if (guarding.large > 0) {
    text += fmt::format(" {} chosen {} too large.", present::exact_count(guarding.large),
                        guarding.large == 1 ? "one was" : "ones were");
  }
  if (guarding.full > 0) {
    text += fmt::format(" {} found all slots in use.", present::exact_count(guarding.full));
  }
  for (const std::string& obstacle : guarding.obstacles) {
    text += fmt::format(" Off at times: {}.", obstacle);
  }
  return text;
}

FaultsReport faults_report(const Recording& recording, const FaultsOptions& options) {
  FaultsReport report;
  report.options = options;
  report.guarding = guarding_of(recording);
  report.faults = recording.faults.size();
  Stacks stacks(recording);
  std::map<Likeness, std::size_t> known;
  for (std::uint32_t i = 0; i < recording.faults.size(); ++i) {
    const auto [place, is_new] =
        known.try_emplace(likeness_of(recording.faults[i]), report.lines.size());
    if (!is_new) {
      ++report.lines[place->second].times;
      continue;
    }
    report.lines.push_back(line_of(recording, i, stacks));
  }
  report.kinds = report.lines.size();
  if (options.top != 0 && report.lines.size() > options.top) report.lines.resize(options.top);
  return report;
}

namespace {

/// "freed 12 us before", with the thread if it was another one.
std::string heading_of(const FaultStack& stack, const FaultStack& fault) {
  std::string text = stack.what;
  if (&stack != &fault) text += fmt::format(" {} before", present::duration(stack.before));
  if (stack.tid != 0 && stack.tid != fault.tid) text += fmt::format(", by thread {}", stack.tid);
  return text;
}

std::string stacks_text(const FaultLine& line, const present::Style& style) {
  std::string out;
  for (const FaultStack& stack : line.stacks) {
    out += fmt::format("  {}\n", heading_of(stack, line.stacks.front()));
    present::Grid frames({{"", present::Align::kLeft, false}}, 4);
    for (const FaultFrame& frame : stack.frames) {
      const std::string where = text_of(frame.where);
      frames.add({present::printable(frame.function)},
                 present::printable(where.empty() ? frame.module : where));
      frames.name(frame.function, frame.module, frame.where.line);
    }
    out += stack.frames.empty() ? "    no stack was recorded\n" : frames.text(style);
  }
  return out;
}

std::string fault_text(const FaultLine& line, const profile::Recording& recording,
                       const present::Style& style) {
  std::string sentence = present::as_sentence(present::printable(line.sentence));
  if (line.times > 1) sentence += fmt::format(" {} times.", present::exact_count(line.times));
  if (recording.processes.size() > 1) {
    const profile::Process& process = recording.processes[recording.faults[line.index].process];
    sentence += fmt::format(" In process {}.", process.pid);
  }
  return present::paint(style, present::Role::kWarning, present::wrap(sentence, 0, style.width)) +
         "\n" + stacks_text(line, style) + "\n";
}

/// The guarded objects, to which the report is limited.
std::string extent(const FaultsReport& report) {
  const GuardedObjects& guarding = report.guarding;
  const std::string rate = guarding.has_changed ? "the share was changed meanwhile"
                           : guarding.rate == 1
                               ? "every sample is chosen"
                               : fmt::format("1 in {} samples is chosen", guarding.rate);
  std::string text = fmt::format(
      "Guarded: {} of {} sampled ({}).{}", present::plural(guarding.guarded(), "object"),
      present::exact_count(guarding.samples), rate, unguarded_text(guarding));
  if (!guarding.is_exact && guarding.guarded() > 0) {
    text +=
        " Reads of up to 15 bytes behind an object, to the next multiple of 16, are not seen "
        "(--guard=1/N,exact sees them).";
  }
  return text + " Wrong uses of other objects are not seen.";
}

}  // namespace

std::string clause(const FaultsReport& report) {
  if (report.lines.empty()) return "";
  std::string text = report.lines.front().sentence;
  if (report.kinds > 1) {
    text += fmt::format("; {} more", present::plural(report.kinds - 1, "fault"));
  }
  return text;
}

std::string to_text(const FaultsReport& report, const profile::Recording& recording,
                    const present::Style& style) {
  std::string out;
  for (const FaultLine& line : report.lines) out += fault_text(line, recording, style);
  if (report.lines.empty()) out += "No fault was seen.\n";
  if (report.kinds > report.lines.size()) {
    out += fmt::format("{} more. --top 0 shows all.\n",
                       present::plural(report.kinds - report.lines.size(), "fault"));
  }
  return out +
         present::paint(style, present::Role::kFaint,
                        present::wrap(extent(report), 0, style.width)) +
         "\n";
}

}  // namespace geiger::report
