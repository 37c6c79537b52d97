// A scan of the process's memory at its exit, by the process that records it (--holders=exit).
//
// The process waits for it, so that its memory still is what the program left: its static variables
// are not destroyed yet, where the main thread exits. Glibc destroys that thread's own variables
// first, and there is our turn among them; other threads have none, so when one of them calls
// exit() the turn comes after those destructors. No turn at all: _exit(), quick_exit(), a signal.
//
// Threads: the one that exits; others go on. Fork: a child has its parent's turn, for itself.
// Allocates: watch_exit() some bytes by libc, wait_for_scan() never.
#pragma once

namespace geiger::capture {

/// Takes a turn at the exit, if a scanner was named. On the first thread, which is to call it.
void watch_exit();

/// Waits until the scan is done, or the scanner has ended, but not longer than trace::kLongestExit,
/// and once in an image.
void wait_for_scan();

}  // namespace geiger::capture
