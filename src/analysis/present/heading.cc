#include "analysis/present/heading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/present/format.h"
#include "analysis/present/text.h"
#include "analysis/profile/memory/mappings.h"
#include "estimation/calibration.h"
#include "vocabulary/stack_frames.h"

namespace geiger::present {
namespace {

/// Whether the text of a kind stands alone, where that of others follows "bytes".
bool is_noun(profile::Kind kind) {
  return kind == profile::Kind::kOverhead || kind == profile::Kind::kLiveOverhead ||
         kind == profile::Kind::kMappedFiles;
}

}  // namespace

std::string bytes_of(const Scope& scope, profile::Kind kind) {
  const std::string text = text_of(scope, kind);
  const std::string filters = only_text(scope);
  const std::string only = filters.empty() ? "" : ", " + filters;
  if (is_noun(kind)) return text + only;
  const bool is_all = scope.when.empty() && kind == profile::Kind::kAllocated;
  return (is_all ? text + " bytes" : "bytes " + text) + only;
}

std::string_view count_heading(profile::Kind kind) {
  return profile::is_of_mappings(kind) ? "ranges" : "samples";
}

std::string profile_heading(profile::Kind kind, std::string_view view, const Measure& total,
                            const Style& style, const Scope& scope, std::string_view notes) {
  const std::string when = scope.read ? ", " + text_of(*scope.read) : "";
  std::string title = fmt::format("{}{}, {}", text_of(scope, kind), when, view);
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  const std::string only = only_text(scope);
  std::string rest = only.empty() ? "" : "; " + only;
  if (profile::is_of_mappings(kind)) {
    rest += fmt::format(": {} exactly, in {}", total_figure(total).text(),
                        plural(total.samples, "range"));
  } else {
    rest += fmt::format(": {} from {}, {} intervals", total_figure(total).text(),
                        plural(total.samples, "sample"), level_text(style.level));
  }
  // Wrapped before it is painted: escapes take no columns. A break replaces a blank.
  const std::string text = wrap(title + rest, 0, style.width);
  std::string source = scope.asked ? "\n" + wrap(text_of(*scope.asked), 0, style.width) : "";
  if (!scope.lacks.empty()) source += "\n" + wrap(incomplete_text(scope.lacks), 0, style.width);
  const std::string open = open_text(total, scope);
  if (!open.empty()) source += "\n" + wrap(open, 0, style.width);
  if (!notes.empty()) source += "\n" + wrap_lines(notes, style.width);
  if (source.ends_with('\n')) source.pop_back();
  return fmt::format("{}{}{}\n\n", paint(style, Role::kHeading, text.substr(0, title.size())),
                     text.substr(title.size()), paint(style, Role::kFaint, source));
}

std::string open_text(const Measure& total, const Scope& scope, std::string_view where) {
  if (!(total.bytes.open > 0) || scope.open.empty()) return "";
  return fmt::format("open, {}: {} of {}", where, bound_bytes(total.bytes.open),
                     fmt::join(scope.open, ", and "));
}

std::string incomplete_text(const std::string& lacks) {
  if (lacks.empty()) return "";
  return fmt::format("Incomplete ({}): figures and upper limits cover only what was recorded.",
                     lacks);
}

std::string not_looked_at(double bytes, const Scope& scope) {
  if (!(bytes > 0) || scope.open.empty()) return "";
  return fmt::format("Not looked at, but may belong: {} of {}.\n", bound_bytes(bytes),
                     fmt::join(scope.open, ", and "));
}

std::string cut_stacks(bool is_at_limit) {
  constexpr const char* kStacks = "stacks that were cut";
  if (!is_at_limit) return kStacks;
  return fmt::format("{} (record with --max-frames {})", kStacks, vocabulary::kMostFrames);
}

std::string cut_note(double bytes, bool is_at_limit) {
  if (!(bytes > 0)) return "";
  return fmt::format("Upper limits of totals include {} of {}: what called them is not known.\n",
                     bound_bytes(bytes), cut_stacks(is_at_limit));
}

std::string nothing_sampled(profile::Kind kind, const Scope& scope) {
  if (profile::is_of_mappings(kind)) {
    return fmt::format("No mappings of the program's own ({}).\n", text_of(scope, kind));
  }
  if (scope.is_part()) return "No samples in this selection: it is below the limit above.\n";
  if (kind == profile::Kind::kAllocated) {
    return "No samples. Record with a smaller --interval.\n";
  }
  return fmt::format("No samples of this kind ({}). See --kind allocated.\n", kind_text(kind));
}

std::string profile_footer(std::string notes, std::optional<Bytes> calibrated_to, bool is_split,
                           const Style& style) {
  if (calibrated_to) {
    notes +=
        fmt::format("Figures with at least {} samples are calibrated to the exact total of {}.\n",
                    estimation::kSamplesToCalibrate, exact_bytes(*calibrated_to));
  }
  if (is_split) notes += split_note();
  return notes.empty()
             ? notes
             : fmt::format("\n{}", paint(style, Role::kFaint, wrap_lines(notes, style.width)));
}

std::string split_note() {
  return "A quarter of the samples located the peak; the figures come from the others.\n";
}

}  // namespace geiger::present
