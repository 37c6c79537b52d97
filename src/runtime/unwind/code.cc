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

namespace {

// In musl and glibc, rows of 97 and 91 of 100 return addresses are found; without bounds 97 and 93.
// A row takes about 10 us, once for each pc.
constexpr std::size_t kMostPaths = 12;
constexpr std::size_t kMostTargets = 128;
constexpr int kMostInstructions = 2000;

bool is_equal(const Place& a, const Place& b) {
  return a.kind == b.kind && a.base == b.base && a.offset == b.offset;
}

bool is_equal(const Row& a, const Row& b) {
  if (a.cfa.base != b.cfa.base || a.cfa.offset != b.cfa.offset) return false;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (!is_equal(a.places[slot], b.places[slot])) return false;
  }
  return true;
}

/// Follows all paths from one point, each jump's target once.
class Paths {
 public:
  Paths(const ByteRange& code, std::uint64_t at, Beginning beginning) : code_(code), begin_(at) {
    open_[0] = Path{at, beginning, dwarf::kStackPointer, 0, 0, {}};
  }

  /// Ends paths behind the call before `goal`, or where the function returns if it is 0. False:
  /// none got there, or two that did disagree.
  bool find(std::uint64_t goal, Row& row) {
    bool has_row = false;
    while (open_count_ > 0) {
      Path path = open_[--open_count_];
      Row end{};
      if (!reaches(goal, path)) continue;
      if (!(goal == 0 ? machine::finish(path, end) : machine::finish_behind_call(path, end))) {
        continue;
      }
      if (has_row && !is_equal(row, end)) return false;
      row = end;
      has_row = true;
    }
    return has_row;
  }

 private:
  bool reaches(std::uint64_t goal, Path& path) {
    while (instructions_++ < kMostInstructions) {
      Cursor cursor(code_, path.at);
      const Instruction instruction = machine::follow(cursor, path);
      if (!cursor.ok() || instruction.flow == Flow::kUnknown) return false;
      if (instruction.flow == Flow::kReturn) return goal == 0;
      path.at = cursor.address();
      if (instruction.flow == Flow::kNext) {
        if (path.at == goal) return true;
        continue;
      }
      const bool is_new = mark(instruction.target);
      if (instruction.flow == Flow::kJump) {
        if (!is_new) return false;
        path.at = instruction.target;
      } else if (is_new && open_count_ < kMostPaths) {
        open_[open_count_] = path;
        open_[open_count_++].at = instruction.target;
      }
    }
    return false;
  }

  /// False: seen before, or no room.
  bool mark(std::uint64_t target) {
    const auto distance = static_cast<std::int32_t>(target - begin_);  // As jumps have it.
    for (std::size_t i = 0; i < target_count_; ++i) {
      if (targets_[i] == distance) return false;
    }
    if (target_count_ == kMostTargets) return false;
    targets_[target_count_++] = distance;
    return true;
  }

  ByteRange code_;
  std::uint64_t begin_;
  int instructions_ = 0;
  std::size_t open_count_ = 1;
  std::size_t target_count_ = 0;
  Path open_[kMostPaths];
  std::int32_t targets_[kMostTargets];
};

enum class Call : std::uint8_t { kAny, kByPointer };

/// Signal handlers are not called, but return.
bool is_return_address(std::uint64_t ip, Call call) {
  FoundModule module;
  if (!find_module(ip - 1, module)) return false;
  const ByteRange code = code_around(module, ip - 1);
  if (call == Call::kByPointer && machine::called_before(code, ip) != 0) return false;
  FoundRow row;
  return machine::is_behind_call(code, ip) || machine::find_signal_return(ip - 1, true, row);
}

/// Where a row finds the return address; only for rows of code.
bool read_return_address(const Row& row, const Registers& at, StackMemory& stack,
                         std::uint64_t& ip) {
  const std::uint64_t base = row.cfa.base == dwarf::kFramePointer ? at.bp : at.sp;
  const std::uint64_t cfa = base + static_cast<std::uint64_t>(row.cfa.offset);
  const std::int64_t offset = row[Slot::kReturnAddress].offset;
  if (!stack.is_step(at.sp, cfa)) return false;
  if (!stack.read(cfa + static_cast<std::uint64_t>(offset), ip)) return false;
  ip = machine::stripped(ip);
  return true;
}

bool find_row_by_call(const ByteRange& code, const Registers& at, StackMemory& stack,
                      FoundRow& found) {
  CalledFunctions called(code, at.sp, stack);
  for (std::uint64_t function = 0; called.next(function);) {
    std::uint64_t ip = 0;
    const bool is_found = find_row_from_start(code, function, at.ip, found) &&
                          read_return_address(found.row, at, stack, ip);
    if (is_found && machine::called_before(code, ip) == function) return true;
  }
  return false;
}

bool find_row_by_pointer(const FoundModule& module, const ByteRange& code, const Registers& at,
                         StackMemory& stack, FoundRow& found) {
  if (!module.is_recognizable) return false;  // The search is long, and the rule is not kept.
  const std::uint64_t start = last_address_taken(module, at.ip);
  std::uint64_t ip = 0;
  return start != 0 && find_row_from_start(code, start, at.ip, found) &&
         read_return_address(found.row, at, stack, ip) && is_return_address(ip, Call::kByPointer);
}

}  // namespace

bool find_row_in_code(const ByteRange& code, std::uint64_t at, bool is_after_call,
                      FoundRow& found) {
  found = FoundRow{};
  const Beginning beginning = is_after_call ? Beginning::kAfterCall : Beginning::kAnywhere;
  return Paths(code, at, beginning).find(0, found.row);
}

bool find_row_from_start(const ByteRange& code, std::uint64_t function, std::uint64_t at,
                         FoundRow& found) {
  found = FoundRow{};
  return Paths(code, function, Beginning::kFunction).find(at, found.row);
}

bool find_row_of_code(const FoundModule& module, std::uint64_t pc, const Registers& at,
                      StackMemory& stack, FoundRow& found) {
  const ByteRange code = code_around(module, pc);
  const bool is_after_call = pc != at.ip;
  std::uint64_t ip = 0;
  if (find_row_in_code(code, at.ip, is_after_call, found) &&
      read_return_address(found.row, at, stack, ip) && is_return_address(ip, Call::kAny)) {
    return true;
  }
  return is_after_call && (find_row_by_call(code, at, stack, found) ||
                           find_row_by_pointer(module, code, at, stack, found));
}

}  // namespace geiger::unwind
