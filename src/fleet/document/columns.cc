// Codes for the steps of stacks from callers to callees. Most steps repeat one of the last few from
// the same caller, so that small numbers say which.
#include "fleet/document/columns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/utf8_text.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

/// What follows each place; writer and reader add the same steps in the same order.
class Followers {
 public:
  /// A location's number plus 1, or what surrounds all stacks.
  using Place = std::uint32_t;
  static constexpr Place kRoot = 0;  ///< As a caller.
  static constexpr Place kEnd = 0;   ///< As a follower.

  explicit Followers(std::size_t locations) : of_(locations + 1) {}

  /// Adds a step. Its code: 1 for the latest from this caller, 2 for the one before, ...; 0 for a
  /// step that is not remembered.
  [[nodiscard]] std::uint64_t code_of(Place caller, Place next) {
    std::vector<Place>& latest = of_[caller];
    const auto at = std::ranges::find(latest, next);
    if (at == latest.end()) {
      add(caller, next);
      return 0;
    }
    const auto code = static_cast<std::uint64_t>(at - latest.begin()) + 1;
    std::rotate(latest.begin(), at, at + 1);
    return code;
  }

  /// Adds the step with this code, which is not 0. Nothing if no step has it.
  [[nodiscard]] std::optional<Place> follow(Place caller, std::uint64_t code) {
    std::vector<Place>& latest = of_[caller];
    if (code > latest.size()) return std::nullopt;
    const auto at = latest.begin() + static_cast<std::ptrdiff_t>(code - 1);
    std::rotate(latest.begin(), at, at + 1);
    return latest.front();
  }

  /// Adds a step whose code is 0.
  void add(Place caller, Place next) {
    std::vector<Place>& latest = of_[caller];
    if (latest.size() == kMost) latest.pop_back();
    latest.insert(latest.begin(), next);
  }

 private:
  /// Bounds the time that a step takes.
  static constexpr std::size_t kMost = 16;

  std::vector<std::vector<Place>> of_;  ///< By caller, the latest first.
};

namespace {

/// Adds numbers to a column as differences.
class Differing {
 public:
  explicit Differing(Differences& column) : column_(column) {}

  void add(std::uint64_t number) {
    column_.push_back(static_cast<std::int64_t>(number - std::exchange(before_, number)));
  }
  void begin_anew() { before_ = 0; }

 private:
  Differences& column_;
  std::uint64_t before_ = 0;
};

/// The numbers that a column of differences stands for, one after the other. Requires that the
/// column is long enough.
class Summing {
 public:
  explicit Summing(const Differences& column) : column_(column) {}

  [[nodiscard]] std::uint64_t next() {
    GEIGER_ASSERT(at_ < column_.size());
    return before_ += static_cast<std::uint64_t>(column_[at_++]);
  }
  void begin_anew() { before_ = 0; }

 private:
  const Differences& column_;
  std::size_t at_ = 0;
  std::uint64_t before_ = 0;
};

/// Numbers texts as they come.
class TextWriter {
 public:
  explicit TextWriter(std::string& texts) : texts_(texts) {}

  [[nodiscard]] std::uint64_t number_of(std::string_view text) {
    const auto [known, is_new] = numbers_.try_emplace(document_text(text), numbers_.size());
    if (is_new) texts_.append(known->first) += '\0';
    return known->second;
  }

 private:
  std::string& texts_;
  std::unordered_map<std::string, std::uint64_t> numbers_;
};

class TextReader {
 public:
  /// False if there are too many, or the last one has no end, or they are not what document_text
  /// returns: written again they would be others, with other ids.
  [[nodiscard]] bool read(std::string_view texts) {
    if (to_valid_utf8(texts) != texts) return false;
    while (!texts.empty()) {
      const std::size_t end = texts.find('\0');
      if (end == std::string_view::npos || end > kMostText) return false;
      if (texts_.size() == kMostTexts) return false;
      texts_.push_back(texts.substr(0, end));
      texts.remove_prefix(end + 1);
    }
    return true;
  }

  /// Sets a text to the one with this number. False if no text has it, or if all texts that were
  /// set take too much memory.
  [[nodiscard]] bool set(std::string& text, std::uint64_t number) {
    if (number >= texts_.size() || texts_[number].size() > room_) return false;
    room_ -= texts_[number].size();
    text = texts_[number];
    return true;
  }

 private:
  static constexpr std::size_t kMostTexts = kMostFrames;

  std::vector<std::string_view> texts_;
  std::size_t room_ = kMostTextBytes;
};

struct Module {
  profile::ModuleKind kind;
  std::uint64_t path, build_id;  ///< Texts.
};

base::Outcome<std::vector<Module>> modules_of(const LocationColumns& columns) {
  const std::size_t count = columns.kinds.size();
  if (columns.paths.size() != count || columns.build_ids.size() != count) {
    return base::Failure{"its columns differ in length"};
  }
  if (count > kMostLocations) return base::Failure{"it has too many modules"};
  std::vector<Module> modules;
  Summing path(columns.paths), build_id(columns.build_ids);
  for (const std::uint64_t kind : columns.kinds) {
    constexpr auto kLast = static_cast<std::uint64_t>(profile::ModuleKind::kSource);
    modules.push_back(
        {static_cast<profile::ModuleKind>(std::min(kind, kLast)), path.next(), build_id.next()});
  }
  return modules;
}

bool is_even(const LocationColumns& columns) {
  std::uint64_t frames = 0;
  for (const std::uint64_t of_location : columns.frames) {
    if (of_location > kMostFrames - frames) return false;
    frames += of_location;
  }
  return columns.modules.size() == columns.frames.size() &&
         columns.addresses.size() == columns.frames.size() && columns.functions.size() == frames &&
         columns.system_names.size() == frames && columns.files.size() == frames &&
         columns.lines.size() == frames;
}

}  // namespace

LocationColumns columns_of(const std::vector<Location>& locations) {
  LocationColumns columns;
  TextWriter texts(columns.texts);
  Differing path(columns.paths), build_id(columns.build_ids), module(columns.modules),
      address(columns.addresses), function(columns.functions), system_name(columns.system_names),
      file(columns.files), line(columns.lines);
  std::map<std::tuple<std::string_view, std::string_view, profile::ModuleKind>, std::uint64_t>
      modules;
  std::uint64_t before = 0;
  for (const Location& location : locations) {
    const auto [known, is_new] =
        modules.try_emplace({location.build_id, location.module, location.kind}, modules.size());
    if (is_new) {
      columns.kinds.push_back(static_cast<std::uint64_t>(location.kind));
      path.add(texts.number_of(location.module));
      build_id.add(texts.number_of(location.build_id));
    }
    module.add(known->second);
    if (std::exchange(before, known->second) != known->second) {
      address.begin_anew();
      line.begin_anew();
    }
    address.add(location.address);
    columns.frames.push_back(location.frames.size());
    for (const profile::Frame& frame : location.frames) {
      function.add(texts.number_of(frame.function));
      system_name.add(texts.number_of(frame.system_name));
      file.add(texts.number_of(frame.file));
      line.add(frame.line);
    }
  }
  return columns;
}

base::Outcome<void> add_locations(const LocationColumns& columns, Document& document) {
  TextReader texts;
  if (!texts.read(columns.texts)) return base::Failure{"its names are not text, or too many"};
  const auto modules = GEIGER_TRY(modules_of(columns));
  if (!is_even(columns)) return base::Failure{"its columns differ in length"};
  if (columns.frames.size() > kMostLocations) return base::Failure{"it has too many stacks"};
  Summing module(columns.modules), address(columns.addresses), function(columns.functions),
      system_name(columns.system_names), file(columns.files), line(columns.lines);
  std::uint64_t before = 0;
  bool has_texts = true;
  for (const std::uint64_t frames : columns.frames) {
    const std::uint64_t number = module.next();
    if (number >= modules.size()) return base::Failure{"a location has no module"};
    if (std::exchange(before, number) != number) {
      address.begin_anew();
      line.begin_anew();
    }
    const Module& its_module = modules[number];
    Location& location = document.locations.emplace_back();
    location.kind = its_module.kind;
    location.address = address.next();
    has_texts = texts.set(location.module, its_module.path) &&
                texts.set(location.build_id, its_module.build_id);
    for (std::uint64_t i = 0; i < frames && has_texts; ++i) {
      profile::Frame& frame = location.frames.emplace_back();
      has_texts = texts.set(frame.function, function.next()) &&
                  texts.set(frame.system_name, system_name.next()) &&
                  texts.set(frame.file, file.next());
      frame.line = static_cast<std::uint32_t>(line.next());
    }
    if (!has_texts) return base::Failure{"a name is missing, or its names are too long"};
    location.id = id_of(location);
  }
  return {};
}

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
