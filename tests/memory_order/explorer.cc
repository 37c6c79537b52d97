#include "explorer.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>

namespace geiger::model {
namespace {

constexpr std::size_t kMostLocations = 96;
constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr std::size_t kPoolBytes = std::size_t{1} << 20;
constexpr long kMostExecutions = 20'000'000;

/// For each location the oldest store that may still be read.
struct View {
  std::array<std::uint16_t, kMostLocations> oldest{};

  void join(const View& other) {
    for (std::size_t i = 0; i < oldest.size(); ++i)
      oldest[i] = std::max(oldest[i], other.oldest[i]);
  }
};

struct Store {
  std::uint64_t value;
  View view;  ///< Seen by whoever acquires it.
};

struct Thread {
  View seen;
  View released;  ///< By the last release fence, for relaxed stores behind it.
  View loaded;    ///< Of relaxed loads, for an acquire fence behind them.
  bool is_done = false;
  ucontext_t context{};
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
};

struct Choice {
  std::size_t taken, count;
};

/// Of a location, by the threads of all executions so far.
struct Use {
  unsigned threads = 0;  ///< A bit for each.
  bool is_written = false;
  [[nodiscard]] bool is_shared() const { return is_written && (threads & (threads - 1)) != 0; }
};

bool acquires(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

/// All executions of one scenario, one after the other: depth first over the choices made.
class Explorer {
 public:
  explicit Explorer(const Scenario& scenario) : scenario_(scenario) {}

  void run_all() {
    bool has_more = true;
    while (has_more) {
      const std::size_t shared = shared_;
      run_once();
      if (++executions_ > kMostExecutions) fail("more executions than this is made for");
      if (shared_ == shared) {
        has_more = next_trail();
      } else {  // What was explored had too few places to switch at.
        executions_ = 0;
        trail_.clear();
      }
    }
    std::printf("%s: %ld executions\n", scenario_.name, executions_);
    std::fflush(stdout);
  }

  std::uint64_t load(const void* address, std::uint64_t initial, std::memory_order order) {
    const std::size_t at = before(address, initial, false);
    const std::size_t first = first_readable(at, order);
    const std::size_t read = stores_[at].size() - 1 - choose(stores_[at].size() - first);
    see(at, read, order);
    return note("load", at, stores_[at][read].value);
  }

  void store(const void* address, std::uint64_t initial, std::uint64_t value,
             std::memory_order order) {
    const std::size_t at = before(address, initial, true);
    append(at, value, order, nullptr);
    note("store", at, value);
  }

  std::uint64_t modify(const void* address, std::uint64_t initial, std::memory_order order,
                       const std::function<std::uint64_t(std::uint64_t)>& change) {
    const std::size_t at = before(address, initial, true);
    return replace(at, change(stores_[at].back().value), order);
  }

  /// A failure is a load: of any value but the expected one.
  bool compare_exchange(const void* address, std::uint64_t initial, std::uint64_t& expected,
                        std::uint64_t desired, std::memory_order success,
                        std::memory_order failure) {
    const std::size_t at = before(address, initial, true);
    std::vector<std::size_t> outcomes;
    for (std::size_t i = stores_[at].size(); i-- > first_readable(at, failure);) {
      const bool is_newest = i + 1 == stores_[at].size();
      if (is_newest || stores_[at][i].value != expected) outcomes.push_back(i);
    }
    const std::size_t read = outcomes[choose(outcomes.size())];
    const std::uint64_t value = stores_[at][read].value;
    if (value == expected) {
      replace(at, desired, success);
      return true;
    }
    see(at, read, failure);
    expected = note("failed exchange", at, value);
    return false;
  }

  void fence(std::memory_order order) {
    Thread& self = running();
    if (acquires(order)) self.seen.join(self.loaded);
    if (order == std::memory_order_seq_cst) {
      self.seen.join(fenced_);
      fenced_.join(self.seen);
    }
    if (releases(order)) self.released = self.seen;
  }

  void* allocate(std::size_t bytes) {
    const std::size_t at = (pool_used_ + 63) / 64 * 64;
    if (at + bytes > kPoolBytes) fail("out of memory");
    pool_used_ = at + bytes;
    return pool_.get() + at;
  }

  [[noreturn]] void fail(const char* text) {
    std::printf("%s: %s\n", scenario_.name, text);
    for (const std::string& line : notes_) std::printf("  %s\n", line.c_str());
    std::exit(1);
  }

 private:
  static constexpr std::size_t kMain = 0;

  Thread& running() { return *threads_[current_]; }

  void run_once() {
    stores_.clear();
    locations_.clear();
    notes_.clear();
    sequential_ = fenced_ = View{};
    std::memset(pool_.get(), 0, pool_used_);
    pool_used_ = depth_ = 0;
    switches_ = 0;
    current_ = kMain;
    while (threads_.size() < scenario_.threads.size() + 1) {
      threads_.push_back(std::make_unique<Thread>());
    }
    *threads_[kMain] = Thread{};
    is_exploring_ = false;
    scenario_.set_up();
    is_exploring_ = true;
    for (std::size_t i = 1; i < threads_.size(); ++i) start(i);
    switch_to(next_of(choose(threads_.size() - 1)));
    is_exploring_ = false;
    for (std::size_t i = 1; i < threads_.size(); ++i) running().seen.join(threads_[i]->seen);
    for (std::size_t at = 0; at < stores_.size(); ++at) {
      running().seen.oldest[at] = static_cast<std::uint16_t>(stores_[at].size() - 1);
    }
    scenario_.check();
  }

  void start(std::size_t index) {
    Thread& thread = *threads_[index];
    thread.seen = threads_[kMain]->seen;
    thread.released = thread.loaded = View{};
    thread.is_done = false;
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = kStackBytes;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, &Explorer::enter, 0);
  }

  static void enter();

  void run_thread() {
    scenario_.threads[current_ - 1]();
    running().is_done = true;
    const std::size_t left = others_than(current_);
    switch_to(left == 0 ? kMain : next_of(choose(left)));
  }

  /// Threads that still run, but for one.
  [[nodiscard]] std::size_t others_than(std::size_t index) const {
    std::size_t count = 0;
    for (std::size_t i = 1; i < threads_.size(); ++i) count += i != index && !threads_[i]->is_done;
    return count;
  }
  /// The `number`th of those that still run and do not run now.
  [[nodiscard]] std::size_t next_of(std::size_t number) const {
    std::size_t i = 1;
    for (;; ++i) {
      if (i == current_ || threads_[i]->is_done) continue;
      if (number-- == 0) return i;
    }
  }
  void switch_to(std::size_t index) {
    ucontext_t& from = running().context;
    current_ = index;
    swapcontext(&from, &threads_[index]->context);
  }

  /// What comes before each operation: perhaps other threads, if they can notice. Returns the
  /// location's number.
  std::size_t before(const void* address, std::uint64_t initial, bool writes) {
    if (is_exploring_ && is_shared(address, writes) && switches_ < scenario_.most_switches) {
      const std::size_t others = others_than(current_);
      if (const std::size_t chosen = choose(others + 1); chosen != 0) {
        ++switches_;
        switch_to(next_of(chosen - 1));
      }
    }
    const auto [found, is_new] = locations_.try_emplace(address, stores_.size());
    if (is_new) {
      if (stores_.size() == kMostLocations) fail("more locations than this is made for");
      stores_.push_back({Store{initial, {}}});
    }
    return found->second;
  }

  /// Whether threads meet at a location, one of which writes: an operation elsewhere may change
  /// places with what other threads do. Known once an execution had it.
  bool is_shared(const void* address, bool writes) {
    Use& use = uses_[address];
    const bool was_shared = use.is_shared();
    use.threads |= 1U << current_;
    use.is_written |= writes;
    shared_ += use.is_shared() && !was_shared;
    return use.is_shared();
  }

  std::size_t choose(std::size_t count) {
    if (count <= 1) return 0;
    if (depth_ == trail_.size()) trail_.push_back({0, count});
    return trail_[depth_++].taken;
  }
  bool next_trail() {
    while (!trail_.empty() && trail_.back().taken + 1 == trail_.back().count) trail_.pop_back();
    if (trail_.empty()) return false;
    ++trail_.back().taken;
    return true;
  }

  std::size_t first_readable(std::size_t at, std::memory_order order) {
    std::size_t first = running().seen.oldest[at];
    if (order == std::memory_order_seq_cst) {
      first = std::max<std::size_t>(first, sequential_.oldest[at]);
    }
    return first;
  }
  void see(std::size_t at, std::size_t read, std::memory_order order) {
    Thread& self = running();
    const Store& found = stores_[at][read];
    self.seen.oldest[at] = std::max(self.seen.oldest[at], static_cast<std::uint16_t>(read));
    (acquires(order) ? self.seen : self.loaded).join(found.view);
    self.loaded.join(found.view);
  }
  void append(std::size_t at, std::uint64_t value, std::memory_order order, const View* passed_on) {
    Thread& self = running();
    const auto index = static_cast<std::uint16_t>(stores_[at].size());
    self.seen.oldest[at] = index;
    if (order == std::memory_order_seq_cst) sequential_.oldest[at] = index;
    View view = releases(order) ? self.seen : self.released;
    if (passed_on != nullptr) view.join(*passed_on);
    view.oldest[at] = index;
    stores_[at].push_back({value, view});
  }
  std::uint64_t replace(std::size_t at, std::uint64_t value, std::memory_order order) {
    const Store last = stores_[at].back();
    see(at, stores_[at].size() - 1, order);
    append(at, value, order, &last.view);
    note("exchange for", at, value);
    return last.value;
  }

  std::uint64_t note(const char* what, std::size_t at, std::uint64_t value) {
    if (!notes_wanted_) return value;
    notes_.push_back("thread " + std::to_string(current_) + ": " + what + " of location " +
                     std::to_string(at) + ": " + std::to_string(value));
    return value;
  }

  const Scenario& scenario_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::size_t current_ = kMain;
  std::vector<std::vector<Store>> stores_;
  std::unordered_map<const void*, std::size_t> locations_;
  std::unordered_map<const void*, Use> uses_;
  std::size_t shared_ = 0;
  View sequential_, fenced_;
  std::vector<Choice> trail_;
  std::size_t depth_ = 0;
  int switches_ = 0;
  bool is_exploring_ = false;
  long executions_ = 0;
  bool notes_wanted_ = std::getenv("MODEL_NOTES") != nullptr;
  std::vector<std::string> notes_;
  std::unique_ptr<char[]> pool_ = std::make_unique<char[]>(kPoolBytes);
  std::size_t pool_used_ = kPoolBytes;
};

Explorer* explorer = nullptr;

void Explorer::enter() { explorer->run_thread(); }

}  // namespace

void require(bool condition, const char* text) {
  if (!condition) explorer->fail(text);
}

void explore(const Scenario& scenario) {
  Explorer own(scenario);
  explorer = &own;
  own.run_all();
  explorer = nullptr;
}

std::uint64_t load(const void* location, std::uint64_t initial, std::memory_order order) {
  return explorer == nullptr ? initial : explorer->load(location, initial, order);
}
void store(const void* location, std::uint64_t initial, std::uint64_t value,
           std::memory_order order) {
  explorer->store(location, initial, value, order);
}
std::uint64_t modify(const void* location, std::uint64_t initial, std::memory_order order,
                     const std::function<std::uint64_t(std::uint64_t)>& change) {
  return explorer->modify(location, initial, order, change);
}
bool compare_exchange(const void* location, std::uint64_t initial, std::uint64_t& expected,
                      std::uint64_t desired, std::memory_order success, std::memory_order failure) {
  return explorer->compare_exchange(location, initial, expected, desired, success, failure);
}
void fence(std::memory_order order) { explorer->fence(order); }
void* allocate(std::size_t bytes) { return explorer->allocate(bytes); }

}  // namespace geiger::model
