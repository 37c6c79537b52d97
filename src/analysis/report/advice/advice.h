// `advise`: what to change in a program, and what that saves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/advice/advice.h"
#include "analysis/advice/pair_times.h"
#include "analysis/present/fields.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::report {

/// An allocator under which the program surely takes less.
struct OtherAllocator {
  std::string name;  ///< "mimalloc 2.0.9".
  std::string path;
  std::string saving;  ///< "Saves 8 % [6, 11] of 5.1 s of processor time, and takes ...".
  estimation::Estimate cpu_ratio, peak_ratio;  ///< To those of the program's own.
};

/// What `geiger compare-malloc` found of the program.
struct OtherAllocators {
  std::string why_not = "no comparison is stored: run geiger compare-malloc";  ///< Empty: one is.
  std::string program = {};                                                    ///< As typed.
  std::size_t rounds = 0;
  std::vector<std::string> compared = {};
  std::vector<OtherAllocator> better = {};
};

struct AdviceReport {
  advice::Findings findings;
  OtherAllocators allocators = {};
  advice::PairTimes pairs = {};  ///< Of the allocator of the program.
  Nanoseconds ran = 0;           ///< From the first start to the last end.
  profile::ProcessorTime processor_time = {};
  std::size_t top = 20;  ///< Items to show; 0: all.
};

/// The share of its whole that a saving surely is, for the end of a run to speak of it.
inline constexpr double kLargeSaving = 0.25;

[[nodiscard]] AdviceReport advice_report(const profile::Recording& recording,
                                         const advice::Options& options);

/// "parse_rows (parser.cc:88)".
[[nodiscard]] std::string site_text(const advice::Item& item);
/// What to do, a sentence: "The vector grows by copying: call reserve() before it is filled."
[[nodiscard]] std::string todo_text(const advice::Item& item);
[[nodiscard]] std::string todo_text(const OtherAllocator& allocator);
/// "310 MiB ± 20, 19 % ± 2 of what was allocated, in 12.1 k ± 0.4 k allocations (8 % ± 1)".
[[nodiscard]] std::string saving_text(const advice::Item& item);
/// The processor time of the allocations that it saves; nothing if that is not known.
[[nodiscard]] std::optional<estimation::Estimate> seconds_of(const AdviceReport& report,
                                                             const advice::Item& item);
/// The item of memory with the largest share in one line, for the end of a run; empty without. Of
/// allocations a large share may take a few milliseconds: they do not belong there.
[[nodiscard]] std::string clause(const AdviceReport& report);

/// Whether a saving that was advised is there in a later run.
enum class Followed : std::uint8_t {
  kTaken,   ///< Less than a tenth of it is left.
  kPartly,  ///< It is smaller.
  kOpen,    ///< It may be as large as before.
};

/// An advice for one run, and what is left of it in a later one.
struct FollowedAdvice {
  advice::Item item;
  present::Measure before, after;  ///< What it would save: all lines of the function.
  [[nodiscard]] Followed verdict() const;
};

/// What became of the advice for the run before. All intervals hold together at `level`.
[[nodiscard]] std::vector<FollowedAdvice> followed_advice(const profile::Recording& before,
                                                          const profile::Recording& after,
                                                          double level);
/// "growth by copying at parse_rows (parser.cc:88): 310 MiB ± 20 before, < 1.2 MiB after: taken".
[[nodiscard]] std::string text_of(const FollowedAdvice& followed);
[[nodiscard]] const present::Fields<FollowedAdvice>& fields_of(
    present::Of<FollowedAdvice> /*type*/);

[[nodiscard]] std::string to_text(const AdviceReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const AdviceReport& report);
[[nodiscard]] const present::Fields<AdviceReport>& fields_of(present::Of<AdviceReport> /*type*/);

}  // namespace geiger::report
