// The controller's side of trace/rendezvous.h: makes dormant programs record, and dormant again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/outcome.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "control/control_page.h"
#include "control/target_process.h"
#include "trace/rendezvous.h"

namespace geiger::control {

/// One of the two pages, mapped as long as this exists.
template <typename Page>
class MappedPage {
 public:
  /// Maps the page of a file; nothing on failure.
  [[nodiscard]] static std::optional<MappedPage> map(base::UniqueFd file) {
    MappedPage page;
    auto pages = file.is_open() ? SharedPages::map(file.get(), trace::kRendezvousBytes)
                                : std::optional<SharedPages>();
    if (!pages) return std::nullopt;
    page.file_ = std::move(file);
    page.pages_ = std::move(*pages);
    return page;
  }

  [[nodiscard]] Page& operator*() const { return *reinterpret_cast<Page*>(pages_.begin()); }
  [[nodiscard]] Page* operator->() const { return &**this; }
  [[nodiscard]] int fd() const { return file_.get(); }

 private:
  base::UniqueFd file_;
  SharedPages pages_;
};

/// A request to a program.
struct Order {
  bool records = false;
  Bytes interval = 0;     ///< 0: the program's own.
  std::string directory;  ///< For the trace, in the program's file system; empty: its own.
  /// Use `directory` only if the program has none of its own that it can write to.
  bool prefers_own = false;
  bool despite_seccomp = false;
};

enum class Answer : std::uint8_t {
  kServed,
  kLate,   ///< None came in time. The request stays pending.
  kMoved,  ///< Before the program came, it moved (TargetProcess::has_moved()) to where it will look
           ///< for another rendezvous. The request is withdrawn.
};

/// The rendezvous of one dormant program. Other controllers wait while this exists.
class Waking {
 public:
  /// Opens the rendezvous, or creates it. `files` must have the program's bell.
  [[nodiscard]] static base::Outcome<Waking> open(const TargetProcess& target,
                                                  const GeigerFiles& files);
  /// Whether it has a rendezvous, or one can be created where it looks for it.
  [[nodiscard]] static bool can_meet(const TargetProcess& target, const GeigerFiles& files);
  /// The existing rendezvous; nothing if no controller has called the process yet.
  [[nodiscard]] static std::optional<Waking> look(const TargetProcess& target,
                                                  const GeigerFiles& files);

  [[nodiscard]] trace::Presence presence() const {
    return page_->presence.load(std::memory_order_acquire);
  }
  /// Whether the request that the program has not carried out yet, if any, is to record.
  [[nodiscard]] std::optional<bool> pending() const;

  /// The first interval of its next recordings; 0: its own.
  void set_interval(Bytes interval) { page_->wanted_interval.store(interval); }
  [[nodiscard]] Bytes interval() const;
  /// Has the program look at the page, without a request.
  void call() { bell_->ring(target_->facts().inner_pid); }

  /// Makes a request and waits for the answer for as long as `patience`. Fails if the program
  /// refused it or has ended.
  [[nodiscard]] base::Outcome<Answer> request(const Order& order,
                                              std::chrono::milliseconds patience);

 private:
  explicit Waking(const TargetProcess& target) : target_(&target) {}
  [[nodiscard]] bool is_polled() const;
  [[nodiscard]] Answer wait_for(std::uint32_t request, std::chrono::milliseconds patience);

  const TargetProcess* target_;
  MappedPage<trace::Bell> bell_;
  MappedPage<trace::Rendezvous> page_;
};

/// Removes rendezvous of ended processes from this user's directories.
void remove_stale_rendezvous();

}  // namespace geiger::control
