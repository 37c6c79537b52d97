#include "analysis/report/allocators/allocators.h"

namespace geiger::report {
namespace {

using present::Fields;
using present::Of;

/// What is known of an allocator under which the program ran.
struct Compared {
  const AllocatorLine& line;
};

const Fields<Compared>& fields_of(Of<Compared> /*type*/) {
  static const auto kFields =
      Fields<Compared>()
          .field("cpu_seconds", "mean", [](const Compared& it) { return it.line.cpu; })
          .field("cpu_of_own", "ratio to the program's own",
                 [](const Compared& it) { return it.line.cpu_ratio; })
          .field("peak_rss", "mean", [](const Compared& it) { return it.line.peak; })
          .field("peak_rss_of_own", "ratio to the program's own",
                 [](const Compared& it) { return it.line.peak_ratio; })
          .field("takes_less_cpu", "beyond chance, all comparisons together",
                 [](const Compared& it) { return it.line.takes_less_cpu; })
          .field("takes_less_memory", "beyond chance, all comparisons together",
                 [](const Compared& it) { return it.line.takes_less_memory; })
          .field("is_own_too", "it is the program's own allocator",
                 [](const Compared& it) { return present::if_true(it.line.runs.is_own_too, true); })
          .field("kept", "overhead, caches and free memory at the largest RSS",
                 [](const Compared& it) { return it.line.runs.memory.kept; })
          .field("stranded", "free, but held by live objects of its page",
                 [](const Compared& it) { return it.line.runs.memory.stranded; })
          .field("runs", "", [](const Compared& it) { return it.line.runs.trials; });
  return kFields;
}

}  // namespace

static const Fields<AllocatorTrial>& fields_of(Of<AllocatorTrial> /*type*/) {
  static const auto kFields =
      Fields<AllocatorTrial>("allocator_run")
          .field("cpu_seconds", "user and system", &AllocatorTrial::cpu)
          .field("peak_rss", "the largest of its processes", &AllocatorTrial::peak);
  return kFields;
}

static const Fields<AllocatorLine>& fields_of(Of<AllocatorLine> /*type*/) {
  static const auto kFields =
      Fields<AllocatorLine>("allocator")
          .field("name", "", [](const AllocatorLine& it) { return it.runs.name; })
          .field("version", "empty: not known",
                 [](const AllocatorLine& it) { return it.runs.version; })
          .field("path", "empty: the program's own",
                 [](const AllocatorLine& it) { return it.runs.path; })
          .field("is_own", "the program's own",
                 [](const AllocatorLine& it) { return it.runs.path.empty(); })
          .field("fault", "why it is left out; then it has no figures",
                 [](const AllocatorLine& it) {
                   return present::if_true(!it.runs.fault.empty(), it.runs.fault);
                 })
          .inlined([](const AllocatorLine& it) {
            return present::if_true(it.runs.fault.empty(), Compared{it});
          });
  return kFields;
}

const Fields<AllocatorsReport>& fields_of(Of<AllocatorsReport> /*type*/) {
  static const auto kFields =
      Fields<AllocatorsReport>("compare-malloc")
          .field("level", "confidence level of all intervals", &AllocatorsReport::level)
          .field("program", "as typed", &AllocatorsReport::program)
          .field("rounds", "runs under each allocator", &AllocatorsReport::rounds)
          .field("ending", "how every run failed",
                 [](const AllocatorsReport& it) {
                   return present::if_true(!it.ending.empty(), it.ending);
                 })
          .field("allocators", "the program's own first", &AllocatorsReport::lines);
  return kFields;
}

std::string to_json(const AllocatorsReport& report) {
  return present::document("compare-malloc", report);
}

}  // namespace geiger::report
