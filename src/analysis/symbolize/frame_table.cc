#include "analysis/symbolize/frame_table.h"

#include <functional>
#include <tuple>
#include <utility>

namespace geiger::symbolize {

std::size_t FrameTable::Hash::operator()(std::uint32_t index) const {
  const profile::Frame& frame = (*frames)[index];
  std::uint64_t hash = frame.line;
  for (const std::string* text : {&frame.function, &frame.system_name, &frame.file}) {
    hash = (hash ^ std::hash<std::string>{}(*text)) * 0x9E3779B97F4A7C15U;
  }
  return hash;
}

bool FrameTable::Equal::operator()(std::uint32_t a, std::uint32_t b) const {
  const auto parts = [](const profile::Frame& frame) {
    return std::tie(frame.line, frame.function, frame.file, frame.system_name);
  };
  return parts((*frames)[a]) == parts((*frames)[b]);
}

FrameTable::FrameTable(profile::Recording& recording)
    : frames_(recording.frames),
      indexes_(recording.frames.size() + 64, Hash{&recording.frames}, Equal{&recording.frames}) {
  for (std::uint32_t i = 0; i < frames_.size(); ++i) indexes_.insert(i);
}

std::uint32_t FrameTable::add(profile::Frame frame) {
  frames_.push_back(std::move(frame));
  const auto [at, is_new] = indexes_.insert(static_cast<std::uint32_t>(frames_.size() - 1));
  if (!is_new) frames_.pop_back();
  return *at;
}

FrameImport::FrameImport(const SymbolSet& set, FrameTable& table)
    : set_(set), table_(table), imported_(set.frames.size(), profile::kNone) {}

std::vector<std::uint32_t> FrameImport::import(const NamedAddress& named) {
  std::vector<std::uint32_t> indexes;
  indexes.reserve(named.frames.size());
  for (const std::uint32_t i : named.frames) {
    if (imported_[i] == profile::kNone) {
      const NamedFrame& frame = set_.frames[i];
      imported_[i] = table_.add({set_.strings[frame.function], set_.strings[frame.system_name],
                                 set_.strings[frame.file], frame.line});
    }
    indexes.push_back(imported_[i]);
  }
  return indexes;
}

}  // namespace geiger::symbolize
