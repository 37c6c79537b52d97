#include "analysis/export/sql/sql.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/export/streams/sink.h"
#include "analysis/present/json.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/totals.h"
#include "base/utf8_text.h"
#include "sqlite/database.h"

namespace geiger::exports {

// INSERT statements, some rows at a time.

/// Writes rows into one table; the columns come in the table's order. finish()
/// writes the rest. Each call of the sink is one whole statement.
class InsertWriter {
 public:
  InsertWriter(std::string_view table, const Sink& sink);

  InsertWriter& begin_row();
  InsertWriter& integer(std::uint64_t value);  ///< At most 2^63 - 1 is written.
  InsertWriter& signed_integer(std::int64_t value);
  InsertWriter& number(double value);  ///< NULL unless finite; shortest text that reads back.
  InsertWriter& boolean(bool value);   ///< 0 or 1.
  /// Quoted; invalid UTF-8 and NUL, which no database takes, become U+FFFD. A script is also shown
  /// on terminals: characters that they act on are escaped, and the database reads them back.
  InsertWriter& text(std::string_view value);
  void end_row();
  void finish();

 private:
  void separate();

  std::string_view table_;
  const Sink& sink_;
  std::string statement_;
  bool needs_comma_ = false;
};

namespace {

// Enough for the statement's own cost to vanish, far below any database's limit.
constexpr std::size_t kStatementBytes = 1 << 16;

std::string quoted_literal(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\'') literal += '\'';
    literal += c;
  }
  return literal + '\'';
}

/// Valid UTF-8 without NUL.
std::string storable(std::string_view text) {
  std::string stored;
  for (const char c : to_valid_utf8(text)) {
    if (c == '\0') {
      stored += "\xef\xbf\xbd";
    } else {
      stored += c;
    }
  }
  return stored;
}

/// The only escapes that SQLite and PostgreSQL have in common are those of JSON.
std::string escaped_expression(std::string_view text) {
  present::JsonWriter json;
  json.begin_object().field(text, std::uint64_t{0}).end_object();
  return "(SELECT key FROM json_each(" + quoted_literal(json.take_piece()) + "))";
}

}  // namespace

InsertWriter::InsertWriter(std::string_view table, const Sink& sink) : table_(table), sink_(sink) {}

InsertWriter& InsertWriter::begin_row() {
  statement_ += statement_.empty() ? fmt::format("INSERT INTO {} VALUES\n(", table_) : ",\n(";
  needs_comma_ = false;
  return *this;
}

void InsertWriter::separate() {
  if (needs_comma_) statement_ += ',';
  needs_comma_ = true;
}

InsertWriter& InsertWriter::integer(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return signed_integer(static_cast<std::int64_t>(std::min(value, kMost)));
}

InsertWriter& InsertWriter::signed_integer(std::int64_t value) {
  separate();
  statement_ += std::to_string(value);
  return *this;
}

InsertWriter& InsertWriter::number(double value) {
  separate();
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(statement_), "{}", value);
  } else {
    statement_ += "NULL";
  }
  return *this;
}

InsertWriter& InsertWriter::boolean(bool value) { return signed_integer(value ? 1 : 0); }

InsertWriter& InsertWriter::text(std::string_view value) {
  separate();
  const std::string stored = storable(value);
  statement_ += has_acting(stored) ? escaped_expression(stored) : quoted_literal(stored);
  return *this;
}

void InsertWriter::end_row() {
  statement_ += ')';
  if (statement_.size() >= kStatementBytes) finish();
}

void InsertWriter::finish() {
  if (statement_.empty()) return;
  statement_ += ";\n";
  sink_(statement_);
  statement_.clear();
}

namespace {

using profile::Entry;
using profile::Kind;
using profile::kNone;
using profile::Labels;
using profile::Profile;
using profile::Recording;

constexpr std::array kKinds{Kind::kAllocated, Kind::kLiveAtEnd, Kind::kLiveAtPeak};

/// A row of `counts`, and its numbers of samples by kind.
struct CountKey {
  std::uint32_t process = 0, stack = 0, epoch = 0;
  Bytes size = 0, usable = 0, alignment = 0;
  bool is_certain = false, is_open = false;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const CountKey&) const = default;
};
using Counts = std::map<CountKey, std::array<std::uint64_t, kKinds.size()>>;

/// 1 where none was asked for. No larger one is an integer of every database.
Bytes alignment_of(const Entry& entry) {
  return Bytes{1} << std::min<unsigned>(entry.log2_alignment, 62);
}

class SqlWriter {
 public:
  SqlWriter(const Recording& recording, const profile::Selection& part, const Sink& sink)
      : recording_(recording), part_(part), labels_(recording), sink_(sink) {}

  void write() {
    count();
    find_used();
    write_settings();
    write_processes();
    write_intervals();
    write_modules();
    write_functions();
    write_locations();
    write_stacks();
    write_counts();
  }

 private:
  // Module 0 stands for none, and so on: kNone wraps to it.
  static std::uint32_t module_id(std::uint32_t module) { return module + 1U; }

  // What has no stack, or an empty one, gets one with one location of its own, so that joins need
  // not allow for it.
  [[nodiscard]] std::uint32_t nowhere() const {
    return static_cast<std::uint32_t>(recording_.locations.size());
  }
  [[nodiscard]] std::uint32_t stack_id(std::uint32_t stack) const {
    return stack == kNone ? static_cast<std::uint32_t>(recording_.stacks.size()) : stack;
  }
  [[nodiscard]] std::vector<std::uint32_t> locations_of(std::uint32_t stack) const {
    const bool is_known = stack < recording_.stacks.size();
    if (!is_known || recording_.stacks[stack].locations.empty()) return {nowhere()};
    return recording_.stacks[stack].locations;
  }

  void count() {
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      const Profile profile = profile::select(recording_, profile::of_kind(part_, kKinds[i]));
      rate_factors_[i] = profile.rate_factor;
      for (const auto& [entries, is_open] :
           {std::pair(&profile.entries, false), std::pair(&profile.open, true)}) {
        for (const Entry& entry : *entries) {
          counts_[{entry.process, stack_id(entry.stack), entry.epoch, entry.requested, entry.usable,
                   alignment_of(entry), entry.is_certain, is_open}][i] += entry.count;
        }
      }
    }
  }

  // Stacks of frees and what only they reach stay out.
  void find_used() {
    for (const auto& [key, numbers] : counts_) stacks_.insert(key.stack);
    for (const std::uint32_t stack : stacks_) {
      for (const std::uint32_t location : locations_of(stack)) locations_.insert(location);
    }
    for (const std::uint32_t location : locations_) {
      for (const std::uint32_t label : labels_of(location)) functions_.insert(label);
      modules_.insert(module_of(location));
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> labels_of(std::uint32_t location) const {
    if (location == nowhere()) return {Labels::kNoStack};
    const auto labels = labels_.of(location);
    return {labels.begin(), labels.end()};
  }
  [[nodiscard]] std::uint32_t module_of(std::uint32_t location) const {
    return location == nowhere() ? kNone : recording_.locations[location].module;
  }

  void write_settings() {
    InsertWriter settings("settings", sink_);
    settings.begin_row().number(0.95).end_row();
    settings.finish();
    InsertWriter profiles("profiles", sink_);
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      // The peak of what was only counted is not known.
      const bool is_told = kKinds[i] != Kind::kLiveAtPeak || recording_.tallies.empty();
      if (!is_told) continue;
      profiles.begin_row().text(profile::name_of(kKinds[i])).number(rate_factors_[i]).end_row();
    }
    profiles.finish();
  }

  void write_processes() {
    InsertWriter rows("processes", sink_);
    for (std::uint32_t i = 0; i < recording_.processes.size(); ++i) {
      const profile::Process& process = recording_.processes[i];
      const profile::ProcessTotals totals = profile::process_totals(recording_, i);
      const Nanoseconds duration = process.end > process.start ? process.end - process.start : 0;
      rows.begin_row().integer(i).text(process.trace_path).integer(process.pid);
      rows.integer(process.parent_pid).text(process.executable).text(process.allocator);
      rows.boolean(process.is_fork_child).boolean(process.is_pure);
      rows.integer(process.start_realtime).integer(duration).text(std::to_string(process.seed));
      rows.number(process.keep());
      rows.integer(totals.exact_bytes).integer(totals.unsettled_bound);
      rows.integer(totals.certain_bytes).integer(totals.trials).integer(totals.hits);
      rows.end_row();
    }
    rows.finish();
  }

  void write_intervals() {
    InsertWriter rows("intervals", sink_);
    for (std::uint32_t i = 0; i < recording_.epochs.size(); ++i) {
      const profile::Epoch& epoch = recording_.epochs[i];
      rows.begin_row().integer(i).integer(std::max(epoch.interval, Bytes{1}));
      rows.number(epoch.lambda).end_row();
    }
    rows.finish();
  }

  void write_modules() {
    InsertWriter rows("modules", sink_);
    modules_.insert(kNone);
    for (const std::uint32_t i : modules_) {
      const bool is_known = i != kNone;
      const std::string path = is_known ? recording_.modules[i].path : "[no module]";
      rows.begin_row().integer(module_id(i)).text(path).text(profile::file_name_of(path));
      rows.text(is_known ? recording_.modules[i].build_id : "").end_row();
    }
    rows.finish();
  }

  void write_functions() {
    InsertWriter rows("functions", sink_);
    for (const std::uint32_t i : functions_) {
      const profile::Label& label = labels_[i];
      rows.begin_row().integer(i).text(label.name).integer(module_id(label.module)).end_row();
    }
    rows.finish();
  }

  void write_locations() {
    InsertWriter rows("locations", sink_);
    for (const std::uint32_t i : locations_) {
      const Address address = i == nowhere() ? 0 : recording_.locations[i].vaddr;
      rows.begin_row().integer(i).integer(module_id(module_of(i)));
      rows.text(fmt::format("{:#x}", address)).end_row();
    }
    rows.finish();
    InsertWriter frames("frames", sink_);
    for (const std::uint32_t i : locations_) write_frames(frames, i);
    frames.finish();
  }

  void write_frames(InsertWriter& rows, std::uint32_t location) const {
    const std::vector<std::uint32_t> labels = labels_of(location);
    const std::vector<const profile::Frame*> named = named_frames(location);
    for (std::uint32_t i = 0; i < labels.size(); ++i) {
      rows.begin_row().integer(location).integer(i).integer(labels[i]);
      const bool has_source = i < named.size();
      rows.text(has_source ? named[i]->file : "").integer(has_source ? named[i]->line : 0U);
      rows.end_row();
    }
  }

  /// The frames that Labels gave one label each.
  [[nodiscard]] std::vector<const profile::Frame*> named_frames(std::uint32_t location) const {
    std::vector<const profile::Frame*> named;
    if (location == nowhere()) return named;
    for (const std::uint32_t index : recording_.locations[location].frames) {
      const profile::Frame& frame = recording_.frames[index];
      if (!frame.function.empty()) named.push_back(&frame);
    }
    return named;
  }

  void write_stacks() {
    InsertWriter rows("stacks", sink_);
    for (const std::uint32_t i : stacks_) {
      const bool is_known = i < recording_.stacks.size();
      rows.begin_row().integer(i).boolean(is_known && recording_.stacks[i].is_truncated);
      rows.boolean(is_known && profile::is_whole(recording_, i)).end_row();
    }
    rows.finish();
    InsertWriter members("stack_locations", sink_);
    for (const std::uint32_t i : stacks_) {
      std::uint32_t position = 0;
      for (const std::uint32_t location : locations_of(i)) {
        members.begin_row().integer(i).integer(position++).integer(location).end_row();
      }
    }
    members.finish();
  }

  void write_counts() {
    InsertWriter rows("counts", sink_);
    for (const auto& [key, numbers] : counts_) {
      rows.begin_row().integer(key.process).integer(key.stack).integer(key.epoch);
      rows.integer(key.size).integer(key.usable).integer(key.alignment);
      rows.boolean(key.is_certain).boolean(key.is_open);
      for (const std::uint64_t number : numbers) rows.integer(number);
      rows.end_row();
    }
    rows.finish();
  }

  const Recording& recording_;
  const profile::Selection& part_;
  const Labels labels_;
  const Sink& sink_;
  Counts counts_;
  std::array<double, kKinds.size()> rate_factors_{};
  std::set<std::uint32_t> stacks_, locations_, functions_, modules_;
};

}  // namespace

void write_sql(const profile::Recording& recording, const Sink& sink,
               const profile::Selection& part) {
  sink("BEGIN;\n");
  sink(sql_tables());
  SqlWriter(recording, part, sink).write();
  sink(sql_views());
  sink("COMMIT;\n");
}

void write_sqlite(const profile::Recording& recording, const Sink& sink,
                  const profile::Selection& part) {
  sqlite::Database database(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  const auto run = [&](std::string_view statements) { database.execute(std::string(statements)); };
  write_sql(recording, run, part);
  sink(database.serialized());
}

}  // namespace geiger::exports
