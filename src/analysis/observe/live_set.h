// The live samples of a process, kept up to date from the trace that it writes.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ingest/input_file.h"
#include "analysis/observe/owned_ranges.h"
#include "base/units.h"
#include "trace/reader.h"

namespace geiger::observe {

/// A sampled object that has not been freed.
struct LiveSample {
  trace::Ref ref = 0;
  Address address = 0;
  Bytes requested = 0;
  Bytes usable = 0;
};

/// What the records so far leave alive, and where the allocator has put objects.
class LiveSet {
 public:
  void take(const trace::Record& record);

  [[nodiscard]] std::size_t size() const { return live_.size(); }
  [[nodiscard]] bool contains(trace::Ref ref) const { return live_.contains(ref); }
  /// In order of addresses.
  [[nodiscard]] std::vector<LiveSample> by_address() const;
  /// Whether the allocator has put objects into [start, end). Of freed objects only those
  /// count that are too small to have had a mapping of their own.
  [[nodiscard]] bool is_heap(Address start, Address end) const;
  [[nodiscard]] const OwnMappings& mappings() const { return mappings_; }

 private:
  void add(trace::Ref ref, const trace::SampleRecord& sample);
  void map(const trace::MappingRecord& record);

  tsl::robin_map<trace::Ref, LiveSample> live_;
  OwnMappings mappings_;
  std::map<Address, Address> places_;  ///< Per 64 KiB one address that an object had.
};

/// Follows the first image of a trace while it grows.
class TraceFollower {
 public:
  /// Why the trace cannot be followed; nothing if it can.
  [[nodiscard]] std::optional<std::string> open(const std::string& path);

  /// Reads what was added, at most `most` bytes. True if nothing was left unread but
  /// records that are being written.
  [[nodiscard]] bool follow(Bytes most, Nanoseconds now);

  [[nodiscard]] const LiveSet& live() const { return live_; }
  [[nodiscard]] std::uint64_t inode() const { return file_.inode(); }
  /// The header as it was when the trace was opened.
  [[nodiscard]] const trace::FileHeader& header() const { return trace::header_of(page()); }

 private:
  [[nodiscard]] std::span<const std::byte> page() const { return std::as_bytes(std::span(page_)); }
  [[nodiscard]] bool read_extent(trace::ImageExtent& extent);
  bool drain(Nanoseconds now);
  [[nodiscard]] bool waits_at(std::uint64_t offset, Nanoseconds now);

  ingest::InputFile file_;
  std::vector<std::uint64_t> page_;
  std::vector<std::uint64_t> window_;
  std::optional<trace::RecordReader> reader_;
  LiveSet live_;
  std::uint64_t waiting_at_ = 0;  ///< The record whose writer we wait for.
  Nanoseconds waiting_since_ = 0;
};

}  // namespace geiger::observe
