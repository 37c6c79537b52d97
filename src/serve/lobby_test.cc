#include "serve/lobby.h"

#include <gtest/gtest.h>

#include <string>

#include "serve/admission.h"

namespace geiger::serve {
namespace {

constexpr std::size_t kMost = 8 << 20;

TEST(Lobby, ARequestIsThereWithItsBody) {
  const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t size = 0; size < get.size(); ++size) {
    EXPECT_FALSE(bytes_before_thread(get.substr(0, size), kMost)) << size;
  }
  EXPECT_EQ(bytes_before_thread(get, kMost), get.size());
  EXPECT_EQ(bytes_before_thread(get + "more", kMost), get.size());
  for (const char* name : {"Content-Length: ", "content-length:", "CONTENT-LENGTH:  "}) {
    const std::string post = "POST / HTTP/1.1\r\n" + std::string(name) + "100\r\nHost: a\r\n\r\n";
    EXPECT_EQ(bytes_before_thread(post, kMost), post.size() + 100) << name;
  }
}

TEST(Lobby, OfALargeOneTheFirstBytesAreEnough) {
  for (const char* length : {"16384", "8388608"}) {
    const std::string post =
        "POST / HTTP/1.1\r\nContent-Length: " + std::string(length) + "\r\n\r\n";
    EXPECT_EQ(bytes_before_thread(post, kMost), 16384U) << length;
  }
}

TEST(Lobby, WhatIsNotReadIsNotWaitedFor) {
  for (const char* header :
       {"Content-Length: x", "Content-Length: 8388609", "Content-Length: 99999999999999999999",
        "Expect: 100-continue\r\nContent-Length: 5", "X-Content-Length: 5"}) {
    const std::string post = "POST / HTTP/1.1\r\n" + std::string(header) + "\r\n\r\n";
    EXPECT_EQ(bytes_before_thread(post, kMost), post.size()) << header;
  }
}

TEST(TimeLimit, GrowsWithTheBytesThatCame) {
  using std::chrono::seconds;
  EXPECT_EQ(time_for(0), seconds(30));
  EXPECT_EQ(time_for(16383), seconds(30));
  EXPECT_EQ(time_for(8 << 20), seconds(30 + 512));
}

}  // namespace
}  // namespace geiger::serve
