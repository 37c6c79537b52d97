#include <algorithm>
#include <unordered_map>

#include "analysis/holders/layout.h"

namespace geiger::holders {

namespace {

using observe::LiveSample;
using observe::Mapping;

constexpr std::uint64_t kAddressBits = (std::uint64_t{1} << 48) - 1;
constexpr Bytes kPage = 4096;
/// Larger blocks have size classes that share no page.
constexpr Bytes kMostStride = 2048;

bool is_anonymous(const Mapping& mapping) {
  return mapping.path.empty() || mapping.path == "[heap]" || mapping.path.starts_with("[anon");
}

std::span<const LiveSample> samples_in(std::span<const LiveSample> samples, Span span) {
  const auto first = std::ranges::lower_bound(samples, span.start, {}, &LiveSample::address);
  const auto last = std::ranges::lower_bound(samples, span.end, {}, &LiveSample::address);
  return {first, last};
}

/// How a page is divided into equal blocks.
struct Stride {
  Bytes bytes = 0;
  Bytes phase = 0;
  bool is_mixed = false;  ///< Samples disagree.
};

class Inference {
 public:
  Inference(Layout& layout, Memory& memory, std::span<const LiveSample> samples)
      : layout_(layout), memory_(memory), samples_(samples) {}

  void infer() {
    add_areas();
    layout_.blocks.index();  // To find areas; blocks follow.
    add_targets();
    add_samples();
    divide_pages();
    layout_.blocks.index();
    layout_.is_inferred = true;
  }

 private:
  void add_areas() {
    for (const Mapping& mapping : layout_.mappings) {
      const Span span{mapping.start, mapping.end};
      if (!mapping.is_writable || mapping.is_shared || !is_anonymous(mapping)) continue;
      if (samples_in(samples_, span).empty()) continue;
      layout_.blocks.add(span);
      layout_.leave_out(span);
    }
  }

  void add_targets() {
    Words words(memory_);
    for (const Mapping& mapping : layout_.mappings) {
      if (!mapping.is_readable || !mapping.is_writable) continue;
      for (Address at = mapping.start; at + 8 <= mapping.end;) {
        if (at % kPage == 0 && memory_.is_absent(at)) {
          at += kPage;
          continue;
        }
        const Address target = words.at(at, mapping.end) & kAddressBits;
        if (target % 8 == 0) {
          if (Area* area = layout_.blocks.area_of(target)) area->add(target / kGrain * kGrain);
        }
        at += 8;
      }
    }
  }

  /// The bytes of a sample are one block.
  void add_samples() {
    for (const LiveSample& sample : samples_) {
      Area* area = layout_.blocks.area_of(sample.address);
      if (area == nullptr) continue;
      const Address start = sample.address / kGrain * kGrain;
      const Bytes bytes = std::max({sample.usable, sample.requested, Bytes{1}});
      const Address end =
          std::min(area->span().end, (sample.address + bytes + kGrain - 1) / kGrain * kGrain);
      area->remove_all(start, end);
      area->add(start);
      if (end < area->span().end) area->add(end);
    }
  }

  void divide_pages() {
    for (const auto& [page, stride] : strides()) {
      if (stride.is_mixed) continue;
      Area* area = layout_.blocks.area_of(page);
      if (area == nullptr || !fits(*area, page, stride.bytes)) continue;
      const Address start = std::max(area->span().start, page);
      const Address end = std::min(area->span().end, page + kPage);
      const Bytes into = (start - stride.phase) % stride.bytes;
      area->remove_all(start, end);
      for (Address at = into == 0 ? start : start + stride.bytes - into; at < end;
           at += stride.bytes) {
        area->add(at / kGrain * kGrain);
      }
    }
  }

  /// By page.
  [[nodiscard]] std::unordered_map<Address, Stride> strides() const {
    std::unordered_map<Address, Stride> found;
    for (const LiveSample& sample : samples_) {
      const Bytes bytes = sample.usable;
      if (bytes == 0) continue;
      const Bytes phase = sample.address % bytes;
      const Address last = (sample.address + bytes - 1) / kPage * kPage;
      for (Address page = sample.address / kPage * kPage; page <= last; page += kPage) {
        Stride& stride = found[page];
        const bool is_same = stride.bytes == 0 || (stride.bytes == bytes && stride.phase == phase);
        if (bytes > kMostStride || !is_same) stride.is_mixed = true;
        stride.bytes = bytes;
        stride.phase = phase;
      }
    }
    return found;
  }

  /// Whether the pointers into a page go to few places of its blocks: to their starts, and to a
  /// member or two.
  static bool fits(const Area& area, Address page, Bytes stride) {
    constexpr std::size_t kFew = 3;
    constexpr double kMost = 0.9;
    std::unordered_map<Bytes, std::size_t> residues;
    std::size_t starts = 0;
    const Address end = std::min(area.span().end, page + kPage);
    for (Address at = std::max(area.span().start, page); at < end; at += kGrain) {
      if (!area.is_start(at)) continue;
      ++residues[at % stride];
      ++starts;
    }
    if (starts < kFew) return true;
    std::vector<std::size_t> counts;
    for (const auto& [residue, count] : residues) counts.push_back(count);
    std::ranges::sort(counts, std::ranges::greater{});
    counts.resize(std::min(counts.size(), kFew));
    std::size_t most = 0;
    for (const std::size_t count : counts) most += count;
    return static_cast<double>(most) >= kMost * static_cast<double>(starts);
  }

  Layout& layout_;
  Memory& memory_;
  std::span<const LiveSample> samples_;
};

}  // namespace

void add_inferred_blocks(Layout& layout, Memory& memory, std::span<const LiveSample> samples) {
  Inference(layout, memory, samples).infer();
}

}  // namespace geiger::holders
