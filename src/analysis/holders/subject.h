// What is scanned for holders: a running process, or the core file of one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/holders/core_file.h"
#include "analysis/holders/layout.h"
#include "analysis/holders/memory.h"
#include "analysis/holders/roots.h"
#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/files.h"
#include "analysis/observe/live_set.h"
#include "analysis/observe/proc_files.h"
#include "base/outcome.h"

namespace geiger::holders {

class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  /// Its mappings, in order of addresses; what else is asked is of the same time. Before each scan.
  [[nodiscard]] virtual base::Outcome<std::vector<observe::Mapping>> look() = 0;
  /// The samples that live, as of look() and of the last follow().
  [[nodiscard]] virtual const observe::LiveSet& live() const = 0;
  /// Writable memory that was mapped since look(), in order of addresses.
  [[nodiscard]] virtual std::vector<Span> mapped_since(
      std::span<const observe::Mapping> /*mappings*/) const {
    return {};
  }
  [[nodiscard]] virtual std::unique_ptr<Memory> memory(
      std::span<const observe::Mapping> mappings) const = 0;
  [[nodiscard]] virtual std::vector<Thread> threads() const = 0;
  [[nodiscard]] virtual std::vector<KernelPointer> kernel_pointers() const { return {}; }
  /// Where a thread has halted now; nothing of one that runs.
  [[nodiscard]] virtual std::optional<Halt> halt_of(const Thread& thread) const {
    return thread.halt;
  }
  /// Those of threads() that can be read now.
  virtual void read_registers(std::vector<Thread>& /*threads*/) const {}
  [[nodiscard]] virtual std::string executable() const = 0;
  /// The path of the module that provides malloc.
  [[nodiscard]] virtual std::string_view allocator() const = 0;
  /// Leaves out the memory of geiger's runtime.
  virtual void leave_out_runtime(Layout& layout) const = 0;
  /// `unmatched` of `all` samples are no blocks: fails if that shows that they are of another time.
  [[nodiscard]] virtual base::Outcome<void> check_samples(std::size_t /*unmatched*/,
                                                          std::size_t /*all*/) const {
    return {};
  }
  /// Fails if what was read may be the nothing that an ended process has, or another program's.
  [[nodiscard]] virtual base::Outcome<void> check_still_there() const = 0;
  /// After each scan: asks again which samples live.
  [[nodiscard]] virtual base::Outcome<void> follow() = 0;
  /// Nothing moves: one scan sees everything.
  [[nodiscard]] virtual bool is_still() const = 0;
};

/// A process with a copy of another one's memory, which does not run.
struct Copy {
  pid_t pid = 0;
  std::shared_ptr<void> life;       ///< It ends with this.
  Nanoseconds begun = 0, done = 0;  ///< What it shows lies in between.
  Thread borrowed;                  ///< The thread that was stopped to make it.
  bool is_of_one_instant = false;
};
/// Copies a process.
using CopyProcess = std::function<base::Outcome<Copy>(pid_t)>;

/// Registers of a thread.
struct ThreadRegisters {
  pid_t tid = 0;
  std::vector<std::uint64_t> words;
};
/// Of a process's threads, those whose registers can be read without ending what they wait for.
using ReadRegisters = std::function<std::vector<ThreadRegisters>(pid_t)>;

/// A process that writes a trace.
class RunningProcess : public Subject {
 public:
  /// `is_waiting`: one of its threads waits for the answer.
  explicit RunningProcess(pid_t pid, bool is_waiting = false, ReadRegisters read_registers = {})
      : pid_(pid),
        files_(pid),
        is_waiting_(is_waiting),
        read_registers_(std::move(read_registers)) {}
  base::Outcome<void> open(const std::string& trace);

  base::Outcome<std::vector<observe::Mapping>> look() override;
  const observe::LiveSet& live() const override { return follower_.live(); }
  std::vector<Span> mapped_since(std::span<const observe::Mapping> mappings) const override;
  std::unique_ptr<Memory> memory(std::span<const observe::Mapping> mappings) const override;
  std::vector<Thread> threads() const override { return threads_of(files_); }
  std::vector<KernelPointer> kernel_pointers() const override { return kernel_pointers_of(files_); }
  std::optional<Halt> halt_of(const Thread& thread) const override {
    return holders::halt_of(files_, thread.tid);
  }
  void read_registers(std::vector<Thread>& threads) const override;
  std::string executable() const override { return files_.link("exe"); }
  std::string_view allocator() const override { return follower_.header().allocator; }
  void leave_out_runtime(Layout& layout) const override;
  base::Outcome<void> check_still_there() const override;
  base::Outcome<void> follow() override;
  bool is_still() const override { return is_waiting_ && threads_of(files_).size() == 1; }

  [[nodiscard]] const observe::ProcessFiles& files() const { return files_; }

 protected:
  pid_t pid_;
  observe::ProcessFiles files_;
  observe::TraceFollower follower_;

 private:
  bool is_waiting_;
  ReadRegisters read_registers_;
};

/// Such a process, of which copies are scanned. While a copy is made, threads other than the one
/// that is stopped go on: one copy is enough only if there are none.
class CopiedProcess : public RunningProcess {
 public:
  CopiedProcess(pid_t pid, CopyProcess copy) : RunningProcess(pid), make_(std::move(copy)) {}
  base::Outcome<void> open(const std::string& trace);

  base::Outcome<std::vector<observe::Mapping>> look() override;
  std::vector<Span> mapped_since(std::span<const observe::Mapping> /*mappings*/) const override {
    return {};
  }
  std::unique_ptr<Memory> memory(std::span<const observe::Mapping> mappings) const override;
  std::vector<Thread> threads() const override { return threads_; }
  std::optional<Halt> halt_of(const Thread& thread) const override { return thread.halt; }
  base::Outcome<void> check_still_there() const override;
  base::Outcome<void> follow() override { return {}; }
  bool is_still() const override { return is_still_; }

 private:
  CopyProcess make_;
  bool is_still_ = false;
  std::string trace_;
  Copy copy_;
  std::optional<observe::ProcessFiles> copy_files_;
  std::vector<Span> left_out_;  ///< Writable memory that is not copied.
  std::vector<Thread> threads_;
};

/// A process whose core file there is.
class DumpedProcess : public Subject {
 public:
  /// Both must live as long as this does. `image`, in `trace`, is what it has recorded; null:
  /// nothing is known about its samples.
  DumpedProcess(const CoreFile& core, const ingest::InputFile* trace, const ingest::Image* image);

  base::Outcome<std::vector<observe::Mapping>> look() override { return core_.mappings(); }
  const observe::LiveSet& live() const override { return live_; }
  std::unique_ptr<Memory> memory(std::span<const observe::Mapping> mappings) const override;
  std::vector<Thread> threads() const override { return core_.threads(); }
  std::string executable() const override { return core_.executable(); }
  std::string_view allocator() const override { return allocator_; }
  void leave_out_runtime(Layout& layout) const override;
  base::Outcome<void> check_samples(std::size_t unmatched, std::size_t all) const override;
  base::Outcome<void> check_still_there() const override { return {}; }
  base::Outcome<void> follow() override { return {}; }
  bool is_still() const override { return true; }

  /// Whether the memory is that of the process that wrote the image, at a time that it covers.
  [[nodiscard]] bool is_of_image() const;
  /// When the core file was written, on the process's clock.
  [[nodiscard]] Nanoseconds time() const { return time_; }

 private:
  const CoreFile& core_;
  const ingest::Image* image_;
  Nanoseconds time_ = 0;
  observe::LiveSet live_;
  std::string allocator_;
};

}  // namespace geiger::holders
