#include <fmt/format.h>

#include <algorithm>

#include "analysis/profile/labels.h"
#include "analysis/report/leaks.h"
#include "analysis/report/lifetimes.h"
#include "analysis/report/text.h"

namespace geiger::report {
namespace {

using profile::LeakVerdict;
using profile::Recording;

/// Frames of a stack that evidence shows; the rest is counted.
constexpr std::size_t kFramesShown = 8;

constexpr std::size_t kFactIndent = 18;

std::string fact(std::string_view name, const std::string& value, const Style& style) {
  return fmt::format("     {}  {}\n", pad_right(name, kFactIndent - 7),
                     wrap(value, kFactIndent, style.width));
}

std::string place(const LeakLine& line) {
  std::string text = printable(line.site.group.name);
  if (!line.site.group.detail.empty()) text += "  " + printable(line.site.group.detail);
  return text;
}

std::string live(const LeakLine& line) {
  return fmt::format("{} from {}, {} of what it allocated",
                     figure(line.live.bytes, Quantity::kBytes).text(),
                     plural(line.live.samples, "sample"), figure(line.never_freed).text());
}

std::string growth(const LeakLine& line) {
  return fmt::format("{} per second; {} samples since the warm-up, {} of them still live",
                     change_figure(line.rate.value, line.rate.interval).text(),
                     exact_count(line.site.since), exact_count(line.site.kept));
}

/// Which of the two tests speaks.
std::string evidence(const LeakLine& line) {
  const profile::LeakSite& site = line.site;
  std::string text;
  if (site.all.is_lasting) text = "all that is live grows, " + p_equation(site.all.p_value);
  if (site.old.is_lasting) {
    const std::string age =
        site.old_from > 0 ? fmt::format("what is older than {} (95 % of its freed ones were not)",
                                        duration(site.old_from))
                          : "what is older than 95 % of the freed of its size";
    text +=
        fmt::format("{}{} grows, {}", text.empty() ? "" : "; ", age, p_equation(site.old.p_value));
  }
  if (text.empty()) text = "does not go on growing";
  if (!site.is_tested) return text;
  return text +
         fmt::format("; q {} {}", site.q_value >= 1e-300 ? "=" : "", p_value_text(site.q_value));
}

std::string frames(const LeakLine& line, const Recording& recording, const Style& style,
                   const profile::Labels& labels) {
  if (line.site.group.stack == profile::kNone) return "";
  std::vector<std::uint32_t> path;
  labels.collect(recording, line.site.group.stack, path);
  std::string text;
  for (std::size_t i = 0; i < std::min(path.size(), kFramesShown); ++i) {
    text += fmt::format("       {}\n", elide(printable(labels[path[i]].name), style.width - 7));
  }
  if (path.size() > kFramesShown) {
    text += fmt::format("       and {} more\n", path.size() - kFramesShown);
  }
  return text;
}

std::string suspect(std::size_t number, const LeakLine& line, const Recording& recording,
                    const profile::Labels& labels, const Style& style) {
  std::string out = fmt::format("{:3}. {}\n", number,
                                paint(style, Role::kWarning, elide(place(line), style.width - 5)));
  out += fact("live now", live(line), style) + fact("growth", growth(line), style);
  if (line.site.oldest > 0) {
    out += fact("oldest", duration(line.site.oldest) + " of those since the warm-up", style);
  }
  out += fact("evidence", evidence(line), style);
  return out + frames(line, recording, style, labels) + "\n";
}

std::string other_site(const LeakLine& line, const LeaksReport& report, const Style& style) {
  std::string note = std::string(name_of(line.site.verdict));
  if (line.site.verdict == LeakVerdict::kUndecided) {
    note += fmt::format(": has {}, needs {} samples", line.site.kept, report.samples_needed);
  }
  return fmt::format("     {}\n       {}, growth {}/s; {}\n", elide(place(line), style.width - 5),
                     figure(line.live.bytes, Quantity::kBytes).text(),
                     change_figure(line.rate.value, line.rate.interval).text(), note);
}

std::string heading(const LeaksReport& report, const Style& style) {
  const std::string title = fmt::format("Leak suspects, by {}", name_of(report.options.search.by));
  return fmt::format("{}: {} of {} tested, q = {:g}; live at the end {}\n\n",
                     paint(style, Role::kHeading, title), exact_count(report.suspects),
                     plural(report.tested, "site"), report.options.search.q,
                     figure(report.live.bytes, Quantity::kBytes).text());
}

std::string footer(const LeaksReport& report, const Style& style) {
  std::string out;
  if (report.options.top != 0 && report.suspects > report.lines.size()) {
    out += fmt::format("{} more suspects. --top 0 shows all.\n",
                       exact_count(report.suspects - report.lines.size()));
  }
  if (report.undecided > 0) {
    out += fmt::format(
        "{} undecided: fewer than the {} samples that any verdict needs. --all lists them; a "
        "smaller --interval or a longer run decides.\n",
        plural(report.undecided, "site"), report.samples_needed);
  }
  for (const SuppressedLine& line : report.suppressed) {
    out += fmt::format("suppressed {} from {} live: leak:{}\n",
                       figure(line.live.bytes, Quantity::kBytes).text(),
                       plural(line.live.samples, "sample"), printable(line.pattern));
  }
  out += fmt::format(
      "Suspects grew on after the first {:.0f} % of the time, beyond what sampling and their own "
      "ups and downs explain; of a list of them at most {:g} % are expected to be false. What "
      "was allocated early and only stays is none.\n",
      100 * report.options.search.warm_up, 100 * report.options.search.q);
  return paint(style, Role::kFaint, wrap_lines(out, style.width));
}

}  // namespace

std::string to_text(const LeaksReport& report, const Recording& recording, const Style& style) {
  const profile::Labels labels(recording);
  std::string out = heading(report, style);
  std::size_t number = 0;
  for (const LeakLine& line : report.lines) {
    if (line.site.verdict != LeakVerdict::kSuspect) continue;
    out += suspect(++number, line, recording, labels, style);
  }
  if (report.suspects == 0) out += "Nothing is suspect.\n\n";
  if (report.lines.size() > number) {
    out += paint(style, Role::kHeading, "Other sites with something live") + "\n";
    for (const LeakLine& line : report.lines) {
      if (line.site.verdict != LeakVerdict::kSuspect) out += other_site(line, report, style);
    }
    out += "\n";
  }
  return out + footer(report, style);
}

}  // namespace geiger::report
