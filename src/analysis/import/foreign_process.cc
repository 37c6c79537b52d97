// The bias of a mapped file: its run-time addresses minus the virtual addresses of its ELF headers.
#include "analysis/import/foreign_process.h"

#include <elf.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "analysis/ingest/files.h"
#include "base/units.h"

namespace geiger::imports {

/// Run-time address minus ELF address of a file that is mapped at `start` from its byte `offset`
/// on. Files that cannot be read, or are not ELF files, are treated as files whose addresses are
/// their offsets.
[[nodiscard]] Address bias_of_mapping(const std::string& path, Address start, std::uint64_t offset);

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMostHeaders = 1024;

template <typename Value>
bool read_value(const ingest::InputFile& file, std::uint64_t offset, Value& value) {
  return file.read_at(offset, std::as_writable_bytes(std::span(&value, 1))) == sizeof value;
}

bool is_elf64(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(Elf64_Phdr) &&
         header.e_phnum <= kMostHeaders;
}

/// Whether the segment's pages begin at or before this byte of the file, and hold it.
bool holds(const Elf64_Phdr& segment, std::uint64_t offset) {
  const std::uint64_t first = segment.p_offset / kPage * kPage;
  return segment.p_type == PT_LOAD && first <= offset &&
         offset < segment.p_offset + segment.p_filesz;
}

}  // namespace

Address bias_of_mapping(const std::string& path, Address start, std::uint64_t offset) {
  const Address plain = start - offset;
  ingest::InputFile file;
  Elf64_Ehdr header{};
  if (path.empty() || !file.open(path).has_value() || !read_value(file, 0, header) ||
      !is_elf64(header)) {
    return plain;
  }
  for (std::uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_value(file, header.e_phoff + i * sizeof segment, segment)) return plain;
    if (holds(segment, offset)) return plain - (segment.p_vaddr - segment.p_offset);
  }
  return plain;
}

using profile::kNone;

ForeignProcess::ForeignProcess(profile::Recording& recording, ingest::Interner& interner,
                               std::string path)
    : recording_(recording),
      interner_(interner),
      index_(static_cast<std::uint32_t>(recording.processes.size())) {
  profile::Process process;
  process.executable = path;
  process.trace_path = std::move(path);
  process.start = process.end = kStart;
  process.ending = profile::Ending::kStillOpen;
  process.is_aggregated = true;
  process.is_imported = true;
  recording.processes.push_back(std::move(process));
}

std::uint32_t ForeignProcess::epoch() {
  if (epoch_ == kNone) set_interval(1);
  return epoch_;
}

void ForeignProcess::lacks_errors() {
  static_cast<void>(epoch());  // Which has an interval.
  process().interval = 0;
}

void ForeignProcess::set_interval(double interval, std::optional<double> rate) {
  is_exact_ = !(interval > 1);
  const double lambda =
      is_exact_ ? std::numeric_limits<double>::infinity() : rate.value_or(1 / interval);
  constexpr double kMost = 0x1p62;
  const auto whole = static_cast<Bytes>(std::clamp(interval, 1.0, kMost));
  epoch_ = interner_.epoch(whole, lambda);
  process().interval = whole;
  process().is_pure = !is_exact_;
}

std::uint32_t ForeignProcess::epoch_of(double interval, double lambda) {
  constexpr double kMost = 0x1p62;
  return interner_.epoch(static_cast<Bytes>(std::llround(std::clamp(interval, 1.0, kMost))),
                         lambda);
}

void ForeignProcess::map_file(const std::string& path, const std::string& build_id, Address start,
                              Address end, std::uint64_t offset) {
  const Address bias = bias_of_mapping(path, start, offset);
  const std::uint32_t module = interner_.module({path, build_id, start, end, bias});
  modules_.insert(start, {end, bias, module});
}

std::uint32_t ForeignProcess::location_of_return(Address address) {
  const ingest::Mapping* mapping = address == 0 ? nullptr : modules_.find(address - 1);
  if (mapping == nullptr) return interner_.location(kNone, address, index_);
  return interner_.location(mapping->module, address - mapping->bias, index_);
}

std::uint32_t ForeignProcess::named_location(const std::string& module, std::uint64_t number) {
  const std::uint32_t known = module.empty() ? kNone : interner_.module({module, "", 0, 0, 0});
  return interner_.location(known, number, index_);
}

void ForeignProcess::name(std::uint32_t location, std::vector<profile::Frame> frames) {
  if (has_names(location)) return;
  for (profile::Frame& frame : frames) {
    recording_.locations[location].frames.push_back(
        static_cast<std::uint32_t>(recording_.frames.size()));
    recording_.frames.push_back(std::move(frame));
  }
}

bool ForeignProcess::has_names(std::uint32_t location) const {
  return !recording_.locations[location].frames.empty();
}

bool ForeignProcess::is_named(std::uint32_t location, std::string_view name) const {
  const std::vector<std::uint32_t>& frames = recording_.locations[location].frames;
  return frames.size() == 1 && recording_.frames[frames.front()].function == name;
}

std::uint32_t ForeignProcess::stack(std::vector<std::uint32_t> locations, bool is_truncated) {
  if (!locations.empty() && is_named(locations.back(), "[truncated]")) {
    locations.pop_back();
    is_truncated = true;
  }
  profile::Stack stack{std::move(locations), is_truncated};
  return interner_.stack(stack);
}

void ForeignProcess::set_labels(std::span<const std::string> labels) {
  label_ = kNone;
  for (const std::string& text : labels) label_ = interner_.label(text, label_);
}

void ForeignProcess::add(std::uint32_t stack, const CountedObjects& objects) {
  if (objects.count == 0) return;
  const Bytes size = objects.bytes / objects.count;
  const std::uint64_t larger = objects.bytes % objects.count;
  add_tally(stack, size, objects.count - larger, objects);
  add_tally(stack, size + 1, larger, objects);
}

void ForeignProcess::add_tally(std::uint32_t stack, Bytes size, std::uint64_t count,
                               const CountedObjects& objects) {
  if (size == 0 || count == 0) return;
  profile::Tally tally;
  tally.alike.process = index_;
  tally.alike.stack = stack;
  tally.alike.epoch = objects.epoch == kNone ? epoch() : objects.epoch;
  tally.alike.time = tally.last = kStart;
  tally.alike.requested = size;
  tally.alike.label = label_;
  tally.alike.is_certain = is_exact_ || objects.is_certain;
  tally.alike.seen_from = has_live_only_ || objects.is_live_only ? kStart : 0;
  tally.allocated = count;
  tally.freed = objects.is_freed ? count : 0;
  recording_.tallies.push_back(std::move(tally));
}

}  // namespace geiger::imports
