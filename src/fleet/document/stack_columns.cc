#include "fleet/document/stack_columns.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "fleet/document/followers.h"
#include "fleet/document/ids.h"

namespace geiger::fleet {
namespace {

using Place = Followers::Place;

/// Reads steps, one after the other.
class Steps {
 public:
  Steps(const StackColumns& columns, std::size_t locations)
      : columns_(columns), locations_(locations), followers_(locations) {}

  /// Where the next step from a caller leads. Nothing if its code stands for no step.
  [[nodiscard]] std::optional<Place> next(Place caller) {
    if (step_ == columns_.steps.size()) return std::nullopt;
    const std::uint64_t code = columns_.steps[step_++];
    if (code != 0) return followers_.follow(caller, code);
    if (other_ == columns_.others.size()) return std::nullopt;
    const std::uint64_t place = caller + static_cast<std::uint64_t>(columns_.others[other_++]);
    if (place > locations_) return std::nullopt;
    followers_.add(caller, static_cast<Place>(place));
    return static_cast<Place>(place);
  }

 private:
  const StackColumns& columns_;
  std::size_t locations_, step_ = 0, other_ = 0;
  Followers followers_;
};

}  // namespace

StackColumns columns_of_stacks(const Document& document) {
  std::unordered_map<LocationId, Place> places;
  for (const Location& location : document.locations) {
    places[location.id] = static_cast<Place>(&location - document.locations.data() + 1);
  }
  Followers followers(document.locations.size());
  StackColumns columns;
  const auto add_step = [&](Place caller, Place next) {
    const std::uint64_t code = followers.code_of(caller, next);
    columns.steps.push_back(code);
    if (code == 0) columns.others.push_back(std::int64_t{next} - std::int64_t{caller});
  };
  const std::vector<LocationId> none;
  const std::vector<LocationId>* before = &none;
  for (const Stack& stack : document.stacks) {
    const auto root = stack.locations.rbegin();
    const auto [differs, left] =
        std::mismatch(root, stack.locations.rend(), before->rbegin(), before->rend());
    columns.left.push_back(static_cast<std::uint64_t>(before->rend() - left));
    columns.truncated.push_back(static_cast<std::uint64_t>(stack.is_truncated));
    Place caller = differs == root ? Followers::kRoot : places.at(*std::prev(differs));
    for (auto at = differs; at != stack.locations.rend(); ++at) {
      const Place next = places.at(*at);
      add_step(std::exchange(caller, next), next);
    }
    add_step(caller, Followers::kEnd);
    before = &stack.locations;
  }
  return columns;
}

base::Outcome<void> add_stacks(const StackColumns& columns, Document& document) {
  if (columns.left.size() != columns.truncated.size()) {
    return base::Failure{"its columns differ in length"};
  }
  if (columns.left.size() > kMostStacks) return base::Failure{"it has too many stacks"};
  Steps steps(columns, document.locations.size());
  std::size_t positions = 0;
  std::vector<Place> path;  // From the root.
  for (std::size_t i = 0; i < columns.left.size(); ++i) {
    if (columns.left[i] > path.size()) return base::Failure{"a stack shares what is not there"};
    path.resize(path.size() - columns.left[i]);
    std::optional<Place> next;
    while ((next = steps.next(path.empty() ? Followers::kRoot : path.back())) &&
           *next != Followers::kEnd) {
      if (path.size() == kMostDepth) return base::Failure{"a stack is too deep"};
      path.push_back(*next);
    }
    if (!next) return base::Failure{"a stack has an unknown location"};
    positions += path.size();
    if (positions > kMostPositions) return base::Failure{"it has too many stacks"};
    Stack& stack = document.stacks.emplace_back();
    stack.is_truncated = columns.truncated[i] != 0;
    stack.locations.reserve(path.size());
    for (auto place = path.rbegin(); place != path.rend(); ++place) {
      stack.locations.push_back(document.locations[*place - 1].id);
    }
    stack.id = id_of(stack);
  }
  return {};
}

}  // namespace geiger::fleet
