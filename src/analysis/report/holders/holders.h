// `holders`: what keeps live memory alive, through which roots and blocks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/lives/leaks.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/recording/recording.h"
#include "base/outcome.h"

namespace geiger::report {

struct HoldersOptions {
  profile::LifetimeGrouping by = profile::LifetimeGrouping::kFunction;
  std::size_t top = 10;  ///< Sites and roots listed; 0: all.
  double level = 0.95;
  profile::Keeps keeps = {};                            ///< Only these samples; empty: all.
  const profile::Suppressions* suppressions = nullptr;  ///< Stacks that one matches are left out.
};

/// A part of what was judged.
struct HeldPart {
  profile::Hold hold = profile::Hold::kReached;
  std::string
      root;  ///< If reached: the variable, stack or mapping that the shortest chain begins at.
  std::string path;  ///< If reached: "block (48 B) ×3 -> Session"; empty: the root points to it.
  bool is_path_cut = false;  ///< More blocks may be before the first of it.
  present::Measure live;
  std::uint64_t of_samples = 0;  ///< Of the site, those that were judged.
  present::Share share;          ///< Of the site.
  std::uint64_t alone_samples = 0;
  present::Share alone;  ///< Of this part, what no other root holds.
  std::string beside;    ///< A root that holds much of the rest; "": not known.
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

/// Objects of a type.
struct HeldType {
  std::string name;
  present::Measure live;
};

struct HoldersReport {
  HoldersOptions options;
  /// "SessionStore::open (leaky.cc:12): 93 % ± 3 of 55 MiB is held by g_sessions".
  std::string sentence;
  std::string process;   ///< The last one that was scanned: "sessions, pid 4612".
  Nanoseconds time = 0;  ///< After the recording's start, of the last scan.
  std::uint32_t scans = 0;
  bool is_inferred = false;  ///< Where blocks begin was inferred, in one of the processes.
  Bytes unread = 0, not_understood = 0;
  bool has_registers = false;          ///< Registers of threads were read, as roots.
  std::uint32_t unread_registers = 0;  ///< Of so many threads they could not be.
  std::uint64_t processes = 0;         ///< Scanned.
  present::Measure judged;             ///< Live in all scans.
  present::Measure unreachable;        ///< Of what was judged.
  present::Measure others;             ///< Of the processes, what was live at the last one besides.
  bool has_interpreter = false;        ///< CPython, in one of them.
  /// Of what was judged, by Hold.
  std::array<present::Measure, profile::kHolds> holds{};
  std::array<present::Share, profile::kHolds> shares{};
  std::uint64_t all_sites = 0, all_roots = 0;  ///< Before `top`.
  std::vector<HeldSite> sites;                 ///< The largest first.
  std::vector<HolderRoot> roots;               ///< Likewise.
  std::vector<HeldType> listed;     ///< What only CPython's collector lists, the largest first.
  std::vector<std::string> faults;  ///< Processes that could not be scanned, and why.

  [[nodiscard]] const present::Measure& of(profile::Hold hold) const {
    return holds[static_cast<std::size_t>(hold)];
  }
};

/// Of `samples` of `recording`, those that were scanned, by what holds them; the largest first.
/// `whole`: the same recording before it was cut, and `live` of it; `shown` is of either.
[[nodiscard]] std::vector<HeldPart> held_parts(const profile::Recording& recording,
                                               const profile::Recording& whole,
                                               const present::WholeSums& live,
                                               profile::ShownPath& shown,
                                               const std::vector<std::uint32_t>& samples,
                                               double level);

/// "unreachable: nothing points to it".
[[nodiscard]] std::string_view words_of(profile::Hold hold);
/// "unreferenced".
[[nodiscard]] std::string_view key_of(profile::Hold hold);
/// A variable as people call it.
[[nodiscard]] std::string shown_root(const std::string& root);
/// "open_session (sessions.cc:13)".
[[nodiscard]] std::string site_text(const HeldSite& site);
/// "held by g_sessions through block (64 B)", "unreachable: nothing points to it".
[[nodiscard]] std::string held_text(const HeldPart& part);
/// "93 % ± 3 held by g_sessions through block (64 B); other roots hold 20 % ± 4 of it too". Where
/// there are too few samples for a share, they are counted: "2 of 3 samples, held by g_sessions".
[[nodiscard]] std::string part_text(const HeldPart& part);

/// Fails if no process was scanned.
[[nodiscard]] base::Outcome<HoldersReport> holders_report(const profile::Recording& recording,
                                                          const HoldersOptions& options);

[[nodiscard]] std::string to_text(const HoldersReport& report, const profile::Recording& recording,
                                  const present::Style& style);
[[nodiscard]] std::string to_json(const HoldersReport& report, const profile::Recording& recording);
[[nodiscard]] const present::Fields<HeldPart>& fields_of(present::Of<HeldPart> /*type*/);
[[nodiscard]] const present::Fields<HeldSite>& fields_of(present::Of<HeldSite> /*type*/);
[[nodiscard]] const present::Fields<HoldersReport>& fields_of(present::Of<HoldersReport> /*type*/);
[[nodiscard]] const present::Fields<present::InRecording<HoldersReport>>& fields_of(
    present::Of<present::InRecording<HoldersReport>> /*type*/);

}  // namespace geiger::report
