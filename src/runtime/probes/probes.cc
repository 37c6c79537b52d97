#include "runtime/probes/probes.h"

// Arguments stand in registers: not every reader of notes knows other places.
#define STAP_SDT_ARG_CONSTRAINT r
#define _SDT_HAS_SEMAPHORES 1  // NOLINT: the name that sys/sdt.h looks for.
#include <sys/sdt.h>

#include "base/check.h"
#include "sampling/exponential.h"

// Behind the initialised data, where the kernel can count in the file's private pages.
#define GEIGER_SEMAPHORE(name) \
  [[gnu::section(".probes")]] volatile unsigned short name##_semaphore = 0
GEIGER_SEMAPHORE(geiger_sample);
GEIGER_SEMAPHORE(geiger_free);
GEIGER_SEMAPHORE(geiger_mark);
GEIGER_SEMAPHORE(geiger_interval);
GEIGER_SEMAPHORE(geiger_mapping);
GEIGER_SEMAPHORE(otel_memory_alloc);
GEIGER_SEMAPHORE(otel_memory_free);

// Consumers of the contract may read the arguments as those of a call, without the notes.
#if defined(__x86_64__)
#define GEIGER_ARGUMENT_1 "rdi"
#define GEIGER_ARGUMENT_2 "rsi"
#define GEIGER_ARGUMENT_3 "rdx"
#elif defined(__aarch64__)
#define GEIGER_ARGUMENT_1 "x0"
#define GEIGER_ARGUMENT_2 "x1"
#define GEIGER_ARGUMENT_3 "x2"
#else
#error "in which registers are the arguments of calls here?"
#endif

namespace geiger::probes {
namespace {

/// Names the thread among the trace's, as every record does.
std::uint32_t thread_of(std::uint64_t header) { return trace::RecordHeader::unpack(header).thread; }

void fire_otel_alloc(std::uint64_t address, std::uint64_t size, std::uint64_t weight) {
  register std::uint64_t first asm(GEIGER_ARGUMENT_1) = address;
  register std::uint64_t second asm(GEIGER_ARGUMENT_2) = size;
  register std::uint64_t third asm(GEIGER_ARGUMENT_3) = weight;
  STAP_PROBE3(otel_memory, alloc, first, second, third);
}

void fire_otel_free(std::uint64_t address) {
  register std::uint64_t first asm(GEIGER_ARGUMENT_1) = address;
  STAP_PROBE1(otel_memory, free, first);
}

}  // namespace

GEIGER_SLOW_PATH void fire_sample(trace::Ref sample, const trace::SampleRecord& record,
                                  double lambda) {
  const std::uint64_t requested = record.requested();
  const std::uint64_t weight = sampling::weighted_bytes(requested, lambda);
  const std::uint64_t kind =
      static_cast<std::uint64_t>(record.entry_point()) | std::uint64_t{record.heap()} << 16;
  const std::uint64_t alignment = std::uint64_t{1} << (record.log2_alignment() & 63);
  // bpftrace reads the first six arguments only (arg0 to arg5, x86-64).
  STAP_PROBE12(geiger, sample, record.address, requested, record.usable(), weight, sample,
               record.stack, record.offset, alignment, record.label, record.type,
               thread_of(record.header), kind);
  // The memory of a custom heap may be a sample of the process's own as well.
  if (record.heap() == 0) fire_otel_alloc(record.address, requested, weight);
}

GEIGER_SLOW_PATH void fire_free(trace::Ref sample, const trace::SampleRecord& freed,
                                const trace::FreeRecord& record) {
  const std::uint64_t lifetime = record.time > freed.time ? record.time - freed.time : 0;
  const bool is_unseen =
      (trace::RecordHeader::unpack(record.header).flags & trace::kFlagUnseen) != 0;
  STAP_PROBE6(geiger, free, freed.address, sample, lifetime, record.stack, thread_of(record.header),
              std::uint32_t{is_unseen});
  if (freed.heap() == 0) fire_otel_free(freed.address);
}

GEIGER_SLOW_PATH void fire_mark(const char* text, std::uint32_t bytes, Nanoseconds time) {
  STAP_PROBE3(geiger, mark, text, bytes, time);
}

GEIGER_SLOW_PATH void fire_interval(Bytes interval, double lambda) {
  STAP_PROBE2(geiger, interval, interval, __builtin_bit_cast(std::uint64_t, lambda));
}

GEIGER_SLOW_PATH void fire_mapping(const trace::MappingRecord& record) {
  STAP_PROBE8(geiger, mapping, static_cast<std::uint32_t>(record.kind), record.address,
              record.bytes, record.protection, record.old_address, record.old_bytes, record.flags,
              record.stack);
}

}  // namespace geiger::probes
