#include "runtime/api/directory.h"

#include <algorithm>
#include <cstring>

namespace geiger::api {
namespace {

Directory::Module module_of(const trace::ModuleRecord& record) {
  const char* text = reinterpret_cast<const char*>(&record + 1);
  const std::string_view build_id(text, record.build_id_bytes);
  return {record.start, record.end, record.bias,
          std::string_view(text + build_id.size(), record.path_bytes - 1), build_id};
}

}  // namespace

void Directory::read(const LiveTrace& trace) {
  if (trace.image != image_) *this = Directory();
  image_ = trace.image;
  walk(trace, read_to_, trace.end,
       [&](trace::Ref ref, const trace::RecordHeader& header) { add(trace, ref, header); });
  read_to_ = std::max(read_to_, trace.end);
}

Directory::Thread& Directory::thread_at(std::uint32_t index) {
  if (index >= threads_.size()) threads_.resize(index + 1);
  return threads_[index];
}

void Directory::add_epoch(Bytes position, std::uint64_t interval) {
  while (!epochs_.empty() && epochs_.back().interval <= interval) epochs_.pop_back();
  epochs_.push_back({position, interval});
}

void Directory::add(const LiveTrace& trace, trace::Ref ref, const trace::RecordHeader& header) {
  switch (header.type) {
    case trace::RecordType::kThread:
      thread_at(header.thread).tid =
          static_cast<std::uint32_t>(trace.at<trace::ThreadRecord>(ref).tid);
      break;
    case trace::RecordType::kThreadName: {
      const auto& record = trace.at<trace::ThreadNameRecord>(ref);
      thread_at(header.thread).name = {record.name, strnlen(record.name, sizeof record.name)};
      break;
    }
    case trace::RecordType::kModule:
      modules_.push_back(module_of(trace.at<trace::ModuleRecord>(ref)));
      break;
    case trace::RecordType::kEpoch:
      add_epoch(Bytes{ref} * 8, trace.at<trace::EpochRecord>(ref).interval);
      break;
    default:
      break;
  }
}

Directory::Thread Directory::thread(std::uint32_t index) const {
  return index < threads_.size() ? threads_[index] : Thread{};
}

std::uint64_t Directory::largest_interval_since(Bytes position) const {
  const auto at = std::ranges::lower_bound(epochs_, position, {}, &Epoch::position);
  return at == epochs_.end() ? 0 : at->interval;
}

}  // namespace geiger::api
