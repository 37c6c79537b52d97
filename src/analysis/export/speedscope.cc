#include "analysis/export/speedscope.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/export/shown_stacks.h"
#include "analysis/export/stack_sums.h"
#include "analysis/export/streams/json_stream.h"

namespace geiger::exports {
namespace {

/// A stack by its functions, root first.
struct Row {
  std::vector<std::uint32_t> functions;
  std::int64_t weight = 0;
};

std::vector<Row> rows_of(const profile::Recording& recording, const TitledProfile& titled,
                         ShownStacks& shown) {
  const std::vector<StackSums> stacks = sums_in_order(recording, *titled.profile);
  const std::vector<std::int64_t> weights =
      titled.weight == Weight::kBytes ? rounded_bytes(stacks) : rounded_objects(stacks);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (weights[i] <= 0) continue;
    Row row{shown.path_of(stacks[i].stack), weights[i]};
    for (std::uint32_t& frame : row.functions) frame = shown.frames()[frame].function;
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, &Row::functions);
  return rows;
}

void write_functions(present::JsonWriter& json, const ShownStacks& shown, present::Names names,
                     const Sink& sink) {
  const std::vector<std::string> texts = shown.names_of_functions(names);
  json.key("shared").begin_object().key("frames").begin_array();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string& file = shown.functions()[i].file;
    json.begin_object().field("name", texts[i]);
    if (!file.empty()) json.field("file", file);
    json.end_object();
    pass_on(json, sink);
  }
  json.end_array().end_object();
}

void write_profile(present::JsonWriter& json, const TitledProfile& titled,
                   const std::vector<Row>& rows, const Sink& sink) {
  const auto total = std::transform_reduce(rows.begin(), rows.end(), std::int64_t{0}, std::plus<>{},
                                           [](const Row& row) { return row.weight; });
  json.begin_object().field("type", "sampled").field("name", titled.title);
  json.field("unit", titled.weight == Weight::kBytes ? "bytes" : "none");
  json.field("startValue", 0).field("endValue", total);
  json.array("samples", rows, [&](const Row& row) {
    json.begin_array();
    for (const std::uint32_t function : row.functions) json.integer(function);
    json.end_array();
    pass_on(json, sink);
  });
  json.array("weights", rows, [&](const Row& row) {
    json.signed_integer(row.weight);
    pass_on(json, sink);
  });
  json.end_object();
}

}  // namespace

void write_speedscope(const profile::Recording& recording, std::span<const TitledProfile> profiles,
                      const std::string& name, const Sink& sink, present::Names names) {
  ShownStacks shown(recording);
  std::vector<std::vector<Row>> rows;
  for (const TitledProfile& titled : profiles) rows.push_back(rows_of(recording, titled, shown));
  present::JsonWriter json;
  json.begin_object();
  json.field("$schema", "https://www.speedscope.app/file-format-schema.json");
  json.field("exporter", "geiger").field("name", name).field("activeProfileIndex", 0);
  write_functions(json, shown, names, sink);
  json.key("profiles").begin_array();
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    write_profile(json, profiles[i], rows[i], sink);
  }
  json.end_array().end_object();
  sink(json.take());
}

}  // namespace geiger::exports
