#include "analysis/present/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace geiger::present {
namespace {

using estimation::Estimate;

constexpr double kMega = 0x1p20;

std::string bytes(double value, double lo, double hi, std::uint64_t samples = 10,
                  double exact = 0) {
  return figure(Estimate{value, 1.0, {lo, hi}, samples, exact}, Quantity::kBytes).text();
}

std::string objects(double value, double lo, double hi) {
  return figure(Estimate{value, 1.0, {lo, hi}, 10, 0}, Quantity::kObjects).text();
}

TEST(Figure, NearlySymmetricIntervalsPrintAsPlusMinus) {
  EXPECT_EQ(bytes(812 * kMega, 788 * kMega, 837 * kMega), "812 MiB ± 25");
  EXPECT_EQ(bytes(12.58 * 1024 * kMega, 12.44 * 1024 * kMega, 12.72 * 1024 * kMega),
            "12.58 GiB ± 0.14");
  EXPECT_EQ(bytes(5 * kMega, 4.6 * kMega, 5.4 * kMega), "5.00 MiB ± 0.40");
}

TEST(Figure, TheErrorNeverRoundsToNothing) {
  EXPECT_EQ(bytes(4 * kMega, 4 * kMega - 3, 4 * kMega + 3), "4.000 MiB ± 0.001");
}

TEST(Figure, LeaningIntervalsPrintTheirLimits) {
  EXPECT_EQ(bytes(812 * kMega, 788 * kMega, 900 * kMega), "812 MiB [788, 900]");
  EXPECT_EQ(bytes(512 * 1024, 16, 1.9 * kMega, 1), "512 KiB [16 B, 1.90 MiB]");
}

TEST(Figure, LimitsAreRoundedOutwards) {
  EXPECT_EQ(bytes(2 * kMega, 1.239 * kMega, 9.121 * kMega), "2.00 MiB [1.23, 9.13]");
}

TEST(Figure, NothingSeenPrintsTheLimitAndNeverZero) {
  EXPECT_EQ(bytes(0, 0, 1.84 * kMega, 0), "< 1.84 MiB");
}

TEST(Figure, OnlyCertainObjectsSeen) {
  EXPECT_EQ(bytes(12 * kMega, 12 * kMega, 13.84 * kMega, 0, 12 * kMega),
            "12 MiB exact + < 1.84 MiB");
}

TEST(Figure, ExactValuesHaveNoError) {
  EXPECT_EQ(bytes(812.4 * kMega, 812.4 * kMega, 812.4 * kMega), "812.4 MiB");
  EXPECT_EQ(bytes(0, 0, 0, 0), "0 B");
}

TEST(Figure, CountsUseDecimalSteps) {
  EXPECT_EQ(objects(1234, 1134, 1334), "1,234 ± 100");
  EXPECT_EQ(objects(85.12e6, 83.9e6, 86.3e6), "85.1 M ± 1.3 M");
  EXPECT_EQ(objects(170e3, 114e3, 277e3), "170 k [114 k, 277 k]");
  EXPECT_EQ(objects(12e3, 8e3, 22e3), "12.0 k [8,000, 22.0 k]");
  EXPECT_EQ(objects(12345, 12345, 12345), "12,345");
}

TEST(Figure, NonFiniteInputPrintsAQuestionMark) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(bytes(0, 0, infinite, 0), "< ? EiB");
}

TEST(Exact, BytesAndCounts) {
  EXPECT_EQ(exact_bytes(0), "0 B");
  EXPECT_EQ(exact_bytes(1023), "1,023 B");
  EXPECT_EQ(exact_bytes(1024), "1 KiB");
  EXPECT_EQ(exact_bytes(1536), "1.50 KiB");
  EXPECT_EQ(exact_bytes(512 * kKiB), "512 KiB");
  EXPECT_EQ(exact_bytes(13'507'772'416), "12.58 GiB");
  EXPECT_EQ(exact_bytes(~Bytes{0}), "16 EiB");
  EXPECT_EQ(exact_count(1), "1");
  EXPECT_EQ(exact_count(1234567), "1,234,567");
}

TEST(Change, HasASignAndItsError) {
  const auto text = [](double value, double lo, double hi) {
    return change_figure(value * kMega, {lo * kMega, hi * kMega}).text();
  };
  EXPECT_EQ(text(128, 111, 145), "+128 MiB ± 17");
  EXPECT_EQ(text(-128, -145, -111), "-128 MiB ± 17");
  EXPECT_EQ(text(-12, -14.2, -9), "-12.0 MiB [-14.2, -9.0]");
  EXPECT_EQ(text(2, -0.239, 9.121), "+2.00 MiB [-0.24, +9.13]");
  EXPECT_EQ(text(0, -1.5, 1.5), "0.0 MiB ± 1.5");
  EXPECT_EQ(text(0.01, -16.98, 17), "0 MiB ± 17");
  EXPECT_EQ(text(100, 100, 100), "+100.0 MiB");
  EXPECT_EQ(text(0, 0, 0), "0 B");
  EXPECT_EQ(change_figure(-5, {-5, -5}).text(), "-5 B");
}

TEST(Change, RelativeChangesArePerCent) {
  EXPECT_EQ(growth_figure(0.12, {0.09, 0.15}).text(), "+12.0 % ± 3.0");
  EXPECT_EQ(growth_figure(-0.041, {-0.092, 0.024}).text(), "-4.1 % [-9.2, +2.4]");
  EXPECT_EQ(growth_figure(0.1234, {0.1234, 0.1234}).text(), "+12.3 %");
  EXPECT_EQ(growth_figure(3, {0.4, std::numeric_limits<double>::infinity()}).text(),
            "+300 % [+40, …]");
}

TEST(Change, ProbabilitiesNeverReadAsZero) {
  EXPECT_EQ(probability(1), "1.00");
  EXPECT_EQ(probability(0.042), "0.04");
  EXPECT_EQ(probability(0.0031), "0.003");
  EXPECT_EQ(probability(0.00002), "2e-05");
  EXPECT_EQ(probability(0), "< 1e-12");
}

TEST(Duration, UsesTheFittingUnit) {
  EXPECT_EQ(duration(999), "999 ns");
  EXPECT_EQ(duration(1'500'000), "1.5 ms");
  EXPECT_EQ(duration(2'314'000'000), "2.31 s");
  EXPECT_EQ(duration(192'000'000'000), "3 min 12 s");
  EXPECT_EQ(duration(7'500'000'000'000), "2 h 05 min");
}

// As in web/tests/model.test.ts.
TEST(Percent, OnePlusMinusOnlyWhereBothSidesAreAlikeAndWithinTheWhole) {
  EXPECT_EQ(figure(Share{0.95, {0.862, 0.987}}).text(), "95 % [86, 99]");
  EXPECT_EQ(figure(Share{0.034, {0.0031, 0.1213}}).text(), "3.4 % [0.3, 12.2]");
  EXPECT_EQ(figure(Share{0.97, {0.88, 1}}).text(), "97 % [88, 100]");
  EXPECT_EQ(figure(Share{0.992, {0.98, 0.996}}).text(), "99 % [98, 99.6]");
  EXPECT_EQ(figure(Share{0.9974, {0.951, 0.998}}).text(), "99.7 % [95, 99.8]");
}

TEST(Percent, SharesCarryTheirError) {
  EXPECT_EQ(figure(Share{0.42, {0.39, 0.45}}).text(), "42 % ± 3");
  EXPECT_EQ(figure(Share{0.064, {0.062, 0.066}}).text(), "6.4 % ± 0.2");
  EXPECT_EQ(figure(Share{1, {1, 1}}).text(), "100 %");
  EXPECT_EQ(figure(Share{0, {0, 0.0171}}).text(), "< 1.8 %");
  EXPECT_EQ(figure(Share{0.0002, {0.0001, 0.0003}}).text(), "< 0.1 %");
  EXPECT_EQ(figure(Share{0.999, {0.997, 1}}).text(), "99.9 % [99.7, 100.0]");
  EXPECT_EQ(z_score(-0.01), "0.0");
  EXPECT_EQ(z_score(-2.14), "-2.1");
  EXPECT_EQ(exact_share(0, 7), "0 %");
  EXPECT_EQ(exact_share(1, 100'000), "< 0.1 %");
  EXPECT_EQ(exact_share(1, 3), "33 %");
  EXPECT_EQ(level_text(0.95), "95 %");
  EXPECT_EQ(level_text(0.999), "99.9 %");
}

TEST(Format, WholeNumbersStayWithinTheirType) {
  EXPECT_EQ(whole_number(2.5), 3U);
  EXPECT_EQ(whole_number(-7), 0U);
  EXPECT_EQ(whole_number(std::numeric_limits<double>::quiet_NaN()), 0U);
  EXPECT_EQ(whole_number(0x1p64), std::uint64_t{1} << 62);
}

}  // namespace
}  // namespace geiger::present
