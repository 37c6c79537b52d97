#include "analysis/observe/seen_types.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "analysis/observe/process_memory.h"
#include "base/index_of.h"
#include "object_types/object_types.h"
#include "vocabulary/vocabulary.h"

namespace geiger::observe {

namespace {

/// Addresses looked at in one snapshot: a large program has some ten thousand types.
constexpr std::size_t kMostTypes = std::size_t{1} << 17;

bool read_memory(void* read, Address address, void* into, Bytes bytes) {
  return (*static_cast<const ReadMemory*>(read))(address, into, bytes);
}

}  // namespace

PythonTypes::PythonTypes(std::uint32_t version, ReadMemory read)
    : read_(std::move(read)), reader_(version, {read_memory, &read_}) {}

const std::string* PythonTypes::type_of(Address block, Bytes requested) {
  const Type* type =
      reader_.type_of(block, requested, true, [this](Address address) { return type_at(address); });
  return type == nullptr ? nullptr : &type->name;
}

const PythonTypes::Type* PythonTypes::type_at(Address address) {
  auto known = types_.find(address);
  if (known == types_.end()) {
    if (types_.size() >= kMostTypes) return nullptr;
    known = types_.emplace(address, read_type(address)).first;
  }
  return known->second ? &*known->second : nullptr;
}

std::optional<PythonTypes::Type> PythonTypes::read_type(Address address) const {
  object_types::TypeWords words{};
  object_types::TypeName name;
  Type type;
  if (!reader_.read_type(address, words, type.place) || !reader_.is_type(words))
    return std::nullopt;
  reader_.copy_name(address, words, name);
  type.name = name.view();
  return type.name.empty() ? std::nullopt : std::optional(std::move(type));
}

object_types::Entries PythonTypes::entries_of(Address dictionary) const {
  constexpr Bytes kKeys = 32;
  Address keys = 0;
  return read_(dictionary + kKeys, &keys, sizeof keys) ? reader_.entries_of(keys)
                                                       : object_types::Entries{};
}

std::string PythonTypes::text_of(Address string) const {
  object_types::TextRead text;
  return std::string(reader_.text_of(string, text));
}

namespace {

constexpr std::size_t kMostTyped = std::size_t{1} << 20;
constexpr Bytes kMostTraceAtEnd = 16 * kMiB;
/// Samples lie far from one another, and so do types.
constexpr std::size_t kPagesAtOnce = 1;

}  // namespace

std::optional<std::uint32_t> python_version_of(const LiveSet& live) {
  std::optional<std::uint32_t> found;
  for (const auto& [start, version] : live.interpreters()) {
    const bool is_other = found && *found >> 16 != version >> 16;
    if (is_other || !object_types::has_known_types(version)) return std::nullopt;
    found = version;
  }
  return found;
}

void SeenTypes::read(const ProcessFiles& files, Pagemap& pagemap,
                     std::span<const LiveSample> samples, const TraceFollower& follower) {
  read_.clear();
  const auto is_wanted = [this](const LiveSample& sample) {
    return vocabulary::is_python_object(sample.entry_point) && !sample.is_typed &&
           !types_.contains(sample.ref);
  };
  if (std::ranges::none_of(samples, is_wanted)) return;
  const auto version = python_version_of(follower.live());
  if (!version) return refuse("objects of this version of Python, or of this build, are not known");
  const base::UniqueFd memory = files.open("mem");
  if (!memory.is_open()) return refuse(std::string("mem: ") + std::strerror(errno));
  fault_.clear();
  pagemap.forget();
  MemoryReader reader(memory.get(), pagemap, follower.header().page_size, kPagesAtOnce);
  PythonTypes python(*version, reader.function());
  for (const LiveSample& sample : samples) {
    if (!is_wanted(sample)) continue;
    const std::string* type = python.type_of(sample.address, sample.requested);
    if (type != nullptr) read_.emplace_back(sample.ref, number(*type));
  }
}

std::uint32_t SeenTypes::number(const std::string& name) {
  return base::index_of(numbers_, name, names_);
}

void SeenTypes::keep(TraceFollower& follower, Nanoseconds now) {
  if (read_.empty()) return;
  const bool is_whole = follower.follow(kMostTraceAtEnd, now);
  make_room(follower.live());
  for (const auto& [ref, type] : read_) {
    if (is_whole && follower.live().contains(ref)) types_[ref] = type;
  }
  read_.clear();
}

void SeenTypes::make_room(const LiveSet& live) {
  if (types_.size() + read_.size() <= kMostTyped) return;
  for (auto type = types_.begin(); type != types_.end();) {
    type = live.contains(type->first) ? std::next(type) : types_.erase(type);
  }
}

profile::ObjectTypes SeenTypes::take() {
  profile::ObjectTypes types{std::move(names_), {}, std::move(fault_)};
  for (const auto& [ref, type] : types_) types.samples.push_back({ref, type});
  std::ranges::sort(types.samples, {}, &profile::SampleType::sample);
  return types;
}

}  // namespace geiger::observe
