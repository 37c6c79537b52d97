// What samples refer to by number and not by place: threads, and the modules whose
// code is on their stacks. Read from the trace once, as far as it goes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/api/live_trace.h"

namespace geiger::api {

class Directory {
 public:
  struct Thread {
    std::uint32_t tid = 0;
    std::string_view name;  ///< In the trace; empty where unknown.
  };
  struct Module {
    Address start, end;  ///< Mapped addresses.
    Address bias;
    std::string_view path, build_id;  ///< Raw bytes of the id; both in the trace.
  };

  /// Reads on to the end of the trace; starts anew for another image's.
  void read(const LiveTrace& trace);

  /// By the thread index of a record's header; nothing for one that is not known.
  [[nodiscard]] Thread thread(std::uint32_t index) const;
  /// In the order of their records; of two that overlap the later one counts.
  [[nodiscard]] const std::vector<Module>& modules() const { return modules_; }
  /// The largest interval that was put in force at or after a position of the trace, 0 if
  /// there was none.
  [[nodiscard]] std::uint64_t largest_interval_since(Bytes position) const;

 private:
  void add_epoch(Bytes position, std::uint64_t interval);
  void add(const LiveTrace& trace, trace::Ref ref, const trace::RecordHeader& header);
  Thread& thread_at(std::uint32_t index);

  std::uint32_t image_ = 0;
  Bytes read_to_ = trace::kRecordsOffset;
  std::vector<Thread> threads_;
  std::vector<Module> modules_;
  /// Those that no later one exceeds: positions rise, intervals fall.
  struct Epoch {
    Bytes position;
    std::uint64_t interval;
  };
  std::vector<Epoch> epochs_;
};

}  // namespace geiger::api
