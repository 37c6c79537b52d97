// Reads of the interpreter's memory.
//
// A thread that holds the interpreter's lock, and that no signal interrupted, may follow its own
// frames as the interpreter itself does. Otherwise the memory may be changing or freed: then the
// kernel reads each word, so that an unmapped word does not cause a fault.
//
// Threads, signals: a value of its walk. System calls: none, or one per read if checked; they fail
// in programs that restrict their own. errno is preserved.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace geiger::python {

enum class Trust : std::uint8_t {
  kDirect,   ///< The memory is this thread's own, and consistent.
  kChecked,  ///< The kernel reads.
};

class Memory {
 public:
  explicit Memory(Trust trust) : trust_(trust) {
    if (trust == Trust::kChecked) [[unlikely]]
      pid_ = own_pid();
  }

  /// User space of x86-64, without the page at 0 and without an object's size at the end.
  [[nodiscard]] static bool is_plausible(Address address) {
    constexpr Address kFirst = 4096;
    constexpr Address kLast = (Address{1} << 47) - 4096 - (Address{1} << 16);
    return address - kFirst < kLast - kFirst;
  }

  /// False: not an address of an object, or not mapped.
  template <typename Value>
  [[gnu::always_inline]] bool read(Address address, Value& value) const {
    return is_plausible(address) && read_member(address, 0, value);
  }

  /// A member of an object whose address is plausible. False: not mapped.
  template <typename Value>
  [[gnu::always_inline]] bool read_member(Address object, std::uint16_t offset,
                                          Value& value) const {
    if (trust_ == Trust::kChecked) [[unlikely]] {
      return ask_kernel(pid_, object + offset, &value, sizeof value);
    }
    load(object + offset, &value, sizeof value);
    return true;
  }

  /// Bytes of a string or a table.
  bool read(Address address, void* bytes, std::size_t count) const {
    if (!is_plausible(address)) return false;
    if (trust_ == Trust::kChecked) return ask_kernel(pid_, address, bytes, count);
    load(address, bytes, count);
    return true;
  }

 private:
  [[gnu::no_sanitize_address, gnu::no_sanitize_thread, gnu::always_inline]] static void load(
      Address address, void* bytes, std::size_t count) {
    __builtin_memcpy(bytes, reinterpret_cast<const void*>(address), count);
  }

  static long own_pid();
  static bool ask_kernel(long pid, Address address, void* bytes, std::size_t count);

  Trust trust_;
  long pid_ = 0;  ///< If checked.
};

}  // namespace geiger::python
