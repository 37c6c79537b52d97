#include "live/served_page.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "analysis/present/format.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/report/profiles/table.h"
#include "live/template_file.h"

namespace geiger::live {
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

}  // namespace geiger::live
