#include "analysis/report/advice/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/recording_words.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/select/totals.h"
#include "base/text.h"

namespace geiger::report {

namespace {

using advice::Advice;
using advice::Findings;
using advice::Item;

/// The words of one kind of advice. {0}: the container; {1}: its remedy; {2}, {3}: sizes.
struct Words {
  Advice advice;
  std::string_view todo;
};

constexpr Words kWords[] = {
    {Advice::kReserve, "The {0} grows by copying: {1}."},
    {Advice::kReuse,
     "These blocks are freed within 1 ms by the thread that made them: keep one, and use it "
     "again."},
    {Advice::kPeak,
     "These objects live only for a short time around the peak: free them earlier, or do the work "
     "in "
     "smaller parts."},
    {Advice::kUntouched,
     "These bytes were never touched: allocate less, or only when it is needed. Until then they "
     "take only address space."},
    {Advice::kBlank,
     "These objects contain only zeros: allocate them when there is something to store."},
    {Advice::kDuplicate, "Objects with equal content: keep one of each, and share it."},
    {Advice::kPool,
     "Objects of {2} take {3} each and are freed together: an arena needs no header and no "
     "rounding "
     "for each."},
    {Advice::kRounding, "Objects of {2} take blocks of {3}: make them smaller, or use the rest."},
};

std::string_view whole_text(advice::Of of) {
  constexpr std::string_view kTexts[] = {"what was allocated", "the heap at the peak",
                                         "the heap at the largest RSS",
                                         "the heap whose content was read"};
  return kTexts[static_cast<std::size_t>(of)];
}

std::string_view section_text(advice::Of of) {
  return of == advice::Of::kAllocated ? "Fewer allocations" : "Less memory";
}

/// Whether the upper limit of the allocations says something.
bool knows_calls(const Item& item) {
  constexpr double kFar = 10;
  const estimation::Interval& calls = item.saved.objects.interval;
  return calls.hi <= kFar * calls.lo;
}

}  // namespace

AdviceReport advice_report(const profile::Recording& recording, const advice::Options& options) {
  return {.findings = advice::find_advice(recording, options),
          .ran = profile::duration_of(recording),
          .processor_time = profile::processor_time_of(recording)};
}

std::string site_text(const Item& item) {
  const std::string name = present::printable(naming::display_name(item.name));
  const std::string where = text_of(item.where);
  const std::string beside = where.empty() ? item.module : where;
  return beside.empty() ? name : fmt::format("{} ({})", name, present::printable(beside));
}

std::string todo_text(const Item& item) {
  if (item.lost == advice::Lost::kUnreachable) {
    return "Most of these objects are unreachable: free them; geiger leaks names what lost them.";
  }
  if (item.lost == advice::Lost::kListed) {
    return present::as_sentence(
        fmt::format("most of these objects are garbage; {}", present::kCollectorRemedy));
  }
  const auto* const words = std::ranges::find(kWords, item.advice, &Words::advice);
  return fmt::format(fmt::runtime(words->todo), item.container, item.remedy,
                     present::exact_bytes(item.requested), present::exact_bytes(item.usable));
}

std::string todo_text(const OtherAllocator& allocator) {
  return fmt::format("Link the program with it, or preload {}.", allocator.path);
}

std::string saving_text(const Item& item) {
  const advice::Of of = rules_of(item.advice).of;
  const std::string bytes = fmt::format(
      "{}, {} of {}", present::figure(item.saved.bytes, present::Quantity::kBytes).text(),
      present::figure(item.share).text(), whole_text(of));
  if (of != advice::Of::kAllocated) return bytes;
  if (!knows_calls(item)) {
    return fmt::format(
        "{}, in at least {}", bytes,
        present::plural(present::whole_number(item.saved.objects.interval.lo), "allocation"));
  }
  return fmt::format("{}, in {} allocations ({})", bytes,
                     present::figure(item.saved.objects, present::Quantity::kObjects).text(),
                     present::figure(item.call_share).text());
}

std::optional<estimation::Estimate> seconds_of(const AdviceReport& report, const Item& item) {
  const bool is_known = rules_of(item.advice).of == advice::Of::kAllocated &&
                        report.pairs.is_known() && knows_calls(item) && !item.calls.empty();
  if (!is_known) return std::nullopt;
  return report.pairs.seconds(item.saved.objects, item.calls);
}

std::string clause(const AdviceReport& report) {
  const Item* largest = nullptr;
  for (const Item& item : report.findings.items) {
    if (rules_of(item.advice).of == advice::Of::kAllocated) continue;
    if (largest == nullptr || item.share.interval.lo > largest->share.interval.lo) largest = &item;
  }
  if (largest == nullptr) return "";
  const bool is_lost = largest->lost != advice::Lost::kNot;
  return fmt::format("{} at {}: {}; see geiger advise",
                     is_lost ? "objects that can be freed" : rules_of(largest->advice).waste,
                     site_text(*largest), saving_text(*largest));
}

namespace {

std::string seconds_text(const AdviceReport& report, const Item& item) {
  const auto seconds = seconds_of(report, item);
  if (!seconds) return "";
  const auto text = [](double value) {
    return present::duration(present::whole_number(1e9 * value));
  };
  const std::string used = present::text_of(report.processor_time);
  return fmt::format("; about {} [{}, {}] of processor time for malloc and free, of {}",
                     text(seconds->value), text(seconds->interval.lo), text(seconds->interval.hi),
                     used.empty() ? "a run of " + present::duration(report.ran) : used + " in all");
}

/// A heading, and sentences below it.
std::string entry_text(std::size_t number, const std::string& heading,
                       const std::vector<std::string>& sentences, const present::Style& style) {
  constexpr std::size_t kIndent = 3;
  std::string out = fmt::format("{:<2} {}\n", number, heading);
  for (const std::string& sentence : sentences) {
    out += std::string(kIndent, ' ') + present::wrap(sentence, kIndent, style.width) + "\n";
  }
  return out;
}

std::string owner_text(const Item& item) {
  if (item.owner.empty()) return "";
  return fmt::format(" Most of it comes from {}, in {} of {} stacks.",
                     present::printable(naming::display_name(item.owner)), item.owned_stacks,
                     item.stacks);
}

std::string item_text(std::size_t number, const AdviceReport& report, const present::Style& style) {
  const Item& item = report.findings.items[number];
  constexpr std::size_t kIndent = 3;
  const std::string callers =
      item.callers.empty() ? "" : "< " + present::callers_text(item.callers, style);
  const std::string site = site_text(item);
  const std::size_t room = style.width - kIndent;
  std::string tail = present::tail_within(callers, room, present::columns_of(site));
  // A line of its own: of a library's function they are what the program's author knows.
  if (tail.empty() && !callers.empty()) tail = "\n " + present::tail_within(callers, room, 0);
  return entry_text(number + 1, present::paint(style, present::Role::kHeading, site) + tail,
                    {todo_text(item) + owner_text(item),
                     fmt::format("Saves {}{}.", saving_text(item), seconds_text(report, item))},
                    style);
}

std::string allocator_text(std::size_t number, const OtherAllocator& better,
                           const present::Style& style) {
  return entry_text(number,
                    present::paint(style, present::Role::kHeading, present::printable(better.name)),
                    {present::printable(todo_text(better)), better.saving}, style);
}

std::string advice_heading(const AdviceReport& report) {
  const Findings& findings = report.findings;
  const advice::Options& options = findings.options;
  const std::string share = present::level_text(options.least_share);
  const std::size_t places = findings.items.size(), others = report.allocators.better.size();
  if (places + others == 0) {
    return fmt::format(
        "Found nothing that surely saves at least {0} and {1} of memory, or {0} and {2} of the "
        "allocations.",
        share, present::exact_bytes(options.least_bytes),
        present::exact_count(options.least_calls));
  }
  std::vector<std::string> found;
  if (places != 0) found.push_back(present::plural(places, "place") + " to change");
  if (others != 0) found.push_back(present::plural(others, "other allocator") + " to try");
  return fmt::format("{}. {} surely saves at least {} of memory, allocations or processor time.",
                     fmt::join(found, " and "), places + others == 1 ? "It" : "Each", share);
}

constexpr std::string_view kOtherAllocator = "another allocator";

std::vector<std::string_view> not_found_in(const AdviceReport& report) {
  std::vector<std::string_view> wastes;
  for (const Advice each : report.findings.not_found) wastes.push_back(rules_of(each).waste);
  const OtherAllocators& other = report.allocators;
  if (other.why_not.empty() && other.better.empty()) wastes.push_back(kOtherAllocator);
  return wastes;
}

std::vector<advice::NotLooked> not_looked_for_in(const AdviceReport& report) {
  std::vector<advice::NotLooked> wastes = report.findings.not_looked_for;
  const std::string& why_not = report.allocators.why_not;
  if (!why_not.empty()) wastes.push_back({std::string(kOtherAllocator), why_not});
  return wastes;
}

/// What was not found, what the list rests on, and what it cannot say: sentences.
std::vector<std::string> advice_notes(const AdviceReport& report) {
  const Findings& findings = report.findings;
  std::vector<std::string> notes;
  if (const auto not_found = not_found_in(report); !not_found.empty()) {
    notes.push_back(fmt::format("Looked for and not found: {}.", fmt::join(not_found, ", ")));
  }
  std::vector<std::pair<std::string, std::string>> missed;  // By reason, in order.
  for (const advice::NotLooked& each : not_looked_for_in(report)) {
    const bool is_same = !missed.empty() && missed.back().first == each.reason;
    if (!is_same) missed.emplace_back(each.reason, "");
    missed.back().second += (is_same ? ", " : "") + each.waste;
  }
  for (const auto& [reason, wastes] : missed) {
    notes.push_back(fmt::format("Not looked for: {} ({}).", wastes, present::printable(reason)));
  }
  if (report.pairs.is_known()) {
    notes.push_back(fmt::format(
        "Times: malloc and free of {} were timed on this machine just now, with the blocks in the "
        "processor's cache.",
        present::printable(base::file_name_of(report.pairs.allocator))));
  } else if (!report.pairs.fault.empty()) {
    notes.push_back(
        fmt::format("Not timed: malloc and free ({}).", present::printable(report.pairs.fault)));
  }
  if (findings.looked_at > 0) {
    notes.push_back(fmt::format(
        "The probability that any of these intervals is wrong is at most {}: {} judged, each "
        "interval is wrong with probability at most {}.",
        present::level_text(1 - findings.options.level),
        present::plural(findings.looked_at, "place") + (findings.looked_at == 1 ? " was" : " were"),
        present::probability(1 - findings.level)));
  }
  if (const OtherAllocators& other = report.allocators; other.why_not.empty()) {
    notes.push_back(fmt::format(
        "The program's allocator was compared with {} in {} of {}. The probability that any of "
        "them saves less than its interval says is at most {}.",
        present::printable(fmt::format("{}", fmt::join(other.compared, ", "))),
        present::plural(other.rounds, "round"), present::printable(other.program),
        present::level_text(1 - findings.options.level)));
  }
  return notes;
}

}  // namespace

std::string to_text(const AdviceReport& report, const present::Style& style) {
  const auto& items = report.findings.items;
  std::string out = present::wrap_lines(advice_heading(report) + "\n", style.width);
  const std::size_t shown = report.top == 0 ? items.size() : std::min(items.size(), report.top);
  std::string_view section;
  for (std::size_t i = 0; i < shown; ++i) {
    if (const auto next = section_text(rules_of(items[i].advice).of); next != section) {
      section = next;
      out += "\n" + present::paint(style, present::Role::kHeading, section) + "\n";
    }
    out += item_text(i, report, style);
  }
  if (shown < items.size())
    out += fmt::format("{} more; --top 0 shows all.\n", items.size() - shown);
  const OtherAllocators& other = report.allocators;
  if (!other.better.empty()) {
    out += "\n" + present::paint(style, present::Role::kHeading, "Another allocator") + "\n";
  }
  for (std::size_t i = 0; i < other.better.size(); ++i) {
    out += allocator_text(items.size() + i + 1, other.better[i], style);
  }
  std::string notes;
  for (const std::string& note : advice_notes(report)) notes += note + "\n";
  return out + "\n" +
         present::paint(style, present::Role::kFaint, present::wrap_lines(notes, style.width));
}

}  // namespace geiger::report

namespace geiger::present {

using advice::Item;
using advice::NotLooked;

static const Fields<Item>& fields_of(Of<Item> /*type*/) {
  static const auto kFields =
      Fields<Item>()
          .field("advice", "", [](const Item& it) { return name_of(it.advice); })
          .one_of(texts_of<advice::Advice>([](advice::Advice each) { return name_of(each); }))
          .field("waste", "in words", [](const Item& it) { return rules_of(it.advice).waste; })
          .inlined([](const Item& it) {
            return Named{it.name, true};
          })
          .field("module", "", &Item::module)
          .inlined(&Item::where)
          .field("callers", "the nearest, \"b < c\", of the stack with most of it", &Item::callers)
          .field("owner",
                 "the function of own code that most of it comes from, if several stacks lead to "
                 "the place and it is not among `callers`",
                 [](const Item& it) { return if_true(!it.owner.empty(), it.owner); })
          .field("site", "\"parse_rows (parser.cc:88)\"",
                 [](const Item& it) { return report::site_text(it); })
          .field("lost",
                 "of most of its live objects, where what holds memory was looked for: they are to "
                 "be freed",
                 [](const Item& it) {
                   return if_true(it.lost != advice::Lost::kNot, name_of(it.lost));
                 })
          .one_of({"unreachable", "listed"})
          .field("todo", "what to do, a sentence",
                 [](const Item& it) { return report::todo_text(it); })
          .field("saving", "in words", [](const Item& it) { return report::saving_text(it); })
          .field("of", "what `share` is a share of",
                 [](const Item& it) { return name_of(rules_of(it.advice).of); })
          .one_of(texts_of<advice::Of>([](advice::Of each) { return name_of(each); }))
          .field("saved", "at `interval_level`", &Item::saved)
          .field("share", "of the bytes", &Item::share)
          .field("call_share", "of the allocations", [](const Item& it) {
            return if_true(rules_of(it.advice).of == advice::Of::kAllocated, it.call_share);
          });
  return kFields;
}

static const Fields<NotLooked>& fields_of(Of<NotLooked> /*type*/) {
  static const auto kFields = Fields<NotLooked>()
                                  .field("waste", "", &NotLooked::waste)
                                  .field("reason", "and what to do", &NotLooked::reason);
  return kFields;
}

}  // namespace geiger::present

namespace geiger::report {

using present::Fields;
using present::Of;

static const Fields<OtherAllocator>& fields_of(Of<OtherAllocator> /*type*/) {
  static const auto kFields =
      Fields<OtherAllocator>("other_allocator")
          .field("name", "with its version", &OtherAllocator::name)
          .field("path", "", &OtherAllocator::path)
          .field("todo", "what to do, a sentence",
                 [](const OtherAllocator& it) { return todo_text(it); })
          .field("saving", "in words, a sentence", &OtherAllocator::saving)
          .field("cpu_of_own", "ratio to the program's own", &OtherAllocator::cpu_ratio)
          .field("peak_rss_of_own", "ratio to the program's own", &OtherAllocator::peak_ratio);
  return kFields;
}

namespace {

struct ItemOf {
  const Item& it;
  const AdviceReport& report;
};

const Fields<ItemOf>& fields_of(Of<ItemOf> /*type*/) {
  static const auto kFields =
      Fields<ItemOf>("advised", "A place, what to do there, and what that saves.")
          .inlined([](const ItemOf& of) -> const Item& { return of.it; })
          .field("seconds",
                 "of processor time for the allocations that it saves, if that was timed",
                 [](const ItemOf& of) { return seconds_of(of.report, of.it); });
  return kFields;
}

}  // namespace

const Fields<AdviceReport>& fields_of(Of<AdviceReport> /*type*/) {
  static const auto kFields =
      Fields<AdviceReport>("advise")
          .field("sentence", "how much is advised", &advice_heading)
          .field("notes", "sentences: what was not found, not looked for, and what limits hold",
                 &advice_notes)
          .field("level", "that all intervals hold together",
                 [](const AdviceReport& it) { return it.findings.options.level; })
          .field("interval_level", "of each interval",
                 [](const AdviceReport& it) { return it.findings.level; })
          .field("looked_at", "places, once for each question",
                 [](const AdviceReport& it) { return it.findings.looked_at; })
          .field("least_share", "of its whole that a saving surely is",
                 [](const AdviceReport& it) { return it.findings.options.least_share; })
          .field("least_bytes", "that a saving surely is",
                 [](const AdviceReport& it) { return it.findings.options.least_bytes; })
          .field("timed",
                 "the allocator of which pairs of malloc and free were timed on this machine",
                 [](const AdviceReport& it) {
                   return present::if_true(it.pairs.is_known(), it.pairs.allocator);
                 })
          .field("ran_ns", "from the first start to the last end", &AdviceReport::ran)
          .inlined(&AdviceReport::processor_time)
          .field("items", "by what they are a share of, then by the lower limit of what they save",
                 [](const AdviceReport& it) {
                   std::vector<ItemOf> items;
                   for (const Item& item : it.findings.items) items.push_back({item, it});
                   return items;
                 })
          .field("not_found", "what was looked for and not found", &not_found_in)
          .field("not_looked_for", "what could not be looked for, and why", &not_looked_for_in)
          .field("other_allocators",
                 "those under which the program surely takes less (geiger compare-malloc)",
                 [](const AdviceReport& it) { return it.allocators.better; });
  return kFields;
}

Followed FollowedAdvice::verdict() const {
  constexpr double kLittle = 0.1;
  const double least = before.bytes.interval.lo, most = after.bytes.interval.hi;
  if (most <= kLittle * least) return Followed::kTaken;
  return most < least ? Followed::kPartly : Followed::kOpen;
}

std::vector<FollowedAdvice> followed_advice(const profile::Recording& before,
                                            const profile::Recording& after, double level) {
  const Findings findings = advice::find_advice(before, {.level = level});
  const auto was = advice::savings_of(before, findings.items, findings.level);
  const auto is = advice::savings_of(after, findings.items, findings.level);
  std::vector<FollowedAdvice> all;
  for (std::size_t i = 0; i < findings.items.size(); ++i) {
    all.push_back({findings.items[i], was[i], is[i]});
  }
  return all;
}

namespace {

std::string_view verdict_text(Followed verdict) {
  constexpr std::string_view kTexts[] = {"taken", "smaller", "not shown to be smaller"};
  return present::name_among(kTexts, verdict);
}

}  // namespace

std::string text_of(const FollowedAdvice& followed) {
  const auto bytes = [](const present::Measure& measure) {
    return present::figure(measure.bytes, present::Quantity::kBytes).text();
  };
  return fmt::format("{} at {}: {} before, {} after: {}", rules_of(followed.item.advice).waste,
                     site_text(followed.item), bytes(followed.before), bytes(followed.after),
                     verdict_text(followed.verdict()));
}

const Fields<FollowedAdvice>& fields_of(Of<FollowedAdvice> /*type*/) {
  static const auto kFields =
      Fields<FollowedAdvice>("followed_advice", "An advice for the run before, and what is left.")
          .field("advice", "", [](const FollowedAdvice& it) { return name_of(it.item.advice); })
          .one_of(present::texts_of<Advice>([](Advice each) { return name_of(each); }))
          .field("site", "", [](const FollowedAdvice& it) { return site_text(it.item); })
          .field("before", "what all lines of the function would save", &FollowedAdvice::before)
          .field("after", "the same", &FollowedAdvice::after)
          .field("verdict", "", [](const FollowedAdvice& it) { return verdict_text(it.verdict()); })
          .one_of(present::texts_of<Followed>(verdict_text))
          .field("text", "a line", [](const FollowedAdvice& it) { return text_of(it); });
  return kFields;
}

std::string to_json(const AdviceReport& report) { return present::document("advise", report); }

}  // namespace geiger::report
