// One of two libraries of equal layout: same name of the function, same size of the
// code, other size of the frame.
#ifndef FRAME_WORDS
#error "FRAME_WORDS is set by the build"
#endif

extern "C" __attribute__((visibility("default"))) void call_back(void (*function)()) {
  volatile long frame[FRAME_WORDS];
  frame[0] = 1;
  function();
  frame[1] = 2;
}
