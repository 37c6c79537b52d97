#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "runtime/lttng/provider.h"

int geiger_lttng_wants_samples(void) {
  return lttng_ust_tracepoint_enabled(geiger, allocation_sampled) != 0;
}

int geiger_lttng_wants_frees(void) {
  return lttng_ust_tracepoint_enabled(geiger, sample_freed) != 0;
}

void geiger_lttng_fire_sample(const struct geiger_lttng_sample* sample) {
  lttng_ust_do_tracepoint(geiger, allocation_sampled, sample);
}

void geiger_lttng_fire_free(const struct geiger_lttng_free* freed) {
  lttng_ust_do_tracepoint(geiger, sample_freed, freed);
}
