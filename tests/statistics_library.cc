// The estimators of the library for compositions given as JSON, for the test that
// compares them with the command line and with SQL.
//
// Reads {"levels": [...], "compositions": [{"lambdas": [...], "groups": [[size, lambda,
// count], ...], "certain": [[size, count], ...]}, ...]} from standard input; `lambdas`
// are the rates in force. Writes one object per composition: its sums, and per level
// and form [lo, hi] of bytes and of objects.
#include <iostream>
#include <nlohmann/json.hpp>

#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace {

using geiger::estimation::Estimate;
using geiger::estimation::Form;
using geiger::estimation::NodeSums;
using nlohmann::json;

NodeSums sums_of(const json& composition) {
  NodeSums sums;
  for (const auto& lambda : composition["lambdas"]) {
    sums.could_have_sampled(1 / lambda.get<double>());
  }
  for (const auto& group : composition["groups"]) {
    sums.add(group[0].get<std::uint64_t>(), group[1].get<double>(), group[2].get<std::uint64_t>());
  }
  for (const auto& group : composition["certain"]) {
    sums.add_certain(group[0].get<std::uint64_t>(), group[1].get<std::uint64_t>());
  }
  return sums;
}

json limits(const Estimate& estimate) { return {estimate.interval.lo, estimate.interval.hi}; }

json result_of(const NodeSums& sums, const json& levels) {
  json result{{"samples", sums.samples},
              {"certain_samples", sums.certain_samples},
              {"certain_bytes", sums.certain_bytes},
              {"bytes_seen", sums.bytes_seen},
              {"weighted_bytes", sums.weighted_bytes},
              {"bytes_variance", sums.bytes_variance},
              {"objects", sums.objects},
              {"objects_variance", sums.objects_variance},
              {"largest_object_weight", sums.largest_object_weight},
              {"largest_interval", sums.largest_interval}};
  for (const auto& given : levels) {
    const auto level = given.get<double>();
    for (const auto& [form, name] : {std::pair{Form::kTotal, "total"}, {Form::kListed, "listed"}}) {
      result["limits"].push_back({{"level", level},
                                  {"form", name},
                                  {"bytes", limits(estimate_bytes(sums, level, form))},
                                  {"objects", limits(estimate_objects(sums, level, form))}});
    }
  }
  return result;
}

}  // namespace

int main() {
  const json input = json::parse(std::cin);
  json results = json::array();
  for (const auto& composition : input["compositions"]) {
    results.push_back(result_of(sums_of(composition), input["levels"]));
  }
  std::cout << results << "\n";
}
