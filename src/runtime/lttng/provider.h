/* The LTTng-UST provider `geiger`. LTTng includes this file several times over, to make
   something else of it each time: hence no include guard of the usual kind. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER geiger

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "runtime/lttng/provider.h"

#if !defined(GEIGER_RUNTIME_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define GEIGER_RUNTIME_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>

#include "runtime/lttng/fire.h"

LTTNG_UST_TRACEPOINT_EVENT(
    geiger, allocation_sampled, LTTNG_UST_TP_ARGS(const struct geiger_lttng_sample*, sample),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer_hex(uint64_t, address, sample->address)
            lttng_ust_field_sequence_text(char, type, sample->type.text, size_t, sample->type.bytes)
                lttng_ust_field_integer(uint64_t, requested,
                                        sample->requested) lttng_ust_field_integer(uint64_t, usable,
                                                                                   sample->usable)
                    lttng_ust_field_integer(uint64_t, offset, sample->offset)
                        lttng_ust_field_integer(uint64_t, weighted_bytes, sample->weighted_bytes)
                            lttng_ust_field_integer(uint64_t, alignment, sample->alignment)
                                lttng_ust_field_integer(uint32_t, entry_point, sample->entry_point)
                                    lttng_ust_field_integer(uint32_t, heap, sample->heap)
                                        lttng_ust_field_integer(uint32_t, sample, sample->sample)
                                            lttng_ust_field_integer(uint32_t, thread,
                                                                    sample->thread)
                                                lttng_ust_field_sequence_text(char, label,
                                                                              sample->label.text,
                                                                              size_t,
                                                                              sample->label.bytes)
                                                    lttng_ust_field_sequence_hex(
                                                        uint64_t, stack, sample->frames, size_t,
                                                        sample->frame_count)))

LTTNG_UST_TRACEPOINT_EVENT(
    geiger, sample_freed, LTTNG_UST_TP_ARGS(const struct geiger_lttng_free*, freed),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(uint64_t, address, freed->address)
                            lttng_ust_field_integer(uint32_t, sample, freed->sample)
                                lttng_ust_field_integer(uint32_t, thread, freed->thread)
                                    lttng_ust_field_integer(uint64_t, lifetime, freed->lifetime)
                                        lttng_ust_field_integer(uint8_t, is_unseen,
                                                                freed->is_unseen)))

#endif

#include <lttng/tracepoint-event.h>
