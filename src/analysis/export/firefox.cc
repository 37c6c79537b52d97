// The tables of one thread of a Firefox profile: strings, functions, frames, stacks.
#include "analysis/export/firefox.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/export/shown_stacks.h"
#include "analysis/export/streams/sink.h"
#include "analysis/present/json.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/totals.h"
#include "base/check.h"
#include "base/index_of.h"
#include "estimation/rounding.h"

namespace geiger::exports {

/// Filled in order of first use by stacks, then written column by column.
class ThreadTables {
 public:
  ThreadTables(const profile::Recording& recording, present::Names names)
      : recording_(recording), names_(names), shown_(recording) {}

  /// The node of the stack table that a stack ends at.
  std::uint32_t node_of(std::uint32_t stack);

  /// The fields of the thread that hold tables.
  void write(present::JsonWriter& json, const Sink& sink);

 private:
  /// A frame below another one, or below none.
  struct StackNode {
    std::uint32_t prefix = profile::kNone;
    std::uint32_t frame = 0;
  };

  std::uint32_t string(const std::string& text);
  void collect_libraries();
  void write_frames(present::JsonWriter& json, const Sink& sink);
  void write_functions(present::JsonWriter& json, const Sink& sink);
  void write_resources(present::JsonWriter& json);
  void write_stacks(present::JsonWriter& json, const Sink& sink);

  const profile::Recording& recording_;
  present::Names names_;
  ShownStacks shown_;
  std::vector<StackNode> nodes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_;  ///< By prefix, frame.
  std::unordered_map<std::uint32_t, std::uint32_t> by_stack_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, std::uint32_t> string_ids_;
  std::map<std::uint32_t, std::uint32_t> resources_;  ///< By module.
  std::vector<std::uint32_t> libraries_;              ///< Modules, by resource.
};

namespace {

using present::JsonWriter;
using profile::kNone;

constexpr int kOnlyCategory = 0;
constexpr int kLibraryResource = 1;

void empty(JsonWriter& json, const char* column) { json.key(column).begin_array().end_array(); }
JsonWriter& null(JsonWriter& json) { return json.number(HUGE_VAL); }

template <typename Items, typename WriteItem>
void column(JsonWriter& json, const char* name, const Items& items, const Sink& sink,
            const WriteItem& write_item) {
  json.array(name, items, [&](const auto& item) {
    write_item(item);
    pass_on(json, sink);
  });
}

template <typename Items>
void nulls(JsonWriter& json, const char* name, const Items& items, const Sink& sink) {
  column(json, name, items, sink, [&](const auto&) { null(json); });
}

}  // namespace

std::uint32_t ThreadTables::node_of(std::uint32_t stack) {
  const auto known = by_stack_.find(stack);
  if (known != by_stack_.end()) return known->second;
  std::uint32_t node = kNone;
  for (const std::uint32_t frame : shown_.path_of(stack)) {
    node = base::index_of(known_, {node, frame}, nodes_, {node, frame});
  }
  return by_stack_[stack] = node;
}

void ThreadTables::write(JsonWriter& json, const Sink& sink) {
  collect_libraries();
  write_frames(json, sink);
  write_functions(json, sink);
  write_resources(json);
  write_stacks(json, sink);
  json.key("nativeSymbols").begin_object();
  for (const char* column : {"address", "functionSize", "libIndex", "name"}) empty(json, column);
  json.field("length", 0).end_object();
  json.array("stringArray", strings_, [&](const std::string& text) {
    json.string(text);
    pass_on(json, sink);
  });
}

std::uint32_t ThreadTables::string(const std::string& text) {
  return base::index_of(string_ids_, text, strings_);
}

void ThreadTables::collect_libraries() {
  for (const ShownFunction& function : shown_.functions()) {
    if (function.module >= recording_.modules.size()) continue;
    if (recording_.modules[function.module].kind == profile::ModuleKind::kSource) continue;
    base::index_of(resources_, function.module, libraries_);
  }
}

void ThreadTables::write_frames(JsonWriter& json, const Sink& sink) {
  const auto& frames = shown_.frames();
  json.key("frameTable").begin_object().field("length", frames.size());
  column(json, "address", frames, sink, [&](const ShownFrame& frame) {
    const bool is_mark = frame.location == kNone;
    if (is_mark || recording_.is_source(recording_.locations[frame.location])) {
      json.signed_integer(-1);
    } else {
      json.integer(recording_.locations[frame.location].vaddr);
    }
  });
  column(json, "inlineDepth", frames, sink,
         [&](const ShownFrame& frame) { json.integer(frame.inline_depth); });
  column(json, "category", frames, sink, [&](const auto&) { json.integer(kOnlyCategory); });
  column(json, "subcategory", frames, sink, [&](const auto&) { json.integer(0); });
  column(json, "func", frames, sink,
         [&](const ShownFrame& frame) { json.integer(frame.function); });
  nulls(json, "nativeSymbol", frames, sink);
  nulls(json, "innerWindowID", frames, sink);
  nulls(json, "implementation", frames, sink);
  column(json, "line", frames, sink, [&](const ShownFrame& frame) {
    if (frame.line == 0) {
      null(json);
    } else {
      json.integer(frame.line);
    }
  });
  nulls(json, "column", frames, sink);
  json.end_object();
}

void ThreadTables::write_functions(JsonWriter& json, const Sink& sink) {
  const auto& functions = shown_.functions();
  json.key("funcTable").begin_object().field("length", functions.size());
  column(json, "name", shown_.names_of_functions(names_), sink,
         [&](const std::string& name) { json.integer(string(name)); });
  column(json, "isJS", functions, sink, [&](const auto&) { json.boolean(false); });
  column(json, "relevantForJS", functions, sink, [&](const auto&) { json.boolean(false); });
  column(json, "resource", functions, sink, [&](const ShownFunction& function) {
    const auto known = resources_.find(function.module);
    json.signed_integer(known == resources_.end() ? -1 : static_cast<int>(known->second));
  });
  column(json, "fileName", functions, sink, [&](const ShownFunction& function) {
    if (function.file.empty()) {
      null(json);
    } else {
      json.integer(string(function.file));
    }
  });
  nulls(json, "lineNumber", functions, sink);
  nulls(json, "columnNumber", functions, sink);
  json.end_object();
}

void ThreadTables::write_resources(JsonWriter& json) {
  json.key("resourceTable").begin_object().field("length", libraries_.size());
  json.key("lib").begin_array();
  for (std::size_t i = 0; i < libraries_.size(); ++i) json.integer(libraries_[i]);
  json.end_array();
  json.array("name", libraries_, [&](const std::uint32_t module) {
    json.integer(string(std::string(profile::file_name_of(recording_.modules[module].path))));
  });
  json.key("host").begin_array();
  for (std::size_t i = 0; i < libraries_.size(); ++i) null(json);
  json.end_array().key("type").begin_array();
  for (std::size_t i = 0; i < libraries_.size(); ++i) json.integer(kLibraryResource);
  json.end_array().end_object();
}

void ThreadTables::write_stacks(JsonWriter& json, const Sink& sink) {
  json.key("stackTable").begin_object().field("length", nodes_.size());
  column(json, "frame", nodes_, sink, [&](const StackNode& node) { json.integer(node.frame); });
  column(json, "category", nodes_, sink, [&](const auto&) { json.integer(kOnlyCategory); });
  column(json, "subcategory", nodes_, sink, [&](const auto&) { json.integer(0); });
  column(json, "prefix", nodes_, sink, [&](const StackNode& node) {
    if (node.prefix == kNone) {
      null(json);
    } else {
      json.integer(node.prefix);
    }
  });
  json.end_object();
}

namespace {

using present::JsonWriter;
using profile::Process;
using profile::Recording;

/// The oldest form that is documented; later readers upgrade it by themselves.
constexpr int kProcessedVersion = 47;
constexpr int kGeckoVersion = 27;
constexpr double kNanosecondsPerMillisecond = 1e6;
/// Steps of a counter: what a screen is wide, several times over.
constexpr std::size_t kSteps = 4096;

/// What one process allocated and freed, in order of time.
struct Allocations {
  std::vector<Event> events;
  std::vector<std::int64_t> changes;  ///< Bytes of each event, negative for frees.
};

class FirefoxWriter {
 public:
  FirefoxWriter(const Recording& recording, const profile::Selection& part, present::Names names,
                const Sink& sink)
      : recording_(recording),
        names_(names),
        sink_(sink),
        start_(profile::start_of(recording)),
        lives_(lives_of(recording, part)) {
    allocations_.resize(recording.processes.size());
    number_processes();
    std::vector<double> bytes;
    for (const Life& life : lives_) bytes.push_back(life.bytes);
    const std::vector<std::int64_t> rounded = estimation::round_to_total(bytes);
    for (const Event& event : events_of(lives_)) {
      Allocations& own = allocations_[lives_[event.life].sample->process];
      own.events.push_back(event);
      own.changes.push_back(event.is_free ? -rounded[event.life] : rounded[event.life]);
    }
    choose_processes();
  }

  void write() {
    json_.begin_object();
    write_meta();
    write_libraries();
    json_.array("threads", shown_, [&](const std::uint32_t process) { write_thread(process); });
    json_.key("counters").begin_array();
    for (std::uint32_t thread = 0; thread < shown_.size(); ++thread) {
      write_heap_counter(thread);
      write_rss(thread);
    }
    json_.end_array().key("pages").begin_array().end_array().end_object();
    sink_(json_.take());
  }

 private:
  /// Programs that exec others keep their pid, which has to be of one process here.
  void number_processes() {
    std::map<std::uint32_t, std::uint32_t> images;
    for (const Process& process : recording_.processes) {
      const std::uint32_t image = images[process.pid]++;
      const std::string pid = std::to_string(process.pid);
      pids_.push_back(image == 0 ? pid : pid + "." + std::to_string(image));
    }
  }

  /// Shows the processes that have samples, as readers trip over empty ones; else the first
  /// process.
  void choose_processes() {
    for (std::uint32_t i = 0; i < allocations_.size(); ++i) {
      if (!allocations_[i].events.empty()) shown_.push_back(i);
    }
    if (shown_.empty() && !allocations_.empty()) shown_.push_back(0);
  }

  /// What was cut off before its first record has no end: no thread ends before it starts.
  [[nodiscard]] double end_of(const Process& process) const {
    return milliseconds(std::max(process.start, process.end));
  }

  [[nodiscard]] double milliseconds(Nanoseconds time) const {
    return static_cast<double>(time - std::min(time, start_)) / kNanosecondsPerMillisecond;
  }

  void write_meta() {
    const Process* first = first_process(recording_);
    const Nanoseconds realtime = first == nullptr ? 0 : first->start_realtime;
    const std::string product(profile::file_name_of(program_of(recording_)));
    json_.key("meta").begin_object();
    json_.field("interval", 1).field("processType", 0).field("stackwalk", 1).field("debug", 0);
    json_.field("startTime", static_cast<double>(realtime) / kNanosecondsPerMillisecond);
    json_.field("product", product).field("importedFrom", "geiger");
    json_.field("version", kGeckoVersion);
    json_.field("preprocessedProfileVersion", kProcessedVersion).field("symbolicated", true);
    json_.key("categories").begin_array().begin_object();
    json_.field("name", "Other").field("color", "grey");
    json_.key("subcategories").begin_array().string("Other").end_array();
    json_.end_object().end_array();
    json_.key("markerSchema").begin_array().end_array().end_object();
  }

  void write_libraries() {
    json_.array("libs", recording_.modules, [&](const profile::Module& module) {
      const std::string name(profile::file_name_of(module.path));
      json_.begin_object().field("arch", "").field("name", name).field("path", module.path);
      json_.field("debugName", name).field("debugPath", module.path).field("breakpadId", "");
      json_.field("codeId", module.build_id).end_object();
    });
  }

  void write_thread(std::uint32_t index) {
    const Process& process = recording_.processes[index];
    const std::string name(profile::program_name(process));
    json_.begin_object().field("name", name).field("processName", name);
    json_.field("processType", "default").field("isMainThread", true);
    json_.field("pid", pids_[index]).field("tid", pids_[index]);
    json_.field("processStartupTime", milliseconds(process.start));
    json_.field("registerTime", milliseconds(process.start));
    json_.field("processShutdownTime", end_of(process));
    json_.field("unregisterTime", end_of(process));
    json_.key("pausedRanges").begin_array().end_array();
    ThreadTables tables(recording_, names_);
    write_no_samples(process);
    write_allocations(allocations_[index], tables);
    tables.write(json_, sink_);
    json_.end_object();
  }

  /// A thread has to have samples and markers; the first and last time are its start and end.
  void write_no_samples(const Process& process) {
    json_.key("samples").begin_object().field("length", 2).field("weightType", "samples");
    json_.key("stack").begin_array().number(HUGE_VAL).number(HUGE_VAL).end_array();
    json_.key("time").begin_array();
    json_.number(milliseconds(process.start)).number(end_of(process)).end_array();
    json_.key("weight").number(HUGE_VAL).end_object();
    json_.key("markers").begin_object().field("length", 0);
    for (const char* column : {"data", "name", "startTime", "endTime", "phase", "category"}) {
      json_.key(column).begin_array().end_array();
    }
    json_.end_object();
  }

  void write_allocations(const Allocations& own, ThreadTables& tables) {
    json_.key("nativeAllocations").begin_object().field("length", own.events.size());
    json_.field("weightType", "bytes");
    const auto column = [&](const char* name, const auto& write_event) {
      json_.key(name).begin_array();
      for (std::size_t i = 0; i < own.events.size(); ++i) {
        write_event(i);
        pass_on(json_, sink_);
      }
      json_.end_array();
    };
    column("time", [&](std::size_t i) { json_.number(milliseconds(own.events[i].time)); });
    column("weight", [&](std::size_t i) { json_.signed_integer(own.changes[i]); });
    column("stack", [&](std::size_t i) {
      json_.integer(tables.node_of(lives_[own.events[i].life].sample->stack));
    });
    // Numbers that are never used again, which addresses are.
    column("memoryAddress", [&](std::size_t i) { json_.integer(own.events[i].life + 1); });
    column("threadId", [&](std::size_t i) {
      const std::uint32_t thread = lives_[own.events[i].life].sample->thread;
      json_.integer(thread < recording_.threads.size() ? recording_.threads[thread].tid : 0);
    });
    json_.end_object();
  }

  struct Step {
    double time = 0;
    std::int64_t change = 0;
  };

  void write_heap_counter(std::uint32_t thread) {
    const std::uint32_t index = shown_[thread];
    const Allocations& own = allocations_[index];
    const Process& process = recording_.processes[index];
    const double start = milliseconds(process.start);
    const double width = std::max(end_of(process) - start, 1e-6) / kSteps;
    std::vector<Step> steps;
    for (std::size_t i = 0; i < own.events.size(); ++i) {
      const auto step = std::floor((milliseconds(own.events[i].time) - start) / width);
      const double time = start + step * width;
      if (steps.empty() || steps.back().time < time) steps.push_back({time, 0});
      steps.back().change += own.changes[i];
    }
    write_counter("malloc", "Live heap, estimated by geiger", thread, steps);
  }

  void write_rss(std::uint32_t thread) {
    const profile::Observations* observed = profile::observations_of(recording_, shown_[thread]);
    if (observed == nullptr) return;
    std::vector<Step> steps;
    std::int64_t before = 0;
    for (const profile::SeriesPoint& point : observed->series) {
      const auto now = static_cast<std::int64_t>(point.counts.resident);
      steps.push_back({milliseconds(point.time), now - before});
      before = now;
    }
    if (steps.empty()) return;
    write_counter("RSS", "Resident memory, as read from /proc", thread, steps);
  }

  void write_counter(const char* name, const char* description, std::uint32_t thread,
                     const std::vector<Step>& steps) {
    json_.begin_object().field("name", name).field("category", "Memory");
    json_.field("description", description);
    json_.field("pid", pids_[shown_[thread]]);
    json_.field("mainThreadIndex", thread);
    json_.key("sampleGroups").begin_array().begin_object().field("id", 0);
    json_.key("samples").begin_object().field("length", steps.size());
    json_.array("time", steps, [&](const Step& step) { json_.number(step.time); });
    json_.array("count", steps, [&](const Step& step) { json_.signed_integer(step.change); });
    json_.end_object().end_object().end_array().end_object();
  }

  const Recording& recording_;
  present::Names names_;
  const Sink& sink_;
  const Nanoseconds start_;
  const std::vector<Life> lives_;
  std::vector<Allocations> allocations_;  ///< By process.
  std::vector<std::string> pids_;         ///< By process.
  std::vector<std::uint32_t> shown_;      ///< Processes, in the order of threads.
  JsonWriter json_;
};

}  // namespace

void write_firefox(const Recording& recording, const profile::Selection& part, const Sink& sink,
                   present::Names names) {
  GEIGER_CHECK(std::ranges::none_of(recording.processes, &profile::Process::is_aggregated));
  FirefoxWriter(recording, part, names, sink).write();
}

}  // namespace geiger::exports
