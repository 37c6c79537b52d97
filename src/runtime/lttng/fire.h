/* The contents of an event of the LTTng provider, and the function that fires it: the provider's
   macros are C and stay in fire.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): C has no namespaces. */

/* Not NUL-terminated; no bytes: no name. */
struct geiger_lttng_text {
  const char* text;
  size_t bytes;
};

struct geiger_lttng_sample {
  uint64_t address;
  uint64_t requested;
  uint64_t usable;
  uint64_t offset;         /* Of the drawn byte; no meaning where weighted_bytes is requested. */
  uint64_t weighted_bytes; /* What the sample stands for. */
  uint64_t alignment;
  uint32_t entry_point;
  uint32_t heap;   /* 0: the process's own. */
  uint32_t sample; /* Its reference in the trace: what its free names. */
  uint32_t thread; /* Index in the trace. */
  struct geiger_lttng_text type;
  struct geiger_lttng_text label; /* The innermost. */
  const uint64_t* frames;         /* Return addresses, leaf first. */
  size_t frame_count;
};

struct geiger_lttng_free {
  uint64_t address;
  uint64_t lifetime; /* ns */
  uint32_t sample;
  uint32_t thread;
  uint8_t is_unseen; /* The address came back; the free itself was not seen. */
};

/* NOLINTEND(readability-identifier-naming) */

/* Whether a session has the event enabled at this moment. */
int geiger_lttng_wants_samples(void);
int geiger_lttng_wants_frees(void);

void geiger_lttng_fire_sample(const struct geiger_lttng_sample* sample);
void geiger_lttng_fire_free(const struct geiger_lttng_free* freed);

#ifdef __cplusplus
}
#endif
