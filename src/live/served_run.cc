// Requests read the run up to their own instant, so a profile is never older than its answer.
#include "live/served_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/export/pprof.h"
#include "analysis/page/page.h"
#include "analysis/present/format.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "analysis/report/profiles/live.h"
#include "analysis/report/profiles/table.h"
#include "base/clock.h"
#include "base/text.h"
#include "live/template_file.h"
#include "openmetrics/open_metrics.h"

namespace geiger::live {

// What is served to Prometheus: one set of metrics per process.

/// `processes`: those to report; `now`: of LiveOptions. `level`: of the intervals, in (0, 1).
[[nodiscard]] std::string served_metrics(const profile::Recording& picture,
                                         const std::vector<report::LiveProcess>& processes,
                                         Nanoseconds now, double level);

namespace {

openmetrics::Estimate estimate_of(const estimation::Estimate& estimate) {
  return {estimate.value, estimate.interval.lo, estimate.interval.hi};
}

openmetrics::Process metrics_of(const profile::Recording& picture,
                                const report::LiveProcess& process, report::LiveOptions options) {
  options.process = process.index;
  const report::LiveReport found = live_report(picture, {process}, options);
  openmetrics::Process metrics;
  metrics.labels = {{"pid", std::to_string(process.pid)}, {"program", process.name}};
  metrics.is_recording = process.state == "recording";
  metrics.live_bytes = estimate_of(found.live.bytes);
  metrics.live_objects = estimate_of(found.live.objects);
  metrics.allocated = found.exact_bytes;
  metrics.missing = found.unsettled;
  metrics.samples = found.samples;
  metrics.live_samples = found.live_samples;
  metrics.dropped = found.dropped;
  metrics.interval = found.interval;
  if (const auto& guarding = picture.processes[process.index].guarding; guarding.is_on) {
    metrics.guard_chosen = guarding.chosen;
    metrics.guarded = guarding.guarded();
  }
  if (found.resident != 0) metrics.resident = found.resident;
  return metrics;
}

}  // namespace

std::string served_metrics(const profile::Recording& picture,
                           const std::vector<report::LiveProcess>& processes, Nanoseconds now,
                           double level) {
  report::LiveOptions options;
  options.table.level = level;
  options.table.top = 1;
  options.now = now;
  std::vector<openmetrics::Process> all;
  for (const report::LiveProcess& process : processes) {
    all.push_back(metrics_of(picture, process, options));
  }
  return openmetrics::text_of(all, level, GEIGER_VERSION);
}

namespace {

using present::Quantity;
using serve::Response;

constexpr const char* kTemplate = "live.html";

std::string page_rows(const report::LiveReport& live) {
  std::string rows;
  for (const report::TableLine& line : live.table.lines) {
    rows +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    present::in_markup(figure(shown_bytes(line.self), Quantity::kBytes).text()),
                    present::in_markup(figure(shown_bytes(line.total), Quantity::kBytes).text()),
                    present::exact_count(line.self.samples), present::in_markup(line.name),
                    present::in_markup(line.detail));
  }
  return rows;
}

/// The policy in the head of a template, which names its script and style by their hashes.
std::string policy_in(std::string_view html) {
  constexpr std::string_view kBefore = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
  const std::size_t begin = html.find(kBefore);
  if (begin == html.npos) return "";
  html.remove_prefix(begin + kBefore.size());
  const std::string_view policy = html.substr(0, html.find('"'));
  const bool is_one_line = policy.find_first_of("\r\n") == policy.npos;
  return is_one_line && policy.starts_with("default-src 'none';") ? std::string(policy) : "";
}

}  // namespace

ServedTemplate read_served_template() {
  auto html = read_template(kTemplate);
  if (!html.has_value()) return {"", "", html.reason()};
  std::string policy = policy_in(html.value());
  if (policy.empty()) {
    return {"", "", fmt::format("share/geiger/{} is not a template of this version", kTemplate)};
  }
  return {std::move(html.value()), std::move(policy), ""};
}

Response page_of(const ServedTemplate& page) {
  // Which sites may show the page in a frame, which a policy inside the page cannot restrict.
  return {200,
          "text/html; charset=utf-8",
          page.html,
          {{"Content-Security-Policy", page.policy + "; frame-ancestors 'none'"}}};
}

Response plain_page(const std::string& shown, const report::LiveReport& live,
                    const std::string& note) {
  std::string body = fmt::format(
      "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=5>"
      "<meta name=viewport content='width=device-width'><title>geiger: {0}</title>"
      "<style>:root{{color-scheme:light dark}}body{{font:15px/1.5 system-ui,sans-serif;"
      "max-width:75em;margin:2em auto;padding:0 1em}}h1{{font-size:1.3em}}dl{{display:grid;"
      "grid-template-columns:max-content 1fr;gap:0 1.5em}}dd{{margin:0;font-variant-numeric:"
      "tabular-nums}}table{{border-collapse:collapse;width:100%}}td,th{{text-align:left;"
      "padding:.15em 1em .15em 0;font-variant-numeric:tabular-nums}}td{{border-top:1px solid "
      "#8884;overflow-wrap:anywhere}}</style><h1>{0}</h1>"
      "<dl><dt>live heap<dd>{1}<dt>RSS<dd>{2}<dt>allocated<dd>{3}, at most {4} more"
      "<dt>samples<dd>{5}, {6} of them live<dt>dropped<dd>{7}</dl>"
      "<p><a href='debug/pprof/'>/debug/pprof/</a> for go tool pprof, "
      "<a href='live.json'>live.json</a></p>"
      "<table><thead><tr><th>self<th>total<th>samples<th>function<th>module</thead><tbody>\n",
      present::in_markup(shown),
      present::in_markup(figure(shown_bytes(live.live), Quantity::kBytes).text()),
      live.resident == 0 ? "-" : present::exact_bytes(live.resident),
      present::exact_bytes(live.exact_bytes), present::exact_bytes(live.unsettled),
      present::exact_count(live.samples), present::exact_count(live.live_samples),
      present::exact_count(live.dropped));
  body += page_rows(live) + "</tbody></table>\n";
  if (!note.empty())
    body += fmt::format("<p>This is the plain page: {}</p>", present::in_markup(note));
  body += "</html>\n";
  return {200, "text/html; charset=utf-8", std::move(body), {}};
}

namespace {

using profile::Kind;
using profile::Profile;
using profile::Recording;
using serve::Request;
using serve::Response;

constexpr std::string_view kIndex = "/debug/pprof/";
constexpr unsigned kMostSeconds = 3600;
/// Between an answer to a page and its next question: at most a quarter of the time is work.
constexpr Nanoseconds kRefresh = 2'000'000'000;
constexpr Nanoseconds kRestPerAnswer = 3;
/// Less than what clients wait for: go tool pprof does so for a minute.
constexpr std::chrono::seconds kNamesPatience{30};

Response text_response(int status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n", {}};
}

std::string value_of(const Request& request, const std::string& name) {
  const auto value = request.values.find(name);
  return value == request.values.end() ? "" : value->second;
}

Response table_of(const Recording& recording, bool is_of_allocated, double level) {
  report::TableOptions options;
  options.by = profile::GroupBy::kStack;
  options.top = 0;
  options.level = level;
  const Kind kind = is_of_allocated ? Kind::kAllocated : Kind::kLiveAtEnd;
  const auto table = table_report(recording, profile::select(recording, kind), options);
  return text_response(200, to_text(table, present::Style{}));
}

report::LiveReport look_at(const FollowedRun& run, const Recording& picture, double level) {
  report::LiveOptions options;
  options.table.level = level;
  if (run.is_running()) options.now = base::monotonic_now();
  return live_report(picture, run.processes(picture), options);
}

}  // namespace

/// With all frames that are not hidden: clients have ways of their own to leave some out.
Response ServedRun::pprof_of(Recording recording, bool is_of_allocated,
                             std::string_view part) const {
  profile::FrameRules rules = *frames_.rules;
  rules.shows_plumbing = true;
  if (rules.leaves_out()) {
    recording.frame_rules = std::make_shared<const profile::FrameRules>(std::move(rules));
    profile::keep_shown_frames(recording);
  }
  const Profile allocated = profile::select(recording, Kind::kAllocated);
  const Profile live = profile::select(recording, Kind::kLiveAtEnd);
  exports::PprofOptions options;
  options.is_of_allocated = is_of_allocated;
  options.comments = exports::pprof_comments(recording, &allocated, live, level_, part);
  Response response{200, "application/octet-stream", "", {}};
  response.headers["Content-Disposition"] =
      fmt::format("attachment; filename=\"{}.pb.gz\"", is_of_allocated ? "allocs" : "heap");
  exports::write_pprof(recording, allocated, live, options,
                       [&](std::string_view bytes) { response.body += bytes; });
  return response;
}

void ServedRun::catch_up() {
  constexpr Bytes kAll = std::numeric_limits<Bytes>::max();
  run_.look(kAll);
}

void ServedRun::look() {
  const std::lock_guard lock(mutex_);
  catch_up();
}

/// With names, unless looking them up takes too long. Others are answered meanwhile.
Recording ServedRun::picture(std::unique_lock<std::mutex>& lock, follow::NamesOf names) {
  constexpr std::chrono::milliseconds kLookAgain{5};
  const auto latest = std::chrono::steady_clock::now() + kNamesPatience;
  catch_up();
  static_cast<void>(run_.picture());  // Starts looking for names.
  while (!run_.follower().await_names(names, {}) && !is_stopped_ &&
         std::chrono::steady_clock::now() < latest) {
    stopped_.wait_for(lock, kLookAgain);
  }
  Recording recording = run_.picture();
  recording.frame_rules = frames_.rules;
  return recording;
}

std::string ServedRun::words_on_names() const {
  const std::size_t missing = run_.follower().names_missing();
  if (missing == 0) return "";
  return present::plural(missing, "name") + " still being looked up";
}

void ServedRun::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  stopped_.notify_all();
}

Response ServedRun::answer(const Request& request) {
  if (request.path.empty()) return {308, "text/plain", "", {{"Location", "./"}}};
  if (request.path == "/") return page();
  if (request.path == "/data.json") return page_data();
  if (request.path == "/live.json") return data();
  if (request.path == "/metrics") return metrics();
  if (request.path == "/debug/pprof/heap") return heap(request, false);
  if (request.path == "/debug/pprof/allocs") return heap(request, true);
  if (request.path == kIndex) {
    return {200,
            "text/html; charset=utf-8",
            "<!doctype html><html lang=en><title>/debug/pprof/</title><h1>/debug/pprof/</h1><ul>"
            "<li><a href=heap>heap</a> live memory (<a href='heap?debug=1'>as text</a>)"
            "<li><a href=allocs>allocs</a> all allocations "
            "(<a href='allocs?debug=1'>as text</a>)</ul>"
            "<p>?seconds=N: only the next N seconds. <a href='../../'>The program</a></html>\n",
            {}};
  }
  if (request.path == "/debug/pprof") return {308, "text/plain", "", {{"Location", "pprof/"}}};
  return text_response(
      404,
      "not found; available: /, /data.json, /live.json, /metrics, /debug/pprof/heap, "
      "/debug/pprof/allocs");
}

Response ServedRun::heap(const Request& request, bool is_of_allocated) {
  const std::string seconds = value_of(request, "seconds");
  if (!seconds.empty()) {
    const auto number = base::number_in<unsigned>(seconds);
    if (!number || *number == 0 || *number > kMostSeconds) {
      return text_response(400, fmt::format("seconds must be a number from 1 to {}", kMostSeconds));
    }
    return over_time(*number, is_of_allocated);
  }
  std::unique_lock lock(mutex_);
  const std::string debug = value_of(request, "debug");
  const bool is_text = !debug.empty() && debug != "0";
  Recording recording = picture(lock, follow::NamesOf::kAllModules);
  return is_text ? table_of(recording, is_of_allocated, level_)
                 : pprof_of(std::move(recording), is_of_allocated, words_on_names());
}

/// What is allocated from now on for so long, and what of it lives then.
Response ServedRun::over_time(unsigned seconds, bool is_of_allocated) {
  std::unique_lock lock(mutex_);
  catch_up();
  if (run_.follower().has_aggregated()) {
    return text_response(501, "this recording is aggregated (--aggregate): it has no time windows");
  }
  const follow::Baseline before = run_.follower().baseline();
  stopped_.wait_for(lock, std::chrono::seconds(seconds), [this] { return is_stopped_; });
  static_cast<void>(picture(lock, follow::NamesOf::kAllModules));
  Recording since = run_.follower().picture_since(before);
  const std::string names = words_on_names();
  return pprof_of(std::move(since), is_of_allocated,
                  fmt::format("allocated in {} s; inuse_*: the part still live{}{}", seconds,
                              names.empty() ? "" : "; ", names));
}

Response ServedRun::data() {
  std::unique_lock lock(mutex_);
  const Recording recording = picture(lock, follow::NamesOf::kSmallModules);
  return {200, "application/json", to_json(look_at(run_, recording, level_), recording), {}};
}

/// Needs no names, so a scrape waits for none.
Response ServedRun::metrics() {
  const std::lock_guard lock(mutex_);
  catch_up();
  const Recording recording = run_.picture();
  const Nanoseconds now = run_.is_running() ? base::monotonic_now() : 0;
  return {200,
          openmetrics::kContentType,
          served_metrics(recording, run_.processes(recording), now, level_),
          {}};
}

/// What the page of the template shows; it asks again by itself.
Response ServedRun::page_data() {
  std::unique_lock lock(mutex_);
  const Nanoseconds began = base::monotonic_now();
  const Recording recording = picture(lock, follow::NamesOf::kSmallModules);
  page::PageOptions options;
  options.level = level_;
  options.version = GEIGER_VERSION;
  options.title = run_.shown();
  options.preset = frames_.preset;
  options.is_followed = true;
  // As rarely as the answers before were slow. An ended run does not change any more.
  if (run_.is_running()) options.refresh = std::max(kRefresh, kRestPerAnswer * page_cost_);
  Response response{200, "application/json", page::page_data(recording, options), {}};
  page_cost_ = base::monotonic_now() - began;
  return response;
}

Response ServedRun::page() {
  if (template_.is_built()) return page_of(template_);
  std::unique_lock lock(mutex_);
  const Recording recording = picture(lock, follow::NamesOf::kSmallModules);
  return plain_page(run_.shown(), look_at(run_, recording, level_), template_.missing);
}

}  // namespace geiger::live
