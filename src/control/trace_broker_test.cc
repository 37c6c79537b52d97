#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/unique_fd.h"
#include "control/trace_home.h"

namespace geiger::control {
namespace {

using trace::BrokerAction;
using trace::BrokerAnswer;
using trace::BrokerRequest;

TEST(TraceBroker, NamesStayInTheirDirectory) {
  EXPECT_TRUE(is_trace_name("nginx.12.0.geiger"));
  for (const char* name :
       {"", ".geiger", "..geiger", "a/b.geiger", "../a.geiger", "passwd", "a.geiger/"}) {
    EXPECT_FALSE(is_trace_name(name)) << name;
  }
}

struct Broker : ::testing::Test {
  std::string directory = "/tmp/geiger-broker-XXXXXX";
  std::unique_ptr<TraceBroker> broker;

  void SetUp() override {
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    broker = TraceBroker::open(directory);
    if (!broker) GTEST_SKIP() << "only for root";
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  [[nodiscard]] BrokerRequest request(BrokerAction action, const std::string& name) const {
    BrokerRequest request{};
    request.action = action;
    broker->digits().copy(request.secret, sizeof request.secret, trace::kBrokerName);
    name.copy(request.name, sizeof request.name - 1);
    return request;
  }

  /// The answer, and the descriptor that came with it. Negative: there was none.
  [[nodiscard]] int ask(const void* bytes, std::size_t size, base::UniqueFd& made) const {
    const base::UniqueFd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = trace::kBrokerPrefix + broker->digits().substr(0, trace::kBrokerName);
    name.copy(address.sun_path + 1, name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) return -1;
    if (send(connection.get(), bytes, size, 0) < 0) return -1;
    BrokerAnswer answer{};
    iovec part{&answer, sizeof answer};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    if (recvmsg(connection.get(), &message, MSG_CMSG_CLOEXEC) <= 0) return -1;
    if (const cmsghdr* with = CMSG_FIRSTHDR(&message)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(with), sizeof fd);
      made = base::UniqueFd(fd);
    }
    return answer.error;
  }
  [[nodiscard]] int ask(BrokerAction action, const std::string& name, base::UniqueFd& made) const {
    const BrokerRequest wanted = request(action, name);
    return ask(&wanted, sizeof wanted, made);
  }
};

TEST_F(Broker, OpensAndRemovesTraces) {
  base::UniqueFd made;
  EXPECT_EQ(ask(BrokerAction::kOpen, "a.1.0.geiger", made), 0);
  ASSERT_TRUE(made.is_open());
  struct stat here {};
  struct stat there {};
  ASSERT_EQ(fstat(made.get(), &here), 0);
  ASSERT_EQ(stat((directory + "/a.1.0.geiger").c_str(), &there), 0);
  EXPECT_EQ(here.st_ino, there.st_ino);
  EXPECT_EQ(there.st_mode & 0777U, 0600U);
  base::UniqueFd none;
  EXPECT_EQ(ask(BrokerAction::kOpen, "a.1.0.geiger", none), EEXIST);
  EXPECT_EQ(ask(BrokerAction::kRemove, "a.1.0.geiger", none), 0);
  EXPECT_EQ(ask(BrokerAction::kRemove, "a.1.0.geiger", none), ENOENT);
  EXPECT_FALSE(none.is_open());
}

TEST_F(Broker, RefusesWhatIsNotOfTheRun) {
  base::UniqueFd made;
  BrokerRequest stranger = request(BrokerAction::kOpen, "a.1.0.geiger");
  stranger.secret[0] = stranger.secret[0] == '0' ? '1' : '0';
  EXPECT_EQ(ask(&stranger, sizeof stranger, made), EACCES);
  EXPECT_EQ(ask(BrokerAction::kOpen, "../a.1.0.geiger", made), EINVAL);
  EXPECT_EQ(ask(BrokerAction::kRemove, "/etc/passwd", made), EINVAL);
  EXPECT_EQ(ask("short", 5, made), -1);
  ASSERT_EQ(symlink("/etc/hostname", (directory + "/a.1.0.geiger").c_str()), 0);
  EXPECT_EQ(ask(BrokerAction::kOpen, "a.1.0.geiger", made), EEXIST);
  EXPECT_FALSE(made.is_open());
}

TEST_F(Broker, IsThereUntilItsEnd) {
  const BrokerRequest wanted = request(BrokerAction::kOpen, "a.1.0.geiger");
  const std::string digits = broker->digits();
  EXPECT_EQ(digits.size(), trace::kBrokerName + trace::kBrokerSecret);
  EXPECT_NE(TraceBroker::open(directory)->digits(), digits);
  base::UniqueFd made;
  EXPECT_EQ(ask(&wanted, sizeof wanted, made), 0);
}

}  // namespace
}  // namespace geiger::control
