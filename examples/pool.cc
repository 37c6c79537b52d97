// A pool of blocks that malloc knows nothing of: it reports what it gives out as a heap of
// its own, which is sampled like malloc's.
#include <cstdio>
#include <geiger/geiger.hpp>
#include <vector>

namespace {

struct Order {
  int id;
  double amounts[30];
};

template <class T>
class Pool {
 public:
  explicit Pool(const char* name) : heap_(name) {}

  T* take() {
    if (free_.empty()) grow();
    T* object = free_.back();
    free_.pop_back();
    heap_.allocated_objects(object);
    return object;
  }
  void give_back(T* object) {
    heap_.freed(object);  // Before anybody else can take it.
    free_.push_back(object);
  }
  [[nodiscard]] const geiger::Heap& heap() const { return heap_; }

 private:
  void grow() {
    chunks_.emplace_back(1000);
    for (T& object : chunks_.back()) free_.push_back(&object);
  }

  geiger::Heap heap_;
  std::vector<std::vector<T>> chunks_;
  std::vector<T*> free_;
};

}  // namespace

int main() {
  Pool<Order> pool("orders");
  const geiger::Token token(GEIGER_ALLOCATIONS, 2000);
  std::vector<Order*> open;
  for (int i = 0; i < 20000; ++i) {
    open.push_back(pool.take());
    if (i % 4 != 0) {
      pool.give_back(open.back());
      open.pop_back();
    }
  }
  const auto held = static_cast<double>(open.size() * sizeof(Order));
  const geiger::Profile live = geiger::Profile::snapshot();
  // Five standard errors: wrong in one of two million runs.
  const geiger_estimate estimate = live.total(GEIGER_BYTES, 0.9999994, pool.heap().id());
  std::printf("the pool holds %.0f bytes; geiger says %.0f [%.0f, %.0f]\n", held, estimate.value,
              estimate.lowest, estimate.highest);
  bool are_orders = true;
  live.for_each([&](const geiger_sample& sample) {
    if (sample.heap != pool.heap().id()) return;
    are_orders &= geiger::view(sample.type).ends_with("Order");
  });
  const geiger_heap_totals totals = pool.heap().totals();
  std::printf("reported %llu bytes, %llu hits, z = %+.2f\n",
              static_cast<unsigned long long>(totals.bytes),
              static_cast<unsigned long long>(totals.hits), totals.z);
  const bool is_right = estimate.lowest <= held && held <= estimate.highest;
  return is_right && are_orders && totals.z > -5 && totals.z < 5 ? 0 : 1;
}
