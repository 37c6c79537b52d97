// Runs a few threads in every order, and with every value that the C++ memory model lets a load
// return, up to a number of switches between threads that the program did not ask for.
//
// The threads run one at a time on stacks of their own. Before each atomic operation another one
// may go on; each load may return any store of its location that the thread has not seen
// overwritten. What a thread has seen is a view: for each location, the oldest store that may still
// be read. A release store carries the view of its thread, an acquire load adds it to that of its
// own. Read- modify-writes read the newest store, and pass the view of the store on that they
// replace (release sequences). Fences are as in the standard.
//
// Bounds, which are all that is left out: stores of a location take effect in the order in which
// they are made, and no load returns a store that is made later (load buffering). A sequentially
// consistent load returns the last sequentially consistent store of its location or a newer one;
// the standard promises more, so what passes here is not passed by more than it promises. Accesses
// that are not atomic are made at once, and are not checked for races.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace geiger::model {

/// What an execution did not fulfil: ends the program with exit code 1 and the trail of operations.
void require(bool condition, const char* text);

/// Runs `set_up`, the threads together, and `check` behind them, in every execution. Prints how
/// many there were. `most_switches`: of those that no thread asked for by its end.
struct Scenario {
  const char* name;
  std::function<void()> set_up;
  std::vector<std::function<void()>> threads;
  std::function<void()> check;
  int most_switches = 3;
};
void explore(const Scenario& scenario);

// What atomics.h calls. `initial` is what the location holds before its first store.
std::uint64_t load(const void* location, std::uint64_t initial, std::memory_order order);
void store(const void* location, std::uint64_t initial, std::uint64_t value,
           std::memory_order order);
/// The newest value, and `change` of it in its place.
std::uint64_t modify(const void* location, std::uint64_t initial, std::memory_order order,
                     const std::function<std::uint64_t(std::uint64_t)>& change);
bool compare_exchange(const void* location, std::uint64_t initial, std::uint64_t& expected,
                      std::uint64_t desired, std::memory_order success, std::memory_order failure);
void fence(std::memory_order order);

/// Zeroed memory of this execution.
void* allocate(std::size_t bytes);

}  // namespace geiger::model
