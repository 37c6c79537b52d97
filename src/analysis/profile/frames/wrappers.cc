#include "analysis/profile/frames/wrappers.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/frame_rules.h"
#include "analysis/profile/frames/labels.h"

namespace geiger::profile {

namespace {

constexpr std::uint64_t kMostElse = 20;     ///< One sample of so many may be of other work.
constexpr std::size_t kLeastCallers = 4;    ///< Of a wrapper,
constexpr std::size_t kLeastIfHinted = 3;   ///< with a name that says it.
constexpr std::uint64_t kLeastAtPlace = 2;  ///< Samples of one size.
constexpr std::size_t kLeastSizes = 2;      ///< That callers decided on.
constexpr std::size_t kMostPlaces = 2;      ///< That call the allocation function.
constexpr int kMostParts = 2;               ///< Direct functions between a wrapper and these.
constexpr int kMostRounds = 8;

/// Functions are numbers; this one stands for all that allocate.
constexpr std::uint32_t kAllocator = kNone - 1;

/// Samples that one place made through a function.
struct FromPlace {
  std::uint64_t samples = 0;
  Bytes size = 0;
  bool is_one_size = true;
};

/// A frame of a stack: its function, and the place in it, which is a line where one is known.
struct Call {
  std::uint32_t function = kNone;
  std::uint64_t place = 0;
  friend auto operator<=>(const Call&, const Call&) = default;
};

/// Samples of a stack and a size.
struct Alike {
  std::uint32_t stack;
  Bytes size;
  std::uint64_t samples;
};

std::vector<Alike> samples_alike(const Recording& recording) {
  std::vector<Alike> all;
  for (const Sample& sample : recording.samples) {
    if (sample.stack != kNone) all.push_back({sample.stack, sample.requested, 1});
  }
  for (const Tally& tally : recording.tallies) {
    const Sample& one = tally.alike;
    if (one.stack != kNone) all.push_back({one.stack, one.requested, tally.allocated});
  }
  const auto key = [](const Alike& alike) { return std::pair(alike.stack, alike.size); };
  std::ranges::sort(all, {}, key);
  std::vector<Alike> alike;
  for (const Alike& one : all) {
    if (alike.empty() || key(alike.back()) != key(one))
      alike.push_back(one);
    else
      alike.back().samples += one.samples;
  }
  return alike;
}

/// What recordings show of a function.
struct Behaviour {
  enum class Is : std::uint8_t { kOther, kDirect, kWrapper };
  Is is = Is::kOther;
  bool is_code = false;    ///< Native, and no plumbing.
  bool is_named = false;   ///< Else a place of a function, which may be part of a wrapper.
  bool is_hinted = false;  ///< By its name.
  std::uint32_t counted_as = kNone;  ///< What it is counted as among callers.
  std::uint64_t samples = 0;       ///< With the function anywhere in their stacks; 0 = not counted.
  std::size_t last_stack = kNone;  ///< That was counted.
  // By what is known of others:
  std::uint64_t direct = 0;
  std::set<std::uint32_t> callees, callers;
  std::set<std::uint64_t> places;
  std::map<Call, FromPlace> from;

  void add(const Alike& alike, std::uint32_t callee, std::uint64_t place, const Call& caller,
           std::uint32_t as_caller) {
    direct += alike.samples;
    callees.insert(callee);
    places.insert(place);
    if (caller.function == kNone || !has_few_places()) return;
    callers.insert(as_caller);
    FromPlace& one = from[caller];
    one.is_one_size &= one.samples == 0 || one.size == alike.size;
    one.samples += alike.samples;
    one.size = alike.size;
  }
  void forget_round() {
    direct = 0;
    callees.clear(), callers.clear(), places.clear(), from.clear();
  }
  /// Whether it is another than was known. A wrapper remains one.
  bool judge() {
    if (is == Is::kWrapper) return false;
    const bool is_direct = direct > 0 && has_few_places() &&
                           (samples == 0 || (samples - direct) * kMostElse <= samples);
    const bool wraps = is_named && ((callers.size() >= kLeastCallers && is_sized_by_callers()) ||
                                    (is_hinted && callers.size() >= kLeastIfHinted));
    const Is judged = !is_direct ? Is::kOther : wraps ? Is::kWrapper : Is::kDirect;
    return std::exchange(is, judged) != judged;
  }
  [[nodiscard]] bool has_few_places() const {
    return callees.size() == 1 && places.size() <= (callees.contains(kAllocator) ? kMostPlaces : 1);
  }
  [[nodiscard]] bool is_sized_by_callers() const {
    std::set<Bytes> sizes;
    for (const auto& [caller, one] : from) {
      if (one.is_one_size && one.samples >= kLeastAtPlace) sizes.insert(one.size);
    }
    return sizes.size() >= kLeastSizes;
  }
};

class WrapperFinder {
 public:
  explicit WrapperFinder(std::span<Recording* const> recordings) {
    for (const Recording* recording : recordings) parts_.emplace_back(*recording);
  }

  /// Of the functions that wrap, as FrameRules takes them.
  std::unordered_set<std::string> names() {
    // Most recordings have none, whatever else the functions do.
    look();
    std::unordered_set<std::string> found = wrapping();
    if (found.empty()) return found;
    count_samples();
    for (Behaviour& function : functions_) {
      // What was not counted is not direct.
      if (function.is == Behaviour::Is::kOther) function.is_code = false;
      function.is = Behaviour::Is::kOther;
    }
    look();
    return wrapping();
  }

 private:
  struct Part {
    explicit Part(const Recording& of)
        : recording(of),
          labels(of),
          roles(of, labels),
          alike(samples_alike(of)),
          functions(labels.size(), kNone) {}
    const Recording& recording;
    Labels labels;
    LabelRoles roles;
    std::vector<Alike> alike;
    std::vector<std::uint32_t> functions;  ///< By label; kNone: not asked for.
  };

  std::uint32_t function_of(Part& part, std::uint32_t number) {
    std::uint32_t& known = part.functions[number];
    if (known != kNone) return known;
    if (part.roles[number] == FrameRole::kAllocation) return known = kAllocator;
    const Label& label = part.labels[number];
    const Module* module = label.module == kNone ? nullptr : &part.recording.modules[label.module];
    const std::string_view path = module == nullptr ? "" : std::string_view(module->path);
    const auto [found, is_new] = number_of(name_in_module(label.name, path));
    known = found;
    if (is_new) {
      const bool is_named = !label.is_unnamed();
      // Callers without names are one in each module, as several may be of one function.
      const std::uint32_t counted_as = is_named ? found : number_of(name_in_module("", path)).first;
      Behaviour& behaviour = functions_[found];
      behaviour.counted_as = counted_as;
      behaviour.is_code = module != nullptr && module->kind != ModuleKind::kSource &&
                          !is_plumbing(part.roles[number]);
      behaviour.is_named = is_named;
      behaviour.is_hinted = is_named && rules_of(part.recording).may_wrap(label.name);
    }
    return known;
  }

  /// And whether it is new.
  std::pair<std::uint32_t, bool> number_of(std::string name) {
    const auto next = static_cast<std::uint32_t>(functions_.size());
    const auto [place, is_new] = numbers_.try_emplace(std::move(name), next);
    if (is_new) {
      functions_.emplace_back();
      names_.push_back(place->first);
    }
    return {place->second, is_new};
  }

  /// Visits the functions whose own calls lead to the allocation, as far as is known, from the leaf
  /// on: each with what it called, from where, and its caller.
  template <typename Visit>
  void walk(Part& part, std::uint32_t stack, const Visit& visit) {
    std::uint32_t callee = kAllocator;
    int direct = 0;
    /// Whether to go on behind a call.
    const auto passes = [&](const Call& call, const Call& caller) {
      Behaviour::Is is = Behaviour::Is::kWrapper;
      if (call.function != kAllocator) {
        if (!functions_[call.function].is_code) return false;
        visit(call.function, callee, call.place, caller);
        is = functions_[call.function].is;
      }
      direct = is == Behaviour::Is::kDirect ? direct + 1 : 0;
      callee = direct > 0 ? call.function : kAllocator;
      return is != Behaviour::Is::kOther && direct <= kMostParts;
    };
    Call last;
    for (const std::uint32_t index : part.recording.stacks[stack].locations) {
      const Location& location = part.recording.locations[index];
      const auto frames = part.labels.frames_of(index);
      for (std::size_t i = 0; i < frames.size(); ++i) {
        const Call call{function_of(part, part.labels.of(index)[i]),
                        line_or_address(part.recording, frames[i], location)};
        if (call.function == last.function) continue;  // Recursion.
        if (last.function != kNone && !passes(last, call)) return;
        last = call;
      }
    }
    if (last.function != kNone) passes(last, Call());
  }

  static std::uint64_t line_or_address(const Recording& recording, std::uint32_t frame,
                                       const Location& location) {
    const std::uint32_t line = frame == kNone ? 0 : recording.frames[frame].line;
    return line != 0 ? line : location.vaddr;
  }

  /// Judges all functions by what is known of others, until that does not change.
  void look() {
    bool has_changed = true;
    for (int round = 0; round < kMostRounds && has_changed; ++round) {
      for (Behaviour& function : functions_) function.forget_round();
      for (Part& part : parts_) {
        for (const Alike& alike : part.alike) {
          walk(part, alike.stack,
               [&](std::uint32_t function, std::uint32_t callee, std::uint64_t place,
                   const Call& caller) {
                 const bool is_function = caller.function < kAllocator;
                 functions_[function].add(
                     alike, callee, place, caller,
                     is_function ? functions_[caller.function].counted_as : caller.function);
               });
        }
      }
      has_changed = false;
      for (Behaviour& function : functions_) has_changed |= function.judge();
    }
  }

  [[nodiscard]] std::unordered_set<std::string> wrapping() {
    std::unordered_set<std::string> found;
    std::vector<std::uint32_t> below;
    for (Part& part : parts_) {
      for (const Alike& alike : part.alike) {
        below.clear();
        walk(part, alike.stack, [&](std::uint32_t function, const auto&...) {
          below.push_back(function);
          if (functions_[function].is != Behaviour::Is::kWrapper) return;
          for (const std::uint32_t one : below) found.insert(names_[one]);
          below.clear();
        });
      }
    }
    return found;
  }

  /// Of the functions that a walk reached.
  void count_samples() {
    std::size_t stack = 0;  // Among all recordings.
    for (const Part& part : parts_) {
      for (auto at = part.alike.begin(); at != part.alike.end(); ++stack) {
        const auto end = std::find_if(at, part.alike.end(),
                                      [&](const Alike& other) { return other.stack != at->stack; });
        std::uint64_t samples = 0;
        for (auto one = at; one != end; ++one) samples += one->samples;
        for (const std::uint32_t location : part.recording.stacks[at->stack].locations) {
          for (const std::uint32_t label : part.labels.of(location)) {
            const std::uint32_t number = part.functions[label];
            if (number >= kAllocator) continue;
            Behaviour& function = functions_[number];
            if (std::exchange(function.last_stack, stack) != stack) function.samples += samples;
          }
        }
        at = end;
      }
    }
  }

  std::deque<Part> parts_;
  std::vector<Behaviour> functions_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace

void find_wrappers(std::span<Recording* const> recordings) {
  const auto set = [&](Recording& recording, std::unordered_set<std::string> names) {
    FrameRules rules = rules_of(recording);
    rules.set_wrappers(std::move(names));
    recording.frame_rules = std::make_shared<const FrameRules>(std::move(rules));
  };
  for (Recording* recording : recordings) {
    const FrameRules& rules = rules_of(*recording);
    if (!rules.finds_wrappers() || rules.shows_plumbing) return;
    set(*recording, {});
  }
  const std::unordered_set<std::string> names = WrapperFinder(recordings).names();
  for (Recording* recording : recordings) set(*recording, names);
}

}  // namespace geiger::profile
