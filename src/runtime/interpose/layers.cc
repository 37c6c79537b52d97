#include "runtime/interpose/layers.h"

#include "base/attributes.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/interpose/originals.h"

namespace geiger::interpose {
namespace {

constinit Originals allocator{};

/// During its lifetime, the calling thread's allocations do not count.
class Uncounted {
 public:
  GEIGER_FAST_PATH Uncounted()
      : before_(capture::tls.countdown), is_outer_(!capture::is_out_of_reach(before_)) {
    if (is_outer_) capture::tls.countdown = before_ + capture::kNever;
  }
  GEIGER_FAST_PATH ~Uncounted() {
    if (is_outer_) capture::tls.countdown = before_;
  }
  Uncounted(const Uncounted&) = delete;
  Uncounted& operator=(const Uncounted&) = delete;

 private:
  std::uint64_t before_;
  bool is_outer_;
};

template <auto kMember>
struct Outer;
template <class R, class... A, R (*Originals::*kMember)(A...)>
struct Outer<kMember> {
  static R call(A... arguments) {
    const Uncounted inner;
    return (allocator.*kMember)(arguments...);
  }
};

}  // namespace

void count_outer_calls(Originals& table) {
  allocator = table;
  table.malloc = Outer<&Originals::malloc>::call;
  table.calloc = Outer<&Originals::calloc>::call;
  table.realloc = Outer<&Originals::realloc>::call;
  table.realloc_for_array = Outer<&Originals::realloc_for_array>::call;
  table.memalign = Outer<&Originals::memalign>::call;
  table.aligned_alloc = Outer<&Originals::aligned_alloc>::call;
  table.posix_memalign = Outer<&Originals::posix_memalign>::call;
  table.valloc = Outer<&Originals::valloc>::call;
  table.pvalloc = Outer<&Originals::pvalloc>::call;
}

}  // namespace geiger::interpose
