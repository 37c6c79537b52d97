#include "runtime/unwind/function_starts.h"

#include "runtime/unwind/code.h"

namespace geiger::unwind {
namespace {

// Reading all of this takes .7 ms, once for each pc that has no other row.
constexpr std::uint64_t kMostDataBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kCodeBytes = std::uint64_t{1} << 18;  // On both sides of a pc.
// main's address is taken at the entry point, or by a function beside it.
constexpr std::uint64_t kEntryCodeBytes = 512;

/// The greatest pointer from `low` below `limit`; `low` if there is none. Reads data as if it was a
/// stack of unknown extent: page by page, as the program may have made one unreadable.
std::uint64_t last_pointer(const ByteRange& data, std::uint64_t low, std::uint64_t limit) {
  auto at = (reinterpret_cast<std::uint64_t>(data.begin) + 7) & ~std::uint64_t{7};
  const auto end = reinterpret_cast<std::uint64_t>(data.end);
  StackMemory memory({0, 0}, 0);
  std::uint64_t word = 0;
  for (; at < end && end - at >= sizeof word && memory.read(at, word); at += sizeof word) {
    if (word - low < limit - low) low = word;
  }
  return low;
}

/// `bytes` on both sides of `at`.
ByteRange around(const ByteRange& code, std::uint64_t at, std::uint64_t bytes) {
  if (!code.holds(at)) return {nullptr, nullptr};
  const std::uint64_t before = at - reinterpret_cast<std::uint64_t>(code.begin);
  const std::uint64_t behind = reinterpret_cast<std::uint64_t>(code.end) - at;
  const std::uint8_t* const middle = code.begin + before;
  return {middle - (before < bytes ? before : bytes), middle + (behind < bytes ? behind : bytes)};
}

}  // namespace

bool CalledFunctions::next(std::uint64_t& function) {
  std::uint64_t word = 0;
  while (at_ != end_ && count_ < kMostFunctions && stack_.read(at_, word)) {
    at_ += sizeof word;
    function = machine::called_before(code_, machine::stripped(word));
    if (function != 0 && add(function)) return true;
  }
  return false;
}

bool CalledFunctions::add(std::uint64_t function) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (functions_[i] == function) return false;
  }
  functions_[count_++] = function;
  return true;
}

std::uint64_t last_address_taken(const FoundModule& module, std::uint64_t pc) {
  const ByteRange code = code_around(module, pc);
  if (!code.holds(pc - 1)) return 0;
  const auto none = reinterpret_cast<std::uint64_t>(code.begin) - 1;
  std::uint64_t last = none;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0;; ++i) {
    const ByteRange data = data_of(module, i);
    bytes += static_cast<std::uint64_t>(data.end - data.begin);
    if (data.begin == nullptr || bytes > kMostDataBytes) break;
    last = last_pointer(data, last, pc);
  }
  const ByteRange entry = around(code, module.entry_point, kEntryCodeBytes);
  last = machine::last_address_taken(entry, last, pc);
  last = machine::last_address_taken(around(code, pc, kCodeBytes), last, pc);
  return last == none ? 0 : last;
}

}  // namespace geiger::unwind
