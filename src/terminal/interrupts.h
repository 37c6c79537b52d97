// Signals that end a long operation.
#pragma once

namespace geiger::terminal {

/// From here on ^C, termination and hang-up are remembered and end nothing by themselves, and
/// a reader that went away is an error of writing.
void heed_signals();
[[nodiscard]] bool was_interrupted();
/// Clears the flag, for code that acts on an interrupt and goes on.
void forget_interrupt();

}  // namespace geiger::terminal
