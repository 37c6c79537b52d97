// What samples refer to by number and not by reference: threads, and the modules whose code is on
// their stacks. Each trace is read once, as far as it goes; later traces of the process add to the
// earlier ones.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/mapped_trace.h"

namespace geiger::api {

class Directory : public trace::RecordSink {
 public:
  using RecordSink::on;

  struct Thread {
    std::uint32_t tid = 0;
    std::string name;  ///< Empty where unknown.
  };
  struct Module {
    Address start, end;  ///< Mapped addresses.
    Address bias;
    std::string path, build_id;  ///< Raw bytes of the id.
    bool operator==(const Module&) const = default;
  };

  /// Reads on to the end of the trace; starts anew for another process's, whose first segment
  /// has this number.
  void read(const MappedTrace& trace, std::uint32_t first_image);

  void on(const trace::Record& record, const trace::ThreadRecord& layout);
  void on(const trace::Record& record, const trace::ThreadNameRecord& layout);
  void on(const trace::Record& record, const trace::ModuleRecord& layout);

  /// By the thread index of a record's header; nothing for one that is not known.
  [[nodiscard]] Thread thread(std::uint32_t index) const;
  /// In the order of their records; of two that overlap the later one counts.
  [[nodiscard]] const std::vector<Module>& modules() const { return modules_; }

 private:
  Thread& thread_at(std::uint32_t index);

  std::uint32_t first_image_ = 0;
  std::map<std::uint32_t, Bytes> read_to_;  ///< By trace; of the last few.
  std::vector<Thread> threads_;
  std::vector<Module> modules_;
};

}  // namespace geiger::api
