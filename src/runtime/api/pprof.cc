// pprof's profile.proto as it comes from a running program: addresses, no names, not
// compressed. Whoever opens it finds the names by the build ids of the mappings.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/utf8.h"
#include "pprof/profile_proto.h"
#include "runtime/api/executable_maps.h"
#include "runtime/api/gate.h"
#include "runtime/api/pprof_rows.h"
#include "runtime/api/profiles.h"

namespace geiger::api {
namespace {

using protozero::pbf_writer;

namespace field = pprof::field;

constexpr std::size_t kFlushAt = 1 << 18;

std::string hex_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

/// Bytes that are no UTF-8 become question marks: the format wants valid texts.
std::string valid(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text.substr(at));
    if (point.is_valid) {
      out += text.substr(at, point.length);
    } else {
      out += '?';
    }
    at += point.length;
  }
  return out;
}

class PprofWriter {
  using Values = std::vector<std::int64_t>;

 public:
  PprofWriter(const Profile& profile, geiger_writer write, void* context)
      : profile_(profile), write_(write), context_(context) {
    intern("");
    number_mappings();
  }

  void write_header() {
    for (const pprof::SampleType& type : pprof::kSampleTypes) {
      write_value_type(field::kSampleType, type.type, type.unit);
    }
    if (profile_.has_lifetimes()) {
      for (const pprof::SampleType& type : pprof::kFreedTypes) {
        write_value_type(field::kSampleType, type.type, type.unit);
      }
    }
    const char* shown = profile_.is_snapshot() ? "inuse_space" : "alloc_space";
    top_.add_int64(field::kDefaultSampleType, intern(shown));
    write_value_type(field::kPeriodType, "space", "bytes");
    top_.add_int64(field::kPeriod, static_cast<std::int64_t>(profile_.largest_interval));
    const Nanoseconds ago = base::monotonic_now() - profile_.from;
    top_.add_int64(field::kTimeNanos, static_cast<std::int64_t>(base::realtime_now() - ago));
    top_.add_int64(field::kDurationNanos, static_cast<std::int64_t>(profile_.to - profile_.from));
    top_.add_int64(field::kComment, intern("geiger " GEIGER_VERSION));
  }

  void write_samples(const PprofTable& table) {
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const PprofRow& row = table.rows[i];
      Values values;
      for (const auto& column : table.columns) values.push_back(column[i]);
      if (!profile_.has_lifetimes()) {
        write_sample(row, row.stack, row.thread, values);
        continue;
      }
      values.resize(values.size() + pprof::kFreedTypes.size());
      ++pairs_;
      write_sample(row, row.stack, row.thread, values);
      if (row.end.stack == 0) continue;
      Values freed(values.size());
      freed[freed.size() - 2] = values[0];
      freed[freed.size() - 1] = values[1];
      write_sample(row, row.end.stack, row.end.thread, freed);
    }
  }

  /// What samples refer to; strings last, as all the rest adds some. False: the
  /// caller's function refused some of it.
  bool finish() {
    for (std::size_t i = 0; i < mappings_.size(); ++i) write_mapping(i);
    for (const Address address : locations_) write_location(address);
    for (const std::string* text : strings_in_order_) {
      top_.add_string(field::kStringTable, *text);
      flush(kFlushAt);
    }
    flush(0);
    return !has_failed_;
  }

 private:
  void flush(std::size_t threshold) {
    if (buffer_.size() < threshold) return;
    if (!has_failed_ && !buffer_.empty()) {
      has_failed_ = write_(context_, buffer_.data(), buffer_.size()) != 0;
    }
    buffer_.clear();
  }

  std::int64_t intern(std::string_view text) {
    const auto next = static_cast<std::int64_t>(strings_.size());
    const auto [at, is_new] = strings_.try_emplace(valid(text), next);
    if (is_new) strings_in_order_.push_back(&at->first);
    return at->second;
  }

  void write_value_type(std::uint32_t tag, std::string_view type, std::string_view unit) {
    const std::int64_t type_id = intern(type);
    const std::int64_t unit_id = intern(unit);
    pbf_writer value(top_, tag);
    value.add_int64(field::kType, type_id);
    value.add_int64(field::kUnit, unit_id);
  }

  /// The program comes first: readers take the first mapping for it.
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

  void write_sample(const PprofRow& row, trace::Ref stack, std::uint32_t thread,
                    const Values& values) {
    {
      pbf_writer sample(top_, field::kSample);
      write_stack(sample, stack);
      sample.add_packed_int64(field::kValue, values.begin(), values.end());
      write_labels(sample, row, thread);
    }
    flush(kFlushAt);
  }

  void write_stack(pbf_writer& sample, trace::Ref stack) {
    if (stack == 0) return;
    protozero::packed_field_uint64 ids(sample, field::kLocationId);
    for (const Address address : trace::frames_of(profile_.trace.record(stack))) {
      ids.add_element(location_id(address));
    }
  }

  void write_labels(pbf_writer& sample, const PprofRow& row, std::uint32_t thread) {
    write_number(sample, pprof::kSizeLabel, row.requested, "bytes");
    if (row.interval != profile_.largest_interval) {
      write_number(sample, pprof::kIntervalLabel, row.interval, "bytes");
    }
    if (profile_.has_lifetimes()) {
      write_number(sample, pprof::kPairLabel, pairs_, "");
      write_number(sample, pprof::kLifetimeLabel, std::uint64_t{1} << row.end.log2_age,
                   "nanoseconds");
      write_label(sample, pprof::kEndLabel, row.end.is_freed ? "freed" : "alive");
    }
    const Directory::Thread& entry = profile_.threads[thread];
    write_label(sample, "thread",
                entry.name.empty() ? "tid " + std::to_string(entry.tid) : std::string(entry.name));
    if (row.type != 0) write_label(sample, "type", text_of(row.type));
    for (trace::Ref at = row.label; at != 0; at = name_at(at).owner) write_own(sample, text_of(at));
  }

  /// "tenant=acme" has the key tenant; what is no pair has the key label.
  void write_own(pbf_writer& sample, std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      write_label(sample, "label", text);
    } else {
      write_label(sample, text.substr(0, equals), text.substr(equals + 1));
    }
  }

  /// `unit`: empty for none.
  void write_number(pbf_writer& sample, std::string_view key, std::uint64_t number,
                    std::string_view unit) {
    pbf_writer label(sample, field::kLabel);
    label.add_int64(field::kKey, intern(key));
    label.add_int64(field::kNum, static_cast<std::int64_t>(number));
    if (!unit.empty()) label.add_int64(field::kNumUnit, intern(unit));
  }

  void write_label(pbf_writer& sample, std::string_view key, std::string_view value) {
    pbf_writer label(sample, field::kLabel);
    label.add_int64(field::kKey, intern(key));
    label.add_int64(field::kStr, intern(value));
  }

  const trace::NameRecord& name_at(trace::Ref name) const {
    return profile_.trace.at<trace::NameRecord>(name);
  }
  std::string_view text_of(trace::Ref name) const {
    return trace::text_of(profile_.trace.record(name));
  }

  /// Where the module's code is; all of the module if it has gone since.
  ExecutableMap code_of(const Directory::Module& module) const {
    for (const ExecutableMap& map : maps_) {
      if (map.start >= module.start && map.end <= (module.end + 4095) / 4096 * 4096) return map;
    }
    return {module.start, module.end, 0};
  }

  void write_mapping(std::size_t index) {
    const Directory::Module& module = *mappings_[index];
    const ExecutableMap code = code_of(module);
    pbf_writer mapping(top_, field::kMapping);
    mapping.add_uint64(field::kMappingId, index + 1);
    mapping.add_uint64(field::kStart, code.start);
    mapping.add_uint64(field::kLimit, code.end);
    mapping.add_uint64(field::kOffset, code.offset);
    mapping.add_int64(field::kFilename, intern(module.path));
    mapping.add_int64(field::kBuildId, intern(hex_of(module.build_id)));
  }

  void write_location(Address address) {
    {
      pbf_writer out(top_, field::kLocation);
      out.add_uint64(field::kLocId, location_ids_[address]);
      // Traces hold return addresses; pprof wants the calling instruction.
      const std::uint64_t mapping = mapping_of(address - 1);
      if (mapping != 0) out.add_uint64(field::kMappingRef, mapping);
      out.add_uint64(field::kAddress, address - 1);
    }
    flush(kFlushAt);
  }

  const Profile& profile_;
  geiger_writer write_;
  void* context_;
  bool has_failed_ = false;
  std::uint64_t pairs_ = 0;  // The number of the latest.
  std::string buffer_;
  pbf_writer top_{buffer_};
  std::unordered_map<std::string, std::int64_t> strings_;
  std::vector<const std::string*> strings_in_order_;  // Keys of a map stay where they are.
  std::vector<const Directory::Module*> mappings_;    // In the order of their ids.
  const std::vector<ExecutableMap> maps_ = executable_maps();
  std::vector<Address> locations_;  // In the order of their ids.
  std::unordered_map<Address, std::uint64_t> location_ids_;
};

geiger_status write_pprof(geiger_profile handle, geiger_heap heap, geiger_writer write,
                          void* context) {
  std::shared_ptr<Profile> profile;
  const geiger_status status = find_profile(handle, profile);
  if (status != GEIGER_OK) return status;
  PprofWriter writer(*profile, write, context);
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
