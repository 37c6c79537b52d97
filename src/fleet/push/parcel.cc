#include "fleet/push/parcel.h"

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "analysis/ingest/payload.h"
#include "base/check.h"
#include "base/utf8_text.h"
#include "fleet/document/document.h"
#include "fleet/document/encoding.h"

namespace geiger::fleet {
namespace {

constexpr std::string_view kGapMagic = "geiggap1";
constexpr std::size_t kMostGapBytes = 1024;
constexpr std::size_t kMostReason = 200;
/// Later ones are no time in seconds.
constexpr std::int64_t kLatestSecond = 9'999'999'999;

// Field numbers. None is ever used again for something else.
namespace in_gap {
constexpr int kHost = 1, kProcess = 2, kFirst = 3, kLast = 4, kReason = 5;
}

base::Outcome<Parcel> read_gap(std::string_view message) {
  GapRow gap;
  protozero::pbf_reader reader(message.data(), message.size());
  ingest::read_fields(
      reader, ingest::OnField(in_gap::kHost, [&] { gap.host = reader.get_string(); }),
      ingest::OnField(in_gap::kProcess, [&] { gap.process = reader.get_fixed64(); }),
      ingest::OnField(in_gap::kFirst, [&] { gap.first = reader.get_sint64(); }),
      ingest::OnField(in_gap::kLast, [&] { gap.last = reader.get_sint64(); }),
      ingest::OnField(in_gap::kReason, [&] { gap.reason = reader.get_string(); }));
  for (const std::string* text : {&gap.host, &gap.reason}) GEIGER_TRY(check_name(*text));
  if (gap.first < 0 || gap.last < gap.first || gap.last > kLatestSecond) {
    return base::Failure{"its times are not in seconds since 1970"};
  }
  return Parcel(std::move(gap));
}

}  // namespace

std::string pack(const GapRow& gap) {
  GEIGER_CHECK(check_name(gap.host).has_value());
  std::string bytes(kGapMagic);
  protozero::pbf_writer writer(bytes);
  writer.add_string(in_gap::kHost, gap.host);
  writer.add_fixed64(in_gap::kProcess, gap.process);
  writer.add_sint64(in_gap::kFirst, gap.first);
  writer.add_sint64(in_gap::kLast, gap.last);
  writer.add_string(in_gap::kReason, to_valid_utf8(gap.reason, kMostReason));
  return bytes;
}

base::Outcome<Parcel> open_parcel(std::string_view bytes) {
  if (!bytes.starts_with(kGapMagic)) {
    auto document = GEIGER_TRY(unpack(bytes));
    return Parcel(std::move(document));
  }
  if (bytes.size() > kMostGapBytes) return base::Failure{"it is too large for a gap"};
  try {
    return read_gap(bytes.substr(kGapMagic.size()));
  } catch (const protozero::exception&) {
    return base::Failure{"it is damaged"};
  }
}

std::int64_t start_of(const Parcel& parcel) {
  const auto* document = std::get_if<Document>(&parcel);
  return document != nullptr ? document->window.key.started : std::get<GapRow>(parcel).first;
}

GapRow gap_of(const Window& window, std::string reason) {
  constexpr std::uint64_t kPerSecond = 1000;
  const auto seconds = static_cast<std::int64_t>((window.alive_ms + kPerSecond - 1) / kPerSecond);
  return {window.key.host, window.key.process, window.key.started, window.key.started + seconds,
          std::move(reason)};
}

}  // namespace geiger::fleet
