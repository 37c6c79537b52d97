#include "analysis/export/heap_text_rows.h"

#include <algorithm>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>
#include <map>
#include <utility>

#include "estimation/counts.h"

namespace geiger::exports {
namespace {

using profile::Profile;
using profile::Recording;

/// R of a mean distance E = 1/lambda: T where lambda is -log1p(-1/T), hence E all but T - 1/2, and
/// N where others drew with lambda = 1/N.
Bytes header_interval(double mean_distance) {
  return static_cast<Bytes>(std::floor(mean_distance + 0.75));
}

/// What a reader multiplies a sample of this many bytes by.
double scale_of(double bytes, double interval) { return -1 / std::expm1(-bytes / interval); }

/// The bytes that a reader scales to `scaled` > `interval`: x with x = scaled (1 -
/// e^(-x/interval)).
double bytes_scaled_to(double scaled, double interval) {
  const double ratio = scaled / interval;
  return interval * (ratio + boost::math::lambert_w0(-ratio * std::exp(-ratio)));
}

/// An estimate that a row has to come to.
struct Target {
  double objects = 0, bytes = 0;
};

/// Rows for a target: one with objects, and a second one with bytes only.
struct RowPair {
  RowObjects row;
  Bytes beside = 0;
};

Bytes whole(double value) {
  return value < 0.5 ? 0 : static_cast<Bytes>(std::llround(std::min(value, 0x1p62)));
}

/// Finds the rows that a reader will scale to a target.
class RowFitter {
 public:
  explicit RowFitter(Bytes interval) : interval_(static_cast<double>(interval)) {}

  RowPair rows_for(const Target& target) {
    const double scale = scale_of(target.bytes / target.objects, interval_);
    const double count = std::floor(std::min(target.objects / scale, 0x1p52));
    return count >= 1 ? with_count(target, count) : of_less_than_a_sample(target);
  }

 private:
  /// Samples of the size that readers scale to the objects; it comes to too few bytes.
  [[nodiscard]] RowPair with_count(const Target& target, double count) const {
    const double size = target.objects > count ? -interval_ * std::log1p(-count / target.objects)
                                               : target.bytes / target.objects;
    RowPair pair;
    pair.row = {static_cast<std::uint64_t>(count), std::max<Bytes>(whole(count * size), 1)};
    const auto bytes = static_cast<double>(pair.row.bytes);
    pair.beside = whole(target.bytes - bytes * scale_of(bytes / count, interval_));
    return pair;
  }

  /// A sample stands for an interval at least. Either it is written with the size that is scaled to
  /// the bytes, which comes to too many objects, or with bytes and no object: whichever brings the
  /// objects of the whole nearer to the truth.
  RowPair of_less_than_a_sample(const Target& target) {
    const double wanted = target.objects + owed_;
    owed_ = wanted;
    RowPair pair;
    pair.beside = whole(target.bytes);
    if (target.bytes < interval_ + 1) return pair;
    const Bytes size = std::max<Bytes>(whole(bytes_scaled_to(target.bytes, interval_)), 1);
    const double objects = target.bytes / static_cast<double>(size);
    if (std::abs(wanted - objects) >= std::abs(wanted)) return pair;
    owed_ = wanted - objects;
    return {{1, size}, 0};
  }

  double interval_;
  double owed_ = 0;  ///< Objects.
};

/// The columns of a row that a pair goes into.
using ObjectColumns = std::vector<RowObjects HeapTextRow::*>;

class RowBuilder {
 public:
  RowBuilder(const Recording& recording, Bytes interval)
      : recording_(recording), interval_(interval) {}

  /// Adds samples that are drawn as readers assume unchanged; returns what rows must express of the
  /// others.
  std::map<std::uint32_t, Target> add(const Profile& profile, const ObjectColumns& columns) {
    std::map<std::uint32_t, Target> targets;
    for (const profile::Entry& entry : profile.entries) {
      const estimation::Count count = count_of(entry, recording_, profile);
      if (count.size == 0 || count.count == 0) continue;
      if (!is_plain(count)) {
        add(targets[entry.stack], count);
        continue;
      }
      HeapTextRow& row = plain_[{entry.stack, count.size}];
      row.stack = entry.stack;
      for (const auto column : columns) {
        (row.*column).count += count.count;
        (row.*column).bytes += count.count * count.size;
      }
    }
    return targets;
  }

  void tell(const std::map<std::uint32_t, Target>& targets, const ObjectColumns& columns) {
    RowFitter fitter(std::max<Bytes>(interval_, 1));
    for (const auto& [stack, target] : targets) {
      const RowPair pair = fitter.rows_for(target);
      if (pair.row.count > 0) append(stack, pair.row, columns);
      if (pair.beside > 0) append(stack, {0, pair.beside}, columns);
    }
  }

  std::vector<HeapTextRow> take() {
    for (const auto& [key, row] : plain_) rows_.push_back(row);
    std::ranges::stable_sort(rows_, {}, &HeapTextRow::stack);
    return std::move(rows_);
  }

 private:
  /// Thinned ones never are: R is their interval over what was kept of them.
  [[nodiscard]] bool is_plain(const estimation::Count& count) const {
    if (estimation::is_certain(count)) return interval_ == 0;
    return header_interval(1 / count.lambda) == interval_;
  }

  static void add(Target& target, const estimation::Count& count) {
    const double weight = static_cast<double>(count.count) / inclusion_probability(count);
    target.objects += weight;
    target.bytes += weight * static_cast<double>(count.size);
  }

  void append(std::uint32_t stack, const RowObjects& objects, const ObjectColumns& columns) {
    HeapTextRow& row = rows_.emplace_back();
    row.stack = stack;
    for (const auto column : columns) row.*column = objects;
  }

  const Recording& recording_;
  const Bytes interval_;
  std::map<std::pair<std::uint32_t, Bytes>, HeapTextRow> plain_;  ///< By stack and size.
  std::vector<HeapTextRow> rows_;
};

/// Takes what is live out of what was allocated, where it is a part of that: both columns of a row
/// have it then, and what remains was freed.
void split(std::map<std::uint32_t, Target>& live, std::map<std::uint32_t, Target>& allocated,
           std::map<std::uint32_t, Target>& both) {
  constexpr double kSame = 1e-9;
  for (auto at = live.begin(); at != live.end();) {
    const auto found = allocated.find(at->first);
    const Target part = at->second;
    if (found == allocated.end() || found->second.bytes < part.bytes * (1 - kSame) ||
        found->second.objects < part.objects * (1 - kSame)) {
      ++at;
      continue;
    }
    Target& rest = found->second;
    rest.objects -= part.objects;
    rest.bytes -= part.bytes;
    if (rest.bytes <= part.bytes * kSame) allocated.erase(found);
    both.insert(live.extract(at++));
  }
}

}  // namespace

HeapTextTable heap_text_table(const Recording& recording, const Profile& allocated,
                              const Profile& live) {
  HeapTextTable table;
  const Profile& first = live.entries.empty() ? allocated : live;
  table.interval = header_interval(first.largest_interval);
  RowBuilder rows(recording, table.interval);
  const auto kLive = &HeapTextRow::live;
  const auto kAllocated = &HeapTextRow::allocated;
  const bool repeats =
      !allocated.entries.empty() && header_interval(allocated.largest_interval) != table.interval;
  std::map<std::uint32_t, Target> both;
  if (repeats) {
    both = rows.add(live, {kLive, kAllocated});
  } else {
    auto live_targets = rows.add(live, {kLive});
    auto allocated_targets = rows.add(allocated, {kAllocated});
    split(live_targets, allocated_targets, both);
    rows.tell(live_targets, {kLive});
    rows.tell(allocated_targets, {kAllocated});
  }
  rows.tell(both, {kLive, kAllocated});
  table.rows = rows.take();
  return table;
}

}  // namespace geiger::exports
