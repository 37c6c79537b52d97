// What `geiger serve` answers: the profiles of a run as Go's net/http/pprof gives them, and a
// page.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/page/page_data.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/report/profiles/live.h"
#include "live/followed_run.h"
#include "serve/http_server.h"

namespace geiger::live {

// The page of `geiger serve`: what web/ builds, or a plain one where that was not built.

/// A page that loads data.json from the same folder.
struct ServedTemplate {
  std::string html;     ///< Empty: there is none.
  std::string policy;   ///< What it may load and run, as it says itself.
  std::string missing;  ///< Why there is none, and how to get one.

  [[nodiscard]] bool is_built() const { return !html.empty(); }
};

[[nodiscard]] ServedTemplate read_served_template();

/// The template, under its own content security policy only.
[[nodiscard]] serve::Response page_of(const ServedTemplate& page);
/// A page without scripts that loads itself again; `note` is its last line.
[[nodiscard]] serve::Response plain_page(const std::string& shown, const report::LiveReport& live,
                                         const std::string& note);

/// Which frames are shown.
struct ServedFrames {
  std::shared_ptr<const profile::FrameRules> rules;  ///< Of the page and of text.
  page::Preset preset;                               ///< What the page begins with.
};

/// Threads: any; one at a time reads the run.
class ServedRun {
 public:
  /// `level`: of all intervals, in (0, 1).
  ServedRun(FollowedRun run, double level, ServedFrames frames, ServedTemplate page)
      : run_(std::move(run)),
        level_(level),
        frames_(std::move(frames)),
        template_(std::move(page)) {}

  /// Reads new data, so that rotation deletes no segment unread. Call it at intervals.
  void look();
  [[nodiscard]] serve::Response answer(const serve::Request& request);
  /// Ends the waits of requests for a stretch of time.
  void stop();

 private:
  [[nodiscard]] serve::Response heap(const serve::Request& request, bool is_of_allocated);
  [[nodiscard]] serve::Response over_time(unsigned seconds, bool is_of_allocated);
  [[nodiscard]] serve::Response page();
  [[nodiscard]] serve::Response page_data();
  [[nodiscard]] serve::Response data();
  [[nodiscard]] serve::Response metrics();
  [[nodiscard]] profile::Recording picture(std::unique_lock<std::mutex>& lock,
                                           follow::NamesOf names);
  [[nodiscard]] serve::Response pprof_of(profile::Recording recording, bool is_of_allocated,
                                         std::string_view part) const;
  [[nodiscard]] std::string words_on_names() const;
  void catch_up();

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopped_ = false;
  FollowedRun run_;
  double level_;
  ServedFrames frames_;
  ServedTemplate template_;
  Nanoseconds page_cost_ = 0;  ///< Of the latest page data.
};

}  // namespace geiger::live
