#include "control/shared_pages.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace geiger::control {

/// A mapping, as the handler knows it. Never freed, but used again: the handler may be reading it.
struct SharedPages::Place {
  std::atomic<std::uintptr_t> begin{0}, end{0};  ///< 0: none.
  Place* next = nullptr;
};

struct SharedPages::Places {
  std::mutex lock;  ///< Not for the handler.
  std::vector<Place*> free;
  /// Newest first. Release, as each is complete before it is listed; pairs with the acquire in the
  /// handler.
  std::atomic<Place*> all{nullptr};

  static Places& instance() {
    static auto* places = new Places;  // Faults can come until the process ends.
    return *places;
  }

  Place* take() {
    const std::lock_guard guard(lock);
    if (free.empty()) {
      auto* place = new Place;
      place->next = all.load(std::memory_order_relaxed);
      all.store(place, std::memory_order_release);
      return place;
    }
    Place* place = free.back();
    free.pop_back();
    return place;
  }

  void give_back(Place* place) {
    const std::lock_guard guard(lock);
    free.push_back(place);
  }

  [[nodiscard]] bool holds(std::uintptr_t address) const {
    for (const Place* at = all.load(std::memory_order_acquire); at != nullptr; at = at->next) {
      if (at->begin.load() <= address && address < at->end.load()) return true;
    }
    return false;
  }

  /// Puts zeros in the place of a page that the file no longer has.
  static void handle(int signal, siginfo_t* fault, void* /*context*/) {
    const auto address = reinterpret_cast<std::uintptr_t>(fault->si_addr);
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    constexpr int kHow = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    const bool is_cut = fault->si_code == BUS_ADRERR && instance().holds(address);
    void* const at = reinterpret_cast<void*>(address & ~(page - 1));
    if (is_cut && mmap(at, page, PROT_READ | PROT_WRITE, kHow, -1, 0) != MAP_FAILED) return;
    ::signal(signal, SIG_DFL);  // The instruction faults again.
  }

  static bool install() {
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    return sigaction(SIGBUS, &action, nullptr) == 0;
  }
};

std::optional<SharedPages> SharedPages::map(int fd, Bytes size) {
  Places& places = Places::instance();
  static const bool is_installed = Places::install();
  if (!is_installed) return std::nullopt;
  void* const base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return std::nullopt;
  SharedPages pages;
  pages.place_ = places.take();
  pages.place_->begin = reinterpret_cast<std::uintptr_t>(base);
  pages.place_->end = reinterpret_cast<std::uintptr_t>(base) + size;
  return pages;
}

SharedPages::~SharedPages() {
  if (place_ == nullptr) return;
  const Bytes size = place_->end.exchange(0) - place_->begin;
  munmap(begin(), size);
  Places::instance().give_back(place_);
}

char* SharedPages::begin() const {
  return place_ == nullptr ? nullptr : reinterpret_cast<char*>(place_->begin.load());
}

}  // namespace geiger::control
