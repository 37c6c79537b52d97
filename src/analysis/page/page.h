// A report page of a recording: all kinds of profiles, its facts, lifetimes, resident memory and
// leak verdicts.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/page/page_data.h"
#include "analysis/present/heading.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::page {

// A report page of a recording: all kinds of profiles with every property that distinguishes their
// samples, for one self-contained file (page_data.h) or for clients over HTTP.

/// The text of a source file by its path; nothing if it cannot be read.
using ReadSource = std::function<std::optional<std::string>(const std::string& path)>;

/// Two sides of runs, compared.
struct ComparedRuns {
  std::vector<std::string> before, after;  ///< The runs as the user named them.
  compare::Comparison tree;                ///< By stack, with callers (compare::Grouping).
  std::vector<compare::Comparison> tables;
};

struct PageOptions {
  double level = 0.95;  ///< In (0, 1).
  std::string version;  ///< geiger's.
  /// What part of the recording the page is about: window, heap and filters; the kind is
  /// every one. Its instants bound the timeline.
  profile::Selection selection = {};
  present::Scope scope = {};                ///< The selection in words.
  ReadSource read_source = {};              ///< Source lines; empty: none.
  const ComparedRuns* compared = nullptr;   ///< Also what changed.
  std::string title = {};                   ///< Empty: the program's name.
  std::optional<Nanoseconds> refresh = {};  ///< Until the page is to ask again.
  Preset preset = {};                       ///< What the page begins with.
  report::OtherAllocators allocators = {};  ///< As `geiger advise` has them.
  /// The recording is of hosts, not of processes, and has this kind alone: nothing is known of
  /// instants, threads and lives. Nothing: it has all that it can tell.
  std::optional<profile::Kind> only = {};
  /// The recording is a picture that follows a run: its end is now, and what such a picture
  /// cannot tell (the peak, where objects lie) is left out. What is live comes first.
  bool is_followed = false;
  /// Called with the number of finished parts of the work and of all parts; may be empty.
  std::function<void(std::size_t done, std::size_t total)> progress = {};
  /// Of the compressed document. What would be larger is made coarser (cells.h).
  std::size_t most_bytes = kMostBytes;

  /// With a template of 512 KiB a page of 4 MiB: base64 makes 4 characters of 3 bytes.
  static constexpr std::size_t kMostBytes = (4096 - 512) * 1024UL / 4 * 3;
};

/// The page of a recording. It must have its names (symbolize), and its stacks be trimmed. Equal
/// recordings give equal bytes.
[[nodiscard]] PageData page_of(const profile::Recording& recording, const PageOptions& options);

/// The page as the JSON document that pages read; compressed it has at most `most_bytes`.
[[nodiscard]] std::string page_data(const profile::Recording& recording,
                                    const PageOptions& options);

}  // namespace geiger::page
