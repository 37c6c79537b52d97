#include "terminal/interrupts.h"

#include <csignal>
#include <initializer_list>

namespace geiger::terminal {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_signal(int /*signal*/) { interrupted = 1; }

}  // namespace

void heed_signals() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool was_interrupted() { return interrupted != 0; }

void forget_interrupt() { interrupted = 0; }

}  // namespace geiger::terminal
