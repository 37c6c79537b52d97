// Threads that come and go, hand blocks over, have small stacks, allocate in
// destructors of thread-local storage, and are cancelled.
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "scenario.h"

namespace {

void churn(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    void* block = opaque(malloc(static_cast<std::size_t>(i % 700)));
    free(block);
  }
}

void comes_and_goes() {
  for (int round = 0; round < 500; ++round) std::thread([] { churn(300); }).join();
}

void many_at_once() {
  std::vector<std::thread> threads;
  threads.reserve(100);
  for (int i = 0; i < 100; ++i) threads.emplace_back([] { churn(2000); });
  for (std::thread& thread : threads) thread.join();
}

std::atomic<int> detached_done{0};

void detached() {
  for (int i = 0; i < 200; ++i)
    std::thread([] {
      churn(100);
      ++detached_done;
    }).detach();
  while (detached_done < 200) usleep(1000);
}

void* small_body(void*) {
  churn(2000);
  return nullptr;
}

void small_stacks() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EXPECT(pthread_attr_setstacksize(&attributes, 16384) == 0);
  for (int i = 0; i < 100; ++i) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, &attributes, small_body, nullptr) == 0);
    pthread_join(thread, nullptr);
  }
}

void own_stacks() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  constexpr std::size_t kSize = 64 << 10;
  void* stack = aligned_alloc(4096, kSize);
  EXPECT(pthread_attr_setstack(&attributes, stack, kSize) == 0);
  for (int i = 0; i < 50; ++i) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, &attributes, small_body, nullptr) == 0);
    pthread_join(thread, nullptr);
  }
  free(stack);
}

pthread_key_t key;
std::atomic<int> destructor_runs{0};

void destructor(void* value) {
  free(value);
  churn(100);
  if (++destructor_runs % 4 != 0) pthread_setspecific(key, malloc(1000));
}

struct Local {
  std::vector<std::string> words{std::string(300, 'x'), std::string(5000, 'y')};
  ~Local() { churn(200); }
};
thread_local std::unique_ptr<Local> local;

void storage_destructors() {
  pthread_key_create(&key, destructor);
  for (int i = 0; i < 200; ++i)
    std::thread([] {
      local = std::make_unique<Local>();
      pthread_setspecific(key, malloc(2000));
    }).join();
  std::printf("destructor ran %d times\n", destructor_runs.load());
}

void late_destructor(void* value) {
  usleep(3000);  // Meanwhile other threads start.
  free(value);
  churn(100);
}

void late_allocations() {
  // Threads that allocate after their start routine returned, while others start;
  // more at once than the C library keeps stacks for, so that at exit the
  // thread-local storage of many is unmapped.
  pthread_key_create(&key, late_destructor);
  std::vector<std::thread> threads;
  for (int i = 0; i < 600; ++i)
    threads.emplace_back([] { pthread_setspecific(key, malloc(2000)); });
  for (std::thread& thread : threads) thread.join();
}

void hand_over() {
  // One thread allocates, another frees: blocks of all sizes, in order.
  constexpr int kBlocks = 20000;
  static std::atomic<void*> slots[64];
  std::thread producer([] {
    for (int i = 0; i < kBlocks; ++i) {
      void* block = opaque(malloc(16 + static_cast<std::size_t>(i) % 3000));
      while (slots[i % 64].load() != nullptr) sched_yield();
      slots[i % 64].store(block);
    }
  });
  for (int i = 0; i < kBlocks; ++i) {
    void* block = nullptr;
    while ((block = slots[i % 64].exchange(nullptr)) == nullptr) sched_yield();
    free(block);
  }
  producer.join();
}

void* until_cancelled(void*) {
  for (;;) {
    churn(50);
    pthread_testcancel();
  }
}

void cancelled() {
  for (int i = 0; i < 100; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, until_cancelled, nullptr);
    usleep(200);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT(result == PTHREAD_CANCELED);
  }
}

int c11_body(void* argument) {
  churn(500);
  return *static_cast<int*>(argument) + 1;
}

void c11_threads() {
  for (int i = 0; i < 50; ++i) {
    thrd_t thread;
    EXPECT(thrd_create(&thread, c11_body, &i) == thrd_success);
    int result = 0;
    EXPECT(thrd_join(thread, &result) == thrd_success && result == i + 1);
  }
}

void* exits(void* argument) {
  churn(500);
  pthread_exit(argument);
}

void exit_values() {
  for (std::size_t i = 0; i < 50; ++i) {
    pthread_t thread;
    char marker = 0;
    pthread_create(&thread, nullptr, exits, &marker + i);
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT(result == &marker + i);
  }
}

void asks_for_attributes() {
  // pthread_getattr_np allocates under the thread's own lock.
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i)
    threads.emplace_back([] {
      for (int round = 0; round < 50; ++round) {
        pthread_attr_t attributes;
        EXPECT(pthread_getattr_np(pthread_self(), &attributes) == 0);
        std::size_t size = 0;
        void* stack = nullptr;
        EXPECT(pthread_attr_getstack(&attributes, &stack, &size) == 0 && size > 0);
        pthread_attr_destroy(&attributes);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

void refused() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{1} << 60);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, small_body, nullptr);
    if (i == 0) std::printf("pthread_create says %d\n", error);
    EXPECT(error != 0);
  }
}

void names() {
  std::thread([] {
    pthread_setname_np(pthread_self(), "a name");
    churn(1000);
    char name[16];
    pthread_getname_np(pthread_self(), name, sizeof name);
    std::printf("%s\n", name);
  }).join();
}

void all_keys() {
  // Whatever there is of thread-specific data belongs to the program.
  pthread_key_t last = 0;
  int created = 0;
  for (pthread_key_t fresh = 0; pthread_key_create(&fresh, free) == 0; ++created) last = fresh;
  std::printf("%d keys\n", created);
  for (int round = 0; round < 20; ++round)
    std::thread([last] {
      for (pthread_key_t each = 0; each <= last; ++each) pthread_setspecific(each, malloc(100));
    }).join();
}

constexpr Scenario kScenarios[] = {
    {"comes_and_goes", comes_and_goes},
    {"many_at_once", many_at_once},
    {"detached", detached},
    {"small_stacks", small_stacks},
    {"own_stacks", own_stacks},
    {"storage_destructors", storage_destructors},
    {"late_allocations", late_allocations},
    {"hand_over", hand_over},
    {"cancelled", cancelled},
    {"c11_threads", c11_threads},
    {"exit_values", exit_values},
    {"asks_for_attributes", asks_for_attributes},
    {"refused", refused},
    {"names", names},
    {"all_keys", all_keys},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(argc, argv, kScenarios); }
