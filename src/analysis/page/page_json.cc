#include <algorithm>
#include <functional>
#include <utility>

#include "analysis/page/page_data.h"
#include "analysis/present/json.h"

namespace geiger::page {
namespace {

using present::JsonWriter;

constexpr int kPageSchema = 1;

/// A column: one property of each item.
template <typename Items, typename Property>
void write_column(JsonWriter& json, std::string_view name, const Items& items,
                  const Property& property) {
  json.key(name).begin_array();
  for (const auto& item : items) {
    const auto value = std::invoke(property, item);
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_floating_point_v<Value>) {
      json.number(value);
    } else if constexpr (std::is_signed_v<Value>) {
      json.signed_integer(value);
    } else {
      json.integer(value);
    }
  }
  json.end_array();
}

template <typename Item>
void write_plain(JsonWriter& json, std::string_view name, const std::vector<Item>& items) {
  write_column(json, name, items, std::identity());
}

void write_strings(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name).begin_array();
  for (const std::string& text : texts) json.string(text);
  json.end_array();
}

/// Most short names begin their name: those are written as how much of it they are. Pages count
/// in UTF-16, which for ASCII is the same.
void write_short_names(JsonWriter& json, const PageData& data) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  json.key("short_names").begin_array();
  for (std::size_t i = 0; i < data.short_names.size(); ++i) {
    const std::string& text = data.short_names[i];
    const bool is_start = data.names[i].starts_with(text) && std::ranges::all_of(text, is_ascii);
    if (is_start) {
      json.integer(text.size());
    } else {
      json.string(text);
    }
  }
  json.end_array();
}

void write_facts(JsonWriter& json, const std::vector<report::SummaryFact>& facts) {
  json.key("facts").begin_array();
  for (const report::SummaryFact& fact : facts) {
    json.begin_object().field("name", fact.label).field("value", fact.value);
    if (!fact.remark.empty()) json.field("remark", fact.remark);
    json.field("tone", fact.is_warning ? "warning" : "plain").end_object();
  }
  json.end_array();
}

void write_frames(JsonWriter& json, const Frames& frames) {
  json.key("frames").begin_object();
  write_plain(json, "name", frames.name);
  write_plain(json, "module", frames.module);
  write_plain(json, "file", frames.file);
  write_plain(json, "line", frames.line);
  write_plain(json, "flags", frames.flags);
  json.end_object();
}

void write_strata(JsonWriter& json, const Cells& table) {
  const std::vector<Stratum>& strata = table.strata;
  json.key("strata").begin_object();
  write_column(json, "certain", strata, [](const Stratum& s) { return s.is_certain ? 1U : 0U; });
  write_column(json, "bytes", strata, &Stratum::bytes);
  write_column(json, "weighted", strata, &Stratum::weighted);
  write_column(json, "variance", strata, &Stratum::variance);
  write_column(json, "objects", strata, &Stratum::objects);
  write_column(json, "objectsVariance", strata, &Stratum::objects_variance);
  write_column(json, "covariance", strata, &Stratum::covariance);
  write_column(json, "interval", strata, &Stratum::interval);
  write_column(json, "sizeClass", strata, &Stratum::size_class);
  if (table.has_mean_sizes) {
    write_column(json, "largestInterval", strata, &Stratum::largest_interval);
    write_column(json, "largestObjectWeight", strata, &Stratum::largest_object_weight);
    write_column(json, "largestSize", strata, &Stratum::largest_size);
  }
  const auto is_of_whole_sizes = [](const Stratum& s) {
    return s.is_certain || s.smallest_size == std::max(s.bytes, 1.0);
  };
  if (table.has_mean_sizes || !std::ranges::all_of(strata, is_of_whole_sizes)) {
    write_column(json, "smallestSize", strata, &Stratum::smallest_size);
  }
  if (table.has_open) {
    write_column(json, "open", strata, [](const Stratum& s) { return s.is_open ? 1U : 0U; });
  }
  json.end_object();
}

void write_cells(JsonWriter& json, const Cells& table) {
  const auto write_if = [&](bool is_told, std::string_view name, const auto& property) {
    if (is_told) return write_column(json, name, table.cells, property);
    json.key(name).begin_array().end_array();
  };
  json.begin_object();
  write_strata(json, table);
  write_column(json, "node", table.cells, &Cell::node);
  write_column(json, "stratum", table.cells, &Cell::stratum);
  write_column(json, "count", table.cells, &Cell::count);
  write_if(table.has_processes, "process", &Cell::process);
  write_if(table.has_threads, "thread", &Cell::thread);
  write_if(table.has_types, "type", &Cell::type);
  write_if(table.has_labels, "label", &Cell::label);
  write_if(table.has_times, "born", &Cell::born);
  write_if(table.has_times, "died", &Cell::died);
  json.field("hasMeanSizes", table.has_mean_sizes).end_object();
}

void write_limits(JsonWriter& json, std::string_view name, double value,
                  const estimation::Interval& limits) {
  json.key(name).begin_object().field("value", value);
  json.field("lo", limits.lo).field("hi", limits.hi).end_object();
}

void write_finding(JsonWriter& json, const PageFinding& finding) {
  json.key("finding").begin_object().field("verdict", finding.verdict);
  json.key("sites").begin_array();
  for (const PageSite& site : finding.sites) {
    json.begin_object().field("node", site.node).field("function", site.function);
    json.field("place", site.place).field("process", site.process);
    write_limits(json, "share", site.share, site.limits);
    json.objects("parts", site.parts, [&](const PagePart& part) {
      json.field("function", part.function).field("isOwn", part.is_own).field("place", part.place);
      write_limits(json, "share", part.share, part.limits);
    });
    json.end_object();
  }
  json.end_array().end_object();
}

std::string_view name_of(Counts counts) {
  if (counts == Counts::kBorn) return "born";
  return counts == Counts::kAlive ? "alive" : "all";
}

void write_profile(JsonWriter& json, const PageProfile& profile) {
  json.begin_object().field("kind", profile.kind).field("title", profile.title);
  json.field("about", profile.about);
  if (!profile.unavailable.empty()) json.field("unavailable", profile.unavailable);
  json.field("cells", profile.cells).field("counts", name_of(profile.counts));
  json.field("largestInterval", profile.largest_interval);
  if (profile.object_interval < profile.largest_interval) {
    json.field("objectInterval", profile.object_interval);
  }
  if (profile.complete_from) json.field("completeFrom", *profile.complete_from);
  if (profile.exact_total) json.field("exactTotal", *profile.exact_total);
  json.field("calibrates", profile.calibrates);
  json.field("bytes", profile.bytes).field("objects", profile.objects);
  if (profile.unavailable.empty()) write_finding(json, profile.finding);
  json.end_object();
}

using Point = std::pair<Nanoseconds, Bytes>;

void write_series(JsonWriter& json, std::string_view name, const std::vector<Point>& points) {
  json.key(name).begin_object();
  write_column(json, "time", points, &Point::first);
  write_column(json, "bytes", points, &Point::second);
  json.end_object();
}

void write_timeline(JsonWriter& json, const Timeline& timeline) {
  using estimation::Estimate;
  json.key("timeline").begin_object();
  write_plain(json, "edges", timeline.edges);
  json.key("live").begin_object();
  write_column(json, "value", timeline.live, &Estimate::value);
  write_column(json, "lo", timeline.live, [](const Estimate& e) { return e.interval.lo; });
  write_column(json, "hi", timeline.live, [](const Estimate& e) { return e.interval.hi; });
  json.end_object();
  write_series(json, "rss", timeline.rss);
  write_series(json, "mapped", timeline.mapped);
  json.key("marks").begin_array();
  for (const PageMark& mark : timeline.marks) {
    json.begin_object().field("time", mark.time).field("name", mark.name).end_object();
  }
  json.end_array();
  if (timeline.peak) json.field("peak", *timeline.peak);
  json.end_object();
}

void write_survival(JsonWriter& json, const Survival& curve) {
  json.begin_object().field("name", curve.name).field("samples", curve.samples);
  write_column(json, "time", curve.points, &SurvivalPoint::time);
  write_column(json, "value", curve.points, &SurvivalPoint::value);
  write_column(json, "lo", curve.points, &SurvivalPoint::lo);
  write_column(json, "hi", curve.points, &SurvivalPoint::hi);
  json.end_object();
}

void write_line(JsonWriter& json, const AccountLine& line) {
  json.begin_object().field("name", line.name).field("bytes", line.bytes);
  json.field("lo", line.interval.lo).field("hi", line.interval.hi);
  json.field("depth", line.depth).end_object();
}

void write_leak(JsonWriter& json, const LeakSite& site) {
  json.begin_object().field("node", site.node).field("verdict", site.verdict);
  json.field("live", site.live).field("samples", site.samples);
  write_limits(json, "neverFreed", site.never_freed, site.never_freed_limits);
  write_limits(json, "rate", site.rate, site.rate_limits);
  json.field("since", site.since).field("oldest", site.oldest);
  json.field("oldFrom", site.old_from).field("p", site.p).field("q", site.q);
  json.field("open", site.open).field("kept", site.kept);
  if (!site.growth_limit.empty()) json.field("growthLimit", site.growth_limit);
  if (!site.in_use.empty()) json.field("inUse", site.in_use);
  json.end_object();
}

void write_leaks(JsonWriter& json, const Leaks& leaks) {
  json.key("leaks").begin_object().field("finding", leaks.finding).field("why", leaks.why);
  json.field("afterStart", leaks.after_start).field("beforeEnd", leaks.before_end);
  if (leaks.slow_frees_from) json.field("slowFreesFrom", *leaks.slow_frees_from);
  if (!leaks.missing.empty()) json.field("missing", leaks.missing);
  if (!leaks.growing.empty()) json.field("growing", leaks.growing);
  if (leaks.may_have_leaked) json.field("mayHaveLeaked", *leaks.may_have_leaked);
  json.field("live", leaks.live).field("liveAtEnd", leaks.live_at_end);
  json.field("suspects", leaks.suspects).field("undecided", leaks.undecided);
  json.field("tested", leaks.tested).field("samplesNeeded", leaks.samples_needed);
  json.field("q", leaks.q).key("sites").begin_array();
  for (const LeakSite& site : leaks.sites) write_leak(json, site);
  json.end_array().end_object();
}

void write_source(JsonWriter& json, const Source& source) {
  json.begin_object().field("file", source.file).field("from", source.from);
  write_strings(json, "lines", source.lines);
  json.end_object();
}

void write_row(JsonWriter& json, const DiffRow& row) {
  json.begin_object().field("name", row.name).field("detail", row.detail);
  if (!row.short_name.empty()) json.field("shortName", row.short_name);
  if (!row.place.empty()) json.field("place", row.place);
  json.field("before", row.before).field("after", row.after);
  write_limits(json, "delta", row.delta, row.interval);
  json.field("q", row.q).field("verdict", row.verdict).end_object();
}

void write_diff_nodes(JsonWriter& json, const std::vector<DiffNode>& nodes) {
  json.key("nodes").begin_object();
  write_column(json, "node", nodes, &DiffNode::node);
  write_column(json, "before", nodes, &DiffNode::before);
  write_column(json, "after", nodes, &DiffNode::after);
  write_column(json, "delta", nodes, &DiffNode::delta);
  const auto write_limits_of = [&](std::string_view lo, std::string_view hi, const auto& limits) {
    write_column(json, lo, nodes, [&](const DiffNode& node) { return (node.*limits).lo; });
    write_column(json, hi, nodes, [&](const DiffNode& node) { return (node.*limits).hi; });
  };
  write_limits_of("beforeLo", "beforeHi", &DiffNode::before_limits);
  write_limits_of("afterLo", "afterHi", &DiffNode::after_limits);
  write_limits_of("lo", "hi", &DiffNode::interval);
  write_column(json, "q", nodes, &DiffNode::q);
  write_column(json, "verdict", nodes, &DiffNode::verdict);
  json.end_object();
}

void write_diff(JsonWriter& json, const Diff& diff) {
  json.key("diff").begin_object();
  write_strings(json, "before", diff.before);
  write_strings(json, "after", diff.after);
  json.field("kind", diff.kind).key("total");
  write_row(json, diff.total);
  json.key("tables").begin_array();
  for (const DiffTable& table : diff.tables) {
    json.begin_object().field("by", table.by).key("rows").begin_array();
    for (const DiffRow& row : table.rows) write_row(json, row);
    json.end_array().end_object();
  }
  json.end_array();
  write_diff_nodes(json, diff.nodes);
  json.end_object();
}

/// An array of objects, each written by `write`.
template <typename Items, typename Write>
void write_each(JsonWriter& json, std::string_view name, const Items& items, const Write& write) {
  json.key(name).begin_array();
  for (const auto& item : items) write(json, item);
  json.end_array();
}

}  // namespace

std::string to_json(const PageData& data) {
  JsonWriter json;
  json.begin_object().field("schema", kPageSchema).field("title", data.title);
  json.field("version", data.version).field("level", data.level);
  write_facts(json, data.facts);
  if (!data.fault.empty()) json.field("fault", data.fault);
  write_strings(json, "warnings", data.warnings);
  if (!data.open.empty()) write_strings(json, "open", data.open);
  write_strings(json, "names", data.names);
  write_short_names(json, data);
  write_frames(json, data.frames);
  json.key("nodes").begin_object();
  write_plain(json, "up", data.nodes.up);
  write_plain(json, "frame", data.nodes.frame);
  json.end_object();
  write_each(json, "cells", data.cells, write_cells);
  json.field("unknownType", data.unknown_type);
  if (!data.may_be.empty()) {
    json.key("mayBe").begin_object();
    write_column(json, "thread", data.may_be, &MayBe::thread);
    write_column(json, "other", data.may_be, &MayBe::other);
    json.end_object();
  }
  write_each(json, "profiles", data.profiles, write_profile);
  json.field("opening", data.opening);
  if (data.timeline) write_timeline(json, *data.timeline);
  write_each(json, "lifetimes", data.lifetimes, write_survival);
  write_each(json, "resident", data.resident, write_line);
  if (data.leaks) write_leaks(json, *data.leaks);
  write_each(json, "sources", data.sources, write_source);
  write_strings(json, "left_out", data.left_out);
  if (data.diff) write_diff(json, *data.diff);
  if (data.refresh) json.field("refresh", *data.refresh);
  if (data.preset != Preset{}) {
    json.key("preset").begin_object().field("all_frames", data.preset.all_frames);
    json.field("hide", data.preset.hide).end_object();
  }
  json.end_object();
  return json.take();
}

}  // namespace geiger::page
