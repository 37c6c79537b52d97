// The threads and modules that samples refer to by number or address, not by reference. Each trace
// is read once, up to its end; later traces of the process add to the earlier ones.
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
    std::string name;  ///< Empty if unknown.
  };
  struct Module {
    Address start, end;  ///< Mapped addresses.
    Address bias;
    std::string path, build_id;  ///< Raw bytes of the id.
    bool operator==(const Module&) const = default;
  };

  /// Continues reading to the end of the trace. Starts again for a trace of another process,
  /// identified by the number of its first segment.
  void read(const MappedTrace& trace, std::uint32_t first_image);

  void on(const trace::Record& record, const trace::ThreadRecord& layout);
  void on(const trace::Record& record, const trace::ThreadNameRecord& layout);
  void on(const trace::Record& record, const trace::ModuleRecord& layout);

  /// By the thread index of a record's header; empty if unknown.
  [[nodiscard]] Thread thread(std::uint32_t index) const;
  /// In the order of their records; if two overlap, the later one counts.
  [[nodiscard]] const std::vector<Module>& modules() const { return modules_; }

 private:
  Thread& thread_at(std::uint32_t index);

  std::uint32_t first_image_ = 0;
  std::map<std::uint32_t, Bytes> read_to_;  ///< By trace; of the last few.
  std::vector<Thread> threads_;
  std::vector<Module> modules_;
};

}  // namespace geiger::api
