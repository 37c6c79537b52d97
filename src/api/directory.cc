#include "api/directory.h"

#include <algorithm>
#include <span>
#include <utility>

namespace geiger::api {
namespace {

/// Traces to remember: more than exist at a time.
constexpr std::size_t kMostTraces = 16;

std::string text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void Directory::read(const MappedTrace& trace, std::uint32_t first_image) {
  if (first_image != first_image_) *this = Directory();
  first_image_ = first_image;
  Bytes& read_to = read_to_.try_emplace(trace.image, trace::kRecordsOffset).first->second;
  walk(trace, read_to, trace.end, *this);
  read_to = std::max(read_to, trace.end);
  if (read_to_.size() > kMostTraces) read_to_.erase(read_to_.begin());
}

Directory::Thread& Directory::thread_at(std::uint32_t index) {
  if (index >= threads_.size()) threads_.resize(index + 1);
  return threads_[index];
}

void Directory::on(const trace::Record& record, const trace::ThreadRecord& layout) {
  thread_at(record.header.thread).tid = static_cast<std::uint32_t>(layout.tid);
}

void Directory::on(const trace::Record& record, const trace::ThreadNameRecord& layout) {
  thread_at(record.header.thread).name = trace::name_of(layout);
}

/// Every trace has its own records of the modules still loaded.
void Directory::on(const trace::Record& record, const trace::ModuleRecord& layout) {
  Module module{layout.start, layout.end, layout.bias, std::string(trace::path_of(record)),
                text_of(trace::build_id_of(record))};
  if (std::ranges::find(modules_, module) == modules_.end()) modules_.push_back(std::move(module));
}

Directory::Thread Directory::thread(std::uint32_t index) const {
  return index < threads_.size() ? threads_[index] : Thread{};
}

}  // namespace geiger::api
