// Walks over the stack of the test itself.
#include "analysis/holders/stack_frames.h"

#include <alloca.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "analysis/holders/holders.h"
#include "analysis/holders/subject.h"

namespace geiger::holders {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// Files by their paths alone.
ModuleFiles own_files() {
  return ModuleFiles([](const observe::Mapping& mapping) {
    return base::UniqueFd(::open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC));
  });
}
ModuleFiles no_files() {
  return ModuleFiles([](const observe::Mapping&) { return base::UniqueFd(); });
}

/// Where a function calls this, with all registers.
Halt halt_in(const ucontext_t& context) {
  std::vector<std::uint64_t> words(own_register_layout().words);
#if defined(__x86_64__)
  const auto& given = context.uc_mcontext.gregs;
  const std::pair<std::size_t, int> places[] = {{0, REG_R15},  {1, REG_R14}, {2, REG_R13},
                                                {3, REG_R12},  {4, REG_RBP}, {5, REG_RBX},
                                                {16, REG_RIP}, {19, REG_RSP}};
  for (const auto& [word, number] : places) words[word] = static_cast<std::uint64_t>(given[number]);
#else
  std::copy(std::begin(context.uc_mcontext.regs), std::end(context.uc_mcontext.regs),
            words.begin());
  words[31] = context.uc_mcontext.sp;
  words[32] = context.uc_mcontext.pc;
#endif
  return *halt_of(own_register_layout(), words);
}

class Walk {
 public:
  explicit Walk(const Halt& halt, ModuleFiles files = own_files()) : files_(std::move(files)) {
    const observe::ProcessFiles own(::getpid());
    layout_.mappings = observe::parse_smaps(*own.read("maps"));
    find_modules(layout_, files_, 4096);
    Address end = 0;
    for (const observe::Mapping& mapping : layout_.mappings) {
      if (mapping.holds(halt.stack_pointer)) end = mapping.end;
    }
    frames_.walk(halt, {end, [](Address at) {
                          std::uint64_t word = 0;
                          std::memcpy(&word, reinterpret_cast<const void*>(at), sizeof word);
                          return word;
                        }});
  }
  [[nodiscard]] std::string function_of(const void* place) {
    return frames_.function_at(reinterpret_cast<Address>(place));
  }

 private:
  Layout layout_;
  ModuleFiles files_;
  StackFrames frames_{layout_, files_};
};

using Check = std::function<void(const ucontext_t&)>;

/// Finds its caller by the stack pointer alone.
[[gnu::noinline]] void halt_simply(const Check& check) {
  ucontext_t context;
  ::getcontext(&context);
  check(context);
  asm volatile("" ::: "memory");
}

/// Needs the frame pointer for that, as its frame is of any size.
[[gnu::noinline]] void halt_with_any_frame(std::size_t bytes, const Check& check) {
  auto* room = static_cast<volatile char*>(alloca(bytes));
  room[0] = 1;
  ucontext_t context;
  ::getcontext(&context);
  check(context);
  asm volatile("" ::"r"(room) : "memory");
}

template <class Halts>
[[gnu::noinline]] void hold_in_frame(const void*& held, const Halts& halts) {
  const void* words[8] = {&held};
  held = &words[4];
  halts();
  asm volatile("" ::"r"(words) : "memory");
}

TEST(StackFrames, WordsAreInTheFunctionsThatHoldThem) {
  const void* held = nullptr;
  hold_in_frame(held, [&] {
    halt_simply([&](const ucontext_t& context) {
      Walk walk(halt_in(context));
      EXPECT_THAT(walk.function_of(held),
                  testing::ContainsRegex("hold_in_frame.* \\(stack_frames_test\\.cc\\)"));
      EXPECT_THAT(walk.function_of(&context),
                  StartsWith("geiger::holders::halt_simply (stack_frames_test.cc)"));
      // Below the stack pointer.
      const auto halt = halt_in(context);
      EXPECT_EQ(walk.function_of(reinterpret_cast<const void*>(halt.stack_pointer - 8)), "");
    });
  });
}

TEST(StackFrames, AStepThatNeedsARegisterThatIsNotKnownEndsTheWalk) {
  const void* held = nullptr;
  hold_in_frame(held, [&] {
    halt_with_any_frame(static_cast<std::size_t>(::getpid() % 7 + 1) * 64,
                        [&](const ucontext_t& context) {
                          const Halt all = halt_in(context);
                          EXPECT_NE(Walk(all).function_of(held), "");
                          Halt two{all.stack_pointer, all.program_counter, 0, {}};
                          const auto number = own_register_layout().dwarf_stack_pointer;
                          two.registers[number] = all.stack_pointer;
                          EXPECT_EQ(Walk(two).function_of(held), "");
                          EXPECT_EQ(Walk(two).function_of(&context), "");
                        });
  });
}

TEST(StackFrames, WithoutRulesNothingIsKnown) {
  const void* held = nullptr;
  hold_in_frame(held, [&] {
    halt_simply([&](const ucontext_t& context) {
      EXPECT_EQ(Walk(halt_in(context), no_files()).function_of(held), "");
      Halt elsewhere = halt_in(context);
      elsewhere.program_counter = elsewhere.stack_pointer;
      EXPECT_EQ(Walk(elsewhere).function_of(held), "");
    });
  });
}

/// The test's own process, as if its thread had halted, with one sample.
class OwnProcess : public Subject {
 public:
  OwnProcess(Halt halt, Address sample) : halt_(std::move(halt)), sample_(sample) {
    trace::Record record;
    record.offset = 8;
    trace::SampleRecord allocated{};
    allocated.address = sample;
    allocated.requested_kind = allocated.usable_heap = 64;
    live_.on(record, allocated);
  }
  bool runs = false;  ///< It halts again whenever it is asked.

  base::Outcome<std::vector<observe::Mapping>> look() override {
    const observe::ProcessFiles own(::getpid());
    std::vector<observe::Mapping> mappings = observe::parse_smaps(*own.read("maps"));
    std::erase_if(mappings, [&](const observe::Mapping& mapping) {
      return !mapping.holds(sample_) && !mapping.holds(halt_.stack_pointer) &&
             mapping.path != own.link("exe");
    });
    return mappings;
  }
  const observe::LiveSet& live() const override { return live_; }
  std::unique_ptr<Memory> memory(std::span<const observe::Mapping> /*mappings*/) const override {
    return std::make_unique<Own>();
  }
  std::vector<Thread> threads() const override {
    return {{::getpid(), "test", halt_.stack_pointer}};
  }
  std::optional<Halt> halt_of(const Thread& /*thread*/) const override {
    if (runs) ++halt_.switches;
    return halt_;
  }
  std::string executable() const override { return ""; }
  std::string_view allocator() const override { return ""; }
  void leave_out_runtime(Layout& /*layout*/) const override {}
  base::Outcome<void> check_still_there() const override { return {}; }
  base::Outcome<void> follow() override { return {}; }
  bool is_still() const override { return true; }

  std::vector<std::string> roots() {
    ModuleFiles files = own_files();
    return find_holders(*this, files, {}, [] {}).holders->roots;
  }

 private:
  class Own : public Memory {
    void read(std::span<const Piece> pieces, std::byte* into) override {
      for (const Piece& piece : pieces) {
        std::memcpy(into, reinterpret_cast<const void*>(piece.start), piece.bytes);
        into += piece.bytes;
      }
    }
    [[nodiscard]] bool is_absent(Address /*address*/) const override { return false; }
    [[nodiscard]] Bytes page_bytes() const override { return 4096; }
  };

  mutable Halt halt_;
  Address sample_;
  observe::LiveSet live_;
};

std::uintptr_t g_hidden = 0;

template <class Halts>
[[gnu::noinline]] void hold_hidden(const Halts& halts) {
  const void* words[8] = {reinterpret_cast<const void*>(~g_hidden)};
  halts();
  asm volatile("" ::"r"(words) : "memory");
}

TEST(StackFrames, OfAThreadThatRanMeanwhileNothingIsKnown) {
  g_hidden = ~reinterpret_cast<std::uintptr_t>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  hold_hidden([] {
    halt_simply([](const ucontext_t& context) {
      OwnProcess process(halt_in(context), ~g_hidden);
      EXPECT_THAT(process.roots(), ElementsAre(AllOf(HasSubstr("hold_hidden"),
                                                     EndsWith("), stack of thread test"))));
      process.runs = true;
      EXPECT_THAT(process.roots(), ElementsAre("stack of thread test"));
    });
  });
}

}  // namespace
}  // namespace geiger::holders
