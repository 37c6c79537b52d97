// Free lists of blocks of one size, with and without sampling, for counting instructions. What is
// freed goes to a second list, which becomes the next one to allocate from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "geiger/sampling/list_sampler.h"

struct Block {
  Block* next;
};

/// What was freed since the last refill.
struct FreedBlocks {
  Block* head = nullptr;
  std::uint64_t count = 0;

  void push(void* address) {
    auto* block = static_cast<Block*>(address);
    block->next = head;
    head = block;
    ++count;
  }
  Block* take_all() {
    Block* all = head;
    *this = {};
    return all;
  }
};

/// A list that ends in a null pointer.
struct PlainFreeList {
  Block* head = nullptr;
  FreedBlocks freed;

  void* allocate(std::size_t size) {
    Block* block = head;
    if (__builtin_expect(block == nullptr, 0)) return allocate_slow(size);
    head = block->next;
    return block;
  }

  [[gnu::noinline]] void* allocate_slow(std::size_t size) {
    head = freed.take_all();
    return head == nullptr ? nullptr : allocate(size);
  }
};

/// The sampler that its lists share, and what it decided.
struct ListSampling {
  geiger::sampling::ListSampler sampler;
  std::uint64_t samples = 0;
};

/// A list that is counted.
struct SampledFreeList {
  geiger::sampling::SampledList list;
  FreedBlocks freed;
  ListSampling* sampling = nullptr;

  void* allocate(std::size_t size) {
    if (__builtin_expect(!list.take(), 0)) return allocate_slow(size);
    return pop();
  }

  [[gnu::noinline]] void* allocate_slow(std::size_t size) {
    if (list.is_used_up()) {
      if (freed.count == 0) return nullptr;
      sampling->sampler.install(list, freed.count);
      list.head = freed.take_all();
    }
    const geiger::sampling::Verdict verdict = sampling->sampler.decide(list, size);
    if (verdict.kind != geiger::sampling::Verdict::Kind::kNotSampled) ++sampling->samples;
    return pop();
  }

 private:
  Block* pop() {
    auto* block = static_cast<Block*>(list.head);
    list.head = block->next;
    return block;
  }
};
