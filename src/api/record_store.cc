#include "api/record_store.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace geiger::api {
namespace {

std::uint64_t hash_of(const std::vector<std::uint64_t>& words) {
  const auto* bytes = reinterpret_cast<const char*>(words.data());
  return std::hash<std::string_view>{}({bytes, words.size() * sizeof words[0]});
}

std::vector<std::uint64_t> words_of(const MappedTrace& trace, trace::Ref ref) {
  const auto* words = &trace.at<std::uint64_t>(ref);
  return {words, words + trace.header_of(ref).words};
}

}  // namespace

void RecordStore::read_from(const MappedTrace& trace) {
  known_.clear();
  from_ = trace;
  if (!words_.empty()) return;
  constexpr std::size_t kHeaderWords = (sizeof(trace::FileHeader) + 7) / 8;
  words_.resize(kHeaderWords);
  std::memcpy(static_cast<void*>(words_.data()), trace.header, sizeof(trace::FileHeader));
}

MappedTrace RecordStore::view() const {
  MappedTrace trace;
  trace.base = reinterpret_cast<const char*>(words_.data());
  trace.end = words_.size() * 8;
  trace.header = reinterpret_cast<const trace::FileHeader*>(words_.data());
  trace.image = from_.image;
  return trace;
}

trace::Ref RecordStore::append(const std::uint64_t* words, std::size_t count) {
  const auto ref = static_cast<trace::Ref>(words_.size());
  words_.insert(words_.end(), words, words + count);
  return ref;
}

/// Clears the origin of the record in its header, thread and processor, before comparing.
trace::Ref RecordStore::unique(std::vector<std::uint64_t> record) {
  trace::RecordHeader header = trace::RecordHeader::unpack(record[0]);
  header.cpu = 0;
  header.thread = 0;
  record[0] = header.pack();
  const std::uint64_t hash = hash_of(record);
  const auto [begin, end] = by_contents_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (std::equal(record.begin(), record.end(), &words_[at->second])) return at->second;
  }
  const trace::Ref ref = append(record.data(), record.size());
  by_contents_.emplace(hash, ref);
  return ref;
}

/// Copies a stack or an epoch.
trace::Ref RecordStore::copied(trace::Ref ref) {
  if (ref == 0) return 0;
  const auto [at, is_new] = known_.try_emplace(ref, 0);
  if (is_new) at->second = unique(words_of(from_, ref));
  return at->second;
}

/// Copies a name, and for a label those around it, up to GEIGER_MAX_NESTING.
trace::Ref RecordStore::copied_name(trace::Ref ref) {
  if (ref == 0) return 0;
  if (const auto at = known_.find(ref); at != known_.end()) return at->second;
  std::vector<std::uint64_t> words = words_of(from_, ref);
  auto* record = reinterpret_cast<trace::NameRecord*>(words.data());
  if (record->kind == trace::NameKind::kLabel) record->owner = copied_name(record->owner);
  return known_[ref] = unique(std::move(words));
}

trace::Ref RecordStore::add(trace::Ref sample) {
  trace::RecordHeader header = from_.header_of(sample);
  trace::SampleRecord record = from_.sample(sample);
  header.type = trace::RecordType::kSample;
  header.words = sizeof record / 8;
  header.flags &= static_cast<std::uint8_t>(~trace::kReserved);
  record.header = header.pack();
  record.stack = copied(record.stack);
  record.epoch = copied(record.epoch);
  record.label = copied_name(record.label);
  record.type = copied_name(record.type);
  return append(reinterpret_cast<const std::uint64_t*>(&record), header.words);
}

}  // namespace geiger::api
