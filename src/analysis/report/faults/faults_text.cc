#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/text.h"
#include "analysis/report/faults/faults.h"

namespace geiger::report {
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
  const std::string rate = guarding.rate == 1
                               ? "every sample is chosen"
                               : fmt::format("1 in {} samples is chosen", guarding.rate);
  std::string text =
      fmt::format("Guarded: {} of {} sampled ({}).", present::plural(guarding.guarded(), "object"),
                  present::exact_count(guarding.samples), rate);
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
