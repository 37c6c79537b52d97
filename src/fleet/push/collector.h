// Takes documents from many hosts at once into a store, which one thread writes: what waits for the
// disk waits together.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "fleet/push/parcel.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

// The tokens that a collector takes: a file of them, one a line, read again when it changes.

class Tokens {
 public:
  /// Of a file that was read without failure.
  explicit Tokens(std::string path) : path_(std::move(path)) {}
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  /// Whether the file has this token now. If it cannot be read any more nothing is admitted.
  /// Threads: any.
  [[nodiscard]] bool admit(const std::string& token);

 private:
  /// Tells states of a file apart: inode, size, time.
  using Version = std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;

  std::string path_;
  std::mutex mutex_;
  Version version_{};
  std::vector<std::string> tokens_;
};

/// What became of a document that was sent to a collector.
struct Verdict {
  enum class What : std::uint8_t {
    kTaken,      ///< It survives a crash from here on.
    kFull,       ///< Too many documents wait for the store: try again.
    kLater,      ///< The store fails: try again.
    kMalformed,  ///< It is no document.
    kTooOld,     ///< It is older than the store keeps documents.
    kTooNew,     ///< It is of a time that has not come.
    kConflict,   ///< Its key, or a stack's id, stands for something else already.
  };
  What what = What::kTaken;
  std::string why;  ///< Unless it was taken: a clause.
};

class Collector {
 public:
  struct Limits {
    std::int64_t keep_seconds = std::int64_t{90} * 86'400;
    std::int64_t ahead_seconds = 86'400;
    std::size_t most_waiting = 48;  ///< Documents.
    std::size_t most_bytes = std::size_t{64} << 20;
    std::function<std::int64_t()> now;  ///< Unix seconds.
  };

  Collector(std::unique_ptr<Store> store, Limits limits);
  /// Writes what waits.
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // All functions: threads: any.

  /// Takes this many bytes of memory for documents; false if too much is taken. Released by
  /// release().
  [[nodiscard]] bool reserve(std::size_t bytes);
  void release(std::size_t bytes);
  /// Returns once the store has it for good, or has refused it and counted that; at once if too
  /// many documents wait.
  [[nodiscard]] Verdict take(std::string packed);
  /// Counts a document that was refused unread. Reported to the store within a second or with the
  /// next document.
  void count_refusal(const std::string& reason);

 private:
  struct Job {
    std::string packed;
    std::promise<Verdict> verdict;
  };

  [[nodiscard]] Verdict end_of(std::future<Verdict>& verdict);
  void work();
  void write(std::deque<Job>& jobs);
  [[nodiscard]] Verdict check(const Parcel& parcel) const;
  void put(std::vector<Document>& documents, std::vector<std::promise<Verdict>>& waiting);
  void finish(std::promise<Verdict>& waiting, Verdict verdict);
  void write_refusals();

  std::unique_ptr<Store> store_;
  Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::map<std::string, std::uint64_t> refusals_;
  std::size_t reserved_ = 0;  ///< Bytes.
  std::size_t waiting_ = 0;   ///< Documents in take().
  bool ends_ = false;
  std::thread writer_;  ///< Last: it uses all of the above.
};

}  // namespace geiger::fleet
