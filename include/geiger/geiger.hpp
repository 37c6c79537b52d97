// The C interface (geiger.h) as C++20: scopes that end with their block, typed allocation, handles
// that free what they hold.
//
// A thin layer without state of its own; with GEIGER_ABSENT it compiles to nothing. Constructors do
// not throw when geiger fails; check the object's status().
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "geiger/geiger.h"
#include "geiger/type_name.h"

namespace geiger {

[[nodiscard]] inline std::string_view view(const geiger_text& text) {
  return {text.data == nullptr ? "" : text.data, text.size};
}

// --------------------------------------------------------- allocated bytes ---

/// Measures the bytes that the calling thread requests from malloc and new from now on, exactly:
///   const geiger::AllocationMeter meter;
///   handle(request);
///   log(meter.bytes());
/// Call bytes() in the thread that created the meter. Costs about 100 instructions at each end.
class AllocationMeter {
 public:
  AllocationMeter() : status_(geiger_get_thread_allocated_bytes(&from_)) {}

  /// Bytes requested since the meter was created; 0 if status() is not GEIGER_OK.
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t now = 0;
    if (status_ != GEIGER_OK || thread_ != &here_) return 0;
    // In a fork's child counting starts again from 0.
    return geiger_get_thread_allocated_bytes(&now) == GEIGER_OK && now > from_ ? now - from_ : 0;
  }
  [[nodiscard]] geiger_status status() const {
    return thread_ == &here_ ? status_ : GEIGER_WRONG_THREAD;
  }

 private:
  static inline thread_local char here_ = 0;

  std::uint64_t from_ = 0;
  geiger_status status_;
  const char* thread_ = &here_;
};

/// The bytes that the whole process has requested so far. Exact if `missing` is 0.
struct ProcessBytes {
  std::uint64_t bytes = 0;
  std::uint64_t missing = 0;
  geiger_status status = GEIGER_NOT_AVAILABLE;
};
[[nodiscard]] inline ProcessBytes process_allocated_bytes() {
  ProcessBytes found;
  found.status = geiger_get_process_allocated_bytes(&found.bytes, &found.missing);
  return found;
}

// ------------------------------------------------------------------ labels ---

/// A label to be entered repeatedly; make it static.
///   static constinit geiger::Label kParse{"phase=parse"};
class Label {
 public:
  /// The text must stay valid.
  explicit constexpr Label(const char* text) : label_ GEIGER_LABEL(text) {}
  Label(const Label&) = delete;
  Label& operator=(const Label&) = delete;

  [[nodiscard]] geiger_label* get() { return &label_; }

 private:
  geiger_label label_;
};

/// Puts a label in force in this thread until the end of the block. A scope must not span the
/// suspension of a coroutine: it would be left in the thread that resumes. Instead, save current()
/// and open a scope with it around each resumption.
class LabelScope {
 public:
  explicit LabelScope(Label& label) : status_(geiger_enter_label(label.get(), &scope_)) {}
  /// Enters the label of this text, which need not stay valid; looks it up each time.
  explicit LabelScope(const char* text) : status_(geiger_enter_label_text(text, &scope_)) {}
  /// Enters a label that current() returned, in this thread or another.
  explicit LabelScope(std::uint32_t label) : status_(geiger_resume_label(label, &scope_)) {}
  ~LabelScope() { (void)geiger_leave_label(&scope_); }
  LabelScope(const LabelScope&) = delete;
  LabelScope& operator=(const LabelScope&) = delete;

  [[nodiscard]] geiger_status status() const { return status_; }
  /// The label in force in this thread, 0 for none.
  [[nodiscard]] static std::uint32_t current() {
    std::uint32_t label = 0;
    (void)geiger_current_label(&label);
    return label;
  }

 private:
  geiger_scope scope_{};
  geiger_status status_;
};

// ------------------------------------------------------------------- types ---

namespace type_detail {
template <class T>
inline constinit geiger_type known = GEIGER_TYPE(type_name<T>());
}  // namespace type_detail

/// Names T as the type of this thread's allocations until the end of the block.
template <class T>
class TypeScope {
 public:
  TypeScope() { (void)geiger_enter_type(&type_detail::known<T>, &scope_); }
  ~TypeScope() { (void)geiger_leave_type(&scope_); }
  TypeScope(const TypeScope&) = delete;
  TypeScope& operator=(const TypeScope&) = delete;

 private:
  geiger_scope scope_{};
};

namespace type_detail {

template <class T>
concept HasOwnNew = requires {
  T::operator new (std::size_t{1});
};

/// Allocates like `new T`, with the type T in force only for this allocation, not for allocations
/// of the constructor.
template <class T>
void* allocate() {
  const TypeScope<T> scope;
  if constexpr (HasOwnNew<T>) {
    return T::operator new(sizeof(T));
  } else if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    return ::operator new (sizeof(T), std::align_val_t{alignof(T)});
  } else {
    return ::operator new(sizeof(T));
  }
}

template <class T>
void deallocate(void* place) noexcept {
  if constexpr (HasOwnNew<T>) {
    T::operator delete(place);
  } else if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    ::operator delete (place, std::align_val_t{alignof(T)});
  } else {
    ::operator delete(place);
  }
}

}  // namespace type_detail

/// `new T(arguments...)` whose sample has the type T. Free it with `delete`.
template <class T, class... Arguments>
requires(!std::is_array_v<T>) [[nodiscard]] T* make(Arguments&&... arguments) {
  struct Place {
    void* memory = type_detail::allocate<T>();
    ~Place() {
      if (memory != nullptr) type_detail::deallocate<T>(memory);
    }
  } place;
  T* made = ::new (place.memory) T(std::forward<Arguments>(arguments)...);
  place.memory = nullptr;
  return made;
}

template <class T, class... Arguments>
requires(!std::is_array_v<T>)
    [[nodiscard]] std::unique_ptr<T> make_unique(Arguments&&... arguments) {
  return std::unique_ptr<T>(make<T>(std::forward<Arguments>(arguments)...));
}

/// An allocator for containers that names the type of its allocations; in node containers, the node
/// type.
///   std::vector<Order, geiger::Allocator<Order>> orders;
template <class T, class Base = std::allocator<T>>
class Allocator : public Base {
  using Traits = std::allocator_traits<Base>;

 public:
  using value_type = T;
  template <class U>
  struct rebind {
    using other = Allocator<U, typename Traits::template rebind_alloc<U>>;
  };

  Allocator() = default;
  explicit(!std::is_convertible_v<const Base&, Base>) Allocator(const Base& base) : Base(base) {}
  template <class U, class OtherBase>
  Allocator(const Allocator<U, OtherBase>& other)  // NOLINT(google-explicit-constructor)
      : Base(static_cast<const OtherBase&>(other)) {}

  [[nodiscard]] typename Traits::pointer allocate(std::size_t count) {
    const TypeScope<T> scope;
    return Traits::allocate(*this, count);
  }
  void deallocate(typename Traits::pointer pointer, std::size_t count) {
    Traits::deallocate(*this, pointer, count);
  }
  [[nodiscard]] Allocator select_on_container_copy_construction() const {
    return Allocator(Traits::select_on_container_copy_construction(*this));
  }
  template <class U, class OtherBase>
  [[nodiscard]] bool operator==(const Allocator<U, OtherBase>& other) const {
    return static_cast<const Base&>(*this) == static_cast<const OtherBase&>(other);
  }
};

// ------------------------------------------------------------ custom heaps ---

/// A heap that the program manages itself.
class Heap {
 public:
  /// The heap of this name; two objects with the same name are the same heap.
  explicit Heap(const char* name) : status_(geiger_define_heap(name, &heap_)) {}

  [[nodiscard]] geiger_status status() const { return status_; }
  [[nodiscard]] geiger_heap id() const { return heap_; }

  geiger_status allocated(const void* address, std::size_t size) const {
    return geiger_report_allocation(heap_, address, size);
  }
  /// `count` objects of type T in one allocation.
  template <class T>
  geiger_status allocated_objects(const T* address, std::size_t count = 1) const {
    const geiger_allocation allocation{address, count * sizeof(T), 0, alignof(T),
                                       &type_detail::known<T>};
    return geiger_report_allocation_of(heap_, &allocation);
  }
  geiger_status freed(const void* address) const { return geiger_report_free(heap_, address); }
  geiger_status reset() const { return geiger_report_reset(heap_); }
  [[nodiscard]] geiger_heap_totals totals() const {
    geiger_heap_totals totals;
    (void)geiger_get_heap_totals(heap_, &totals);
    return totals;
  }

 private:
  geiger_heap heap_ = 0;
  geiger_status status_;
};

// ---------------------------------------------------------------- profiles ---

/// A profile; the destructor frees it.
class Profile {
 public:
  Profile() = default;
  explicit Profile(geiger_profile profile, geiger_status status = GEIGER_OK)
      : profile_(profile), status_(status) {}
  Profile(Profile&& other) noexcept
      : profile_(std::exchange(other.profile_, {})),
        status_(std::exchange(other.status_, GEIGER_BAD_HANDLE)) {}
  Profile& operator=(Profile&& other) noexcept {
    std::swap(profile_, other.profile_);
    std::swap(status_, other.status_);
    return *this;
  }
  ~Profile() {
    if (profile_.id != 0) (void)geiger_free_profile(profile_);
  }

  /// Takes a profile of the live objects. It has no samples if status() is not GEIGER_OK:
  /// GEIGER_NOT_RECORDING if nothing is being recorded, GEIGER_NOT_AVAILABLE if the capture is not
  /// loaded.
  [[nodiscard]] static Profile snapshot(geiger_profile_kind kind = GEIGER_LIVE) {
    geiger_profile profile{};
    const geiger_status status = geiger_take_snapshot(kind, &profile);
    return Profile(profile, status);
  }

  [[nodiscard]] explicit operator bool() const { return profile_.id != 0; }
  /// The status of the call that made the profile, snapshot() or Token::stop().
  [[nodiscard]] geiger_status status() const { return status_; }
  [[nodiscard]] geiger_profile get() const { return profile_; }
  [[nodiscard]] geiger_profile_info info() const {
    geiger_profile_info info;
    (void)geiger_get_profile_info(profile_, &info);
    return info;
  }

  /// Calls visit(const geiger_sample&) with each sample. An exception of `visit` ends the visit and
  /// propagates.
  template <class Visit>
  geiger_status for_each(Visit&& visit) const {
    struct Visitor {
      Visit& visit;
      std::exception_ptr error;
      static int call(void* context, const geiger_sample* sample) {
        auto& self = *static_cast<Visitor*>(context);
        try {
          self.visit(*sample);
          return 0;
        } catch (...) {
          self.error = std::current_exception();
          return 1;
        }
      }
    } visitor{visit, {}};
    const geiger_status status = geiger_visit_samples(profile_, Visitor::call, &visitor);
    if (visitor.error) std::rethrow_exception(visitor.error);
    return status;
  }

  /// Estimates the total of one heap, with its interval. All 0 if it cannot be estimated.
  [[nodiscard]] geiger_estimate total(geiger_measure measure = GEIGER_BYTES, double level = 0.95,
                                      geiger_heap heap = 0) const {
    geiger_estimate estimate;
    (void)geiger_estimate_total(profile_, measure, heap, nullptr, nullptr, level, &estimate);
    return estimate;
  }
  /// Estimates the total of the samples for which keeps(const geiger_sample&) is true. `keeps` must
  /// not throw: then the estimate is all 0.
  template <class Keeps>
  [[nodiscard]] geiger_estimate total_where(Keeps&& keeps, geiger_measure measure = GEIGER_BYTES,
                                            double level = 0.95, geiger_heap heap = 0) const {
    geiger_estimate estimate;
    const auto ask = [&keeps](const geiger_sample& sample) -> bool { return keeps(sample); };
    using Ask = decltype(ask);
    const auto call = [](void* context, const geiger_sample* sample) -> int {
      return (*static_cast<Ask* const*>(context))->operator()(*sample) ? 1 : 0;
    };
    Ask* context = &ask;
    (void)geiger_estimate_total(profile_, measure, heap, call, &context, level, &estimate);
    return estimate;
  }

  geiger_status write_pprof(const char* path, geiger_heap heap = 0) const {
    return geiger_write_pprof_file(profile_, heap, path);
  }
  /// Writes the profile like geiger_write_pprof(). GEIGER_FAILED_IO if the stream fails; exceptions
  /// of the stream propagate.
  geiger_status write_pprof(std::ostream& out, geiger_heap heap = 0) const {
    return write_pprof_to(heap, [&out](const char* data, std::size_t size) {
      return static_cast<bool>(out.write(data, static_cast<std::streamsize>(size)));
    });
  }
  /// The profile in pprof's format as a string; empty if it cannot be written.
  [[nodiscard]] std::string pprof(geiger_heap heap = 0) const {
    std::string file;
    const auto append = [&file](const char* data, std::size_t size) {
      file.append(data, size);
      return true;
    };
    if (write_pprof_to(heap, append) != GEIGER_OK) file.clear();
    return file;
  }

 private:
  template <class Take>
  geiger_status write_pprof_to(geiger_heap heap, Take take) const {
    struct Writer {
      Take& take;
      std::exception_ptr error;
      static int call(void* context, const void* data, std::size_t size) {
        auto& self = *static_cast<Writer*>(context);
        try {
          return self.take(static_cast<const char*>(data), size) ? 0 : 1;
        } catch (...) {
          self.error = std::current_exception();
          return 1;
        }
      }
    } writer{take, {}};
    const geiger_status status = geiger_write_pprof(profile_, heap, Writer::call, &writer);
    if (writer.error) std::rethrow_exception(writer.error);
    return status;
  }

  geiger_profile profile_{};
  geiger_status status_ = GEIGER_BAD_HANDLE;
};

/// A profile that runs from here to stop(), or to the end of the block, which discards it.
class Token {
 public:
  explicit Token(geiger_profile_kind kind = GEIGER_ALLOCATIONS, std::uint64_t interval = 0)
      : status_(geiger_start_profile(kind, interval, &token_)) {}
  Token(Token&& other) noexcept : token_(std::exchange(other.token_, {})), status_(other.status_) {}
  Token& operator=(Token&&) = delete;
  ~Token() {
    if (token_.id != 0) (void)geiger_stop_profile(token_, nullptr);
  }

  [[nodiscard]] geiger_status status() const { return status_; }
  [[nodiscard]] Profile stop() {
    geiger_profile profile{};
    status_ = geiger_stop_profile(std::exchange(token_, {}), &profile);
    return Profile(profile, status_);
  }

 private:
  geiger_token token_{};
  geiger_status status_;
};

// ----------------------------------------------------------------- metrics ---

/// OpenMetrics text (geiger_write_openmetrics()); empty if not available.
[[nodiscard]] inline std::string openmetrics(double level = 0.95) {
  std::string text;
  const auto append = [](void* context, const void* data, std::size_t size) -> int {
    static_cast<std::string*>(context)->append(static_cast<const char*>(data), size);
    return 0;
  };
  (void)geiger_write_openmetrics(level, append, &text);
  return text;
}

// --------------------------------------------------------------- listeners ---

/// Called with samples and their frees, in the threads that allocate and free: see
/// geiger_add_listener() for the restrictions. The destructor waits for running calls.
class Listener {
 public:
  using Function = std::function<void(const geiger_sample&)>;

  explicit Listener(Function sampled, Function freed = {})
      : functions_(std::make_unique<Functions>(std::move(sampled), std::move(freed))) {
    status_ = geiger_add_listener(functions_->sampled ? &Functions::call_sampled : nullptr,
                                  functions_->freed ? &Functions::call_freed : nullptr,
                                  functions_.get(), &listener_);
  }
  ~Listener() {
    if (listener_.id != 0) (void)geiger_remove_listener(listener_);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] geiger_status status() const { return status_; }

 private:
  struct Functions {
    Functions(Function on_sample, Function on_free)
        : sampled(std::move(on_sample)), freed(std::move(on_free)) {}
    static void call_sampled(void* context, const geiger_sample* sample) {
      static_cast<Functions*>(context)->sampled(*sample);
    }
    static void call_freed(void* context, const geiger_sample* sample) {
      static_cast<Functions*>(context)->freed(*sample);
    }
    Function sampled, freed;
  };

  std::unique_ptr<Functions> functions_;
  geiger_listener listener_{};
  geiger_status status_;
};

}  // namespace geiger
