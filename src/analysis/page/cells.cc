#include "analysis/page/cells.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

namespace geiger::page {

namespace {

using estimation::Count;
using estimation::NodeSums;

double value_of(const Count& count) {
  return static_cast<double>(count.value == estimation::kWholeSize ? count.size : count.value);
}

std::int32_t size_class_of(Bytes size) {
  return static_cast<std::int32_t>(std::bit_width(size)) - 1;
}

/// Of what is open as if all of it counted.
NodeSums sums_of_one(const Shape& shape) {
  NodeSums sums;
  estimation::add(sums, shape.count, 1);
  return sums;
}

Stratum stratum_of(const NodeSums& sums, double count, std::int32_t size_class) {
  Stratum stratum;
  stratum.size_class = size_class;
  stratum.is_certain = sums.certain_samples > 0;
  stratum.bytes = (stratum.is_certain ? sums.certain_bytes : sums.bytes_seen) / count;
  if (stratum.is_certain) return stratum;
  stratum.weighted = sums.weighted_bytes / count;
  stratum.variance = sums.bytes_variance / count;
  stratum.objects = sums.objects / count;
  stratum.objects_variance = sums.objects_variance / count;
  stratum.interval = sums.smallest_interval;
  stratum.largest_interval = sums.largest_interval;
  stratum.largest_object_weight = sums.largest_object_weight;
  stratum.smallest_size = sums.smallest_size;
  stratum.largest_size = sums.largest_size;
  return stratum;
}

/// Shapes that share a stratum.
struct StratumKey {
  bool is_certain = false, is_open = false;
  std::int32_t size_class = -1;
  std::int64_t size_step = 0, value_step = 0;
  double lambda = 0, keep = 0;
  auto operator<=>(const StratumKey&) const = default;
};

/// Of no bytes that of one: their class of sizes differs.
std::int64_t step_of(double bytes, std::size_t steps) {
  return static_cast<std::int64_t>(
      std::floor(std::log2(std::max(bytes, 1.0)) * static_cast<double>(steps)));
}

StratumKey key_of(const Shape& shape, const Coarseness& coarseness) {
  const Count& count = shape.count;
  StratumKey key;
  key.is_certain = estimation::is_certain(count);
  key.is_open = shape.is_open;
  key.size_class = size_class_of(count.size);
  key.size_step = step_of(static_cast<double>(count.size), coarseness.size_steps);
  if (count.value != estimation::kWholeSize) {
    key.value_step = 1 + std::abs(step_of(value_of(count), coarseness.size_steps));
  }
  if (coarseness.tells_rates) key.lambda = count.lambda, key.keep = count.keep;
  return key;
}

/// Fates whose sums are kept apart even where sizes share strata, so that the sums of allocated
/// bytes and of bytes live at the end are unchanged.
constexpr std::size_t kFates = 4;

std::size_t fate_of(const Item& item, const Span& span) {
  return (item.born >= span.from ? 1U : 0U) + (item.died == kNever ? 2U : 0U);
}

/// Strata with the one of each shape; of means, of each shape with each fate.
struct Stratification {
  std::vector<Stratum> strata;
  std::vector<std::array<std::uint32_t, kFates>> of_shape;
};

Stratification stratify_exactly(const Items& items) {
  Stratification out;
  for (const Shape& shape : items.shapes) {
    out.of_shape.emplace_back().fill(static_cast<std::uint32_t>(out.strata.size()));
    out.strata.push_back(stratum_of(sums_of_one(shape), 1, size_class_of(shape.count.size)));
    out.strata.back().is_open = shape.is_open;
  }
  return out;
}

Stratification stratify_by_means(const Items& items, const Coarseness& coarseness,
                                 const Span& span) {
  struct Group {
    NodeSums sums;
    std::uint64_t count = 0;
    std::uint32_t stratum = 0;
  };
  std::vector<std::array<std::uint64_t, kFates>> counts(items.shapes.size());
  for (const Item& item : items.items) counts[item.shape][fate_of(item, span)] += item.count;
  std::map<std::pair<StratumKey, std::size_t>, Group> groups;
  for (std::size_t shape = 0; shape < items.shapes.size(); ++shape) {
    const StratumKey key = key_of(items.shapes[shape], coarseness);
    for (std::size_t fate = 0; fate < kFates; ++fate) {
      if (counts[shape][fate] == 0) continue;
      Group& group = groups[{key, fate}];
      estimation::add(group.sums, items.shapes[shape].count, counts[shape][fate]);
      group.count += counts[shape][fate];
    }
  }
  Stratification out;
  for (auto& [key, group] : groups) {
    group.stratum = static_cast<std::uint32_t>(out.strata.size());
    out.strata.push_back(
        stratum_of(group.sums, static_cast<double>(group.count), key.first.size_class));
    out.strata.back().is_open = key.first.is_open;
  }
  out.of_shape.resize(items.shapes.size());
  for (std::size_t shape = 0; shape < items.shapes.size(); ++shape) {
    const StratumKey key = key_of(items.shapes[shape], coarseness);
    for (std::size_t fate = 0; fate < kFates; ++fate) {
      const auto group = groups.find({key, fate});
      if (group != groups.end()) out.of_shape[shape][fate] = group->second.stratum;
    }
  }
  return out;
}

Stratification stratify(const Items& items, const Coarseness& coarseness, const Span& span) {
  return coarseness.size_steps == 0 ? stratify_exactly(items)
                                    : stratify_by_means(items, coarseness, span);
}

/// The names with most bytes; all others become one.
class KeptNames {
 public:
  KeptNames(const Items& items, const std::vector<double>& weights, NameIndex Item::*name,
            const CellPlan& plan, UsedNames& names)
      : name_(name), names_(names), others_(plan.others) {
    std::map<NameIndex, double> bytes;
    for (std::size_t i = 0; i < items.items.size(); ++i) {
      const NameIndex met = items.items[i].*name;
      if (met != kNoName) bytes[met] += weights[i];
    }
    std::vector<std::pair<double, NameIndex>> order;
    for (const auto& [met, weight] : bytes) {
      order.emplace_back(met == plan.unknown_type ? -HUGE_VAL : -weight, met);
    }
    std::ranges::sort(order);
    is_cut_ = order.size() > plan.coarseness.told;
    if (is_cut_) order.resize(plan.coarseness.told);
    for (const auto& [weight, met] : order) kept_.insert({met, true});
  }

  [[nodiscard]] NameIndex of(const Item& item) {
    const NameIndex met = item.*name_;
    if (met == kNoName || !is_cut_ || kept_.contains(met)) return names_.of(met);
    return names_.of(others_);
  }
  [[nodiscard]] bool is_any() const { return !kept_.empty(); }

 private:
  NameIndex Item::*name_;
  UsedNames& names_;
  NameIndex others_;
  tsl::robin_map<NameIndex, bool> kept_;
  bool is_cut_ = false;
};

void set_times(Cell& cell, const Item& item, const CellPlan& plan) {
  const Buckets& buckets = plan.buckets;
  cell.born = item.born < buckets.span().from ? kBornBefore : buckets.of(item.born);
  if (item.died != kNever) cell.died = buckets.of(item.died);
}

auto key_of(const Cell& cell) {
  return std::tie(cell.node, cell.stratum, cell.process, cell.thread, cell.type, cell.label,
                  cell.born, cell.died);
}

/// Sorts by everything that distinguishes cells, and adds up equal ones.
void merge_alike(std::vector<Cell>& cells) {
  std::ranges::sort(cells, [](const Cell& a, const Cell& b) { return key_of(a) < key_of(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (kept > 0 && key_of(cells[kept - 1]) == key_of(cells[i])) {
      cells[kept - 1].count += cells[i].count;
    } else {
      cells[kept++] = cells[i];
    }
  }
  cells.resize(kept);
}

}  // namespace

std::vector<double> weights_of(const Items& items) {
  std::vector<double> of_shape;
  for (const Shape& shape : items.shapes) {
    const NodeSums sums = sums_of_one(shape);
    of_shape.push_back(sums.all_bytes());
  }
  std::vector<double> weights;
  weights.reserve(items.items.size());
  for (const Item& item : items.items) {
    weights.push_back(of_shape[item.shape] * static_cast<double>(item.count));
  }
  return weights;
}

Cells cells_of(const Items& items, const CellPlan& plan, UsedNames& names) {
  Cells out;
  Stratification stratification = stratify(items, plan.coarseness, plan.buckets.span());
  out.strata = std::move(stratification.strata);
  out.has_open = std::ranges::any_of(out.strata, &Stratum::is_open);
  out.has_mean_sizes = plan.coarseness.size_steps != 0;
  const std::vector<double> weights = weights_of(items);
  KeptNames processes(items, weights, &Item::process, plan, names);
  KeptNames threads(items, weights, &Item::thread, plan, names);
  KeptNames types(items, weights, &Item::type, plan, names);
  KeptNames labels(items, weights, &Item::label, plan, names);
  out.has_processes = items.has_processes && processes.is_any();
  out.has_threads = items.has_threads && threads.is_any();
  out.has_types = items.has_types && types.is_any();
  out.has_labels = items.has_labels && labels.is_any();
  out.has_times = items.has_times;
  out.cells.reserve(items.items.size());
  for (const Item& item : items.items) {
    Cell cell;
    cell.node = plan.moved[item.node];
    cell.stratum = stratification.of_shape[item.shape][fate_of(item, plan.buckets.span())];
    if (out.has_processes) cell.process = processes.of(item);
    if (out.has_threads) cell.thread = threads.of(item);
    if (out.has_types) cell.type = types.of(item);
    if (out.has_labels) cell.label = labels.of(item);
    if (out.has_times) set_times(cell, item, plan);
    cell.count = item.count;
    out.cells.push_back(cell);
  }
  merge_alike(out.cells);
  return out;
}

std::vector<NodeSums> live_sums(const Items& items, const Buckets& buckets,
                                double largest_interval) {
  const auto buckets_count = static_cast<std::size_t>(buckets.count());
  // Whole numbers, so that what is freed leaves nothing behind.
  std::vector<std::tuple<std::size_t, std::uint32_t, std::int64_t>> events;
  for (const Item& item : items.items) {
    const auto count = static_cast<std::int64_t>(item.count);
    events.emplace_back(static_cast<std::size_t>(buckets.of(item.born)), item.shape, count);
    if (item.died == kNever) continue;
    events.emplace_back(static_cast<std::size_t>(buckets.of(item.died)), item.shape, -count);
  }
  std::ranges::sort(events);
  std::vector<std::int64_t> live(items.shapes.size(), 0);
  std::vector<NodeSums> out;
  auto event = events.begin();
  for (std::size_t bucket = 0; bucket < buckets_count; ++bucket) {
    for (; event != events.end() && std::get<0>(*event) == bucket; ++event) {
      live[std::get<1>(*event)] += std::get<2>(*event);
    }
    NodeSums& sums = out.emplace_back();
    for (std::size_t shape = 0; shape < live.size(); ++shape) {
      if (live[shape] <= 0) continue;
      estimation::add(sums, items.shapes[shape].count, static_cast<std::uint64_t>(live[shape]));
    }
    sums.could_have_sampled(largest_interval);
  }
  return out;
}

}  // namespace geiger::page
