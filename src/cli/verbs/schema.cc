// `geiger schema`: what `--json` prints, for programs that read it.
#include <CLI/CLI.hpp>

#include "analysis/page/page_data.h"
#include "analysis/present/fields.h"
#include "analysis/profile/frames/frame_rules.h"
#include "analysis/report/advice/advice.h"
#include "analysis/report/allocators/allocators.h"
#include "analysis/report/compare/check.h"
#include "analysis/report/compare/diff.h"
#include "analysis/report/faults/faults.h"
#include "analysis/report/fleet/cost.h"
#include "analysis/report/fleet/series.h"
#include "analysis/report/holders/holders.h"
#include "analysis/report/lives/leaks.h"
#include "analysis/report/lives/lifetimes.h"
#include "analysis/report/overview/doctor.h"
#include "analysis/report/overview/rss.h"
#include "analysis/report/overview/summary.h"
#include "analysis/report/plan/plan.h"
#include "analysis/report/profiles/live.h"
#include "analysis/report/profiles/marks.h"
#include "analysis/report/profiles/stats.h"
#include "analysis/report/profiles/table.h"
#include "analysis/report/profiles/tree.h"
#include "cli/verbs/commands.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

using present::document_schema;

template <typename Report>
present::DocumentSchema of(std::string_view report) {
  return document_schema<present::InRecording<Report>>(report);
}

std::string schema_of_reports() {
  return present::schema_of({
      of<report::SummaryReport>("summary"),
      of<report::TableReport>("table"),
      document_schema<report::TreeReport>("tree"),
      of<report::StatsReport>("stats"),
      of<report::RssReport>("rss"),
      of<report::MarksReport>("marks"),
      of<report::DoctorReport>("doctor"),
      document_schema<report::PlanReport>("plan"),
      estimate_schema(),
      document_schema<report::AllocatorsReport>("compare-malloc"),
      of<report::FaultsReport>("faults"),
      of<report::HoldersReport>("holders"),
      document_schema<report::AdviceReport>("advise"),
      of<report::LiveReport>("live"),
      of<report::LifetimesReport>("lifetimes"),
      of<report::LeaksReport>("leaks"),
      document_schema<report::DiffReport>("diff"),
      document_schema<report::CheckReport>("check"),
      ctl_schema(),
      fleet_list_schema(),
      fleet_services_schema(),
      fleet_doctor_schema(),
      fleet_symbolize_schema(),
      fleet_maintain_schema(),
      fleet_remove_schema(),
      document_schema<report::SeriesReport>("fleet-series"),
      document_schema<report::CostReport>("fleet-cost"),
  });
}

}  // namespace

void register_schema(CLI::App& app, Work& work) {
  CLI::App* verb = app.add_subcommand("schema", "Print the JSON Schema of what --json prints");
  auto is_page = std::make_shared<bool>(false);
  verb->add_flag("--page", *is_page, "Of `report --json` instead, the document that pages read");
  auto is_rules = std::make_shared<bool>(false);
  verb->add_flag("--rules", *is_rules,
                 "Instead, the rules that classify frames and are built in:\nwhat `--rules FILE` "
                 "of other verbs reads");
  verb->callback([&work, is_page, is_rules] {
    work = [is_page, is_rules]() -> base::Outcome<int> {
      const std::string text = *is_rules  ? profile::kBuiltInRules
                               : *is_page ? page::schema()
                                          : schema_of_reports();
      return terminal::print_data(text) ? kExitOk : kExitFailed;
    };
  });
}

}  // namespace geiger::cli
