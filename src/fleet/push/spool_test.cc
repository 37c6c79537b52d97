#include "fleet/push/spool.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "fleet/document/encoding.h"
#include "fleet/document/test_documents.h"
#include "fleet/push/followed_process.h"
#include "fleet/push/sender.h"
#include "fleet/push/sinks.h"

namespace geiger::fleet {
namespace {

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() : documents_(documents_of(random_recording(1))) {
    std::string pattern = testing::TempDir() + "spool-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~SpoolTest() override { std::filesystem::remove_all(path_); }

  Spool open(Bytes most = Spool::kMostBytes) {
    auto spool =
        Spool::open(path_, most, [this](const std::string& line) { log_.push_back(line); });
    EXPECT_TRUE(spool.has_value()) << spool.reason();
    return std::move(spool.value());
  }
  base::Outcome<void> put(Spool& spool, std::size_t i) {
    return spool.put(documents_[i].window.key, pack(documents_[i]));
  }

  std::string path_;
  std::vector<Document> documents_;
  std::vector<std::string> log_;
};

TEST_F(SpoolTest, KeepsDocumentsInOrderOfTimesOverRestarts) {
  {
    Spool spool = open();
    for (const std::size_t i : {2, 0, 1}) EXPECT_TRUE(put(spool, i).has_value());
  }
  std::ofstream(path_ + "/waiting/half.doc.tmp") << "half";
  const Spool spool = open();
  EXPECT_EQ(spool.waiting(), 3U);
  std::string name;
  for (const Document& document : documents_) {
    name = spool.next(name).value();
    EXPECT_EQ(spool.read(name).value(), pack(document));
  }
  EXPECT_FALSE(spool.next(name));
}

TEST_F(SpoolTest, OtherContentsUnderAKeyAreAnError) {
  Spool spool = open();
  EXPECT_TRUE(put(spool, 0).has_value());
  EXPECT_TRUE(put(spool, 0).has_value());
  documents_[0].window.trials += 1;
  EXPECT_FALSE(put(spool, 0).has_value());
  EXPECT_EQ(spool.waiting(), 1U);
}

TEST_F(SpoolTest, TheOldestGoAndOneGapGrowsInTheirPlace) {
  documents_[0].window.alive_ms = 600'000;  // Up to where the next one begins.
  const Bytes most = pack(documents_[2]).size() + 400;
  Spool spool = open(most);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(put(spool, i).has_value());
  EXPECT_EQ(log_.size(), 2U);
  EXPECT_LE(spool.bytes(), most);
  ASSERT_EQ(spool.waiting(), 2U);
  const auto parcel = open_parcel(spool.read(spool.next().value()).value());
  const auto& gap = std::get<GapRow>(parcel.value());
  EXPECT_EQ(gap.first, documents_[0].window.key.started);
  EXPECT_EQ(gap.last, documents_[1].window.key.started + 600);
  EXPECT_EQ(gap.reason, "spool full");
}

TEST_F(SpoolTest, WhatIsRefusedIsSetAsideAndTold) {
  Spool spool = open();
  EXPECT_TRUE(put(spool, 0).has_value());
  const std::string name = spool.next().value();
  EXPECT_TRUE(spool.refuse(name, "409 other").has_value());
  EXPECT_TRUE(std::filesystem::exists(path_ + "/refused/" + name));
  EXPECT_TRUE(spool.next().value().ends_with(".gap"));
  EXPECT_EQ(log_, std::vector<std::string>{name + " was refused: 409 other"});
}

TEST_F(SpoolTest, OneProcessAtATime) {
  const Spool spool = open();
  EXPECT_FALSE(Spool::open(path_, Spool::kMostBytes, {}).has_value());
}

TEST_F(SpoolTest, StatesAreReadAsTheyWereWritten) {
  Sent sent;
  sent.key = documents_[0].window.key;
  sent.end = 12;
  sent.sequence = 3;
  sent.is_finished = true;
  sent.exact_bytes = 99;
  for (const CountRow& row : documents_[0].counts) {
    sent.allocated[{row.stack, row.size, row.interval, 0, row.is_certain}] = row.allocated;
  }
  std::string bytes = encode(sent);
  const auto read = decode_sent(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->allocated, sent.allocated);
  EXPECT_EQ(encode(read.value()), bytes);
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_FALSE(decode_sent(bytes).has_value());
}

TEST_F(SpoolTest, DamagedDocumentsAreRefused) {
  const std::string sound = pack(documents_[0]);
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = sound;
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    if (random() % 3 == 0) damaged.resize(random() % damaged.size());
    const auto parcel = open_parcel(damaged);
    EXPECT_EQ(parcel.has_value(), damaged == sound);
  }
}

TEST(Backoff, GrowsToTenMinutesAndHeedsTheSink) {
  Backoff backoff(1);
  std::chrono::milliseconds longest{0};
  for (int i = 0; i < 1000; ++i) longest = std::max(longest, backoff.next());
  EXPECT_LE(longest, std::chrono::minutes(10));
  EXPECT_GT(longest, std::chrono::minutes(9));
  EXPECT_GE(backoff.next(std::chrono::seconds(30)), std::chrono::seconds(30));
  backoff.reset();
  EXPECT_LE(backoff.next(), std::chrono::seconds(1));
}

TEST(HttpSink, AnswersMeanTakenLaterOrRefused) {
  using What = Delivery::What;
  for (const auto& [status, what] : {std::pair(200L, What::kTaken),
                                     {0L, What::kLater},
                                     {301L, What::kLater},
                                     {400L, What::kRefused},
                                     {401L, What::kLater},
                                     {409L, What::kRefused},
                                     {422L, What::kRefused},
                                     {429L, What::kLater},
                                     {500L, What::kLater}}) {
    http::Answer answer;
    answer.status = status;
    EXPECT_EQ(delivery_of(answer).what, what) << status;
  }
  EXPECT_TRUE(check_url("https://collector.example/a").has_value());
  EXPECT_TRUE(check_url("http://127.0.0.1:80/").has_value());
  for (const char* url :
       {"http://127.0.0.1.example/", "http://[::1", "https:///", "https://a:b@c/"}) {
    EXPECT_FALSE(check_url(url).has_value()) << url;
  }
}

TEST(Schemes, AreNamedWhereOneIsNotKnown) {
  EXPECT_EQ(scheme_of("a/path").value(), nullptr);
  EXPECT_EQ(scheme_of("pyroscope+https://a/").value()->cut, "pyroscope+");
  const auto unknown = scheme_of("ftp://a/");
  ASSERT_FALSE(unknown.has_value());
  for (const Scheme& scheme : schemes()) {
    EXPECT_NE(unknown.reason().find(scheme.name), std::string::npos) << scheme.name;
    EXPECT_NE(scheme.open == nullptr, scheme.open_profiles == nullptr) << scheme.name;
  }
}

TEST(ResidentMeans, HoldEachReadingUntilTheNext) {
  constexpr Nanoseconds kSecond = 1'000'000'000;
  ResidentMean mean;
  EXPECT_EQ(mean.byte_seconds(10 * kSecond, 10 * kSecond), 0U) << "no reading";
  mean.add(10 * kSecond, 100);
  EXPECT_EQ(mean.byte_seconds(10 * kSecond, 5 * kSecond), 500U);
  mean.add(20 * kSecond, 300);
  EXPECT_EQ(mean.byte_seconds(30 * kSecond, 20 * kSecond), 10U * 100 + 10U * 300);
  EXPECT_EQ(mean.byte_seconds(30 * kSecond, 40 * kSecond), 40U * 200)
      << "the beginning as the rest";
  mean.begin_anew(30 * kSecond);
  EXPECT_EQ(mean.byte_seconds(40 * kSecond, 10 * kSecond), 10U * 300);
}

TEST(ProcessNames, AreThoseOfOpenTelemetry) {
  using namespace std::string_literals;
  const ProcessNames names = names_in_environment(
      "PATH=/bin\0OTEL_RESOURCE_ATTRIBUTES=service.name=a,service.version=1%2C2\0X=1"s);
  EXPECT_EQ(names.service, "a");
  EXPECT_EQ(names.version, "1,2");
  EXPECT_EQ(names_in_environment("OTEL_SERVICE_NAME=b\0OTEL_RESOURCE_ATTRIBUTES=service.name=a\0"s)
                .service,
            "b");
}

}  // namespace
}  // namespace geiger::fleet
