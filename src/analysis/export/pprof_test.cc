#include "analysis/export/pprof.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <string>
#include <vector>

#include "analysis/profile/testing/example_recording.h"

namespace geiger::exports {
namespace {

using profile::Kind;
using profile::example::RecordingBuilder;

std::string unzip(const std::string& packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  std::array<char, 4096> chunk;
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = chunk.size();
    result = inflate(&stream, Z_NO_FLUSH);
    out.append(chunk.data(), chunk.size() - stream.avail_out);
  }
  EXPECT_EQ(result, Z_STREAM_END);
  inflateEnd(&stream);
  return out;
}

/// A profile read back with the plainest code that can.
struct Decoded {
  std::vector<std::string> strings;
  std::vector<std::pair<std::int64_t, std::int64_t>> sample_types;
  struct Sample {
    std::vector<std::uint64_t> locations;
    std::vector<std::int64_t> values;
    std::map<std::int64_t, std::int64_t> numbers, texts;
  };
  std::vector<Sample> samples;
  struct Location {
    std::uint64_t id = 0, mapping = 0, address = 0;
    std::vector<std::pair<std::uint64_t, std::int64_t>> lines;
  };
  std::vector<Location> locations;
  struct Mapping {
    std::uint64_t id = 0, start = 0, limit = 0;
    std::int64_t file = 0, build_id = 0;
    bool has_functions = false;
  };
  std::vector<Mapping> mappings;
  struct Function {
    std::uint64_t id = 0;
    std::int64_t name = 0, system_name = 0, file = 0;
  };
  std::vector<Function> functions;
  std::vector<std::int64_t> comments;
  std::int64_t time = 0, duration = 0, period = 0, default_type = 0;
  std::pair<std::int64_t, std::int64_t> period_type;

  [[nodiscard]] std::string text(std::int64_t index) const {
    return strings.at(static_cast<std::size_t>(index));
  }
  [[nodiscard]] std::string type(std::size_t index) const {
    return text(sample_types[index].first) + "/" + text(sample_types[index].second);
  }
  [[nodiscard]] std::int64_t sum(std::size_t column) const {
    std::int64_t total = 0;
    for (const Sample& sample : samples) total += sample.values[column];
    return total;
  }
};

std::pair<std::int64_t, std::int64_t> value_type(protozero::pbf_reader in) {
  std::pair<std::int64_t, std::int64_t> out;
  while (in.next()) (in.tag() == 1 ? out.first : out.second) = in.get_int64();
  return out;
}

Decoded::Sample sample(protozero::pbf_reader in) {
  Decoded::Sample out;
  while (in.next()) {
    if (in.tag() == 1) {
      for (const auto id : in.get_packed_uint64()) out.locations.push_back(id);
    } else if (in.tag() == 2) {
      for (const auto value : in.get_packed_int64()) out.values.push_back(value);
    } else {
      protozero::pbf_reader label = in.get_message();
      std::array<std::int64_t, 5> fields{};
      while (label.next()) fields.at(label.tag()) = label.get_int64();
      (fields[2] != 0 ? out.texts : out.numbers)[fields[1]] =
          fields[2] != 0 ? fields[2] : fields[3];
    }
  }
  return out;
}

Decoded::Location location(protozero::pbf_reader in) {
  Decoded::Location out;
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        out.id = in.get_uint64();
        break;
      case 2:
        out.mapping = in.get_uint64();
        break;
      case 3:
        out.address = in.get_uint64();
        break;
      default:
        const auto line = value_type(in.get_message());
        out.lines.emplace_back(line.first, line.second);
    }
  }
  return out;
}

Decoded::Mapping mapping(protozero::pbf_reader in) {
  Decoded::Mapping out;
  std::array<std::int64_t, 11> fields{};
  while (in.next()) fields.at(in.tag()) = in.get_int64();
  out.id = static_cast<std::uint64_t>(fields[1]);
  out.start = static_cast<std::uint64_t>(fields[2]);
  out.limit = static_cast<std::uint64_t>(fields[3]);
  out.file = fields[5];
  out.build_id = fields[6];
  out.has_functions = fields[7] != 0;
  return out;
}

Decoded::Function function(protozero::pbf_reader in) {
  std::array<std::int64_t, 5> fields{};
  while (in.next()) fields.at(in.tag()) = in.get_int64();
  return {static_cast<std::uint64_t>(fields[1]), fields[2], fields[3], fields[4]};
}

Decoded decode(const std::string& packed) {
  const std::string bytes = unzip(packed);
  Decoded out;
  protozero::pbf_reader in(bytes);
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        out.sample_types.push_back(value_type(in.get_message()));
        break;
      case 2:
        out.samples.push_back(sample(in.get_message()));
        break;
      case 3:
        out.mappings.push_back(mapping(in.get_message()));
        break;
      case 4:
        out.locations.push_back(location(in.get_message()));
        break;
      case 5:
        out.functions.push_back(function(in.get_message()));
        break;
      case 6:
        out.strings.push_back(in.get_string());
        break;
      case 9:
        out.time = in.get_int64();
        break;
      case 10:
        out.duration = in.get_int64();
        break;
      case 11:
        out.period_type = value_type(in.get_message());
        break;
      case 12:
        out.period = in.get_int64();
        break;
      case 13:
        out.comments.push_back(in.get_int64());
        break;
      case 14:
        out.default_type = in.get_int64();
        break;
      default:
        ADD_FAILURE() << "field " << in.tag();
        in.skip();
    }
  }
  return out;
}

std::string pprof(const profile::Recording& recording, const profile::AccusedStacks& accused = {}) {
  std::string out;
  write_pprof(recording, profile::select(recording, Kind::kAllocated),
              profile::select(recording, Kind::kLiveAtEnd),
              {.comments = {"a comment"}, .accused = accused},
              [&](std::string_view bytes) { out += bytes; });
  return out;
}

TEST(Pprof, SampleTypesStandInTheOrderThatReadersExpect) {
  const Decoded out = decode(pprof(profile::example::small_server()));
  ASSERT_EQ(out.sample_types.size(), 10U);
  EXPECT_EQ(out.type(0), "alloc_objects/count");
  EXPECT_EQ(out.type(1), "alloc_space/bytes");
  EXPECT_EQ(out.type(2), "inuse_objects/count");
  EXPECT_EQ(out.type(3), "inuse_space/bytes");
  EXPECT_EQ(out.type(7), "inuse_space_variance/bytes^2");
  EXPECT_EQ(out.type(9), "inuse_samples/count");
  EXPECT_EQ(out.text(out.default_type), "inuse_space");
}

TEST(Pprof, DefaultsToAllocationsWhereNothingIsLive) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  builder.sample(thread, builder.stack({}), 100, 1, 2);
  const Decoded out = decode(pprof(builder.recording()));
  EXPECT_EQ(out.text(out.default_type), "alloc_space");
}

TEST(Pprof, TotalsAreTheRoundedEstimates) {
  const profile::Recording recording = profile::example::small_server();
  const Decoded out = decode(pprof(recording));
  const auto check = [&](Kind kind, std::size_t column) {
    const auto sums = profile::total(recording, profile::select(recording, kind));
    EXPECT_EQ(out.sum(column), std::llround(sums.objects) + 1);  // The table is certain.
    EXPECT_EQ(out.sum(column + 1), std::llround(sums.all_bytes()));
    EXPECT_EQ(out.sum(column + 4), std::llround(sums.objects_variance));
    EXPECT_EQ(out.sum(column + 5), std::llround(sums.bytes_variance));
  };
  check(Kind::kAllocated, 0);
  check(Kind::kLiveAtEnd, 2);
  EXPECT_EQ(out.sum(8), 253);
  EXPECT_EQ(out.sum(9), 61);
}

TEST(Pprof, IdsAreSequentialAndAllReferencesResolve) {
  const Decoded out = decode(pprof(profile::example::small_server()));
  EXPECT_EQ(out.strings.at(0), "");
  EXPECT_EQ(std::set<std::string>(out.strings.begin(), out.strings.end()).size(),
            out.strings.size());
  for (std::size_t i = 0; i < out.locations.size(); ++i) EXPECT_EQ(out.locations[i].id, i + 1);
  for (std::size_t i = 0; i < out.mappings.size(); ++i) EXPECT_EQ(out.mappings[i].id, i + 1);
  for (std::size_t i = 0; i < out.functions.size(); ++i) EXPECT_EQ(out.functions[i].id, i + 1);
  for (const auto& one : out.samples) {
    EXPECT_EQ(one.values.size(), out.sample_types.size());
    for (const auto id : one.locations) EXPECT_LE(id, out.locations.size());
  }
}

TEST(Pprof, StacksThatWereCutHaveARootThatSaysSo) {
  RecordingBuilder builder(4096);
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  const auto leaf = builder.location(builder.module("/bin/a", 0x1000), 1, {"leaf"});
  builder.sample(thread, builder.stack({leaf}, true), 100, 1);
  const Decoded out = decode(pprof(builder.recording()));
  ASSERT_EQ(out.samples.size(), 1U);
  ASSERT_EQ(out.samples[0].locations.size(), 2U);
  const auto root =
      std::ranges::find(out.locations, out.samples[0].locations[1], &Decoded::Location::id);
  ASSERT_NE(root, out.locations.end());
  EXPECT_EQ(out.text(out.functions[root->lines.at(0).first - 1].name), "[truncated]");
}

TEST(Pprof, LocationsCarryInlinedLinesAndTheCallingAddress) {
  const Decoded out = decode(pprof(profile::example::small_server()));
  const auto at = std::find_if(out.locations.begin(), out.locations.end(),
                               [](const auto& one) { return one.lines.size() == 2; });
  ASSERT_NE(at, out.locations.end());
  EXPECT_EQ(at->address, 0x4002ffU);
  const auto name = [&](std::size_t line) {
    return out.text(out.functions[at->lines[line].first - 1].name);
  };
  EXPECT_EQ(name(0), "grow");
  EXPECT_EQ(name(1), "read_request(Request&)");
  EXPECT_EQ(at->lines[0].second, 0x300);
}

TEST(Pprof, TheMainBinaryIsTheFirstMapping) {
  RecordingBuilder builder;
  builder.module("/lib/libc.so.6", 0x7f0000000000);
  builder.module("/bin/main", 0x400000);
  const auto thread = builder.thread(builder.process("/bin/main", 1), "", 1);
  builder.sample(thread, builder.stack({builder.location(0, 5, {"f"})}), 100, 1);
  const Decoded out = decode(pprof(builder.recording()));
  ASSERT_EQ(out.mappings.size(), 2U);
  EXPECT_EQ(out.text(out.mappings[0].file), "/bin/main");
  EXPECT_EQ(out.text(out.mappings[0].build_id), "00c0ffee");
  EXPECT_FALSE(out.mappings[0].has_functions);
  EXPECT_EQ(out.mappings[1].start, 0x7f0000000000U);
  EXPECT_TRUE(out.mappings[1].has_functions);
  EXPECT_EQ(out.locations.at(0).mapping, 2U);
}

TEST(Pprof, LabelsTellBlockSizeAndThread) {
  const Decoded out = decode(pprof(profile::example::small_server()));
  std::set<std::pair<std::string, std::int64_t>> labels;
  for (const auto& one : out.samples) {
    std::string thread;
    for (const auto& [key, text] : one.texts) thread = out.text(key) + "=" + out.text(text);
    for (const auto& [key, value] : one.numbers) {
      EXPECT_EQ(out.text(key), "bytes");
      labels.emplace(thread, value);
    }
  }
  EXPECT_EQ(labels, (std::set<std::pair<std::string, std::int64_t>>{{"thread=server", 12 * kMiB},
                                                                    {"thread=worker", 200},
                                                                    {"thread=worker", 64 * kKiB}}));
}

TEST(Pprof, LabelsTellLeakSuspects) {
  const profile::Recording recording = profile::example::small_server();
  const std::uint32_t first = recording.samples.front().stack;
  const auto leaks_of = [&](const profile::AccusedStacks& accused) {
    const Decoded out = decode(pprof(recording, accused));
    std::multiset<std::string> leaks;
    for (const auto& one : out.samples) {
      for (const auto& [key, text] : one.texts) {
        if (out.text(key).starts_with("leak")) leaks.insert(out.text(key) + "=" + out.text(text));
      }
    }
    return leaks;
  };
  using Texts = std::multiset<std::string>;
  EXPECT_EQ(leaks_of({}), Texts());
  EXPECT_EQ(leaks_of({{first, ""}}), Texts({"leak=suspect"}));
  EXPECT_EQ(leaks_of({{first, "get"}}), Texts({"leak=suspect", "leak_owner=get"}));
}

TEST(Pprof, SaysWhenHowLongAndHowOften) {
  const Decoded out = decode(pprof(profile::example::small_server()));
  EXPECT_EQ(out.time, 1'700'000'000'000'000'000);
  EXPECT_EQ(out.duration, 2'500'000'000);
  EXPECT_EQ(out.period, 524'288);
  EXPECT_EQ(out.text(out.period_type.first) + "/" + out.text(out.period_type.second),
            "space/bytes");
  EXPECT_EQ(out.text(out.comments.at(0)), "a comment");
}

TEST(Pprof, AnEmptyRecordingIsAValidProfile) {
  const Decoded out = decode(pprof({}));
  EXPECT_EQ(out.sample_types.size(), 10U);
  EXPECT_TRUE(out.samples.empty());
}

TEST(Pprof, HostileNamesStayValidUtf8) {
  RecordingBuilder builder;
  const auto thread = builder.thread(builder.process("/bin/a", 1), "\xff\xfe", 1);
  const auto module = builder.module("/bin/\xc0", 0x1000);
  builder.sample(thread, builder.stack({builder.location(module, 0, {"\xed\xa0\x80"})}), 100, 1);
  const Decoded out = decode(pprof(builder.recording()));
  const auto has = [&](const std::string& text) {
    return std::find(out.strings.begin(), out.strings.end(), text) != out.strings.end();
  };
  EXPECT_TRUE(has("\xef\xbf\xbd\xef\xbf\xbd"));
  EXPECT_TRUE(has("/bin/\xef\xbf\xbd"));
}

}  // namespace
}  // namespace geiger::exports
