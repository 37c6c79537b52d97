#include "analysis/present/stack_json.h"

#include "analysis/profile/labels.h"

namespace geiger::present {
namespace {

using profile::Location;
using profile::Recording;
using profile::SourceLine;

/// As a frame is written.
struct ShownFrame {
  std::string function;
  SourceLine where;
  std::optional<std::string> module;
  std::optional<std::uint64_t> address;
};

const Fields<ShownFrame>& fields_of(Of<ShownFrame> /*type*/) {
  static const auto kFields =
      Fields<ShownFrame>("frame", "One of a stack, leaf first.")
          .field("function", "", &ShownFrame::function)
          .inlined(&ShownFrame::where)
          .field("module", "the file that it is in", &ShownFrame::module)
          .field("address",
                 "ELF virtual address of the return address; frames of interpreters have none",
                 &ShownFrame::address);
  return kFields;
}

void append_frames(std::vector<ShownFrame>& frames, const Recording& recording,
                   const Location& location) {
  ShownFrame shown;
  if (location.module < recording.modules.size()) {
    shown.module = recording.modules[location.module].path;
  }
  if (!recording.is_source(location)) shown.address = location.vaddr;
  if (location.frames.empty()) {
    shown.function = profile::address_name(recording, location);
    frames.push_back(shown);
  }
  for (const std::uint32_t index : location.frames) {
    shown.function = recording.frames[index].function;
    shown.where = profile::source_line_of(recording, index);
    frames.push_back(shown);
  }
}

std::vector<ShownFrame> frames_of(const StackOf& of) {
  std::vector<ShownFrame> frames;
  for (const std::uint32_t location : of.recording.stacks[of.stack].locations) {
    append_frames(frames, of.recording, of.recording.locations[location]);
  }
  return frames;
}

}  // namespace

const Fields<StackOf>& fields_of(Of<StackOf> /*type*/) {
  static const auto kFields =
      Fields<StackOf>()
          .field("stack", "leaf first", &frames_of)
          .field("is_truncated", "frames are missing at its outer end",
                 [](const StackOf& it) { return it.recording.stacks[it.stack].is_truncated; });
  return kFields;
}

std::optional<StackOf> stack_of(const Recording& recording, std::uint32_t stack) {
  return if_true(stack < recording.stacks.size(), StackOf{recording, stack});
}

const Fields<SourceLine>& fields_of(Of<SourceLine> /*type*/) {
  static const auto kFields =
      Fields<SourceLine>()
          .field("file", "where debug information has it",
                 [](const SourceLine& it) { return if_true(!it.file.empty(), it.file); })
          .field("line", "1 for the first",
                 [](const SourceLine& it) {
                   return if_true(!it.file.empty() && it.line != 0, it.line);
                 })
          .field("other_lines", "of a row of several lines: how many more",
                 [](const SourceLine& it) {
                   return if_true(!it.file.empty() && it.others != 0, it.others);
                 });
  return kFields;
}

}  // namespace geiger::present
