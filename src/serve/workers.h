// The threads on which a server answers.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace geiger::serve {

/// The library has such a pool, which ends the program where one of the threads cannot be started.
class Workers final : public httplib::TaskQueue {
 public:
  /// Throws std::system_error if not all of them can be started.
  explicit Workers(std::size_t threads);
  ~Workers() override { shutdown(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Later versions of the library ask whether the task was taken.
  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));
  Enqueued enqueue(std::function<void()> task) override;
  /// Returns when all tasks are done.
  void shutdown() override;

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace geiger::serve
