#include "fleet/push/collector.h"

#include <sys/stat.h>

#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "base/text.h"
#include "fleet/document/encoding.h"
#include "fleet/push/sinks.h"
#include "http/client.h"

namespace geiger::fleet {

bool Tokens::admit(const std::string& token) {
  const std::lock_guard lock(mutex_);
  struct stat file {};
  if (stat(path_.c_str(), &file) != 0) return false;
  const Version version{file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
  if (version != version_) {
    auto tokens = http::read_tokens(path_);
    tokens_ = tokens.has_value() ? std::move(tokens.value()) : std::vector<std::string>();
    version_ = version;
  }
  bool is_known = false;
  for (const std::string& known : tokens_) is_known |= base::is_same_secret(known, token);
  return is_known;
}

namespace {

/// Unpacked, of what is written in one step: beyond it the next step begins.
constexpr std::size_t kMostAtOnce = std::size_t{32} << 20;

Verdict verdict_on(Receipt receipt) {
  if (receipt == Receipt::kStored) return {};
  if (receipt == Receipt::kKnown) return {Verdict::What::kTaken, kAlreadyThere};
  return {Verdict::What::kConflict, std::string(text_of(receipt))};
}

Verdict out_of_memory() { return {Verdict::What::kLater, "out of memory"}; }

/// By which the store counts it.
std::string_view name_of(Verdict::What what) {
  switch (what) {
    case Verdict::What::kTaken:
    case Verdict::What::kFull:
    case Verdict::What::kLater:
      break;
    case Verdict::What::kMalformed:
      return "malformed";
    case Verdict::What::kTooOld:
      return "too old";
    case Verdict::What::kTooNew:
      return "too new";
    case Verdict::What::kConflict:
      return "conflict";
  }
  return {};
}

}  // namespace

Collector::Collector(std::unique_ptr<Store> store, Limits limits)
    : store_(std::move(store)), limits_(std::move(limits)), writer_([this] { work(); }) {}

Collector::~Collector() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  writer_.join();
}

bool Collector::reserve(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > limits_.most_bytes - reserved_) return false;
  reserved_ += bytes;
  return true;
}

void Collector::release(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  reserved_ -= bytes;
}

Verdict Collector::take(std::string packed) {
  std::future<Verdict> verdict;
  try {
    const std::lock_guard lock(mutex_);
    if (waiting_ == limits_.most_waiting) return {Verdict::What::kFull, {}};
    verdict = jobs_.emplace_back(Job{std::move(packed), {}}).verdict.get_future();
    ++waiting_;
  } catch (const std::exception&) {
    return out_of_memory();
  }
  changed_.notify_one();
  return end_of(verdict);
}

Verdict Collector::end_of(std::future<Verdict>& verdict) {
  verdict.wait();
  {
    const std::lock_guard lock(mutex_);
    --waiting_;
  }
  try {
    return verdict.get();
  } catch (const std::exception&) {  // The writer dropped the promise.
    return out_of_memory();
  }
}

void Collector::count_refusal(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  ++refusals_[reason];
}

void Collector::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait_for(lock, std::chrono::seconds(1), [&] { return ends_ || !jobs_.empty(); });
    const bool was_last = ends_;
    std::deque<Job> jobs = std::exchange(jobs_, {});
    lock.unlock();
    while (!jobs.empty()) {
      try {
        write(jobs);
      } catch (const std::bad_alloc&) {
        continue;
      }
    }
    write_refusals();
    lock.lock();
    if (was_last && jobs_.empty()) return;
  }
}

/// Writes and removes the first of them. Those whose promises it drops for lack of memory are sent
/// again.
void Collector::write(std::deque<Job>& jobs) {
  std::vector<Document> documents;
  std::vector<std::promise<Verdict>> waiting;
  std::size_t bytes = 0;
  while (!jobs.empty() && bytes < kMostAtOnce) {
    Job job = std::move(jobs.front());
    jobs.pop_front();
    bytes += unpacked_size(job.packed);
    auto parcel = open_parcel(job.packed);
    if (!parcel.has_value()) {
      finish(job.verdict, {Verdict::What::kMalformed, parcel.reason()});
    } else if (Verdict verdict = check(parcel.value()); verdict.what != Verdict::What::kTaken) {
      finish(job.verdict, std::move(verdict));
    } else if (const auto* gap = std::get_if<GapRow>(&parcel.value())) {
      const auto put = store_->put(*gap);
      finish(job.verdict,
             put.has_value() ? Verdict{} : Verdict{Verdict::What::kLater, put.reason()});
    } else {
      documents.push_back(std::get<Document>(std::move(parcel.value())));
      waiting.push_back(std::move(job.verdict));
    }
  }
  put(documents, waiting);
}

/// Gaps are welcome however old they are: they say why something is missing.
Verdict Collector::check(const Parcel& parcel) const {
  const std::int64_t now = limits_.now();
  const std::int64_t start = start_of(parcel);
  if (start > now + limits_.ahead_seconds) {
    return {Verdict::What::kTooNew, "its time is more than a day ahead"};
  }
  const bool is_old =
      std::holds_alternative<Document>(parcel) && start < now - limits_.keep_seconds;
  if (is_old) return {Verdict::What::kTooOld, "it is older than the store keeps documents"};
  return {};
}

void Collector::put(std::vector<Document>& documents, std::vector<std::promise<Verdict>>& waiting) {
  if (documents.empty()) return;
  const auto receipts = store_->put_all(documents);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (receipts.has_value()) {
      finish(waiting[i], verdict_on(receipts.value()[i]));
      continue;
    }
    // A document that the database cannot keep must not block the others.
    const auto receipt = store_->put(documents[i]);
    finish(waiting[i], receipt.has_value() ? verdict_on(receipt.value())
                                           : Verdict{Verdict::What::kLater, receipt.reason()});
  }
}

void Collector::finish(std::promise<Verdict>& waiting, Verdict verdict) {
  if (const auto name = name_of(verdict.what); !name.empty()) {
    count_refusal(std::string(name));
    write_refusals();
  }
  waiting.set_value(std::move(verdict));
}

void Collector::write_refusals() {
  std::map<std::string, std::uint64_t> refusals;
  {
    const std::lock_guard lock(mutex_);
    refusals.swap(refusals_);
  }
  for (const auto& [reason, documents] : refusals) {
    if (store_->count_refusal(reason, documents).has_value()) continue;
    const std::lock_guard lock(mutex_);
    refusals_[reason] += documents;
  }
}

}  // namespace geiger::fleet
