// The finding in words, and as JSON.
#include <fmt/format.h>

#include <cctype>
#include <string_view>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/heading.h"
#include "analysis/present/stack_json.h"
#include "analysis/present/text.h"
#include "analysis/report/overview/finding.h"

namespace geiger::report {
namespace {

/// "held", "allocated": what a function did to the bytes of a kind.
std::string_view verb_of(profile::Kind kind) {
  switch (kind) {
    case profile::Kind::kAllocated:
    case profile::Kind::kOverhead:
      return "allocated";
    case profile::Kind::kMapped:
    case profile::Kind::kMappedAtPeak:
    case profile::Kind::kMappedTotal:
    case profile::Kind::kMappedFiles:
      return "mapped";
    case profile::Kind::kReserved:
      return "reserved";
    default:
      return "held";
  }
}

/// "At the peak ": when, before the subject; empty where the verb says when.
std::string_view when_of(profile::Kind kind) {
  switch (kind) {
    case profile::Kind::kLiveAtPeak:
      return "at the peak ";
    case profile::Kind::kLiveAtEnd:
      return "at the end ";
    case profile::Kind::kMappedAtPeak:
      return "at the peak of its mappings ";
    default:
      return "";
  }
}

/// "58.0 MiB [44.1, 74.9]"; what was counted needs no interval.
std::string whole_text(const Finding& finding) {
  const present::Figure total = present::total_figure(finding.total);
  return finding.total.calibrated ? total.value : total.text();
}

std::string found_text(const Finding& finding) {
  const std::vector<FoundSite>& sites = finding.sites;
  std::string names, shares;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const char* joint = i == 0 ? "" : i + 1 == sites.size() ? " and " : ", ";
    names += joint + site_text(sites[i]);
    shares += joint + present::figure(sites[i].share).text();
  }
  std::string out = fmt::format("{}{} {} {} of {}", when_of(finding.kind), names,
                                verb_of(finding.kind), shares, whole_text(finding));
  if (sites.size() > 1) out += "; which is the largest is not certain";
  const char* joint = ": ";
  for (const FoundPart& part : sites.front().parts) {
    out += fmt::format("{}{} in {}", std::exchange(joint, ", "), present::figure(part.share).text(),
                       part_text(part));
  }
  return out;
}

std::string named_place(const std::string& function, std::string_view remark,
                        const profile::SourceLine& where) {
  const std::string place = present::printable(text_of(where));
  return fmt::format("{}{}{}", present::printable(naming::display_name(function)), remark,
                     place.empty() ? "" : fmt::format(" ({})", place));
}

std::string spread_text(const Finding& finding) {
  std::string out =
      fmt::format("{}no function is certain to have {} {:.0f} % of {}", when_of(finding.kind),
                  verb_of(finding.kind), kShareToName * 100, whole_text(finding));
  if (!finding.sites.empty()) {
    const FoundSite& largest = finding.sites.front();
    out += fmt::format("; the largest is {} with {}", site_text(largest),
                       present::figure(largest.share).text());
  }
  return out;
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
          .field("parts", "of a function with nearly everything", &FoundSite::parts);
  return kFields;
}

std::string part_text(const FoundPart& part) {
  return named_place(part.function, part.is_own ? " itself" : "", part.where);
}

std::string site_text(const FoundSite& site) {
  std::string out = named_place(site.function, "", site.where);
  if (!site.process.empty()) out += fmt::format(" in {}", present::printable(site.process));
  return out;
}

std::string clause(const Finding& finding) {
  switch (finding.verdict) {
    case FindingVerdict::kNothing:
      return fmt::format("{}nothing was sampled", when_of(finding.kind));
    case FindingVerdict::kEmpty:
      return fmt::format("{}only empty blocks (0 bytes) were {}", when_of(finding.kind),
                         verb_of(finding.kind));
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
      finding.verdict == FindingVerdict::kFound && when_of(finding.kind).empty();
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
          .field("sites", "the largest first", &Finding::sites);
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

}  // namespace geiger::report
