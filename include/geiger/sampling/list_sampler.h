// The sampler in its list form, for allocators that hand out blocks from free lists of one size.
//
// Every byte of every block is a trial that succeeds with probability 1/T, as in counter_sampler.h.
// Each heap and size class has a skip count K of its own: the failed trials before the next
// success, counted from the first byte of the next block to be handed out. That block, of b bytes,
// contains a success exactly if K < b, and the K / b blocks before the drawn one need no decision.
// So the list is cut there: `left` counts only those blocks, and the slow path at the end of the
// count, which every allocator has, decides about the next block. Sampling only changes the value
// of `left`; the fast path has the same instructions.
//
// An object of `size` <= b bytes is a sample  <=>  size > skip, and its drawn byte is at `skip`. At
// size == skip all its bytes are failed trials: the success is in the rounding after the request,
// outside of the object, so it is dropped.
//
// Invariants between calls, of a list with `left` >= 0:
//
//   K = left * block_size + skip
//   blocks on the list = left + reserve
//   reserve > 0  =>  skip < block_size: the block after `left` more is the drawn one; or
//                    block_size >= T and not `pure`: left = 0, every request is decided
//   blocks handed out = installed - left - reserve
//
// Equality: at K = n * block_size a list of n blocks is handed out completely, and the first block
// of the next list is drawn at its byte 0.
//
// Proof that samples have the law of counter_sampler.h: docs/internals/estimators.md, section 20.1.
// Rules for allocators: docs/guide/sampling-contract.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "geiger/sampling/counter_sampler.h"
#include "geiger/sampling/prng.h"
#include "geiger/sampling/skip_count.h"

namespace geiger::sampling {

/// The free list of one heap and one size class, and its trials.
///
/// Zero-initialised is valid and means closed: nothing is left, so the first take() enters the slow
/// path. Without a block size the list is never cut.
///
/// Threads: owned by the heap's thread. Others may read `left` at any time, as an aligned word; see
/// handed_out(). Signals: a handler must not enter while its thread is inside. Fork: see
/// ListSampler. Allocates: never.
struct SampledList {
  /// `left` in the heap shared by threads without a heap. No take() of it succeeds, and many
  /// threads may decrement it at once: it would take 2^62 of them to wrap. This is why the test is
  /// for the sign: after a first take() of a list at 0, a test for "was not 0" would succeed.
  static constexpr std::int64_t kNoHeap = std::numeric_limits<std::int64_t>::min() / 2;

  void* head = nullptr;          ///< The allocator's: its first free block. Not used here.
  std::int64_t left = 0;         ///< Blocks that the fast path may still hand out; < 0: none.
  std::uint64_t skip = 0;        ///< Failed bytes after those, before the next success.
  std::uint64_t reserve = 0;     ///< Blocks on the list beyond `left`.
  std::uint64_t installed = 0;   ///< Blocks put on the list so far, minus those withdrawn.
  std::uint64_t block_size = 0;  ///< Bytes; 0 = closed.

  /// The fast path: true if the first block of the list may be handed out undecided. If false,
  /// ListSampler::decide() hands it out.
  constexpr bool take() noexcept { return --left >= 0; }

  /// Blocks on the list. A count below 0 comes from failed take()s, which did not hand out a block.
  [[nodiscard]] constexpr std::uint64_t listed() const noexcept { return reserve + undecided(); }

  /// Whether no block is on the list: the slow path must install() some before it decides.
  [[nodiscard]] constexpr bool is_used_up() const noexcept { return reserve == 0 && left <= 0; }

  /// K. Does not wrap: the product was subtracted from a K.
  [[nodiscard]] constexpr std::uint64_t skip_count() const noexcept {
    return skip + undecided() * block_size;
  }

  /// Blocks handed out so far, exactly. In another thread, which reads the three words one by one,
  /// the result may be wrong by the length of one list if the owner is in its slow path meanwhile.
  [[nodiscard]] constexpr std::uint64_t handed_out() const noexcept {
    return installed - reserve - undecided();
  }

 private:
  [[nodiscard]] constexpr std::uint64_t undecided() const noexcept {
    return left > 0 ? static_cast<std::uint64_t>(left) : 0;
  }
};

/// The generator and interval that all lists of one heap share. Objects larger than all size
/// classes are decided one by one, by a CounterSampler of the heap.
///
/// T = 1 decides every request, and all are samples. interval 0 means never: lists stay uncut.
/// A request of 0 bytes is a sample if the first byte of its block is drawn, with the probability
/// of one byte; its offset is 0.
///
/// Certain objects: unless `pure`, a request of at least T bytes is recorded with probability 1,
/// and its block is not tried: K stays. Classes with block_size >= T therefore decide every
/// request.
///
/// Zero-initialised is valid and means never; change_interval() needs start() first.
///
/// Threads: owned by the heap's thread; a heap may pass to another thread with its lists unchanged.
/// Signals: a handler must not enter while its thread is inside. Fork: the child must reseed()
/// every heap before it hands out one of its blocks, else parent and child draw the same bytes.
/// Allocates: never.
class ListSampler {
 public:
  /// `interval` = T in bytes, 0 = never; `lambda` = rate_of(T).
  void start(std::uint64_t seed, std::uint64_t interval, double lambda, bool pure) noexcept;

  /// Makes `list` an empty list of blocks of `block_size` >= 1 bytes, with its first K. Call it
  /// before the first install().
  void open(SampledList& list, std::uint64_t block_size) noexcept;

  /// Counts `blocks` more at the end of the list. K stays. Allowed at any time, not only when the
  /// list is used up; the allocator must call it wherever it lengthens a list.
  void install(SampledList& list, std::uint64_t blocks) const noexcept;

  /// Removes `blocks` that leave the list without being handed out, because their page is retired
  /// or changes owner. K stays. Requires blocks <= those on the list; larger values are clamped.
  void withdraw(SampledList& list, std::uint64_t blocks) const noexcept;

  /// Hands out the next block, for a request of `size` <= block_size bytes, and decides about it;
  /// cuts the rest of the list again. Call it after a failed take(), or without one. Requires a
  /// block on the list: without one nothing is decided or counted. lambda() is the sample's rate
  /// until the next change_interval().
  Verdict decide(SampledList& list, std::uint64_t size) noexcept;

  /// Changes T, or stops sampling (0): redraws the K of `count` lists, which must be all of the
  /// heap's. Every list is redrawn, independently of its state: if only cut lists were, the choice
  /// of lists that keep an old K would depend on the outcome. A slow path that finds a new T first
  /// decides its own block at the old one, whose K led to this slow path.
  void change_interval(SampledList* lists, std::size_t count, std::uint64_t interval,
                       double lambda) noexcept;

  /// Changes the generator and redraws K in all lists of the heap (fork's child).
  void reseed(SampledList* lists, std::size_t count, std::uint64_t seed) noexcept;

  [[nodiscard]] std::uint64_t interval() const noexcept { return interval_; }  ///< T; 0 = never.
  [[nodiscard]] double lambda() const noexcept { return lambda_; }
  [[nodiscard]] bool is_pure() const noexcept { return is_pure_; }

 private:
  // size >= T; 0 (never) wraps to the largest number, which no size exceeds. One comparison in
  // either case, so that "off" executes the same code as "on".
  [[nodiscard]] bool is_certain(std::uint64_t size) const noexcept {
    return size > interval_ - 1 && !is_pure_;
  }
  std::uint64_t draw() noexcept;
  void redraw(SampledList* lists, std::size_t count) noexcept;
  void cut(SampledList& list, std::uint64_t skip_count, std::uint64_t blocks) const noexcept;

  Xoshiro256pp generator_;
  std::uint64_t interval_ = 0;
  double lambda_ = 0;
  bool is_pure_ = false;
};

}  // namespace geiger::sampling

#ifndef GEIGER_SAMPLING_COMPILED
#define GEIGER_SAMPLING_INLINE inline
#include "geiger/sampling/list_sampler.inl"
#endif
