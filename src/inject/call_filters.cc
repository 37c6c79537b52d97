#include "inject/call_filters.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "inject/borrowed_thread.h"
#include "inject/target.h"

namespace geiger::inject {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

struct Call {
  const char* name;
  std::uint32_t number;
};
#define GEIGER_CALL(name) \
  Call { #name, SYS_##name }
/// While the library is loaded, a trace begun, samples recorded, and all of that ended.
constexpr std::array kCalls = {
    GEIGER_CALL(openat),         GEIGER_CALL(read),      GEIGER_CALL(newfstatat),
    GEIGER_CALL(lseek),          GEIGER_CALL(write),     GEIGER_CALL(close),
    GEIGER_CALL(mmap),           GEIGER_CALL(munmap),    GEIGER_CALL(mprotect),
    GEIGER_CALL(mremap),         GEIGER_CALL(madvise),   GEIGER_CALL(ftruncate),
    GEIGER_CALL(fallocate),      GEIGER_CALL(pwrite64),  GEIGER_CALL(memfd_create),
    GEIGER_CALL(getpid),         GEIGER_CALL(gettid),    GEIGER_CALL(getppid),
    GEIGER_CALL(prlimit64),      GEIGER_CALL(getrandom), GEIGER_CALL(readlinkat),
    GEIGER_CALL(rt_sigprocmask), GEIGER_CALL(prctl),     GEIGER_CALL(process_vm_readv)};
#undef GEIGER_CALL

using Word = std::optional<std::uint32_t>;  ///< Nothing: depends on the arguments.

/// A path through a filter.
struct State {
  std::size_t next = 0;
  Word a, x;
  std::array<Word, BPF_MEMWORDS> memory;
  auto as_tuple() const { return std::tie(next, a, x, memory); }
  bool operator<(const State& other) const { return as_tuple() < other.as_tuple(); }
};

Word loaded(std::uint32_t offset, std::uint32_t number) {
  if (offset == offsetof(seccomp_data, nr)) return number;
  if (offset == offsetof(seccomp_data, arch)) return kArchitecture;
  return std::nullopt;
}

Word computed(std::uint16_t operation, Word a, Word b) {
  if (operation == BPF_NEG) b = 0;
  if (!a || !b) return std::nullopt;
  switch (operation) {
    case BPF_ADD:
      return *a + *b;
    case BPF_SUB:
      return *a - *b;
    case BPF_MUL:
      return *a * *b;
    case BPF_DIV:
      return *b == 0 ? Word() : *a / *b;
    case BPF_OR:
      return *a | *b;
    case BPF_AND:
      return *a & *b;
    case BPF_XOR:
      return *a ^ *b;
    case BPF_LSH:
      return *b < 32 ? *a << *b : 0;
    case BPF_RSH:
      return *b < 32 ? *a >> *b : 0;
    case BPF_NEG:
      return -*a;
    default:
      return std::nullopt;
  }
}

std::optional<bool> holds(std::uint16_t comparison, Word a, Word b) {
  if (!a || !b) return std::nullopt;
  switch (comparison) {
    case BPF_JEQ:
      return *a == *b;
    case BPF_JGT:
      return *a > *b;
    case BPF_JGE:
      return *a >= *b;
    case BPF_JSET:
      return (*a & *b) != 0;
    default:
      return std::nullopt;
  }
}

bool is_end(std::uint32_t action) {
  action &= SECCOMP_RET_ACTION_FULL;
  return action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
         action == SECCOMP_RET_TRAP;
}

/// Executes all but jumps and returns.
void step(State& state, const sock_filter& code, std::uint32_t number) {
  const Word operand = BPF_SRC(code.code) == BPF_X ? state.x : Word(code.k);
  const std::size_t cell = code.k % BPF_MEMWORDS;
  const auto value = [&]() -> Word {
    switch (BPF_MODE(code.code)) {
      case BPF_ABS:
        return loaded(code.k, number);
      case BPF_LEN:
        return sizeof(seccomp_data);
      case BPF_MEM:
        return state.memory[cell];
      default:
        return code.k;
    }
  };
  switch (BPF_CLASS(code.code)) {
    case BPF_LD:
      state.a = value();
      break;
    case BPF_LDX:
      state.x = value();
      break;
    case BPF_ST:
      state.memory[cell] = state.a;
      break;
    case BPF_STX:
      state.memory[cell] = state.x;
      break;
    case BPF_ALU:
      state.a = computed(BPF_OP(code.code), state.a, operand);
      break;
    default:
      (BPF_MISCOP(code.code) == BPF_TAX ? state.x : state.a) =
          BPF_MISCOP(code.code) == BPF_TAX ? state.a : state.x;
  }
}

using Filters = std::vector<std::vector<sock_filter>>;

/// The filters of a thread; nothing if they cannot be read.
std::optional<Filters> filters_of(pid_t pid, pid_t tid) {
  BorrowedThread thread(pid, tid);
  if (thread.seize() != 0) return std::nullopt;
  Filters filters;
  while (true) {
    std::vector<sock_filter> filter(BPF_MAXINSNS);
    const long count = ptrace(static_cast<__ptrace_request>(PTRACE_SECCOMP_GET_FILTER), tid,
                              reinterpret_cast<void*>(filters.size()), filter.data());
    if (count < 0 && errno == ENOENT) return filters;
    if (count < 0) return std::nullopt;
    filter.resize(static_cast<std::size_t>(count));
    filters.push_back(std::move(filter));
  }
}

}  // namespace

FilterEffect effect_of(std::span<const sock_filter> filter, std::uint32_t number) {
  constexpr std::size_t kMostStates = 100'000;
  std::vector<State> open{State()};
  std::set<State> seen;
  bool ends = false, goes_on = false;
  while (!open.empty()) {
    State state = std::move(open.back());
    open.pop_back();
    if (seen.size() > kMostStates || state.next >= filter.size()) return FilterEffect::kUnknown;
    if (!seen.insert(state).second) continue;
    const sock_filter& code = filter[state.next++];
    if (BPF_CLASS(code.code) == BPF_RET) {
      const Word action = BPF_RVAL(code.code) == BPF_A ? state.a : Word(code.k);
      ends |= !action || is_end(*action);
      goes_on |= !action || !is_end(*action);
    } else if (BPF_CLASS(code.code) != BPF_JMP) {
      step(state, code, number);
      open.push_back(state);
    } else if (BPF_OP(code.code) == BPF_JA) {
      state.next += code.k;
      open.push_back(state);
    } else {
      const Word operand = BPF_SRC(code.code) == BPF_X ? state.x : Word(code.k);
      const auto is_true = holds(BPF_OP(code.code), state.a, operand);
      const std::size_t next = state.next;
      for (const bool branch : {false, true}) {
        if (is_true.value_or(branch) != branch) continue;
        state.next = next + (branch ? code.jt : code.jf);
        open.push_back(state);
      }
    }
  }
  if (!ends) return FilterEffect::kAllows;
  return goes_on ? FilterEffect::kMayEnd : FilterEffect::kEnds;
}

base::Outcome<void> check_filters(pid_t pid, bool despite_seccomp) {
  FilterEffect effect = FilterEffect::kAllows;
  std::string name;
  std::set<int> counts;  // Threads mostly have the same filters, and then the same number.
  for (const pid_t tid : threads_of(pid)) {
    const auto facts = facts_of(tid);
    if (!facts || facts->confinement.mode == 0) continue;
    if (!counts.insert(facts->confinement.filters).second) continue;
    // The strict mode allows read, write and exit.
    if (facts->confinement.mode == SECCOMP_MODE_STRICT) effect = FilterEffect::kEnds, name = "mmap";
    const auto filters = filters_of(pid, tid);
    if (!filters) effect = std::max(effect, FilterEffect::kUnknown);
    for (const Call& call : kCalls) {
      for (const auto& filter : filters.value_or(Filters())) {
        const FilterEffect its = effect_of(filter, call.number);
        if (its <= effect) continue;
        effect = its;
        name = call.name;
      }
    }
  }
  if (counts.empty()) effect = FilterEffect::kUnknown;
  if (effect == FilterEffect::kAllows) return {};
  if (effect == FilterEffect::kEnds) {
    return base::Failure{fmt::format(
        "filters its system calls (seccomp), and would be killed for {}, which the runtime makes: "
        "start it by geiger run",
        name)};
  }
  if (despite_seccomp) return {};
  return base::Failure{fmt::format(
      "filters its system calls (seccomp), and {} might kill it: where it does not, use "
      "--despite-seccomp",
      name.empty() ? "one of those that the runtime makes"
                   : fmt::format("{}, which the runtime makes,", name))};
}

}  // namespace geiger::inject
