// Requests read the run up to their own instant, so a profile is never older than its answer.
#include "cli/served_run.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/export/pprof.h"
#include "analysis/profile/profile.h"
#include "analysis/report/format.h"
#include "analysis/report/live.h"
#include "analysis/report/measure.h"
#include "analysis/report/table.h"
#include "analysis/report/text.h"
#include "base/clock.h"

namespace geiger::cli {
namespace {

using profile::Kind;
using profile::Profile;
using profile::Recording;
using report::Quantity;
using serve::Request;
using serve::Response;

constexpr std::string_view kIndex = "/debug/pprof/";
constexpr unsigned kMostSeconds = 3600;

Response text_response(int status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n", {}};
}

/// Whatever the target wrote, as text of a page.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : report::printable(text)) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::optional<unsigned> number_in(const std::string& text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string value_of(const Request& request, const std::string& name) {
  const auto value = request.values.find(name);
  return value == request.values.end() ? "" : value->second;
}

std::string total_comment(std::string_view name, const Recording& recording, const Profile& profile,
                          double level) {
  const auto measure = report::measure_total(profile::total(recording, profile), level);
  return fmt::format("{}_space {} ({} interval, {})", name,
                     figure(measure.bytes, Quantity::kBytes).text(), report::level_text(level),
                     report::plural(measure.samples, "sample"));
}

Response pprof_of(const Recording& recording, bool is_of_allocated, double level,
                  std::string_view since) {
  const Profile allocated = profile::select(recording, Kind::kAllocated);
  const Profile live = profile::select(recording, Kind::kLiveAtEnd);
  exports::PprofOptions options;
  options.is_of_allocated = is_of_allocated;
  options.comments.push_back(fmt::format("estimated by geiger from samples{}", since));
  options.comments.push_back(total_comment("alloc", recording, allocated, level));
  options.comments.push_back(total_comment("inuse", recording, live, level));
  Response response{200, "application/octet-stream", "", {}};
  response.headers["Content-Disposition"] =
      fmt::format("attachment; filename=\"{}.pb.gz\"", is_of_allocated ? "allocs" : "heap");
  exports::write_pprof(recording, allocated, live, options,
                       [&](std::string_view bytes) { response.body += bytes; });
  return response;
}

Response table_of(const Recording& recording, bool is_of_allocated, double level) {
  report::TableOptions options;
  options.by = profile::GroupBy::kStack;
  options.top = 0;
  options.level = level;
  const Kind kind = is_of_allocated ? Kind::kAllocated : Kind::kLiveAtEnd;
  const auto table = table_report(recording, profile::select(recording, kind), options);
  return text_response(200, to_text(table, report::Style{}));
}

report::LiveReport page_report(const FollowedRun& run, const Recording& picture, double level) {
  report::LiveOptions options;
  options.table.level = level;
  if (run.is_running()) options.now = base::monotonic_now();
  return live_report(picture, run.processes(picture), options);
}

std::string page_rows(const report::LiveReport& live) {
  std::string rows;
  for (const report::TableLine& line : live.table.lines) {
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        escaped(figure(shown_bytes(line.self), Quantity::kBytes).text()),
                        escaped(figure(shown_bytes(line.total), Quantity::kBytes).text()),
                        report::exact_count(line.self.samples), escaped(line.name),
                        escaped(line.detail));
  }
  return rows;
}

}  // namespace

void ServedRun::catch_up() {
  constexpr Bytes kAll = std::numeric_limits<Bytes>::max();
  run_.look(kAll);
}

void ServedRun::look() {
  const std::lock_guard lock(mutex_);
  catch_up();
}

Recording ServedRun::picture() {
  catch_up();
  static_cast<void>(run_.follower().picture());  // Starts looking for names.
  run_.follower().await_names();
  return run_.follower().picture();
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
  if (request.path == "/live.json") return data();
  if (request.path == "/debug/pprof/heap") return heap(request, false);
  if (request.path == "/debug/pprof/allocs") return heap(request, true);
  if (request.path == kIndex) {
    return {200,
            "text/html; charset=utf-8",
            "<!doctype html><html lang=en><title>/debug/pprof/</title><h1>/debug/pprof/</h1><ul>"
            "<li><a href=heap>heap</a> what is live (<a href='heap?debug=1'>as text</a>)"
            "<li><a href=allocs>allocs</a> what was allocated "
            "(<a href='allocs?debug=1'>as text</a>)</ul>"
            "<p>?seconds=N: of the next N seconds only. <a href='../../'>The program</a></html>\n",
            {}};
  }
  if (request.path == "/debug/pprof") return {308, "text/plain", "", {{"Location", "pprof/"}}};
  return text_response(404,
                       "there is nothing here: /, /live.json, /debug/pprof/heap, "
                       "/debug/pprof/allocs");
}

Response ServedRun::heap(const Request& request, bool is_of_allocated) {
  const std::string seconds = value_of(request, "seconds");
  if (!seconds.empty()) {
    const auto number = number_in(seconds);
    if (!number || *number == 0 || *number > kMostSeconds) {
      return text_response(400, fmt::format("seconds is a number from 1 to {}", kMostSeconds));
    }
    return over_time(*number, is_of_allocated);
  }
  const std::lock_guard lock(mutex_);
  const std::string debug = value_of(request, "debug");
  const bool is_text = !debug.empty() && debug != "0";
  const Recording recording = picture();
  return is_text ? table_of(recording, is_of_allocated, level_)
                 : pprof_of(recording, is_of_allocated, level_, "");
}

/// What is allocated from now on for so long, and what of it lives then.
Response ServedRun::over_time(unsigned seconds, bool is_of_allocated) {
  std::unique_lock lock(mutex_);
  catch_up();
  if (run_.follower().has_aggregated()) {
    return text_response(501,
                         "samples are only counted in this program (--aggregate): there is "
                         "no stretch of time of it");
  }
  const follow::Baseline before = run_.follower().baseline();
  stopped_.wait_for(lock, std::chrono::seconds(seconds), [this] { return is_stopped_; });
  static_cast<void>(picture());
  const Recording since = run_.follower().picture_since(before);
  return pprof_of(since, is_of_allocated, level_,
                  fmt::format(", allocated in {} s; inuse_*: what of it is live", seconds));
}

Response ServedRun::data() {
  const std::lock_guard lock(mutex_);
  const Recording recording = picture();
  return {200, "application/json", to_json(page_report(run_, recording, level_), recording), {}};
}

/// A page without scripts that loads itself again.
Response ServedRun::page() {
  const std::lock_guard lock(mutex_);
  const Recording recording = picture();
  const report::LiveReport live = page_report(run_, recording, level_);
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
      escaped(run_.shown()), escaped(figure(shown_bytes(live.live), Quantity::kBytes).text()),
      live.resident == 0 ? "-" : report::exact_bytes(live.resident),
      report::exact_bytes(live.exact_bytes), report::exact_bytes(live.unsettled),
      report::exact_count(live.samples), report::exact_count(live.live_samples),
      report::exact_count(live.dropped));
  body += page_rows(live) + "</tbody></table></html>\n";
  return {200, "text/html; charset=utf-8", std::move(body), {}};
}

}  // namespace geiger::cli
