// The SQL export, read back by SQLite. Agreement of all values with the estimators is
// tested on whole databases by tests/statistics_agree.py.
#include "analysis/export/sql/sql.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/profile/select/profile.h"
#include "analysis/profile/testing/example_recording.h"
#include "analysis/profile/testing/test_recording.h"
#include "estimation/estimate.h"

namespace geiger::exports {
namespace {

using profile::Kind;
using profile::example::RecordingBuilder;

/// The export of a recording, loaded.
class Loaded {
 public:
  explicit Loaded(const profile::Recording& recording, const profile::Selection& part = {}) {
    std::string file;
    write_sqlite(
        recording, [&](std::string_view bytes) { file += bytes; }, part);
    sqlite3_open(":memory:", &database_);
    auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(file.size()));
    std::copy(file.begin(), file.end(), copy);
    const auto size = static_cast<sqlite3_int64>(file.size());
    sqlite3_deserialize(database_, "main", copy, size, size, SQLITE_DESERIALIZE_FREEONCLOSE);
  }
  ~Loaded() { sqlite3_close(database_); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  /// Every value of every row, "NULL" for NULL.
  std::vector<std::string> query(const std::string& text) {
    std::vector<std::string> values;
    const auto collect = [](void* into, int columns, char** row, char**) {
      for (int i = 0; i < columns; ++i) {
        static_cast<std::vector<std::string>*>(into)->emplace_back(row[i] ? row[i] : "NULL");
      }
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database_, text.c_str(), collect, &values, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database_) << "\n"
        << text;
    return values;
  }

  double number(const std::string& text) {
    const auto values = query(text);
    return values.size() == 1 ? std::stod(values[0]) : std::nan("");
  }

 private:
  sqlite3* database_ = nullptr;
};

std::string script(const profile::Recording& recording) {
  std::string out;
  write_sql(recording, [&](std::string_view statements) {
    EXPECT_TRUE(statements.ends_with(";\n"));
    out += statements;
  });
  return out;
}

TEST(Sql, IsOneTransactionOfTablesRowsAndViews) {
  const std::string text = script(profile::example::small_server());
  EXPECT_TRUE(text.starts_with("BEGIN;\n"));
  EXPECT_TRUE(text.ends_with("COMMIT;\n"));
  EXPECT_LT(text.find("CREATE TABLE counts"), text.find("INSERT INTO counts"));
  EXPECT_LT(text.find("INSERT INTO counts"), text.find("CREATE VIEW confidence"));
}

TEST(Sql, CountsAreThoseOfTheProfiles) {
  Loaded loaded(profile::example::small_server());
  EXPECT_EQ(loaded.query("SELECT stack_id, size, is_certain, allocated, live FROM counts"
                         " ORDER BY stack_id"),
            (std::vector<std::string>{"0", "200", "0", "12", "0",      //
                                      "1", "65536", "0", "240", "60",  //
                                      "2", "12582912", "1", "1", "1"}));
  EXPECT_EQ(loaded.query("SELECT kind, rate_factor FROM profiles"),
            (std::vector<std::string>{"allocated", "1.0", "live", "1.0", "peak", "0.75"}));
}

TEST(Sql, EstimatesAreThoseOfTheLibrary) {
  const profile::Recording recording = profile::example::small_server();
  Loaded loaded(recording);
  for (const Kind kind : {Kind::kAllocated, Kind::kLiveAtEnd, Kind::kLiveAtPeak}) {
    const auto sums = profile::total(recording, profile::select(recording, kind));
    const std::string name(profile::name_of(kind));
    for (const std::string quantity : {"bytes", "objects"}) {
      const auto expected = quantity == "bytes" ? estimation::estimate_bytes(sums, 0.95)
                                                : estimation::estimate_objects(sums, 0.95);
      const std::string from = fmt::format(
          " FROM total_estimates WHERE kind = '{}' AND quantity = '{}'", name, quantity);
      EXPECT_NEAR(loaded.number("SELECT value" + from) / expected.value, 1, 1e-12) << name;
      EXPECT_NEAR(loaded.number("SELECT variance" + from) / expected.variance, 1, 1e-12) << name;
      // What the cube costs at shape 11, which is where the objects are (docs/guide/sql.md).
      EXPECT_NEAR(loaded.number("SELECT lo" + from) / expected.interval.lo, 1, 1e-3) << name;
      EXPECT_NEAR(loaded.number("SELECT hi" + from) / expected.interval.hi, 1, 1e-3) << name;
    }
  }
}

TEST(Sql, FunctionsHaveOwnAndTotalRows) {
  Loaded loaded(profile::example::small_server());
  // serve() calls what allocates and allocates nothing itself: its own bytes have the
  // upper limit of nothing seen, 3.689 intervals.
  EXPECT_EQ(loaded.query("SELECT scope, samples, lo FROM function_estimates WHERE kind ="
                         " 'allocated' AND quantity = 'bytes' AND name = 'serve(int)' AND"
                         " scope = 'self'"),
            (std::vector<std::string>{"self", "0", "0.0"}));
  EXPECT_NEAR(loaded.number("SELECT hi / 524288 FROM function_estimates WHERE kind = 'allocated'"
                            " AND quantity = 'bytes' AND name = 'serve(int)' AND scope = 'self'"),
              3.6888794541139363, 1e-5);
  EXPECT_EQ(loaded.number("SELECT samples FROM function_estimates WHERE kind = 'allocated' AND"
                          " quantity = 'bytes' AND name = 'serve(int)' AND scope = 'total'"),
            252);
}

/// Stacks of which one was cut before it reached `work`, and one that may not be selected.
profile::TestRecording with_cut_stack(Bytes interval) {
  profile::TestRecording test(interval);
  const auto leaf = test.location({"leaf"});
  test.sample(test.stack({leaf, test.location({"work"})}), 3000);
  test.sample(test.stack({leaf}, true), 5000);
  test.sample(test.stack({leaf, test.location({"main"})}), 7000);
  return test;
}

TEST(Sql, TotalsOfFunctionsReachToWhatWasCut) {
  Loaded loaded(with_cut_stack(1024).recording);
  const auto row = [&](const std::string& function, const char* scope) {
    return loaded.query(fmt::format(
        "SELECT CAST(value AS INTEGER), CAST(open AS INTEGER), hi > value + open, lo <= value FROM"
        " function_estimates WHERE kind = 'allocated' AND quantity = 'bytes' AND name = '{}' AND"
        " scope = '{}'",
        function, scope));
  };
  EXPECT_EQ(row("work", "total"), (std::vector<std::string>{"3169", "5038", "1", "1"}));
  EXPECT_EQ(row("main", "total"), (std::vector<std::string>{"7007", "5038", "1", "1"}));
  EXPECT_EQ(row("leaf", "total"), (std::vector<std::string>{"15214", "0", "1", "1"}));
  EXPECT_EQ(row("leaf", "self"), (std::vector<std::string>{"15214", "0", "1", "1"}));
  EXPECT_EQ(loaded.query("SELECT open FROM total_estimates WHERE kind = 'allocated'"),
            (std::vector<std::string>{"0.0", "0.0"}));
}

TEST(Sql, WhatFiltersCannotTellIsInUpperLimits) {
  const profile::TestRecording test = with_cut_stack(65536);
  profile::Selection part;
  part.keeps = [](const profile::Sample& sample) {
    return sample.stack == 1 ? profile::Answer::kOpen : profile::Answer(sample.stack == 0);
  };
  Loaded loaded(test.recording, part);
  const auto sums = profile::total(test.recording, profile::select(test.recording, part));
  for (const std::string quantity : {"bytes", "objects"}) {
    const auto expected = quantity == "bytes" ? estimation::estimate_bytes(sums, 0.95)
                                              : estimation::estimate_objects(sums, 0.95);
    const std::string from =
        " FROM total_estimates WHERE kind = 'allocated' AND quantity = '" + quantity + "'";
    EXPECT_NEAR(loaded.number("SELECT value" + from), expected.value, 1e-9);
    EXPECT_NEAR(loaded.number("SELECT open" + from), expected.open, 1e-9);
    // The cube's error is largest at small shapes (docs/guide/sql.md).
    EXPECT_NEAR(loaded.number("SELECT lo" + from), expected.interval.lo, 0.02 * expected.value);
    EXPECT_NEAR(loaded.number("SELECT hi" + from) / expected.interval.hi, 1, 0.02);
  }
  EXPECT_EQ(loaded.query("SELECT value, open > 0 FROM stack_estimates WHERE stack_id = 1 AND"
                         " kind = 'allocated' AND quantity = 'bytes'"),
            (std::vector<std::string>{"0.0", "1"}));
}

TEST(Sql, NamesCannotBreakTheText) {
  RecordingBuilder builder(4096);
  const auto thread = builder.thread(builder.process("/bin/o'clock", 1), "", 1);
  const auto module = builder.module("/bin/a';DROP TABLE counts;--\\", 0x1000);
  const auto hostile = builder.location(module, 1, {std::string("x'\n\\\xff\0y", 7)});
  builder.sample(thread, builder.stack({hostile}, true), 100, 1);
  Loaded loaded(builder.recording());
  EXPECT_EQ(loaded.query("SELECT name FROM functions"),
            (std::vector<std::string>{"x'\n\\\xef\xbf\xbd\xef\xbf\xbdy"}));
  EXPECT_EQ(loaded.number("SELECT COUNT(*) FROM counts"), 1);
  EXPECT_EQ(loaded.number("SELECT is_truncated FROM stacks"), 1);
}

TEST(Sql, NamesMoveNoCursor) {
  const std::string name = "a'\x1b]0;\"\\u001b\x07\t\u009b\u202e\U000e0041\u00e9";
  RecordingBuilder builder(4096);
  const auto thread = builder.thread(builder.process("/bin/\x1b[2J", 1), "", 1);
  const auto module = builder.module("/lib/\x7f", 0x1000);
  builder.sample(thread, builder.stack({builder.location(module, 1, {name})}), 100, 1);
  EXPECT_TRUE(std::ranges::none_of(script(builder.recording()), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
  }));
  for (const char* acting : {"\u009b", "\u202e", "\U000e0041"}) {
    EXPECT_EQ(script(builder.recording()).find(acting), std::string::npos);
  }
  Loaded loaded(builder.recording());
  EXPECT_EQ(loaded.query("SELECT name FROM functions"), std::vector<std::string>{name});
  EXPECT_EQ(loaded.query("SELECT executable FROM processes"),
            std::vector<std::string>{"/bin/\x1b[2J"});
}

TEST(Sql, WhatHasNoStackHasAPlace) {
  RecordingBuilder builder(4096);
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  builder.sample(thread, builder.stack({}), 100, 1);
  builder.sample(thread, profile::kNone, 200, 1);
  Loaded loaded(builder.recording());
  EXPECT_EQ(loaded.query("SELECT DISTINCT leaf FROM stack_estimates"),
            (std::vector<std::string>{"[no stack]"}));
  EXPECT_EQ(loaded.query("SELECT samples, path FROM module_estimates WHERE kind = 'allocated' AND"
                         " quantity = 'bytes' AND scope = 'self'"),
            (std::vector<std::string>{"2", "[no module]"}));
}

TEST(Sql, IntervalOneIsExact) {
  RecordingBuilder builder(1);
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  builder.sample(thread, builder.stack({}), 100, 1);
  Loaded loaded(builder.recording());
  EXPECT_EQ(loaded.query("SELECT value, lo, hi, samples, upper_shape FROM estimates"
                         " WHERE kind = 'allocated' AND quantity = 'bytes' AND node = 'total'"),
            (std::vector<std::string>{"100.0", "100.0", "100.0", "0", "NULL"}));
}

TEST(Sql, NothingSampledHasALimit) {
  RecordingBuilder builder(4096);
  builder.process("/bin/a", 1);
  Loaded loaded(builder.recording());
  EXPECT_EQ(loaded.number("SELECT value FROM process_estimates WHERE kind = 'live' AND"
                          " quantity = 'bytes'"),
            0);
  EXPECT_NEAR(loaded.number("SELECT hi FROM total_estimates WHERE kind = 'live' AND"
                            " quantity = 'bytes'"),
              -1 / std::log1p(-1.0 / 4096) * 3.6888794541139363, 1e-6);
}

TEST(Sql, AnEmptyRecordingLoads) { EXPECT_EQ(Loaded({}).number("SELECT COUNT(*) FROM counts"), 0); }

}  // namespace
}  // namespace geiger::exports
