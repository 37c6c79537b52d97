// The whole macro vocabulary besides checks.
//
// GEIGER_FAST_PATH: inlined into every caller, makes no calls, never allocates.
// GEIGER_SLOW_PATH: kept out of line and away from hot code.
#pragma once

#define GEIGER_FAST_PATH [[gnu::always_inline]] inline
#define GEIGER_SLOW_PATH [[gnu::noinline, gnu::cold]]
