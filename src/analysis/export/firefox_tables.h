// The tables of one thread of a Firefox profile: strings, functions, frames, stacks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/export/shown_stacks.h"
#include "analysis/export/streams/sink.h"
#include "analysis/present/json.h"
#include "analysis/present/style.h"
#include "analysis/profile/recording.h"

namespace geiger::exports {

/// Filled in order of first use by stacks, then written column by column.
class ThreadTables {
 public:
  ThreadTables(const profile::Recording& recording, present::Names names)
      : recording_(recording), names_(names), shown_(recording) {}

  /// The node of the stack table that a stack ends at.
  std::uint32_t node_of(std::uint32_t stack);

  /// The fields of the thread that hold tables.
  void write(present::JsonWriter& json, const Sink& sink);

 private:
  /// A frame below another one, or below none.
  struct StackNode {
    std::uint32_t prefix = profile::kNone;
    std::uint32_t frame = 0;
  };

  std::uint32_t string(const std::string& text);
  void collect_libraries();
  void write_frames(present::JsonWriter& json, const Sink& sink);
  void write_functions(present::JsonWriter& json, const Sink& sink);
  void write_resources(present::JsonWriter& json);
  void write_stacks(present::JsonWriter& json, const Sink& sink);

  const profile::Recording& recording_;
  present::Names names_;
  ShownStacks shown_;
  std::vector<StackNode> nodes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_;  ///< By prefix, frame.
  std::unordered_map<std::uint32_t, std::uint32_t> by_stack_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, std::uint32_t> string_ids_;
  std::map<std::uint32_t, std::uint32_t> resources_;  ///< By module.
  std::vector<std::uint32_t> libraries_;              ///< Modules, by resource.
};

}  // namespace geiger::exports
