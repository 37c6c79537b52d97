// `holders`: what keeps live memory alive, through which roots and blocks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/recording/recording.h"
#include "base/outcome.h"

namespace geiger::report {

struct HoldersOptions {
  profile::LifetimeGrouping by = profile::LifetimeGrouping::kFunction;
  std::size_t top = 10;  ///< Sites and roots listed; 0: all.
  double level = 0.95;
};

/// A part of what was judged.
struct HeldPart {
  profile::Hold hold = profile::Hold::kReached;
  std::string
      root;  ///< If reached: the variable, stack or mapping that the shortest chain begins at.
  std::string path;  ///< If reached: "block (48 B) ×3 -> Session"; empty: the root points to it.
  present::Measure live;
  present::Share share;  ///< Of the site.
  present::Share alone;  ///< Of this part, what no other root holds.
};

struct HeldSite {
  std::string name, detail;
  std::string where;  ///< "leaky.cc:11"; empty: not known.
  present::Measure live;
  std::vector<HeldPart> parts;  ///< The largest first.
};

struct HolderRoot {
  std::string name;
  present::Measure live;   ///< Of which a shortest chain begins at it.
  present::Measure alone;  ///< What could be freed without it: no other root holds it.
};

struct HoldersReport {
  HoldersOptions options;
  Nanoseconds time = 0;  ///< After the recording's start, of the last scan.
  std::uint32_t scans = 0;
  bool is_inferred = false;  ///< Where blocks begin was inferred, in one of the processes.
  Bytes unread = 0, not_understood = 0;
  std::uint64_t processes = 0;  ///< Scanned.
  present::Measure judged;      ///< Live in all scans.
  present::Measure others;      ///< Of the processes, what was live at the last one besides.
  /// Of what was judged, by Hold.
  std::array<present::Measure, profile::kHolds> holds{};
  std::array<present::Share, profile::kHolds> shares{};
  std::uint64_t all_sites = 0, all_roots = 0;  ///< Before `top`.
  std::vector<HeldSite> sites;                 ///< The largest first.
  std::vector<HolderRoot> roots;               ///< Likewise.
  std::vector<std::string> faults;             ///< Processes that could not be scanned, and why.

  [[nodiscard]] const present::Measure& of(profile::Hold hold) const {
    return holds[static_cast<std::size_t>(hold)];
  }
};

/// Fails if no process was scanned.
[[nodiscard]] base::Outcome<HoldersReport> holders_report(const profile::Recording& recording,
                                                          const HoldersOptions& options);

/// "SessionStore::open (leaky.cc:12): 93 % ± 3 of 55 MiB is held by g_sessions".
[[nodiscard]] std::string sentence(const HoldersReport& report);

[[nodiscard]] std::string to_text(const HoldersReport& report, const profile::Recording& recording,
                                  const present::Style& style);
[[nodiscard]] std::string to_json(const HoldersReport& report, const profile::Recording& recording);
[[nodiscard]] const present::Fields<present::InRecording<HoldersReport>>& fields_of(
    present::Of<present::InRecording<HoldersReport>> /*type*/);

}  // namespace geiger::report
