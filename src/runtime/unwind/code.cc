#include "runtime/unwind/code.h"

#include "runtime/unwind/function_starts.h"

namespace geiger::unwind {
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
