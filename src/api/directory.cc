#include "api/directory.h"

#include <algorithm>
#include <cstring>

namespace geiger::api {
namespace {

/// Traces that are remembered: more than there are at a time.
constexpr std::size_t kMostTraces = 16;

Directory::Module module_of(const trace::ModuleRecord& record) {
  const char* text = reinterpret_cast<const char*>(&record + 1);
  const std::string build_id(text, record.build_id_bytes);
  return {record.start, record.end, record.bias,
          std::string(text + build_id.size(), record.path_bytes - 1), build_id};
}

}  // namespace

void Directory::read(const LiveTrace& trace, std::uint32_t first_image) {
  if (first_image != first_image_) *this = Directory();
  first_image_ = first_image;
  Bytes& read_to = read_to_.try_emplace(trace.image, trace::kRecordsOffset).first->second;
  walk(trace, read_to, trace.end,
       [&](trace::Ref ref, const trace::RecordHeader& header) { add(trace, ref, header); });
  read_to = std::max(read_to, trace.end);
  if (read_to_.size() > kMostTraces) read_to_.erase(read_to_.begin());
}

Directory::Thread& Directory::thread_at(std::uint32_t index) {
  if (index >= threads_.size()) threads_.resize(index + 1);
  return threads_[index];
}

/// Every trace has records of its own of those that are still there.
void Directory::add_module(Module&& module) {
  if (std::ranges::find(modules_, module) == modules_.end()) modules_.push_back(std::move(module));
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
      add_module(module_of(trace.at<trace::ModuleRecord>(ref)));
      break;
    default:
      break;
  }
}

Directory::Thread Directory::thread(std::uint32_t index) const {
  return index < threads_.size() ? threads_[index] : Thread{};
}

}  // namespace geiger::api
