// Speaks to the runtime in its process as libgeiger.so does: labels, types, a mark and another
// interval, each of which the probes tell; and listens, passing on to the previous listener.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/capture/interface.h"

namespace {

using geiger::capture::Interface;
using geiger::trace::NameKind;

geiger::capture::NameId name(const Interface& capture, NameKind kind, const char* text) {
  return capture.define_name(kind, 0, text, std::strlen(text));
}

const geiger::capture::Listener* next = nullptr;
int heard = 0;

void sampled(void*, const geiger::capture::TraceView& trace, geiger::trace::Ref sample,
             const geiger::trace::SampleRecord& record) {
  heard += record.requested() == 10000;
  if (next != nullptr) next->sampled(next->context, trace, sample, record);
}

void freed(void*, const geiger::capture::TraceView& trace, geiger::trace::Ref sample,
           const geiger::trace::FreeRecord& record) {
  if (next != nullptr) next->freed(next->context, trace, sample, record);
}

const geiger::capture::Listener kListener{sampled, freed, nullptr};

}  // namespace

int main() {
  const auto* capture = static_cast<const Interface*>(dlsym(RTLD_DEFAULT, "geiger_capture_v1"));
  if (capture == nullptr) return 1;
  next = capture->listener->exchange(&kListener);
  capture->naming()->label = name(*capture, NameKind::kLabel, "tenant=acme");
  capture->naming()->type = name(*capture, NameKind::kType, "Order");
  for (int i = 0; i < 50; ++i) std::free(std::malloc(10000));
  capture->naming()->label = 0;
  capture->naming()->type = 0;
  for (int i = 0; i < 20; ++i) std::free(std::malloc(10000));
  if (!capture->set_interval(8192)) return 2;
  if (!capture->write_mark("half-time", 9)) return 3;
  for (int i = 0; i < 10; ++i) std::free(std::malloc(10000));
  std::printf("%d told\n", heard);
}
