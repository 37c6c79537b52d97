/* The C interface of geiger: profiles of the running program, from inside it.
 *
 * Link with geiger::geiger (or `pkg-config --libs geiger`). The same program then works
 *
 *   linked      capture runs in memory, and only once something asks for samples;
 *   preloaded   under `geiger run`: the same calls refer to the trace that is written;
 *   absent      compiled with -DGEIGER_ABSENT: every call is an inline no-op that returns
 *               GEIGER_NOT_AVAILABLE and clears what it would have filled in; nothing to
 *               link.
 *
 * Every function returns a geiger_status. None aborts, prints, or throws. A function that fails
 * clears its results. docs/guide/api.md states for each function whether it may be called in a
 * signal handler, a listener or a fork's child.
 *
 * C11 and C++. For C++ there is more in geiger.hpp. */
#ifndef GEIGER_GEIGER_H
#define GEIGER_GEIGER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef GEIGER_ABSENT
#define GEIGER_API static inline
#define GEIGER_WHERE_ABSENT(...) \
  { __VA_ARGS__ return GEIGER_NOT_AVAILABLE; }
#define GEIGER_CLEAR(pointer) \
  if ((pointer) != NULL) memset((void*)(pointer), 0, sizeof *(pointer));
#define GEIGER_IGNORE(argument) (void)(argument);
#else
#define GEIGER_API extern __attribute__((visibility("default")))
#define GEIGER_WHERE_ABSENT(...) ;
#endif

/* C passes any int for an enumerator; so it has a value in C++ too. */
#ifdef __cplusplus
#define GEIGER_AS_INT : int
#else
#define GEIGER_AS_INT
#endif

typedef enum geiger_status GEIGER_AS_INT {
  GEIGER_OK = 0,
  GEIGER_NOT_AVAILABLE,   /* No capture in this process, or one of another version. */
  GEIGER_NOT_RECORDING,   /* Nothing is recorded now, or recording has ended: see is_paused,
                             stop_reason and stop_errno in geiger_get_status(). */
  GEIGER_BAD_ARGUMENT,    /* A null pointer, an empty or too long text, an impossible size or
                             address. */
  GEIGER_BAD_INTERVAL,    /* Not between 1 byte and 1 TiB. */
  GEIGER_BAD_LEVEL,       /* A confidence level not strictly between 0 and 1. */
  GEIGER_BAD_HANDLE,      /* A token, profile, label or listener that was never given out. */
  GEIGER_WRONG_HEAP,      /* No heap has this number. */
  GEIGER_WRONG_NESTING,   /* Scopes within this one were still entered; they are left now. */
  GEIGER_NOT_ENTERED,     /* The scope is not entered, or was left already. Nothing changed. */
  GEIGER_WRONG_THREAD,    /* The scope belongs to another thread. Nothing changed. */
  GEIGER_OTHER_PROCESS,   /* The handle was made before a fork, by the parent. */
  GEIGER_ALREADY_STOPPED, /* The token was stopped, the profile or listener removed before. */
  GEIGER_IN_LISTENER,     /* Not allowed within a listener. */
  GEIGER_BUSY,            /* The call interrupted (signal handler) one like it, or an allocation. */
  GEIGER_LIMIT,           /* One of the limits below is reached. */
  GEIGER_NO_MEMORY,
  GEIGER_FAILED_IO,  /* Writing failed; errno has the reason. */
  GEIGER_THREW,      /* A function of the caller threw an exception; it ends here. */
  GEIGER_OVERWRITTEN /* The trace no longer reaches back to the token's start. */
} geiger_status;

/* Limits. Texts are in bytes, without a NUL. */
#define GEIGER_MAX_TEXT 1024
#define GEIGER_MAX_NESTING 16  /* labels within labels */
#define GEIGER_MAX_NAMES 65536 /* labels (in each surrounding label) and types, in total */
#define GEIGER_MAX_HEAPS 255
#define GEIGER_MAX_LISTENERS 32
#define GEIGER_MAX_INTERVAL (UINT64_C(1) << 40)

/* A text without a final NUL. Valid as long as the profile of its sample; in a listener, for
 * the call. */
typedef struct geiger_text {
  const char* data;
  size_t size;
} geiger_text;

/* A status in words; never null. Static storage. */
#ifdef GEIGER_ABSENT
static inline const char* geiger_status_message(geiger_status status) {
  return status == GEIGER_OK ? "no error" : "compiled without geiger";
}
static inline const char* geiger_get_version(void) { return "absent"; }
#else
GEIGER_API const char* geiger_status_message(geiger_status status);
/* "0.1.0" */
GEIGER_API const char* geiger_get_version(void);
#endif

/* ---------------------------------------------------------------- status --- */

typedef struct geiger_recorder {
  int is_interposed; /* The program's calls of malloc go through geiger. */
  int is_recording;  /* Samples can be taken: neither inert nor stopped. */
  int is_paused;     /* Nothing is recorded now. */
  int is_in_memory;  /* Linked, not preloaded: there is no file. */
  /* 0: has not stopped. 1: trace full (a file's only). 2: no space. 3: no mapping.
     4: an internal check failed. */
  int stop_reason;
  int stop_errno;        /* Of the system call that failed. */
  uint64_t interval;     /* In force, bytes; the program's own or a token's smaller one. */
  uint64_t own_interval; /* As set by geiger_set_sampling_interval() or from outside. */
  uint64_t live_samples;
  uint64_t trace_bytes, trace_capacity; /* Of the current trace; in memory there are four. */
  uint64_t dropped;                     /* Records lost, for any cause. */
  uint32_t open_tokens;
  uint32_t listeners;
  uint32_t failed_listeners; /* Removed because they threw. */
  char listener_error[128];  /* The last of these exceptions. */
} geiger_recorder;

/* Fills in the state of the recording. In a listener tokens and own_interval are left out. */
GEIGER_API geiger_status geiger_get_status(geiger_recorder* recorder)
    GEIGER_WHERE_ABSENT(GEIGER_CLEAR(recorder))

    /* Starts recording, until geiger_stop_recording() was called as often. Without a file (linked)
     * recording begins only with a token, a listener or this call: live and peak snapshots contain
     * only objects allocated since. No effect under `geiger run`, which records anyway. */
    GEIGER_API geiger_status geiger_start_recording(void)
        GEIGER_WHERE_ABSENT() GEIGER_API geiger_status geiger_stop_recording(void)
            GEIGER_WHERE_ABSENT()

    /* The mean number of bytes between two samples, 1 to 2^40. Threads follow at their next
     * sample. While a token with a smaller interval runs, that one is in force. Objects of at
     * least this size are recorded with certainty. */
    GEIGER_API geiger_status geiger_set_sampling_interval(uint64_t bytes)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(bytes)) GEIGER_API geiger_status
    geiger_get_sampling_interval(uint64_t* bytes) GEIGER_WHERE_ABSENT(GEIGER_CLEAR(bytes))

    /* Whether to record the stack that frees a sample too (geiger_sample.free_frames), from now
     * on; costs a walk per sampled free. Off at first. Under `geiger run` its --free-stacks
     * decides, and anything else is GEIGER_BAD_ARGUMENT. */
    GEIGER_API geiger_status geiger_record_free_stacks(int is_wanted)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(is_wanted))

    /* Writes a mark, which names this instant in the trace. */
    GEIGER_API geiger_status geiger_write_mark(const char* name)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(name))

    /* ------------------------------------------------------- allocated bytes --- */

    /* The bytes that the calling thread has requested from malloc, new and similar functions since
     * it began: exact, sampled or not, also while recording is paused. realloc counts its new size;
     * a failed request counts if it is smaller than the interval. Not counted: the program's own
     * mappings, custom heaps. The difference of two calls is what the thread requested in between.
     * In a fork's child counting starts from 0. */
    GEIGER_API geiger_status geiger_get_thread_allocated_bytes(uint64_t* bytes)
        GEIGER_WHERE_ABSENT(GEIGER_CLEAR(bytes))
    /* The bytes that all threads have requested, including those that have ended. `missing`: at
     * most so many bytes more, of threads whose counters could not be read; 0: `bytes` is exact.
     * Concurrent requests of other threads may or may not be included. */
    GEIGER_API geiger_status geiger_get_process_allocated_bytes(uint64_t* bytes, uint64_t* missing)
        GEIGER_WHERE_ABSENT(GEIGER_CLEAR(bytes) GEIGER_CLEAR(missing))

    /* ---------------------------------------------------------------- labels --- */

    /* A label: static, initialised once, entered any number of times by any thread.
     *   static geiger_label tenant = GEIGER_LABEL("tenant=acme"); */
    typedef struct geiger_label {
  const char* text; /* Must stay valid. */
  uint64_t known;   /* Private. */
} geiger_label;
#define GEIGER_LABEL(text) \
  { (text), 0 }

/* One entry of a scope, to be left by the same thread, not to be copied. Zeros: left. */
typedef struct geiger_scope {
  uint32_t inside; /* All members are private. */
  uint32_t before;
  uint32_t depth;
  uint32_t is_entered;
  uint64_t thread;
} geiger_scope;

/* Labels nest: entering "phase=parse" within "request" puts allocations under
 * request > phase=parse. Entering costs a comparison and a store, except for the first time within
 * a surrounding label. */
GEIGER_API geiger_status geiger_enter_label(geiger_label* label, geiger_scope* scope)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(label) GEIGER_CLEAR(scope))
    /* Enters the label of this text, which need not stay valid; looks it up at each call. */
    GEIGER_API geiger_status geiger_enter_label_text(const char* text, geiger_scope* scope)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(text) GEIGER_CLEAR(scope))
    /* Leaves a scope. Scopes entered within it and not left are left too
     * (GEIGER_WRONG_NESTING). */
    GEIGER_API geiger_status geiger_leave_label(geiger_scope* scope)
        GEIGER_WHERE_ABSENT(GEIGER_CLEAR(scope))

    /* The label in force in this thread, to pass to another thread or to a resumed coroutine:
     * geiger_resume_label() puts it in force until the scope is left. 0: no label. */
    GEIGER_API geiger_status geiger_current_label(uint32_t* label)
        GEIGER_WHERE_ABSENT(GEIGER_CLEAR(label)) GEIGER_API geiger_status
    geiger_resume_label(uint32_t label, geiger_scope* scope)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(label) GEIGER_CLEAR(scope))
    /* The id of a text within a label (0: within no label). */
    GEIGER_API geiger_status geiger_define_label(const char* text, uint32_t around, uint32_t* label)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(text) GEIGER_IGNORE(around) GEIGER_CLEAR(label))

    /* ----------------------------------------------------------------- types --- */

    /* Like geiger_label; names the type of the object being allocated. */
    typedef struct geiger_type {
  const char* name;
  uint64_t known;
} geiger_type;
#define GEIGER_TYPE(name) \
  { (name), 0 }

/* Names the type of this thread's allocations until the scope is left. Enter it right
 * around one allocation, not around the construction of the object. */
GEIGER_API geiger_status geiger_enter_type(geiger_type* type, geiger_scope* scope)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(type) GEIGER_CLEAR(scope)) GEIGER_API geiger_status
    geiger_leave_type(geiger_scope* scope) GEIGER_WHERE_ABSENT(GEIGER_CLEAR(scope))

    /* ---------------------------------------------------------- custom heaps --- */

    /* A heap that the program manages itself: a pool, an arena, a device's memory. 0 is the
     * process's own, for which nothing can be reported. */
    typedef uint32_t geiger_heap;

/* The heap of this name; one name is always the same heap. */
GEIGER_API geiger_status geiger_define_heap(const char* name, geiger_heap* heap)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(name) GEIGER_CLEAR(heap))

    /* Reports an allocation; call it after each that succeeded, before any thread can free it. The
     * bytes are tried like malloc's, at the same interval. Without a sample the call
     * costs a subtraction and a branch. `address` in [1, 2^48), unique among the live ones of its
     * heap, need not be readable; `size` up to 2^47. */
    GEIGER_API geiger_status
    geiger_report_allocation(geiger_heap heap, const void* address, size_t size)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(heap) GEIGER_IGNORE(address) GEIGER_IGNORE(size))

            typedef struct geiger_allocation {
  const void* address;
  size_t requested;
  size_t usable;     /* 0: as requested. */
  size_t alignment;  /* 0, or a power of two. */
  geiger_type* type; /* Null: the type in force. */
} geiger_allocation;
/* Like geiger_report_allocation(), with the usable size, the alignment and the type. */
GEIGER_API geiger_status geiger_report_allocation_of(geiger_heap heap,
                                                     const geiger_allocation* allocation)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(heap) GEIGER_IGNORE(allocation))

    /* For allocators that sample by themselves (geiger/arena.h): reports an
     * allocation that they drew, with a probability of 1/interval per byte, at the byte `offset`
     * from 0, or with certainty. Does not change the totals below. */
    typedef struct geiger_drawn {
  geiger_allocation allocation;
  uint64_t interval;
  uint64_t offset; /* Below requested; 0 if is_certain. */
  int is_certain;  /* At least interval in size. */
} geiger_drawn;
GEIGER_API geiger_status geiger_report_drawn(geiger_heap heap, const geiger_drawn* drawn)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(heap) GEIGER_IGNORE(drawn))
    /* The interval in force, bytes, for such allocators to sample with. Takes no lock. */
    GEIGER_API geiger_status geiger_get_interval_in_force(uint64_t* bytes)
        GEIGER_WHERE_ABSENT(GEIGER_CLEAR(bytes))

    /* Reports a free; call it before the address can be reused. */
    GEIGER_API geiger_status geiger_report_free(geiger_heap heap, const void* address)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(heap) GEIGER_IGNORE(address))
    /* Reports that all allocations of the heap are freed. Reads the table of live samples once. */
    GEIGER_API geiger_status geiger_report_reset(geiger_heap heap)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(heap))

    /* Totals of a heap's reports in this process, exact except for bytes that threads have not
     * settled yet (less than one interval each); and the sampler's check on itself. */
    typedef struct geiger_heap_totals {
  uint64_t bytes;         /* Requested, of all reports that succeeded. */
  uint64_t trials;        /* Bytes tried. */
  uint64_t hits;          /* Trials that succeeded. */
  uint64_t certain_bytes; /* In objects recorded with certainty. */
  uint64_t certain_objects;
  uint64_t interrupted; /* Allocations that were not tried: reported by a signal handler or
                           a listener during another report of the thread. */
  double z;             /* (hits - expected) / standard deviation; 0 if nothing is random. */
} geiger_heap_totals;
GEIGER_API geiger_status geiger_get_heap_totals(geiger_heap heap, geiger_heap_totals* totals)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(heap) GEIGER_CLEAR(totals))

    /* -------------------------------------------------------------- profiles --- */

    typedef struct geiger_token {
  uint64_t id;
} geiger_token;
typedef struct geiger_profile {
  uint64_t id;
} geiger_profile;

typedef enum geiger_profile_kind GEIGER_AS_INT {
  GEIGER_ALLOCATIONS,        /* Allocations while the token runs. */
  GEIGER_LIFETIMES,          /* Allocations with their frees; is_freed is 0 for objects that outlive
                                the token. */
  GEIGER_COMPLETE_LIFETIMES, /* Only objects freed while the token ran: biased towards short
                                lifetimes. */
  GEIGER_LIVE,               /* Live now. */
  GEIGER_PEAK,               /* Live when the heap was estimated largest. */
  GEIGER_FRAGMENTATION,      /* Live now; the value is usable - requested. */
  GEIGER_RESIDENCY           /* Live now; the value is the bytes in memory. */
} geiger_profile_kind;

/* Starts a profile of allocations or lifetimes. Any number may run at once, without
 * influence on each other. `interval`: 0 is the program's own at this moment. For a larger one the
 * samples are thinned; a smaller one is in force in the whole process while the token
 * runs, and the samples of others are thinned. Two system calls at most. */
GEIGER_API geiger_status geiger_start_profile(geiger_profile_kind kind, uint64_t interval,
                                              geiger_token* token)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(kind) GEIGER_IGNORE(interval) GEIGER_CLEAR(token))
    /* Ends a token, in any thread. Keeps only positions: the samples are read at their first
     * use, which fails with GEIGER_OVERWRITTEN if the trace no longer reaches back to its start.
     * `profile` may be null to discard it. */
    GEIGER_API geiger_status geiger_stop_profile(geiger_token token, geiger_profile* profile)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(token) GEIGER_CLEAR(profile))
    /* A profile of the live objects. Stops no thread: concurrent allocations and frees may or
     * may not be included. GEIGER_RESIDENCY excludes custom heaps. GEIGER_NOT_RECORDING if nothing
     * is recorded now (before the first and after the last token, listener or
     * geiger_start_recording(), while paused, or after the recording has ended): take it before you
     * stop. */
    GEIGER_API geiger_status geiger_take_snapshot(geiger_profile_kind kind, geiger_profile* profile)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(kind) GEIGER_CLEAR(profile)) GEIGER_API geiger_status
    geiger_free_profile(geiger_profile profile) GEIGER_WHERE_ABSENT(GEIGER_IGNORE(profile))

        typedef struct geiger_sample {
  const uint64_t* frames; /* Return addresses, innermost first; words with the top bit set are
                             frames of a Python program, for geiger's own readers. Valid as long
                             as the profile; in a listener, for the call. */
  size_t frame_count;
  uint64_t address;
  uint64_t requested; /* Bytes. */
  uint64_t usable;
  uint64_t alignment;    /* 1 if none was requested. */
  uint64_t offset;       /* Of the drawn byte; 0 if is_certain. */
  uint64_t value;        /* The profile's measure: bytes, see geiger_profile_kind. */
  double weight;         /* Objects that it represents, 1 / probability. */
  double weighted_bytes; /* requested * weight. */
  uint64_t interval;     /* Of the draw, or of the thinning. */
  uint64_t time;         /* ns, CLOCK_MONOTONIC. */
  uint64_t lifetime;     /* ns, so far if not freed. 0 in profiles of allocations. */
  geiger_text type;      /* Empty if unknown. */
  geiger_text labels[GEIGER_MAX_NESTING]; /* Innermost first. */
  uint32_t label_count;
  geiger_heap heap;
  uint32_t thread;    /* The kernel's id of the thread that allocated it; 0: unknown (in a
                         listener, a free of another thread's object). */
  uint8_t is_certain; /* Recorded with probability 1. */
  uint8_t is_freed;
  /* Later versions add members here, at the end: the library creates these structs, programs read
   * them by pointer. */
  const uint64_t* free_frames; /* The stack that freed it, like frames; null if not freed, not
                                  recorded (geiger_record_free_stacks()) or unknown. */
  size_t free_frame_count;
  uint32_t free_thread; /* The kernel's id of the thread that freed it; 0: unknown. */
  uint64_t swapped;     /* GEIGER_RESIDENCY: bytes in swap, and ... */
  uint64_t untouched;   /* ... in no page at all: never written, or given back. Both 0 if only
                           mincore is available. */
} geiger_sample;

/* Called with each sample; a result other than 0 ends the visit. Must not free the profile. */
typedef int (*geiger_visitor)(void* context, const geiger_sample* sample);
GEIGER_API geiger_status geiger_visit_samples(geiger_profile profile, geiger_visitor visit,
                                              void* context)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(profile) GEIGER_IGNORE(visit) GEIGER_IGNORE(context))

        typedef struct geiger_profile_info {
  geiger_profile_kind kind;
  uint64_t samples;    /* Of all heaps. */
  uint64_t from, to;   /* ns, CLOCK_MONOTONIC; equal for snapshots. Of the peak: its instant. */
  uint64_t interval;   /* The largest with which anything in it could have been drawn. */
  uint64_t unfinished; /* Records that a thread was writing: at most so many samples or frees
                          are missing. */
} geiger_profile_info;
GEIGER_API geiger_status geiger_get_profile_info(geiger_profile profile, geiger_profile_info* info)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(profile) GEIGER_CLEAR(info))

        typedef enum geiger_measure GEIGER_AS_INT {
          GEIGER_BYTES, /* Requested. */
          GEIGER_OBJECTS,
          GEIGER_VALUE /* Bytes of geiger_sample.value. */
        } geiger_measure;

/* An estimate with its confidence interval. */
typedef struct geiger_estimate {
  double value;
  double lowest, highest;
  double variance;
  double exact;     /* The part of value that is known without error. */
  uint64_t samples; /* Samples that are not certain. */
} geiger_estimate;

/* Selects samples: true for each one to add. */
typedef int (*geiger_predicate)(void* context, const geiger_sample* sample);
/* Estimates the total of one heap (0: the process's). `keeps`: null for all of it.
 * `level` in (0, 1), for example 0.95. */
GEIGER_API geiger_status geiger_estimate_total(geiger_profile profile, geiger_measure measure,
                                               geiger_heap heap, geiger_predicate keeps,
                                               void* context, double level,
                                               geiger_estimate* estimate)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(profile) GEIGER_IGNORE(measure) GEIGER_IGNORE(heap)
                            GEIGER_IGNORE(keeps) GEIGER_IGNORE(context) GEIGER_IGNORE(level)
                                GEIGER_CLEAR(estimate))

    /* Receives the next bytes of a file; a result other than 0 ends it with GEIGER_FAILED_IO. */
    typedef int (*geiger_writer)(void* context, const void* data, size_t size);
/* Writes one heap's samples in pprof's format, without symbols and not compressed. The sample
 * types are those of `geiger export`; a profile fills the alloc or the inuse columns. */
GEIGER_API geiger_status geiger_write_pprof(geiger_profile profile, geiger_heap heap,
                                            geiger_writer write, void* context)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(profile) GEIGER_IGNORE(heap) GEIGER_IGNORE(write)
                            GEIGER_IGNORE(context)) GEIGER_API geiger_status
    geiger_write_pprof_to(geiger_profile profile, geiger_heap heap, int descriptor)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(profile) GEIGER_IGNORE(heap) GEIGER_IGNORE(descriptor))
    /* Like geiger_write_pprof(), into a file at this path, which is created or replaced. */
    GEIGER_API geiger_status
    geiger_write_pprof_file(geiger_profile profile, geiger_heap heap, const char* path)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(profile) GEIGER_IGNORE(heap) GEIGER_IGNORE(path))

    /* --------------------------------------------------------------- metrics --- */

    /* Writes OpenMetrics text for Prometheus: the live heap with its interval at
     * `level`, exact allocated bytes, live samples, drops, the interval. One call of `write` with
     * the whole text; content type: application/openmetrics-text; version=1.0.0; charset=utf-8.
     * Takes a snapshot; if nothing is recorded, the live heap is left out. */
    GEIGER_API geiger_status
    geiger_write_openmetrics(double level, geiger_writer write, void* context)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(level) GEIGER_IGNORE(write) GEIGER_IGNORE(context))

    /* ------------------------------------------------------------- listeners --- */

    typedef struct geiger_listener {
  uint64_t id;
} geiger_listener;

/* Called in the thread that allocates or frees, from within its malloc or free: the program may
 * hold any locks there. It may allocate and free (counted as usual, but not reported to it), enter
 * and leave labels and types, report to heaps, write marks and get the status; everything else
 * returns GEIGER_IN_LISTENER. It must return: a listener that throws a C++ exception is not called
 * again (geiger_get_status()). Either may be null.
 * `freed`: the sample as it was allocated, with its lifetime. */
typedef void (*geiger_on_sample)(void* context, const geiger_sample* sample);
typedef void (*geiger_on_free)(void* context, const geiger_sample* sample);
GEIGER_API geiger_status geiger_add_listener(geiger_on_sample sampled, geiger_on_free freed,
                                             void* context, geiger_listener* listener)
    GEIGER_WHERE_ABSENT(GEIGER_IGNORE(sampled) GEIGER_IGNORE(freed) GEIGER_IGNORE(context)
                            GEIGER_CLEAR(listener))
    /* Removes a listener: waits for its calls in other threads; none come afterwards. */
    GEIGER_API geiger_status geiger_remove_listener(geiger_listener listener)
        GEIGER_WHERE_ABSENT(GEIGER_IGNORE(listener))

#undef GEIGER_WHERE_ABSENT
#undef GEIGER_AS_INT
#ifdef GEIGER_ABSENT
#undef GEIGER_CLEAR
#undef GEIGER_IGNORE
#endif

#ifdef __cplusplus
}
#endif

#endif
