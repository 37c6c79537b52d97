#include "fleet/document/location_columns.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/utf8_text.h"
#include "fleet/document/ids.h"
#include "fleet/document/limits.h"

namespace geiger::fleet {
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

}  // namespace geiger::fleet
