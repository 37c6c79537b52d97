// The slow path of arena.h.
#pragma once

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "geiger/arena.h"
#include "geiger/sampling/logarithm.h"
#include "geiger/sampling/prng.h"

namespace geiger {
namespace arena {

template <class Error, class... Arguments>
[[noreturn]] void fail([[maybe_unused]] Arguments... arguments) {
#if defined(__cpp_exceptions)
  throw Error(arguments...);
#else
  std::abort();
#endif
}

inline std::uint64_t random_word() {
  std::uint64_t word = 0;
  if (getrandom(&word, sizeof word, GRND_NONBLOCK) == sizeof word) return word;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_nsec) << 32 ^ reinterpret_cast<std::uintptr_t>(&word);
}

// Distinct for every arena of a process, and, by its pid, in the children of fork.
inline std::uint64_t fresh_seed() {
  static const std::uint64_t process_word = random_word();
  static std::atomic<std::uint64_t> arenas{0};
  const auto pid = static_cast<std::uint64_t>(getpid());
  return sampling::thread_seed(process_word ^ pid << 32,
                               arenas.fetch_add(1, std::memory_order_relaxed));
}

inline std::uintptr_t round_up(std::uintptr_t address, std::size_t alignment) {
  return (address + (alignment - 1)) & ~(alignment - 1);
}

}  // namespace arena

inline double ArenaTotals::z() const {
  if (!(hits_variance > 0)) return 0;
  return (static_cast<double>(hits) - expected_hits) / std::sqrt(hits_variance);
}

struct alignas(std::max_align_t) Arena::Chunk {
  Chunk* next;
  std::size_t bytes;

  [[nodiscard]] std::uintptr_t begin() const {
    return reinterpret_cast<std::uintptr_t>(this) + sizeof(Chunk);
  }
  [[nodiscard]] std::uintptr_t end() const {
    return reinterpret_cast<std::uintptr_t>(this) + bytes;
  }
};

struct Arena::LiveSample {
  LiveSample* next;
  ArenaSample sample;
};

inline Arena::Arena(const ArenaOptions& options) : seed_state_(options.seed), options_(options) {
  if (options.chunk_size < 256 || options.chunk_size > std::size_t{1} << 40) {
    arena::fail<std::invalid_argument>("geiger::Arena: chunk_size must be 256 to 2^40 bytes");
  }
  if (options_.upstream == nullptr) options_.upstream = std::pmr::get_default_resource();
  // An empty chunk, at an address that is not null and that no object has.
  next_ = chunk_end_ = armed_at_ = reinterpret_cast<std::uintptr_t>(this);
  if (options.seed == 0) seed_state_ = arena::fresh_seed();
  start_epoch(options.interval);
  follow_interval();
  arm();
}

inline Arena::~Arena() {
  free_all();
  give_back_all_but(nullptr);
}

[[gnu::noinline, gnu::cold]] inline void Arena::refuse(std::size_t alignment) {
  const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (is_power) arena::fail<std::bad_alloc>();
  arena::fail<std::invalid_argument>("geiger::Arena: an alignment must be a power of two");
}

// Settle, place, decide, arm, and only then call the sink, so that the arena is consistent there.
// Not cold: compilers optimise cold code for size, and one call in T bytes is noticeable in a
// program that does nothing but allocate.
[[gnu::noinline]] inline void* Arena::allocate_slow(std::size_t size, std::size_t alignment,
                                                    const char* type) {
  settle();
  auto* address = reinterpret_cast<void*>(place(size, alignment));
  totals_.bytes += size;
  const sampling::Verdict verdict = decide(size);
  const double lambda = sampler_.lambda();
  follow_interval();
  arm();
  if (verdict.kind != sampling::Verdict::Kind::kNotSampled) {
    const bool is_certain = verdict.kind == sampling::Verdict::Kind::kCertain;
    totals_.certain += is_certain;
    report({address, size, alignment, verdict.offset, is_certain, lambda, type});
  }
  return address;
}

// The place of an object depends only on sizes, never on a trial: the layout is the same for all
// outcomes, so it may decide which bytes are tried.
inline std::uintptr_t Arena::place(std::size_t size, std::size_t alignment) {
  std::uintptr_t begin = arena::round_up(next_, alignment);
  if (begin > chunk_end_ || size > chunk_end_ - begin) {
    const std::size_t largest = options_.chunk_size / 4;
    if (size > largest || alignment > largest) return place_alone(size, alignment);
    refill();
    begin = next_ = arena::round_up(next_, alignment);
  }
  // The fast path subtracts padding from K like everything between `next` and `end`. The same must
  // happen here: otherwise K would depend on whether the padding caused the slow path.
  const std::uint64_t padding = begin - next_;
  totals_.bytes += padding;
  if (padding != 0 && sampler_.is_started()) {
    const sampling::Verdict verdict = sampler_.try_bytes(padding);
    const bool is_hit = verdict.kind == sampling::Verdict::Kind::kSampled;
    count(is_hit ? verdict.offset + 1 : padding, is_hit);
  }
  next_ = begin + size;
  return begin;
}

// Large objects do not change the current chunk. Their bytes do not move S, so decide() subtracts
// them from K, and S is armed again.
inline std::uintptr_t Arena::place_alone(std::size_t size, std::size_t alignment) {
  const std::size_t slack = alignment > alignof(Chunk) ? alignment : 0;
  std::size_t bytes = 0;
  if (__builtin_add_overflow(sizeof(Chunk) + slack, size, &bytes)) {
    arena::fail<std::bad_alloc>();
  }
  return arena::round_up(take_chunk(bytes)->begin(), alignment);
}

inline void Arena::refill() {
  chunk_ = take_chunk(options_.chunk_size);
  next_ = chunk_->begin();
  chunk_end_ = chunk_->end();
  if (options_.discards_on_refill && sampler_.is_started()) sampler_.redraw();
}

inline Arena::Chunk* Arena::take_chunk(std::size_t bytes) {
  void* memory = options_.upstream->allocate(bytes, alignof(Chunk));
  chunks_ = ::new (memory) Chunk{chunks_, bytes};
  return chunks_;
}

inline void Arena::give_back_all_but(Chunk* kept) {
  while (chunks_ != nullptr) {
    Chunk* chunk = std::exchange(chunks_, chunks_->next);
    if (chunk != kept) options_.upstream->deallocate(chunk, chunk->bytes, alignof(Chunk));
  }
  if (kept != nullptr) kept->next = nullptr;
  chunks_ = chunk_ = kept;
}

inline void Arena::settle() {
  const std::uint64_t passed = next_ - armed_at_;
  armed_at_ = next_;
  totals_.bytes += passed;
  if (!sampler_.is_started()) return;
  sampler_.settle(passed);
  count(passed, false);
}

inline void Arena::arm() {
  armed_at_ = next_;
  std::uint64_t left = chunk_end_ - next_;
  if (sampler_.is_started()) left = std::min(left, sampler_.countdown());
  combined_limit_ = next_ + left;
}

inline sampling::Verdict Arena::decide(std::size_t size) {
  if (!sampler_.is_started()) return {};
  const sampling::Verdict verdict = sampler_.trial(size);
  if (verdict.kind == sampling::Verdict::Kind::kCertain) return verdict;
  const bool is_hit = verdict.kind == sampling::Verdict::Kind::kSampled;
  count(is_hit ? verdict.offset + 1 : size, is_hit);
  return verdict;
}

inline void Arena::count(std::uint64_t trials, bool is_hit) {
  epoch_trials_ += trials;
  totals_.hits += is_hit;
}

inline void Arena::report(const ArenaSample& sample) {
  ++totals_.samples;
  LiveSample* node = nullptr;
  if (!is_reporting_ && options_.sink.freed != nullptr) node = new (std::nothrow) LiveSample;
  if (is_reporting_ || (options_.sink.freed != nullptr && node == nullptr)) {
    ++totals_.dropped;
    return;
  }
  if (node != nullptr) {
    *node = {live_, sample};
    live_ = node;
  }
  if (options_.sink.allocated == nullptr) return;
  is_reporting_ = true;
  options_.sink.allocated(options_.sink.context, sample);
  is_reporting_ = false;
}

inline void Arena::free_all() {
  is_reporting_ = true;
  while (live_ != nullptr) {
    LiveSample* node = std::exchange(live_, live_->next);
    options_.sink.freed(options_.sink.context, node->sample);
    delete node;
  }
  is_reporting_ = false;
}

inline void Arena::reset() {
  if (is_reporting_) arena::fail<std::logic_error>("geiger::Arena: reset() inside its sink");
  settle();
  free_all();
  give_back_all_but(chunk_);
  if (chunk_ != nullptr) next_ = chunk_->begin();
  arm();
}

inline void Arena::release() {
  if (is_reporting_) arena::fail<std::logic_error>("geiger::Arena: release() inside its sink");
  settle();
  free_all();
  give_back_all_but(nullptr);
  next_ = chunk_end_ = reinterpret_cast<std::uintptr_t>(this);
  arm();
}

// A change during the report of a drawn byte takes effect after it: that byte was drawn at the old
// T, and its outcome remains.
inline void Arena::follow_interval() {
  if (options_.sink.interval == nullptr) return;
  const std::uint64_t wanted = options_.sink.interval(options_.sink.context);
  if (wanted != sampler_.interval()) start_epoch(wanted);
}

inline void Arena::start_epoch(std::uint64_t interval) {
  close_epoch();
  if (interval == 0) {
    sampler_ = {};
  } else if (sampler_.is_started()) {
    sampler_.change_interval(interval, sampling::rate_of(interval));
  } else {
    sampler_.start(next_seed(), interval, sampling::rate_of(interval), options_.is_pure);
  }
}

inline void Arena::set_interval(std::uint64_t interval) {
  settle();
  start_epoch(interval);
  arm();
}

inline void Arena::reseed(std::uint64_t seed) {
  settle();
  seed_state_ = seed != 0 ? seed : arena::fresh_seed();
  if (sampler_.is_started()) sampler_.reseed(next_seed());
  arm();
}

inline std::uint64_t Arena::next_seed() { return sampling::splitmix64(seed_state_); }

inline void Arena::close_epoch() {
  if (!sampler_.is_started()) return;
  const double p = 1.0 / static_cast<double>(sampler_.interval());
  const auto trials = static_cast<double>(epoch_trials_);
  totals_.trials += std::exchange(epoch_trials_, 0);
  totals_.expected_hits += trials * p;
  totals_.hits_variance += trials * p * (1 - p);
}

inline ArenaTotals Arena::totals() {
  settle();
  close_epoch();
  return totals_;
}

}  // namespace geiger
