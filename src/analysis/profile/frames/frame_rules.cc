#include "analysis/profile/frames/frame_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace geiger::profile {

// A namespace with a name, as its types are parts of RuleTable.
namespace frame_rules {

using base::file_name_of;

/// What a line says of the code that it matches.
enum class Word : std::uint8_t {
  kOwn,
  kLibrary,
  kPackage,
  kDispatch,
  kPlumbing,
  kStartUp,
  kAllocation,
  kWrapper,
  kPassesOn,
  kHide,
  kHint,
};

constexpr std::array<std::pair<std::string_view, FrameRole>, 11> kWords{{
    {"own", FrameRole::kOwn},
    {"library", FrameRole::kLibrary},
    {"package", FrameRole::kPackage},
    {"dispatch", FrameRole::kDispatch},
    {"plumbing", FrameRole::kStandard},
    {"start-up", FrameRole::kStartUp},
    {"allocation", FrameRole::kAllocation},
    {"wrapper", FrameRole::kAllocation},
    {"passes-on", FrameRole::kAllocation},
    {"hide", FrameRole::kHidden},
    {"hint", FrameRole::kOwn},  // Says nothing of roles.
}};
constexpr std::string_view kTypeWord = "type", kWrappersWord = "wrappers";

FrameRole frame_role_of(Word word) { return kWords[static_cast<std::size_t>(word)].second; }

/// Kinds of code, as bits: what a section of a file is about.
using Code = std::uint16_t;
constexpr std::array<std::string_view, 8> kCodes{"native", "shared", "interpreter", "machine",
                                                 "python", "node",   "java",        "jit"};
constexpr Code code_named(std::string_view name) {
  return static_cast<Code>(1U << (std::ranges::find(kCodes, name) - kCodes.begin()));
}
constexpr Code kNativeCode = code_named("native"), kSharedCode = code_named("shared"),
               kInterpreterCode = code_named("interpreter"), kMachineCode = code_named("machine"),
               kPythonCode = code_named("python"), kNodeCode = code_named("node"),
               kJavaCode = code_named("java"), kJitCode = code_named("jit");

Code code_of(const FrameFacts& facts) {
  if (facts.kind == ModuleKind::kSource) return kPythonCode;
  if (facts.module.empty()) {
    if (is_script(facts.file)) return kNodeCode;
    return is_java_method(facts.function) ? kJavaCode : Code{kNativeCode | kJitCode};
  }
  Code code = kNativeCode;
  if (!facts.is_executable) code |= kSharedCode;
  if (facts.kind == ModuleKind::kInterpreter) code |= kInterpreterCode | kMachineCode;
  return code;
}

/// The name without the return type of a function template: "std::move<int>(int&)" of
/// "int&& std::move<int>(int&)".
std::string_view without_return_type(std::string_view name) {
  if (name.find('<') == std::string_view::npos) return name;
  // Spaces within brackets belong to types.
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == 'o' && name.substr(i).starts_with("operator")) break;
    if (name[i] == '(' && depth == 0 && i > start) break;
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    if (name[i] == ' ' && depth == 0) start = i + 1;
  }
  return name.substr(start);
}

/// The name without parameters and the suffixes of clones: "malloc" of "malloc(unsigned long)",
/// "malloc.part.0", "malloc [clone .cold]" and "malloc (.cold)".
std::string_view bare_name(std::string_view name) {
  name = name.substr(0, name.find('(', 1));
  name = name.substr(0, std::min(name.find('.'), name.find(" [")));
  return name.ends_with(' ') ? name.substr(0, name.size() - 1) : name;
}

enum class Field : std::uint8_t { kFunction, kModule, kSource, kAny };
constexpr std::array<std::string_view, 3> kFields{"function", "module", "source"};
enum class Match : std::uint8_t { kIs, kStart, kEnding, kPart, kExpression };
constexpr std::array<std::string_view, 5> kMatches{"=", "^=", "$=", "*=", "~="};

/// The texts of a frame that rules are compared with.
struct Names {
  explicit Names(const FrameFacts& facts)
      : raw{facts.function, facts.module, facts.file}, whole(raw), part(raw) {
    // "git+0x28961c" is in no rule; there may be many, so they are not searched for it.
    if (is_address_name(facts.function)) whole[0] = {};
    start = whole;
    start[0] = without_return_type(whole[0]);
    part[0] = bare_name(whole[0]);
    for (std::size_t i = 1; i < kFields.size(); ++i) part[i] = file_name_of(whole[i]);
  }

  std::array<std::string_view, 3> raw;
  std::array<std::string_view, 3> whole;
  std::array<std::string_view, 3> start;  ///< Of functions: without a return type.
  std::array<std::string_view, 3> part;   ///< Functions: bare; paths: the file's name.
};

/// Of "{a,b}{,c}" the alternatives of each part.
using Parts = std::vector<std::vector<std::string_view>>;

/// A text to compare with.
struct Value {
  std::string_view text;
  std::unique_ptr<const Parts> parts = nullptr;
  std::unique_ptr<const NamePattern> pattern = nullptr;
};

struct Condition {
  Field field = Field::kAny;
  Match match = Match::kExpression;
  std::uint32_t first = 0, end = 0;  ///< Among all values; one of them is enough.
};

struct Rule {
  Word word = Word::kOwn;
  Code code = 0;                     ///< 0: all.
  std::uint32_t first = 0, end = 0;  ///< Among all conditions; all of them must hold.
};

/// Whether `text` is made of one alternative of each part, or begins so.
bool is_composed(std::span<const Parts::value_type> parts, std::string_view text, bool is_whole) {
  if (parts.empty()) return !is_whole || text.empty();
  return std::ranges::any_of(parts.front(), [&](std::string_view alternative) {
    const bool differs = !alternative.empty() && !text.empty() && text[0] != alternative[0];
    return !differs && text.starts_with(alternative) &&
           is_composed(parts.subspan(1), text.substr(alternative.size()), is_whole);
  });
}

/// Whether the value of this condition does.
bool holds(const Value& value, const Condition& condition, const Names& names) {
  if (condition.field == Field::kAny) {
    return std::ranges::any_of(names.raw, [&](auto name) { return value.pattern->matches(name); });
  }
  const auto field = static_cast<std::size_t>(condition.field);
  const std::string_view text = value.text;
  // Without a slash it is about the file's name.
  const bool is_name =
      condition.field != Field::kFunction && text.find('/') == std::string_view::npos;
  const std::string_view whole = is_name ? names.part[field] : names.whole[field];
  switch (condition.match) {
    case Match::kIs:
      if (value.parts != nullptr) return is_composed(*value.parts, names.part[field], true);
      return whole == text || (condition.field == Field::kFunction && names.part[field] == text);
    case Match::kStart: {
      const std::string_view start = is_name ? whole : names.start[field];
      return value.parts == nullptr ? start.starts_with(text)
                                    : is_composed(*value.parts, start, false);
    }
    case Match::kEnding:
      return (field == 0 ? names.part[0] : whole).ends_with(text);
    case Match::kPart:
      return names.whole[field].find(text) != std::string_view::npos;
    case Match::kExpression:
      return value.pattern->matches(names.whole[field]);
  }
  return false;
}

/// A text that names begin with for which a value of a rule's first condition holds.
struct Place {
  std::string_view text;
  std::uint64_t start = 0, mask = 0;  ///< Its first bytes, to compare at once.
  std::uint32_t rule = 0, value = 0;
  std::uint32_t next = kNone;  ///< Of the same field and first byte, before this one in the file.
};

std::uint64_t start_of(std::string_view text) {
  std::uint64_t start = 0;
  std::memcpy(&start, text.data(), std::min(text.size(), sizeof start));
  return start;
}

}  // namespace frame_rules

using namespace frame_rules;

class RuleTable {
 public:
  explicit RuleTable(std::string text) : text_(std::move(text)) {}

  base::Outcome<void> read() {
    constexpr std::size_t kValue = 16, kLine = 64;  // Bytes; of most at least.
    values_.reserve(text_.size() / kValue);
    places_.reserve(text_.size() / kValue);
    rules_.reserve(text_.size() / kLine);
    conditions_.reserve(text_.size() / kLine);
    return read_lines(
        text_, [&](std::string_view line, std::size_t /*number*/) { return add_line(line); });
  }

  /// The last rule for this code that matches; if `only` is given, of those with this word.
  [[nodiscard]] const Rule* last_of(const Names& names, Code code,
                                    std::optional<Word> only = std::nullopt) const;

  [[nodiscard]] bool hides() const {
    return std::ranges::find(rules_, Word::kHide, &Rule::word) != rules_.end();
  }

  TypeRules types;
  bool finds_wrappers = true;

 private:
  base::Outcome<void> add_line(std::string_view line);
  base::Outcome<void> add_types(std::string_view text);
  base::Outcome<void> add_conditions(std::string_view text);
  /// Of the newest rule.
  void add_places();
  void add_place(std::uint32_t value, std::string_view text);
  void add_places(std::uint32_t value, std::span<const Parts::value_type> parts);

  [[nodiscard]] bool hold(std::uint32_t first, std::uint32_t end, const Names& names) const {
    return std::all_of(&conditions_[first], &conditions_[0] + end, [&](const Condition& one) {
      return std::any_of(&values_[one.first], &values_[0] + one.end,
                         [&](const Value& value) { return holds(value, one, names); });
    });
  }
  static std::size_t bucket_of(Field field, std::string_view text) {
    return static_cast<std::size_t>(field) << 8U | static_cast<unsigned char>(text[0]);
  }

  const std::string text_;  ///< That values are parts of.
  Code code_ = 0;           ///< Of the section that is being read.
  std::vector<Rule> rules_;
  std::vector<Condition> conditions_;
  std::vector<Value> values_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> newest_ = std::vector(kFields.size() << 8U, kNone);  ///< Places.
  std::vector<std::uint32_t> others_;  ///< Rules without places, the last one first.
};

namespace {

/// The first word, without the quotes around it or around what follows an operator; takes it and
/// the blanks behind it off the text.
std::string_view take_word(std::string_view& text) {
  std::string_view word;
  if (text.starts_with('"') && text.find('"', 1) != std::string_view::npos) {
    word = text.substr(1, text.find('"', 1) - 1);
    text.remove_prefix(word.size() + 2);
  } else {
    word = text.substr(0, std::min(text.find(' '), text.find('\t')));
    text.remove_prefix(word.size());
  }
  text = trimmed(text);
  return word;
}

/// Takes "function^=" and the like off the text; nothing where it does not begin so.
std::optional<Condition> take_condition(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  for (std::size_t field = 0; field < kFields.size(); ++field) {
    if (text[0] != kFields[field][0] || !text.starts_with(kFields[field])) continue;
    const std::string_view rest = text.substr(kFields[field].size());
    for (std::size_t match = 0; match < kMatches.size(); ++match) {
      if (!rest.starts_with(kMatches[match])) continue;
      text = rest.substr(kMatches[match].size());
      return Condition{static_cast<Field>(field), static_cast<Match>(match)};
    }
  }
  return std::nullopt;
}

/// The parts of "x{a,b}{,c}"; none without braces that hold a comma.
std::unique_ptr<const Parts> parts_of(std::string_view text) {
  Parts parts;
  std::size_t begin = 0;  // Of what is in no part yet.
  for (std::size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1)) {
    std::string_view inside = text.substr(open + 1, text.find('}', open) - open - 1);
    const std::size_t close = open + 1 + inside.size();
    if (close == text.size() || inside.find(',') == inside.npos) continue;
    if (open > begin) parts.push_back({text.substr(begin, open - begin)});
    Parts::value_type& part = parts.emplace_back();
    for (auto left = std::ranges::count(inside, ',') + 1; left > 0; --left) {
      part.push_back(base::take_part(inside, ','));
    }
    begin = close + 1;
  }
  if (parts.empty()) return nullptr;
  if (begin < text.size()) parts.push_back({text.substr(begin)});
  return std::make_unique<const Parts>(std::move(parts));
}

base::Outcome<std::unique_ptr<const NamePattern>> expression_of(std::string_view text) {
  return std::make_unique<const NamePattern>(GEIGER_TRY(NamePattern::parse(std::string(text))));
}

}  // namespace

base::Outcome<void> RuleTable::add_line(std::string_view line) {
  if (line.starts_with('[') && line.ends_with(']')) {
    const std::string_view name = line.substr(1, line.size() - 2);
    if (std::ranges::find(kCodes, name) == kCodes.end()) {
      return base::Failure{fmt::format("invalid kind of code {} (choose from {})", quoted(name),
                                       fmt::join(kCodes, ", "))};
    }
    code_ = code_named(name);
    return {};
  }
  if (rules_.size() == kMostRules) {
    return base::Failure{fmt::format("more than {} rules: join expressions by |", kMostRules)};
  }
  const std::string_view word = take_word(line);
  const auto* known = std::ranges::find(kWords, word, &decltype(kWords)::value_type::first);
  if (word == kWrappersWord) {
    finds_wrappers = line == "found";
    if (finds_wrappers || line == "named") return {};
    return base::Failure{fmt::format("invalid choice {} (choose from found, named)", quoted(line))};
  }
  if (known == kWords.end() && word != kTypeWord) {
    std::string roles;
    for (const auto& [role, _] : kWords) roles += std::string(role) + ", ";
    return base::Failure{fmt::format("invalid role {} (choose from {}{}, {})", quoted(word), roles,
                                     kTypeWord, kWrappersWord)};
  }
  if (line.empty()) return base::Failure{fmt::format("'{}' needs a regular expression", word)};
  if (word == kTypeWord) return add_types(line);
  const auto first = static_cast<std::uint32_t>(conditions_.size());
  GEIGER_TRY(add_conditions(line));
  rules_.push_back({static_cast<Word>(known - kWords.begin()), code_, first,
                    static_cast<std::uint32_t>(conditions_.size())});
  add_places();
  return {};
}

/// Without a field an expression for all names.
base::Outcome<void> RuleTable::add_conditions(std::string_view text) {
  auto begun = take_condition(text);
  const bool has_fields = begun.has_value();
  if (!has_fields) begun = Condition();
  while (begun) {
    Condition condition = *begun;
    condition.first = static_cast<std::uint32_t>(values_.size());
    do {
      Value value{has_fields ? take_word(text) : std::exchange(text, {})};
      if (value.text.empty()) return base::Failure{"a name is missing"};
      if (condition.match == Match::kExpression)
        value.pattern = GEIGER_TRY(expression_of(value.text));
      if (condition.match <= Match::kStart) value.parts = parts_of(value.text);
      values_.push_back(std::move(value));
      begun = take_condition(text);
    } while (!begun && !text.empty());
    condition.end = static_cast<std::uint32_t>(values_.size());
    conditions_.push_back(condition);
  }
  return {};
}

base::Outcome<void> RuleTable::add_types(std::string_view text) {
  constexpr std::string_view kHolder = "holder=", kPlace = "<T>";
  const bool is_holder = text.starts_with(kHolder);
  std::optional<Condition> condition;
  if (is_holder)
    text.remove_prefix(kHolder.size());
  else
    condition = take_condition(text);
  const bool is_start = condition && condition->match == Match::kStart;
  const bool is_function = condition && condition->field == Field::kFunction &&
                           (is_start || condition->match == Match::kIs);
  do {
    const std::string_view name = take_word(text);
    const std::size_t at = name.find(kPlace);
    if (at == std::string_view::npos || (!is_holder && !is_function)) {
      return base::Failure{"'type' needs function=, function^= or holder= and a name with <T>"};
    }
    const std::string_view begin = name.substr(0, at + 1);
    if (is_holder)
      types.holders.push_back(begin);
    else
      types.allocators.push_back({begin, name.substr(at + kPlace.size()), is_start});
  } while (!text.empty());
  return {};
}

void RuleTable::add_places() {
  const Condition& first = conditions_[rules_.back().first];
  if (first.match > Match::kStart) {
    others_.insert(others_.begin(), static_cast<std::uint32_t>(rules_.size() - 1));
    return;
  }
  for (std::uint32_t value = first.first; value < first.end; ++value) {
    if (values_[value].parts != nullptr)
      add_places(value, *values_[value].parts);
    else
      add_place(value, values_[value].text);
  }
}

void RuleTable::add_place(std::uint32_t value, std::string_view text) {
  const std::uint64_t mask =
      text.size() < sizeof mask ? (std::uint64_t{1} << 8U * text.size()) - 1 : ~std::uint64_t{0};
  std::uint32_t& newest = newest_[bucket_of(conditions_[rules_.back().first].field, text)];
  places_.push_back({text, start_of(text), mask, static_cast<std::uint32_t>(rules_.size() - 1),
                     value, std::exchange(newest, static_cast<std::uint32_t>(places_.size()))});
}

/// Of each alternative that texts of these parts may begin with.
void RuleTable::add_places(std::uint32_t value, std::span<const Parts::value_type> parts) {
  for (const std::string_view start : parts.front()) {
    if (!start.empty())
      add_place(value, start);
    else if (parts.size() > 1)
      add_places(value, parts.subspan(1));
  }
}

const Rule* RuleTable::last_of(const Names& names, Code code, std::optional<Word> only) const {
  std::size_t after = 0;  // Rules before it are of no interest.
  const auto is_asked = [&](const Rule& rule) {
    return (rule.code == 0 || (rule.code & code) != 0) &&
           (only ? rule.word == *only : rule.word != Word::kHint);
  };
  const auto search = [&](Field field, std::string_view name) {
    const std::uint64_t start = start_of(name);
    std::uint32_t at = newest_[bucket_of(field, name)];
    for (; at != kNone && places_[at].rule >= after; at = places_[at].next) {
      const Place& place = places_[at];
      if (((place.start ^ start) & place.mask) != 0 || !name.starts_with(place.text)) continue;
      const Rule& rule = rules_[place.rule];
      if (!is_asked(rule) || !holds(values_[place.value], conditions_[rule.first], names)) continue;
      if (hold(rule.first + 1, rule.end, names)) after = place.rule + std::size_t{1};
    }
  };
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (names.whole[i].empty()) continue;
    const auto field = static_cast<Field>(i);
    search(field, names.whole[i]);
    const std::string_view other = field == Field::kFunction ? names.start[i] : names.part[i];
    if (other.size() != names.whole[i].size()) search(field, other);
  }
  for (const std::uint32_t other : others_) {
    if (other < after) break;
    const Rule& rule = rules_[other];
    if (is_asked(rule) && hold(rule.first, rule.end, names)) return &rule;
  }
  return after == 0 ? nullptr : &rules_[after - 1];
}

namespace {

/// frames.rules, read once and never destroyed, as that takes time.
const RuleTable& built_in() {
  static const RuleTable* const table = [] {
    auto* const read = new RuleTable(kBuiltInRules);
    GEIGER_CHECK(read->read().has_value());
    return read;
  }();
  return *table;
}

}  // namespace

base::Outcome<FrameRules> FrameRules::parse(std::string_view text) {
  auto table = std::make_shared<RuleTable>(std::string(text));
  GEIGER_TRY(table->read());
  FrameRules rules;
  rules.file_ = std::move(table);
  return rules;
}

FrameRole FrameRules::role(const FrameFacts& facts) const {
  const Names names(facts);
  const auto is_hidden = [&](const NamePattern& pattern) {
    return std::ranges::any_of(names.raw, [&](auto name) { return pattern.matches(name); });
  };
  if (std::ranges::any_of(hidden_, is_hidden)) return FrameRole::kHidden;
  const Code code = code_of(facts);
  const Rule* rule = file_ == nullptr ? nullptr : file_->last_of(names, code);
  if (rule != nullptr) return frame_role_of(rule->word);
  rule = built_in().last_of(names, code);
  const FrameRole role = rule == nullptr ? FrameRole::kOwn : frame_role_of(rule->word);
  const bool is_wrapper = wrappers_ != nullptr && !is_plumbing(role) &&
                          facts.kind != ModuleKind::kSource &&
                          wrappers_->contains(name_in_module(facts.function, facts.module));
  return is_wrapper ? FrameRole::kAllocation : role;
}

bool FrameRules::finds_wrappers() const {
  return finds_wrappers_.value_or(file_ == nullptr || file_->finds_wrappers);
}

void FrameRules::set_wrappers(std::unordered_set<std::string> names) {
  using Names = std::unordered_set<std::string>;
  wrappers_ = names.empty() ? nullptr : std::make_shared<const Names>(std::move(names));
}

std::string name_in_module(std::string_view function, std::string_view module_path) {
  std::string name(function);
  name += '\0';
  return name += file_name_of(module_path);
}

bool FrameRules::leaves_out() const {
  return !shows_plumbing || frames != FramesShown::kMixed || !hidden_.empty() ||
         (file_ != nullptr && file_->hides());
}

namespace {

bool has_word(Word word, std::string_view function, const RuleTable* file) {
  const Names names(FrameFacts{function, {}, {}});
  return std::ranges::any_of(std::array{file, &built_in()}, [&](const RuleTable* table) {
    return table != nullptr && table->last_of(names, kNativeCode, word) != nullptr;
  });
}

}  // namespace

bool FrameRules::passes_allocation_on(std::string_view function) const {
  return has_word(Word::kPassesOn, function, file_.get());
}

bool FrameRules::may_wrap(std::string_view function) const {
  return has_word(Word::kHint, function, file_.get());
}

std::vector<const TypeRules*> FrameRules::types() const {
  if (file_ == nullptr) return {&built_in().types};
  return {&file_->types, &built_in().types};
}

const FrameRules& rules_of(const Recording& recording) {
  static const FrameRules none;
  return recording.frame_rules ? *recording.frame_rules : none;
}

FrameRole role_of(const FrameFacts& facts) { return FrameRules().role(facts); }

bool is_allocation_function(std::string_view name) {
  return built_in().last_of(Names(FrameFacts{name, {}, {}}), kNativeCode, Word::kAllocation) !=
         nullptr;
}

bool is_standard_module(std::string_view path) {
  return role_of(FrameFacts{{}, path, {}}) == FrameRole::kStandard;
}

bool is_virtual_machine(std::string_view path) {
  return built_in().last_of(Names(FrameFacts{{}, path, {}}), kMachineCode) != nullptr;
}

bool is_script(std::string_view file) {
  constexpr std::array<std::string_view, 8> kEndings{".js",  ".mjs", ".cjs", ".ts",
                                                     ".mts", ".cts", ".jsx", ".tsx"};
  return file.starts_with("node:") ||
         std::ranges::any_of(kEndings, [&](std::string_view end) { return file.ends_with(end); });
}

bool is_java_method(std::string_view function) {
  const std::size_t open = function.find('(');
  return open != std::string_view::npos && function.ends_with(')') &&
         function.find("::") == std::string_view::npos && function.find(' ') > open &&
         function.substr(0, open).find('.') != std::string_view::npos;
}

bool is_address_name(std::string_view function) {
  const std::size_t plus = function.rfind('+');
  if (plus != std::string_view::npos) function.remove_prefix(plus + 1);
  return function.size() > 2 && function.starts_with("0x") &&
         function.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos;
}

}  // namespace geiger::profile
