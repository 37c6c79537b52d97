#include "runtime/interpose/drawing_allocator.h"

#include "base/check.h"
#include "heap/listener.h"
#include "runtime/capture/sample/sample.h"
#include "runtime/interpose/elf_lookup.h"
#include "runtime/interpose/python_domains.h"
#include "runtime/unwind/modules.h"

namespace geiger::interpose {
namespace {

using capture::Asked;
using heap::Listener;
using heap::Sample;
using trace::EntryPoint;

using Listen = void (*)(const Listener* listener, std::uint64_t interval, std::uint64_t seed);
using KeepMemory = void (*)(bool keeps);
constinit Listen listen = nullptr;

/// The program's call: as noted by AskedAs, or else the allocator's own call.
Asked asked_for(const Sample& sample, const void* frame) {
  const Asked said = capture::tls.asked;
  if (said.frame > frame) return said;
  return {nullptr, sample.requested, EntryPoint::kMalloc, false};
}

GEIGER_SLOW_PATH std::uint64_t on_sampled(const Sample* sample) {
  const Asked asked = asked_for(*sample, __builtin_frame_address(0));
  if (asked.is_own) return 0;
  // The drawn byte was added by rounding the request up; it is not a byte of the object.
  const bool is_behind = sample->offset >= asked.bytes && sample->offset != 0;
  if (is_behind && !sample->is_certain) return 0;
  const capture::Allocation allocation{sample->address, asked.bytes, sample->usable,
                                       asked.entry_point, sample->alignment};
  const capture::Decision decision =
      capture::record_drawn({allocation, sample->interval, sample->offset, sample->is_certain},
                            unwind::caller_registers());
  look_after_python(decision);
  return 0;  // The filter identifies samples by address.
}

/// Records a free that bypassed us; most frees were seen before.
GEIGER_SLOW_PATH void on_freed(std::uint64_t, const void* address) {
  if (!capture::filter.maybe_holds(address)) return;
  capture::release(address, unwind::caller_registers());
}

constexpr Listener kListener{on_sampled, on_freed};

void draw(std::uint64_t interval, std::uint64_t seed) {
  if (interval == 0) return listen(nullptr, heap::kDefaultInterval, seed);
  listen(&kListener, interval, seed);
}

constinit Originals asked_originals{};

constexpr std::size_t bytes_of(std::size_t size) { return size; }
template <class First, class... Rest>
constexpr std::size_t bytes_of(First, Rest... rest) {
  return bytes_of(rest...);
}

/// An original whose last argument is the size.
template <EntryPoint kEntryPoint, auto kMember>
struct Asking;
template <EntryPoint kEntryPoint, class R, class... A, R (*Originals::*kMember)(A...)>
struct Asking<kEntryPoint, kMember> {
  static R call(A... arguments) {
    const AskedAs asked(kEntryPoint, bytes_of(arguments...));
    return (asked_originals.*kMember)(arguments...);
  }
};

void* ask_calloc(std::size_t count, std::size_t size) {
  const AskedAs asked(EntryPoint::kCalloc, count * size);
  return asked_originals.calloc(count, size);
}

}  // namespace

void ask_for_samples(const link_map* allocator, Originals& table) {
  listen = reinterpret_cast<Listen>(find_in(allocator, "geiger_heap_listen_v1").address);
  if (listen == nullptr) return;
  const link_map* own = own_module();
  const auto keep_memory =
      reinterpret_cast<KeepMemory>(find_in(allocator, "geiger_heap_keep_memory_v1").address);
  capture::set_drawing_allocator({draw, keep_memory, unwind::range_of(allocator),
                                  own != nullptr ? unwind::range_of(own) : unwind::AddressRange{}});
  asked_originals = table;
  table.calloc = ask_calloc;
  table.realloc = Asking<EntryPoint::kRealloc, &Originals::realloc>::call;
  table.realloc_for_array = Asking<EntryPoint::kReallocarray, &Originals::realloc>::call;
  table.memalign = Asking<EntryPoint::kMemalign, &Originals::memalign>::call;
  table.aligned_alloc = Asking<EntryPoint::kAlignedAlloc, &Originals::aligned_alloc>::call;
  table.posix_memalign = Asking<EntryPoint::kPosixMemalign, &Originals::posix_memalign>::call;
  table.valloc = Asking<EntryPoint::kValloc, &Originals::valloc>::call;
  table.pvalloc = Asking<EntryPoint::kPvalloc, &Originals::pvalloc>::call;
}

bool is_told_samples() { return listen != nullptr; }

}  // namespace geiger::interpose
