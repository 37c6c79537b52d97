#include "analysis/page/call_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/naming/display_name.h"
#include "analysis/present/format.h"
#include "analysis/profile/frames/frame_rules.h"
#include "base/index_of.h"

namespace geiger::page {

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  // Not within a character: bytes 10xxxxxx go on with one.
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
  return fmt::format("{}… (+{} bytes)", text.substr(0, most),
                     present::exact_count(text.size() - most));
}

std::vector<std::string> UsedNames::texts(std::size_t most, std::uint64_t& cut) const {
  std::vector<std::string> texts;
  texts.reserve(used_.size());
  for (const NameIndex name : used_) {
    cut += all_[name].size() > most ? 1 : 0;
    texts.push_back(shortened(all_[name], most));
  }
  return texts;
}

using profile::Labels;

namespace {

std::uint64_t pair_of(std::uint32_t first, std::uint32_t second) {
  return std::uint64_t{first} << 32 | second;
}

/// The first node upwards that is kept; the root always is.
std::uint32_t kept_above(const std::vector<CallTree::Node>& nodes, const std::vector<bool>& is_kept,
                         std::uint32_t node) {
  while (!is_kept[node]) node = nodes[node].parent;
  return node;
}

std::vector<bool> heaviest(const std::vector<double>& weight, std::size_t most) {
  std::vector<std::uint32_t> order(weight.size());
  std::iota(order.begin(), order.end(), 0U);
  most = std::min(most, order.size());
  // Equals in their order, where a parent stands before its children.
  const auto is_heavier = [&](std::uint32_t a, std::uint32_t b) {
    return weight[a] != weight[b] ? weight[a] > weight[b] : a < b;
  };
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                   is_heavier);
  std::vector<bool> is_kept(weight.size(), false);
  for (std::size_t i = 0; i < most; ++i) is_kept[order[i]] = true;
  is_kept[CallTree::kRoot] = true;
  return is_kept;
}

/// Frames that are still used, numbered in order of first use.
class UsedFrames {
 public:
  UsedFrames(const std::vector<Frame>& all, UsedNames& names, Frames& out)
      : all_(all), names_(names), out_(out), number_(all.size(), profile::kNone) {}

  std::uint32_t of(std::uint32_t frame) {
    if (number_[frame] == profile::kNone) number_[frame] = add(all_[frame]);
    return number_[frame];
  }

  std::uint32_t add(const Frame& frame) {
    out_.name.push_back(names_.of(frame.name));
    out_.module.push_back(names_.of(frame.module));
    out_.file.push_back(names_.of(frame.file));
    out_.line.push_back(frame.line);
    out_.flags.push_back(frame.flags);
    return static_cast<std::uint32_t>(out_.name.size() - 1);
  }

 private:
  const std::vector<Frame>& all_;
  UsedNames& names_;
  Frames& out_;
  std::vector<std::uint32_t> number_;
};

/// Children of the nodes that are kept, in order, and whether something below was not kept.
struct Kept {
  std::vector<std::vector<std::uint32_t>> children;
  std::vector<bool> has_rest;
};

Kept kept_of(const std::vector<CallTree::Node>& nodes, const std::vector<bool>& is_kept) {
  Kept kept{std::vector<std::vector<std::uint32_t>>(nodes.size()), std::vector<bool>(nodes.size())};
  for (std::uint32_t i = 1; i < nodes.size(); ++i) {
    if (is_kept[i]) {
      kept.children[nodes[i].parent].push_back(i);
    } else if (is_kept[nodes[i].parent]) {
      kept.has_rest[nodes[i].parent] = true;
    }
  }
  return kept;
}

}  // namespace

CallTree::CallTree(Names& names) : names_(names) { nodes_.push_back({kRoot, remark("", false)}); }

std::size_t CallTree::FrameHash::operator()(const Frame& frame) const {
  const std::uint64_t function =
      pair_of(static_cast<std::uint32_t>(frame.name), static_cast<std::uint32_t>(frame.module));
  const std::uint64_t place = pair_of(static_cast<std::uint32_t>(frame.file), frame.line);
  return profile::spread(profile::spread(profile::table_seed(), function), place);
}

std::uint32_t CallTree::frame(const Frame& key, const Frame& shown) {
  return base::index_of(frame_of_, key, frames_, shown);
}

std::uint32_t CallTree::remark(std::string_view text, bool is_cut) {
  const int flags = is_cut ? kRemark | kCut : kRemark;
  const Frame frame{.name = names_.intern(text), .flags = static_cast<std::uint8_t>(flags)};
  return this->frame(frame, frame);
}

std::uint32_t CallTree::child(std::uint32_t parent, std::uint32_t frame) {
  return base::index_of(child_of_, pair_of(parent, frame), nodes_, {parent, frame});
}

StackNodes::StackNodes(const profile::Recording& recording, CallTree& tree, Names& names,
                       bool tells_lines)
    : recording_(recording),
      tree_(tree),
      names_(names),
      labels_(recording),
      roles_(recording, labels_),
      tells_lines_(tells_lines),
      frames_(recording.locations.size()),
      nodes_(recording.stacks.size(), profile::kNone) {}

std::uint32_t StackNodes::of(std::uint32_t stack) {
  const bool is_known = stack < recording_.stacks.size();
  if (!is_known || recording_.stacks[stack].locations.empty()) {
    if (no_stack_ == profile::kNone) {
      no_stack_ = tree_.child(CallTree::kRoot, tree_.remark(labels_[Labels::kNoStack].name));
    }
    return no_stack_;
  }
  if (nodes_[stack] == profile::kNone) nodes_[stack] = node_of(recording_.stacks[stack]);
  return nodes_[stack];
}

std::uint32_t StackNodes::node_of(const profile::Stack& stack) {
  std::uint32_t node = CallTree::kRoot;
  if (stack.is_truncated) node = tree_.child(node, tree_.remark(labels_[Labels::kTruncated].name));
  std::vector<std::uint32_t> path;
  for (const std::uint32_t location : stack.locations) {
    const std::span<const std::uint32_t> labels = labels_.of(location);
    path.insert(path.end(), labels.begin(), labels.end());
  }
  if (roles_.is_of_runtime(path)) {
    node = tree_.child(node, tree_.remark(labels_[Labels::kRuntime].name, false));
  }
  for (auto location = stack.locations.rbegin(); location != stack.locations.rend(); ++location) {
    const std::vector<std::uint32_t>& frames = frames_of(*location);
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      node = tree_.child(node, *frame);
    }
  }
  return node;
}

const std::vector<std::uint32_t>& StackNodes::frames_of(std::uint32_t location) {
  std::vector<std::uint32_t>& frames = frames_[location];
  if (!frames.empty()) return frames;
  const std::span<const std::uint32_t> labels = labels_.of(location);
  // Labels leave out frames without a name.
  std::vector<const profile::Frame*> named;
  for (const std::uint32_t frame : recording_.locations[location].frames) {
    if (!recording_.frames[frame].function.empty()) named.push_back(&recording_.frames[frame]);
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    Frame shown = frame_of(labels[i]);
    if (i + 1 < labels.size()) shown.flags |= kInlined;
    Frame key{.name = shown.name, .module = shown.module};
    if (i < named.size()) {
      shown.file = named[i]->file.empty() ? kNoName : names_.intern(named[i]->file);
      shown.line = named[i]->line;
      const bool is_own = roles_[labels[i]] == profile::FrameRole::kOwn;
      if (is_own && shown.line != 0) shown.flags |= kOwn;
      if (tells_lines_) key = shown;
    }
    frames.push_back(tree_.frame(key, shown));
  }
  return frames;
}

Frame StackNodes::frame_of(std::uint32_t number) const {
  const profile::Label& label = labels_[number];
  Frame frame{.name = names_.intern(label.name)};
  const bool is_unnamed = label.is_location || profile::is_address_name(label.name);
  if (is_unnamed) frame.flags |= kUnknown;
  if (label.module != profile::kNone) {
    const std::string_view path = recording_.modules[label.module].path;
    const std::string_view name = labels_.module_name(label.module);
    // With the folders that it has; a path that ends in "-as" does not end in "as".
    const bool is_end = ("/" + std::string(path)).ends_with("/" + std::string(name));
    frame.module = names_.intern(is_end ? path : name);
    if (is_unnamed && profile::is_standard_module(path)) frame.flags |= kRuntime;
  }
  if (label.name == profile::kUntoldStacks) frame.flags |= kCut;
  if (profile::is_plumbing(roles_[number])) frame.flags |= kPlumbing;
  if (roles_[number] == profile::FrameRole::kDispatch) frame.flags |= kDispatch;
  return frame;
}

Pruned prune(const CallTree& tree, const std::vector<double>& weight, std::size_t most,
             UsedNames& names, NameIndex smaller_ones) {
  const std::vector<CallTree::Node>& nodes = tree.nodes();
  Pruned out;
  out.is_kept = heaviest(weight, most);
  const Kept kept = kept_of(nodes, out.is_kept);
  UsedFrames frames(tree.frames(), names, out.frames);
  out.moved.assign(nodes.size(), 0);
  std::vector<std::uint32_t> rest(nodes.size(), 0);
  struct Pending {
    std::uint32_t node, parent;
  };
  std::vector<Pending> pending{{CallTree::kRoot, 0}};
  std::uint32_t rest_frame = profile::kNone;
  while (!pending.empty()) {  // Depth first: neighbours in the tree stay neighbours in the page.
    const auto [node, parent] = pending.back();
    pending.pop_back();
    const auto place = static_cast<std::uint32_t>(out.nodes.up.size());
    out.moved[node] = place;
    out.nodes.up.push_back(place - parent);
    out.nodes.frame.push_back(frames.of(nodes[node].frame));
    if (kept.has_rest[node]) {
      if (rest_frame == profile::kNone) {
        rest_frame = frames.add({.name = smaller_ones, .flags = kRemark | kCut});
      }
      rest[node] = static_cast<std::uint32_t>(out.nodes.up.size());
      out.nodes.up.push_back(1);
      out.nodes.frame.push_back(rest_frame);
    }
    const auto& children = kept.children[node];
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
      pending.push_back({*child, place});
    }
  }
  for (std::uint32_t i = 1; i < nodes.size(); ++i) {
    if (out.is_kept[i]) continue;
    out.moved[i] = rest[kept_above(nodes, out.is_kept, i)];
    ++out.left_out;
  }
  return out;
}

ShortNames::ShortNames(const CallTree& tree, const Names& names) : texts_(names.size()) {
  std::vector<bool> is_met(names.size(), false);
  std::vector<NameIndex> functions;
  std::vector<naming::Named> named;
  for (const Frame& frame : tree.frames()) {
    const auto name = static_cast<std::size_t>(frame.name);
    // Remarks are shown as they are, and a place without a symbol has no function.
    if (frame.name == kNoName || is_met[name] || (frame.flags & (kRemark | kUnknown)) != 0)
      continue;
    is_met[name] = true;
    functions.push_back(frame.name);
    named.push_back({.demangled = names[frame.name]});
  }
  std::vector<std::string> shown = naming::distinct_names(named);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (shown[i] == names[functions[i]]) continue;
    texts_[static_cast<std::size_t>(functions[i])] = std::move(shown[i]);
  }
}

std::vector<std::string> ShortNames::of(const UsedNames& names, std::size_t most) const {
  std::vector<std::string> texts;
  for (const NameIndex name : names.used()) {
    const auto index = static_cast<std::size_t>(name);
    texts.push_back(index < texts_.size() ? shortened(texts_[index], most) : "");
  }
  return texts;
}

}  // namespace geiger::page
