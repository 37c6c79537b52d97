#include "serve/timed_stream.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

namespace geiger::serve {
namespace {

constexpr Peer kPeer = 1000;

/// A connection with a thread, that of the test, and the other end of it.
class TimedStreamTest : public testing::Test {
 protected:
  /// `age`: so long ago the peer connected.
  explicit TimedStreamTest(std::chrono::seconds age = std::chrono::seconds(1)) {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    peer_ = base::UniqueFd(ends[1]);
    admission_.add({base::UniqueFd(ends[0]), kPeer, Arrival::Clock::now() - age});
    arrival_ = admission_.next();
  }

  void have_another_one_wait() { admission_.add({base::UniqueFd(eventfd(0, EFD_CLOEXEC)), kPeer}); }
  /// What the peer has got.
  std::string got() {
    std::string bytes(100'000, '\0');
    const ssize_t size = recv(peer_.get(), bytes.data(), bytes.size(), 0);
    return bytes.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }

  Admission admission_{10};
  base::UniqueFd peer_;
  std::optional<Arrival> arrival_;
};

TEST_F(TimedStreamTest, BytesThatAreThereAreRead) {
  TimedStream stream(*arrival_, admission_);
  have_another_one_wait();
  ASSERT_EQ(send(peer_.get(), "four", 4, 0), 4);
  std::array<char, 10> bytes{};
  EXPECT_EQ(stream.read(bytes.data(), 1), 1);
  EXPECT_EQ(stream.read(bytes.data() + 1, 9), 3);
  EXPECT_STREQ(bytes.data(), "four");
  peer_.reset();
  EXPECT_EQ(stream.read(bytes.data(), 1), 0);
}

TEST_F(TimedStreamTest, ASilentOneGivesWay) {
  TimedStream stream(*arrival_, admission_);
  have_another_one_wait();
  char byte = 0;
  EXPECT_EQ(stream.read(&byte, 1), -1);
  EXPECT_TRUE(stream.gave_way());
  EXPECT_EQ(stream.write("no", 2), -1) << "what the library would answer is not true";
  EXPECT_TRUE(got().starts_with("HTTP/1.1 408 "));
}

TEST_F(TimedStreamTest, OneThatReadsNothingGivesWay) {
  TimedStream stream(*arrival_, admission_);
  have_another_one_wait();
  const std::string piece(100'000, 'x');
  while (stream.write(piece.data(), piece.size()) > 0) {
  }
  EXPECT_TRUE(stream.gave_way());
  while (true) {
    const std::string rest = got();
    if (rest.empty()) break;
    EXPECT_EQ(rest.find("HTTP"), rest.npos) << "an answer in the middle of one";
  }
}

TEST_F(TimedStreamTest, HeadersHaveALimit) {
  TimedStream stream(*arrival_, admission_);
  const std::string piece(1000, 'x');
  std::string into(1000, '\0');
  std::size_t came = 0;
  while (came < 200'000) {
    ASSERT_EQ(send(peer_.get(), piece.data(), piece.size(), 0), 1000);
    if (stream.read(into.data(), into.size()) < 0) break;
    came += into.size();
  }
  EXPECT_GE(came, 65'536U);
  EXPECT_LT(came, 70'000U);
  stream.end_headers();
  EXPECT_GT(stream.read(into.data(), into.size()), 0);
}

class LateStreamTest : public TimedStreamTest {
 protected:
  LateStreamTest() : TimedStreamTest(std::chrono::seconds(31)) {}
};

TEST_F(LateStreamTest, ItsTimeIsOverThoughNoneWaits) {
  TimedStream stream(*arrival_, admission_);
  ASSERT_EQ(send(peer_.get(), "a", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(stream.read(&byte, 1), 1);
  EXPECT_EQ(stream.read(&byte, 1), -1);
  EXPECT_FALSE(stream.gave_way());
  EXPECT_TRUE(got().starts_with("HTTP/1.1 408 "));
}

TEST_F(LateStreamTest, AnAnswerHasItsOwnTime) {
  TimedStream stream(*arrival_, admission_);
  EXPECT_EQ(stream.write("answer", 6), 6);
  EXPECT_EQ(got(), "answer");
}

}  // namespace
}  // namespace geiger::serve
