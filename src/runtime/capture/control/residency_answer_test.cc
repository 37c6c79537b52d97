// The runtime's answers about its own memory, against mincore page by page.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>
#include <utility>

#include "base/raw_syscall.h"
#include "runtime/capture/control/live_answers.h"
#include "runtime/capture/test_recording.h"

namespace geiger::capture {
namespace {

using test::allocate;
using test::control;
using test::header;

constexpr Bytes kPage = 4096;

/// Pages, of which every third can be touched.
class Memory {
 public:
  explicit Memory(Bytes pages)
      : bytes_(pages * kPage),
        start_(static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    madvise(start_, bytes_, MADV_NOHUGEPAGE);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { munmap(start_, bytes_); }

  void touch_every_third() {
    for (Bytes at = 0; at < bytes_; at += 3 * kPage) start_[at] = 1;
  }
  [[nodiscard]] Address at(Bytes offset) const {
    return reinterpret_cast<Address>(start_) + offset;
  }

 private:
  Bytes bytes_;
  char* start_;
};

/// Byte by byte.
Bytes counted(Address address, Bytes bytes) {
  Bytes count = 0;
  std::uint64_t page = 0;
  unsigned char state = 0;
  for (Address at = address; at < address + bytes; ++at) {
    if (at / kPage != page) {
      page = at / kPage;
      EXPECT_EQ(mincore(reinterpret_cast<void*>(page * kPage), 1, &state), 0);
    }
    count += state & 1;
  }
  return count;
}

TEST(ResidentBytes, AreThoseOfMincore) {
  Memory memory(600);  // More than two mincore calls.
  memory.touch_every_third();
  const std::pair<Bytes, Bytes> ranges[] = {{0, 1},
                                            {0, kPage},
                                            {0, kPage + 1},
                                            {kPage - 1, 2},
                                            {kPage - 1, 1},
                                            {5, 3 * kPage},
                                            {2 * kPage + 9, 100},
                                            {0, 600 * kPage},
                                            {17, 599 * kPage},
                                            {kPage, 256 * kPage},
                                            {kPage + 1, 256 * kPage},
                                            {3, 513 * kPage}};
  for (const auto& [offset, bytes] : ranges) {
    EXPECT_EQ(resident_bytes(memory.at(offset), bytes, kPage), counted(memory.at(offset), bytes))
        << offset << " " << bytes;
  }
  EXPECT_EQ(resident_bytes(memory.at(0), 600 * kPage, kPage), 200 * kPage);
  EXPECT_EQ(resident_bytes(memory.at(0), 0, kPage), 0U);
}

TEST(ResidentBytes, OfWhatIsNotMappedAreNotKnown) {
  Memory memory(600);
  munmap(reinterpret_cast<void*>(memory.at(400 * kPage)), kPage);
  errno = 77;
  EXPECT_EQ(resident_bytes(memory.at(0), 600 * kPage, kPage), kNotMapped);
  EXPECT_EQ(resident_bytes(memory.at(400 * kPage), 1, kPage), kNotMapped);
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(resident_bytes(memory.at(0), 400 * kPage, kPage), 0U);
}

class ResidencyAnswer : public test::Recorded {};

/// Allocates a certain sample: 64 bytes or more.
void allocate_at(Address address, Bytes size) {
  const Decision decision = decide(size);
  record(decision, {reinterpret_cast<void*>(address), size, size, trace::EntryPoint::kMalloc, 16},
         unwind::caller_registers());
}

/// Resident bytes by address, from the records after a tail.
std::map<Address, Bytes> answers_since(std::uint64_t tail) {
  const trace::Writer& writer = current_segment().writer;
  std::map<Address, Bytes> answers;
  for (std::uint64_t at = tail; at < header().tail.load();) {
    const auto ref = static_cast<trace::Ref>(at / 8);
    const auto found = trace::RecordHeader::unpack(writer.at<std::uint64_t>(ref));
    if (found.words == 0) break;
    if (found.type == trace::RecordType::kResidency) {
      const auto& answer = writer.at<trace::ResidencyRecord>(ref);
      answers[writer.at<trace::SampleRecord>(answer.sample).address] = answer.resident_bytes;
    }
    at += found.words * Bytes{8};
  }
  return answers;
}

/// The answers of the next slow path.
std::map<Address, Bytes> asked() {
  static std::uint64_t number = 1000;
  const std::uint64_t tail = header().tail.load();
  control().wanted_residency.fetch_add(1);
  allocate(++number);  // At an unmapped address.
  return answers_since(tail);
}

TEST_F(ResidencyAnswer, IsOfEveryLiveSampleThatIsMapped) {
  EXPECT_EQ(recorded("",
                     [] {
                       Memory memory(64);
                       memory.touch_every_third();
                       const std::map<Address, Bytes> sizes = {{memory.at(100), 64},
                                                               {memory.at(kPage - 10), 100},
                                                               {memory.at(5 * kPage + 1), 70'000}};
                       for (const auto& [address, size] : sizes) allocate_at(address, size);
                       const std::uint64_t tail = header().tail.load();
                       allocate(2);
                       GEIGER_OR_FAIL(answers_since(tail).empty());  // No request was made.
                       const auto answers = asked();
                       GEIGER_OR_FAIL(answers.size() == sizes.size());
                       for (const auto& [address, size] : sizes) {
                         GEIGER_OR_FAIL(answers.at(address) == counted(address, size));
                       }
                       const std::uint64_t after = header().tail.load();
                       allocate(3);
                       GEIGER_OR_FAIL(answers_since(after).empty());  // Once.
                       release(reinterpret_cast<void*>(memory.at(100)), unwind::caller_registers());
                       GEIGER_OR_FAIL(asked().size() == sizes.size() - 1);
                       return 0;
                     }),
            0);
}

TEST_F(ResidencyAnswer, IsNotGivenWhereTheProgramConfinedItself) {
  EXPECT_EQ(recorded("",
                     [] {
                       Memory memory(4);
                       allocate_at(memory.at(0), 64);
                       base::confinement.store(base::Confinement::kToAllocators);
                       GEIGER_OR_FAIL(asked().empty());
                       base::confinement.store(base::Confinement::kNone);
                       GEIGER_OR_FAIL(asked().size() == 1);
                       return 0;
                     }),
            0);
  EXPECT_EQ(recorded("GEIGER_MODE=aggregate\n",
                     [] {
                       Memory memory(4);
                       allocate_at(memory.at(0), 64);
                       GEIGER_OR_FAIL(asked().empty());
                       return 0;
                     }),
            0);
}

TEST_F(ResidencyAnswer, LeavesOutWhatWouldTakeTooLong) {
  EXPECT_EQ(recorded("",
                     [] {
                       const Memory huge((Bytes{1} << 20) + 1);
                       Memory memory(512);
                       allocate_at(huge.at(0), ((Bytes{1} << 20) + 1) * kPage);
                       allocate_at(memory.at(0), 64);
                       const auto answers = asked();
                       GEIGER_OR_FAIL(answers.size() == 1 && answers.contains(memory.at(0)));
                       for (Bytes i = 1; i <= 65536; ++i) allocate_at(memory.at(16 * i), 64);
                       // Samples at unmapped addresses were looked up too.
                       const std::size_t most = asked().size();
                       GEIGER_OR_FAIL(65536 - 3 <= most && most <= 65536);
                       return 0;
                     }),
            0);
}

}  // namespace
}  // namespace geiger::capture
