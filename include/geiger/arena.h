// Bump allocation with sampling at no cost: a single limit covers the end of the current chunk and
// the next drawn byte.
//
// Objects are placed one after the other and freed all at once. Every byte is tried with
// probability 1/T, as in sampling/samplers.h. `next` grows by exactly the bytes by which the
// skip count K shrinks, so the address next + K does not move, and one comparison makes both tests:
//
//   sampling limit   S = next + K
//   combined limit   C = min(S, end of the chunk);  without sampling C = end of the chunk
//
//   begin = next rounded up to the alignment,  end = begin + size
//   C < end   ->  slow path: no room, or a drawn byte below `end`
//   else      ->  next = end
//
// An object that ends exactly at C fits, and is not a sample: at size == K all its bytes fail.
// Sampling changes only the value of C, not a single instruction. docs/internals/arena.md has the
// derivation.
//
// Header only, C++17, g++ and clang++ on 64-bit Linux.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

#include "geiger/sampling/counter_sampler.h"
#include "geiger/type_name.h"

namespace geiger {

/// A sampled object of an arena.
struct ArenaSample {
  void* address = nullptr;
  std::size_t size = 0;        ///< Requested bytes, without the padding in front.
  std::size_t alignment = 0;   ///< Requested, in bytes.
  std::uint64_t offset = 0;    ///< Of the drawn byte, from 0, below the size; 0 if certain.
  bool is_certain = false;     ///< At least T bytes, recorded with probability 1.
  double lambda = 0;           ///< Rate of its trials: pi = 1 - e^(-lambda size) unless certain.
  const char* type = nullptr;  ///< Type of the object, or null. Valid for ever.
};

/// Receives the samples of an arena. Null functions are not called.
///
/// They run inside the arena's slow path, in the thread that allocates. They may allocate, even
/// from this arena: samples drawn meanwhile are not reported, but counted as dropped. (Inside
/// freed() that memory is freed with the rest.) They must not reset(), release() or destroy the
/// arena; the first two then throw std::logic_error, which ends the program, as these functions are
/// noexcept.
struct SampleSink {
  void* context = nullptr;
  void (*allocated)(void* context, const ArenaSample& sample) noexcept = nullptr;
  /// Once per reported sample, when the arena frees everything.
  void (*freed)(void* context, const ArenaSample& sample) noexcept = nullptr;
  /// Returns the interval T to use from now on, in bytes, 0 for no sampling; replaces
  /// ArenaOptions::interval. Called when the arena is created and after each object of the slow
  /// path: a new T applies from the next object on.
  std::uint64_t (*interval)(void* context) noexcept = nullptr;
};

struct ArenaOptions {
  /// Bytes of an ordinary chunk, 256 to 2^40. Objects above a quarter of it get their own.
  std::size_t chunk_size = std::size_t{64} << 10;
  /// Source of chunks; null: std::pmr::get_default_resource().
  std::pmr::memory_resource* upstream = nullptr;
  /// T in bytes; 0: no sampling. Not used if the sink has an interval().
  std::uint64_t interval = std::uint64_t{512} << 10;
  /// Objects of T bytes and more are tried too, instead of being certain.
  bool is_pure = false;
  /// Drops the pending trials at each refill, as the .NET runtime does. Changes no
  /// probability (docs/internals/arena.md); costs a random number per chunk.
  bool discards_on_refill = false;
  /// Equal seeds give equal samples; 0: a fresh seed from the kernel.
  std::uint64_t seed = 0;
  SampleSink sink{};
};

/// An arena's totals since it was created; exact.
struct ArenaTotals {
  std::uint64_t bytes = 0;    ///< Bytes handed out, padding between objects included.
  std::uint64_t trials = 0;   ///< Bytes of these that were tried.
  std::uint64_t hits = 0;     ///< Trials that succeeded, in objects and in padding.
  std::uint64_t samples = 0;  ///< Sampled objects, certain ones included.
  std::uint64_t certain = 0;  ///< Samples recorded with probability 1.
  std::uint64_t dropped = 0;  ///< Samples not reported: drawn inside the sink, or no memory.
  double expected_hits = 0;   ///< Sum of p over the trials.
  double hits_variance = 0;   ///< Sum of p (1 - p).

  /// The self-check: hits minus their expectation, in standard errors. 0 if nothing is random.
  [[nodiscard]] double z() const;
};

/// A bump allocator whose allocations are sampled.
///
/// Threads: one at a time; give each its own. Signals: a handler must not allocate from an
/// arena that it may have interrupted. Fork: the child must call reseed() before it continues, else
/// it draws the same bytes as its parent. Allocates: chunks from upstream, and a node per live
/// sample from operator new if the sink has a freed().
class Arena {
 public:
  /// Throws std::invalid_argument for a chunk size out of range. Does not allocate yet.
  explicit Arena(const ArenaOptions& options = {});
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// `size` bytes at a multiple of `alignment`. For 0 bytes: a pointer that must not be
  /// dereferenced and is not unique. `type` names a sample and must stay valid. Throws
  /// std::bad_alloc for sizes above PTRDIFF_MAX and std::invalid_argument for alignments that are
  /// not a power of two; exceptions of upstream pass through and leave the arena unchanged.
  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t),
                               const char* type = nullptr);

  /// Constructs a T from these arguments. The arena never calls its destructor.
  template <class T, class... Arguments>
  [[nodiscard]] T* make(Arguments&&... arguments) {
    void* place = allocate(sizeof(T), alignof(T), type_name<T>());
    return ::new (place) T(std::forward<Arguments>(arguments)...);
  }

  /// Frees all objects and keeps one ordinary chunk for later ones. Pending trials stay.
  void reset();
  /// Frees all objects and gives all chunks back.
  void release();

  /// Changes the interval to T bytes, 0 for no sampling. Pending trials are dropped and redrawn, so
  /// the decision to call it must not depend on samples still to come.
  void set_interval(std::uint64_t interval);
  /// Changes the seed and draws fresh trials, as a child must after fork(). 0: a fresh seed from
  /// the kernel.
  void reseed(std::uint64_t seed = 0);

  /// T in bytes; 0: no sampling.
  [[nodiscard]] std::uint64_t interval() const { return sampler_.interval(); }
  /// The totals up to this call.
  [[nodiscard]] ArenaTotals totals();

 private:
  struct Chunk;
  struct LiveSample;

  void* allocate_slow(std::size_t size, std::size_t alignment, const char* type);
  [[noreturn]] static void refuse(std::size_t alignment);

  std::uintptr_t place(std::size_t size, std::size_t alignment);
  std::uintptr_t place_alone(std::size_t size, std::size_t alignment);
  void refill();
  Chunk* take_chunk(std::size_t bytes);
  void give_back_all_but(Chunk* kept);

  void settle();
  void arm();
  sampling::Verdict decide(std::size_t size);
  void count(std::uint64_t trials, bool is_hit);
  void close_epoch();
  void start_epoch(std::uint64_t interval);
  void follow_interval();
  void report(const ArenaSample& sample);
  void free_all();
  std::uint64_t next_seed();

  // Invariants, between calls; S, C and K as at the top of the file:
  //   armed_at_ <= next_ <= combined_limit_ <= chunk_end_
  //   K = sampler's skip count - (next_ - armed_at_)
  //   combined_limit_ = min(armed_at_ + sampler_.countdown(), chunk_end_) as of arming
  // The countdown is min(K, T - 1) there, so that every certain object ends above C.
  std::uintptr_t next_;
  std::uintptr_t combined_limit_;
  std::uintptr_t chunk_end_;
  std::uintptr_t armed_at_;
  Chunk* chunk_ = nullptr;   ///< Contains next_.
  Chunk* chunks_ = nullptr;  ///< All of them.
  LiveSample* live_ = nullptr;
  bool is_reporting_ = false;
  sampling::CounterSampler sampler_;
  std::uint64_t seed_state_;
  std::uint64_t epoch_trials_ = 0;  ///< Since T last changed; not in totals_ yet.
  ArenaTotals totals_;
  ArenaOptions options_;
};

[[gnu::always_inline]] inline void* Arena::allocate(std::size_t size, std::size_t alignment,
                                                    const char* type) {
  // Removed by the compiler if size and alignment are constants. A size with its top bit set could
  // wrap `end`, an alignment of 0 would give address 0.
  const bool is_sane = alignment != 0 && (alignment & (alignment - 1)) == 0 &&
                       size <= static_cast<std::size_t>(PTRDIFF_MAX);
  if (__builtin_expect(!is_sane, 0)) refuse(alignment);
  const std::uintptr_t begin = (next_ + (alignment - 1)) & ~(alignment - 1);
  const std::uintptr_t end = begin + size;
  if (__builtin_expect(combined_limit_ < end, 0)) return allocate_slow(size, alignment, type);
  next_ = end;
  return reinterpret_cast<void*>(begin);
}

}  // namespace geiger

#include "geiger/arena.inl"
