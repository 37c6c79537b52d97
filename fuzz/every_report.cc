#include "every_report.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/compare/collector.h"
#include "analysis/compare/comparison.h"
#include "analysis/compare/gates.h"
#include "analysis/export/flame_graphs.h"
#include "analysis/export/pprof.h"
#include "analysis/export/sql/sql.h"
#include "analysis/profile/recording/cut.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/select/profile.h"
#include "analysis/report/compare/check.h"
#include "analysis/report/compare/diff.h"
#include "analysis/report/lives/leaks.h"
#include "analysis/report/lives/lifetimes.h"
#include "analysis/report/overview/doctor.h"
#include "analysis/report/overview/rss.h"
#include "analysis/report/overview/summary.h"
#include "analysis/report/profiles/marks.h"
#include "analysis/report/profiles/stats.h"
#include "analysis/report/profiles/table.h"
#include "analysis/report/profiles/tree.h"
#include "analysis/symbolize/symbolize.h"
#include "base/utf8.h"
#include "fleet/document/cut.h"
#include "fleet/document/encoding.h"
#include "target.h"

namespace geiger::fuzz {
namespace {

using profile::Kind;
using profile::Recording;

const present::Style kStyle{100, false, true, 0.95};

void check_text(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    require(point.is_valid, "text is valid UTF-8");
    const bool is_control = point.value < 0x20 || (point.value >= 0x7f && point.value < 0xa0);
    require(!is_control || point.value == '\n', "text holds no control characters");
    text.remove_prefix(point.length);
  }
}

/// NaN and infinity are words in every notation; outside of strings JSON has only three words.
void check_json(std::string_view json) {
  bool is_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_string) {
      require(static_cast<unsigned char>(c) >= 0x20, "strings of JSON hold no control characters");
      if (c == '\\') ++i;
      is_string = c != '"';
      continue;
    }
    is_string = c == '"';
    const bool starts_word = c >= 'A' && c != 'E' && c != '[' && c != ']' && c != '{' && c != '}' &&
                             !(c == 'e' && i > 0 && json[i - 1] >= '0' && json[i - 1] <= '9');
    if (!starts_word) continue;
    bool is_known = false;
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!json.substr(i).starts_with(word)) continue;
      is_known = true;
      i += word.size() - 1;
      break;
    }
    require(is_known, "JSON holds true, false and null outside of strings, and no other word");
  }
}

void draw_tables(const Recording& recording) {
  using profile::GroupBy;
  for (const GroupBy by :
       {GroupBy::kFunction, GroupBy::kStack, GroupBy::kModule, GroupBy::kThread, GroupBy::kTid,
        GroupBy::kSize, GroupBy::kType, GroupBy::kLabel, GroupBy::kLifetime}) {
    profile::Selection selection;
    selection.splits_by_lifetime = by == GroupBy::kLifetime;
    report::TableOptions options;
    options.by = by;
    const auto table =
        report::table_report(recording, profile::select(recording, selection), options);
    check_text(to_text(table, kStyle));
    check_json(to_json(table, recording));
  }
  const auto heaps = report::heaps_report(recording, {}, {});
  check_text(to_text(heaps, kStyle));
  check_json(to_json(heaps, recording));
}

void draw_kinds(const Recording& recording) {
  for (const profile::KindRules& rules : profile::kKindRules) {
    const Kind kind = rules.kind;
    if (!profile::check_kind(recording, kind, profile::Moment::kMaximum).has_value()) continue;
    const profile::Profile profile = profile::select(recording, kind);
    for (const bool is_inverted : {false, true}) {
      report::TreeOptions options;
      options.is_inverted = is_inverted;
      const auto tree = report::tree_report(recording, profile, options);
      check_text(to_text(tree, kStyle));
      check_json(to_json(tree));
    }
    const auto table = report::table_report(recording, profile, {});
    check_text(to_text(table, kStyle));
    check_json(to_json(table, recording));
  }
}

void draw_lists(const Recording& recording) {
  report::SummaryOptions summary_options;
  summary_options.has_all_kinds = true;
  const auto summary = report::summary_report(recording, summary_options);
  check_text(to_text(summary, recording, kStyle));
  check_text(closing_lines(summary, recording, kStyle));
  check_json(to_json(summary, recording));
  const auto stats = report::stats_report(recording, {});
  check_text(to_text(stats, recording, kStyle));
  check_json(to_json(stats, recording));
  const auto marks = report::marks_report(recording, {});
  check_text(to_text(marks, recording, kStyle));
  check_json(to_json(marks, recording));
  const auto rss = report::rss_report(recording, {});
  if (rss.has_value()) {
    check_text(to_text(rss.value(), recording, kStyle));
    check_json(to_json(rss.value(), recording));
  }
}

void draw_judgements(const Recording& recording) {
  const auto lifetimes = report::lifetimes_report(recording, {});
  check_text(to_text(lifetimes, kStyle));
  check_json(to_json(lifetimes, recording));
  check_text(to_svg(lifetimes));
  report::LeaksOptions all;
  all.shows_all = true;
  const auto leaks = report::leaks_report(recording, all);
  check_text(to_text(leaks, kStyle));
  check_json(to_json(leaks, recording));
  const auto doctor = report::doctor_report(recording, {});
  check_text(to_text(doctor, recording, kStyle));
  check_json(to_json(doctor, recording));
}

/// The recording against itself: two sides that are alike.
compare::Collected both_sides(const Recording& recording) {
  compare::Collector collector(Kind::kAllocated, {}, {compare::Pattern{"*m*", "*"}});
  const profile::Profile profile = profile::select(recording, Kind::kAllocated);
  for (const compare::Which which : compare::kBoth) {
    if (!collector.add(which, recording, profile).has_value()) break;
  }
  return collector.finish();
}

void draw_comparisons(const Recording& recording) {
  compare::Collected collected = both_sides(recording);
  const compare::Gates gates{{{{"*m*", "*"}, {}, "budget:1"}}, {{{}, "--max-growth"}}, {}, 0.95};
  if (compare::check_comparable(collected, gates).has_value()) {
    report::CheckReport check;
    check.verdicts = compare::check(collected, gates);
    check_text(to_text(check, kStyle));
    check_json(to_json(check));
    check_text(to_junit(check));
  }
  if (!compare::check_comparable(collected, kStyle.level).has_value()) return;
  const auto diff = report::diff_report(compare::compare(std::move(collected), kStyle.level), {});
  check_text(to_text(diff, kStyle));
  check_json(to_json(diff));
}

void write_exports(const Recording& recording) {
  const exports::Sink nowhere = [](std::string_view) {};
  const profile::Profile allocated = profile::select(recording, Kind::kAllocated);
  const profile::Profile live = profile::select(recording, Kind::kLiveAtEnd);
  exports::write_pprof(recording, allocated, live, {}, nowhere);
  exports::write_folded(recording, allocated, [](std::string_view line) { check_text(line); });
  exports::write_sql(recording, nowhere);
}

/// What `geiger push` sends. Seeds are of 1970, where no document may be.
void make_documents(const Recording& recording) {
  constexpr Nanoseconds kLater = 1'700'000'000'000'000'000;
  Recording dated = recording;
  for (profile::Process& process : dated.processes) process.start_realtime += kLater;
  const auto cut = fleet::cut(dated, {"shop", "1.0", "web-1", {}});
  if (!cut.has_value()) return;
  for (const fleet::Document& document : cut->documents) {
    require(fleet::unpack(fleet::pack(document)).has_value(), "what is sent can be read");
  }
}

constexpr std::array kParts{draw_lists,       draw_tables,   draw_kinds,    draw_judgements,
                            draw_comparisons, write_exports, make_documents};

}  // namespace

void give_names(ingest::Ingested& ingested) {
  Recording& recording = ingested.recording;
  for (const ingest::SymbolPayload& stored : ingested.symbols) {
    static_cast<void>(symbolize::apply_symbols(stored.bytes, stored.process, recording));
  }
  symbolize::Options options;
  options.perf_map_dir = "/nonexistent";
  // Only what begins with a slash is looked for.
  for (profile::Module& module : recording.modules) module.path.insert(0, "not-");
  symbolize::symbolize(recording, options);
  profile::trim(recording, symbolize::leading_runtime_frames);
}

void draw_part(const Recording& recording, std::size_t number) {
  kParts[number % kParts.size()](recording);
}

void draw_everything(const Recording& recording) {
  for (std::size_t part = 0; part < kParts.size(); ++part) draw_part(recording, part);
}

}  // namespace geiger::fuzz
