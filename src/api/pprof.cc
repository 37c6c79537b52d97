// Writes pprof's profile.proto from a running program: addresses, no names, not compressed. Viewers
// find the names by the build ids of the mappings.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/profile.h"
#include "api/profiles.h"
#include "api/session.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "estimation/rounding.h"
#include "estimation/sums.h"
#include "pprof/profile_proto.h"
#include "pprof/writer.h"

namespace geiger::api {

// Mappings of modules' code, from /proc/self/maps. Readers of pprof profiles expect them: they
// match the file offset with the segments of the file.

struct ExecutableMap {
  Address start, end;
  Bytes offset;  ///< In the file.
};

/// In the order of addresses; empty if they cannot be read.
[[nodiscard]] std::vector<ExecutableMap> executable_maps();

// The samples of a pprof profile before they are written: one row per stack, size,
// interval, thread, label and type, of lifetimes also per end; one column of integers per
// sample type.

/// How the objects of a row ended. All 0 except in profiles of lifetimes.
struct PprofEnd {
  trace::Ref stack;        ///< Stack of the free; 0 = alive, or not recorded.
  std::uint32_t thread;    ///< Thread of the free.
  std::uint32_t log2_age;  ///< Of their lifetime in nanoseconds, rounded down.
  bool is_freed;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const PprofEnd&) const = default;
};

struct PprofRow {
  trace::Ref stack, label, type;
  std::uint32_t thread;
  Bytes requested;
  Bytes interval;  ///< Of the row's samples, or equivalent to it.
  PprofEnd end;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const PprofRow&) const = default;
};

struct PprofTable {
  std::vector<PprofRow> rows;  ///< Sorted and unique.
  std::array<std::vector<std::int64_t>, pprof::kSampleTypes.size()> columns;
};

/// The rows of one heap's samples. The space columns contain the measure of the profile.
[[nodiscard]] PprofTable pprof_table(const Profile& profile, geiger_heap heap);

namespace {

std::string contents_of(const char* path) {
  std::string text;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(descriptor, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(descriptor);
  return text;
}

/// Takes a hexadecimal number and the character after it.
bool take_number(std::string_view& line, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  if (error != std::errc() || end == line.data() + line.size()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  return true;
}

/// "5602d7d2a000-5602d7d2c000 r-xp 00001000 fe:00 1234 /path"
bool parse(std::string_view line, ExecutableMap& map) {
  if (!take_number(line, map.start) || !take_number(line, map.end)) return false;
  constexpr std::size_t kModeBytes = 5;
  if (line.size() < kModeBytes || line[2] != 'x') return false;
  line.remove_prefix(kModeBytes);
  return take_number(line, map.offset);
}

}  // namespace

std::vector<ExecutableMap> executable_maps() {
  std::vector<ExecutableMap> maps;
  const std::string text = contents_of("/proc/self/maps");
  for (std::string_view rest = text; !rest.empty();) {
    ExecutableMap map{};
    if (parse(base::take_part(rest), map)) maps.push_back(map);
  }
  return maps;
}

namespace {

PprofEnd end_of(const Profile& profile, const Drawn& drawn) {
  if (!profile.has_lifetimes()) return {};
  const Nanoseconds born = profile.trace.sample(drawn.ref).time;
  const Nanoseconds age = drawn.until > born ? drawn.until - born : 0;
  const auto log2_age = static_cast<std::uint32_t>(std::bit_width(age | 1) - 1);
  return {drawn.free_stack, drawn.free_thread, log2_age, drawn.is_freed};
}

PprofRow row_of(const Profile& profile, const Drawn& drawn) {
  const MappedTrace& trace = profile.trace;
  const trace::SampleRecord& record = trace.sample(drawn.ref);
  return {
      record.stack,       record.label,   record.type,           trace.header_of(drawn.ref).thread,
      record.requested(), drawn.interval, end_of(profile, drawn)};
}

/// The sums of a row: separate ones for objects and measured bytes.
struct Sums {
  estimation::NodeSums objects, bytes;
};

void add(Sums& sums, const MappedTrace& trace, const Drawn& drawn) {
  const Bytes size = trace.sample(drawn.ref).requested();
  if (drawn.is_certain) {
    sums.objects.add_certain(size);
    sums.bytes.add_certain(drawn.value);
  } else {
    sums.objects.add(size, drawn.lambda);
    sums.bytes.add(size, drawn.lambda, 1, 1.0, drawn.value);
  }
}

std::map<PprofRow, Sums> grouped(const Profile& profile, geiger_heap heap) {
  std::map<PprofRow, Sums> groups;
  for (const Drawn& drawn : profile.samples) {
    if (profile.trace.sample(drawn.ref).heap() != heap) continue;
    add(groups[row_of(profile, drawn)], profile.trace, drawn);
  }
  return groups;
}

/// Objects, space, their variances, and samples, as columns of real numbers.
std::array<std::vector<double>, 5> columns_of(const std::map<PprofRow, Sums>& groups) {
  std::array<std::vector<double>, 5> columns;
  for (const auto& [row, sums] : groups) {
    const auto certain = static_cast<double>(sums.objects.certain_samples);
    columns[0].push_back(sums.objects.objects + certain);
    columns[1].push_back(sums.bytes.all_bytes());
    columns[2].push_back(sums.objects.objects_variance);
    columns[3].push_back(sums.bytes.bytes_variance);
    columns[4].push_back(static_cast<double>(sums.objects.samples) + certain);
  }
  return columns;
}

}  // namespace

PprofTable pprof_table(const Profile& profile, geiger_heap heap) {
  const std::map<PprofRow, Sums> groups = grouped(profile, heap);
  PprofTable table;
  for (const auto& [row, sums] : groups) table.rows.push_back(row);
  for (auto& column : table.columns) column.assign(groups.size(), 0);
  constexpr std::array<std::size_t, 5> kAllocated{0, 1, 4, 5, 8};
  constexpr std::array<std::size_t, 5> kInUse{2, 3, 6, 7, 9};
  const auto& places = profile.is_snapshot() ? kInUse : kAllocated;
  const auto columns = columns_of(groups);
  for (std::size_t i = 0; i < places.size(); ++i) {
    table.columns[places[i]] = estimation::round_to_total(columns[i]);
  }
  return table;
}

namespace {

class PprofSnapshot {
 public:
  PprofSnapshot(const Profile& profile, geiger_writer write, void* context)
      : profile_(profile), write_(write), context_(context) {
    number_mappings();
  }

  void write_header() {
    writer_.write_sample_types(pprof::kSampleTypes);
    if (profile_.has_lifetimes()) writer_.write_sample_types(pprof::kFreedTypes);
    writer_.write_shown_type(profile_.is_snapshot() ? "inuse_space" : "alloc_space");
    writer_.write_period(profile_.largest_interval);
    const Nanoseconds ago = base::monotonic_now() - profile_.from;
    writer_.write_extent(base::realtime_now() - ago, profile_.to - profile_.from);
    writer_.write_comment("geiger " GEIGER_VERSION);
  }

  void write_samples(const PprofTable& table) {
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const PprofRow& row = table.rows[i];
      std::vector<std::int64_t> values;
      for (const auto& column : table.columns) values.push_back(column[i]);
      if (profile_.has_lifetimes()) {
        write_pair(row, i + 1, values);
      } else {
        write_row(row, row.stack, row.thread, values, nullptr);
      }
    }
  }

  /// Writes mappings and locations. False: the caller's function reported an error.
  bool finish() {
    for (const Directory::Module* module : mappings_) write_mapping(*module);
    for (const Address address : locations_) write_location(address);
    writer_.finish();
    return !has_failed_;
  }

 private:
  void take(std::string_view bytes) {
    if (!has_failed_) has_failed_ = write_(context_, bytes.data(), bytes.size()) != 0;
  }

  /// The program comes first: readers assume that the first mapping is the program.
  void number_mappings() {
    const std::string_view program = profile_.trace.header->executable;
    for (const bool is_program : {true, false}) {
      for (const Directory::Module& module : profile_.modules) {
        if ((module.path == program) == is_program) mappings_.push_back(&module);
      }
    }
  }

  /// 0 for an address outside of every module.
  std::uint64_t mapping_of(Address address) const {
    for (std::size_t i = mappings_.size(); i > 0; --i) {
      if (address >= mappings_[i - 1]->start && address < mappings_[i - 1]->end) return i;
    }
    return 0;
  }

  std::uint64_t location_id(Address address) {
    const auto [at, is_new] = location_ids_.try_emplace(address, locations_.size() + 1);
    if (is_new) locations_.push_back(address);
    return at->second;
  }

  /// For lifetimes: the row of the allocating stack and, if known, that of the freeing stack.
  void write_pair(const PprofRow& row, std::uint64_t pair, std::vector<std::int64_t>& values) {
    const pprof::RowEnd end{pair, std::uint64_t{1} << row.end.log2_age, row.end.is_freed};
    const std::int64_t objects = values[0];
    const std::int64_t bytes = values[1];
    values.resize(values.size() + pprof::kFreedTypes.size());
    write_row(row, row.stack, row.thread, values, &end);
    if (row.end.stack == 0) return;
    std::ranges::fill(values, 0);
    values[values.size() - 2] = objects;
    values[values.size() - 1] = bytes;
    write_row(row, row.end.stack, row.end.thread, values, &end);
  }

  void write_row(const PprofRow& row, trace::Ref stack, std::uint32_t thread,
                 std::span<const std::int64_t> values, const pprof::RowEnd* end) {
    const Directory::Thread& entry = profile_.threads[thread];
    pprof::Row out;
    out.requested = row.requested;
    out.interval = row.interval;
    out.thread = entry.name.empty() ? writer_.intern("tid " + std::to_string(entry.tid))
                                    : writer_.intern(entry.name);
    if (row.type != 0) out.type = writer_.intern(text_of(row.type));
    const std::vector<pprof::InternedTag> tags = own_tags_of(row.label);
    out.tags = tags;
    rows_.write(out, ids_of(stack), values, end);
  }

  std::vector<std::uint64_t> ids_of(trace::Ref stack) {
    if (stack == 0) return {};
    std::vector<std::uint64_t> ids;
    for (const Address address : trace::frames_of(profile_.trace.record(stack))) {
      ids.push_back(location_id(address));
    }
    return ids;
  }

  std::vector<pprof::InternedTag> own_tags_of(trace::Ref innermost) {
    std::vector<std::string_view> texts;
    for (trace::Ref at = innermost; at != 0; at = name_at(at).owner) texts.push_back(text_of(at));
    return rows_.own_tags(texts);
  }

  const trace::NameRecord& name_at(trace::Ref name) const {
    return profile_.trace.at<trace::NameRecord>(name);
  }
  std::string_view text_of(trace::Ref name) const {
    return trace::text_of(profile_.trace.record(name));
  }

  /// The mapping of the module's code; the whole module if it was unloaded since.
  ExecutableMap code_of(const Directory::Module& module) const {
    for (const ExecutableMap& map : maps_) {
      if (map.start >= module.start && map.end <= (module.end + 4095) / 4096 * 4096) return map;
    }
    return {module.start, module.end, 0};
  }

  void write_mapping(const Directory::Module& module) {
    const ExecutableMap code = code_of(module);
    const std::string build_id = base::hex_of(module.build_id);
    writer_.write(pprof::Mapping{code.start, code.end, code.offset, module.path, build_id});
  }

  /// Traces contain return addresses; pprof expects the calling instruction.
  void write_location(Address address) {
    const Address call = address - 1;
    writer_.write(pprof::Location{location_ids_[address], mapping_of(call), call, {}});
  }

  const Profile& profile_;
  geiger_writer write_;
  void* context_;
  bool has_failed_ = false;
  pprof::Writer writer_{[this](std::string_view bytes) { take(bytes); }};
  pprof::RowWriter rows_{writer_, profile_.largest_interval};
  std::vector<const Directory::Module*> mappings_;  // In the order of their ids.
  const std::vector<ExecutableMap> maps_ = executable_maps();
  std::vector<Address> locations_;  // In the order of their ids.
  std::unordered_map<Address, std::uint64_t> location_ids_;
};

geiger_status write_pprof(geiger_profile handle, geiger_heap heap, geiger_writer write,
                          void* context) {
  std::shared_ptr<Profile> profile;
  const geiger_status status = find_profile(handle, profile);
  if (status != GEIGER_OK) return status;
  PprofSnapshot writer(*profile, write, context);
  writer.write_header();
  writer.write_samples(pprof_table(*profile, heap));
  return writer.finish() ? GEIGER_OK : GEIGER_FAILED_IO;
}

int write_to_descriptor(void* context, const void* data, std::size_t size) {
  const int descriptor = *static_cast<const int*>(context);
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(descriptor, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return -1;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return 0;
}

}  // namespace

}  // namespace geiger::api

geiger_status geiger_write_pprof(geiger_profile profile, geiger_heap heap, geiger_writer write,
                                 void* context) {
  if (write == nullptr) return GEIGER_BAD_ARGUMENT;
  if (heap > GEIGER_MAX_HEAPS) return GEIGER_WRONG_HEAP;
  return geiger::api::guarded(
      [&] { return geiger::api::write_pprof(profile, heap, write, context); });
}

geiger_status geiger_write_pprof_to(geiger_profile profile, geiger_heap heap, int descriptor) {
  if (descriptor < 0) return GEIGER_BAD_ARGUMENT;
  return geiger_write_pprof(profile, heap, geiger::api::write_to_descriptor, &descriptor);
}

geiger_status geiger_write_pprof_file(geiger_profile profile, geiger_heap heap, const char* path) {
  if (path == nullptr) return GEIGER_BAD_ARGUMENT;
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return GEIGER_FAILED_IO;
  const geiger_status status = geiger_write_pprof_to(profile, heap, descriptor);
  const bool is_closed = close(descriptor) == 0;
  return status == GEIGER_OK && !is_closed ? GEIGER_FAILED_IO : status;
}
