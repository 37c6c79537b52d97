#include "analysis/import/byte_source.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace geiger::imports {

namespace {

constexpr std::size_t kWindow = std::size_t{256} << 10;
constexpr int kAnyGzip = 15 + 16;  // The largest window, with a gzip header.
/// zstd's own limit for streams without --long: more memory than that is an attack.
constexpr int kMostWindowLog = 27;
constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

}  // namespace

/// Unpacks from `stored`, reporting how much it took, into `buffer`.
class ByteSource::Unpacker {
 public:
  struct Step {
    std::size_t taken = 0;
    std::size_t given = 0;
    bool is_damaged = false;
    bool is_between = false;  ///< A whole member or frame has ended.
  };
  Unpacker() = default;
  virtual ~Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  virtual Step step(std::string_view stored, std::span<std::byte> buffer) = 0;
};

namespace {

using Step = ByteSource::Unpacker::Step;

class Copier : public ByteSource::Unpacker {
 public:
  Step step(std::string_view stored, std::span<std::byte> buffer) override {
    const std::size_t count = std::min(stored.size(), buffer.size());
    std::copy_n(reinterpret_cast<const std::byte*>(stored.data()), count, buffer.data());
    return {count, count, false, true};
  }
};

/// Several members one after another are one text, as gzip has it.
class GzipUnpacker : public ByteSource::Unpacker {
 public:
  GzipUnpacker() {
    if (inflateInit2(&stream_, kAnyGzip) != Z_OK) throw std::bad_alloc();
  }
  ~GzipUnpacker() override { inflateEnd(&stream_); }
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;

  Step step(std::string_view stored, std::span<std::byte> buffer) override {
    // zlib reads through a pointer to non-const but does not write.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
    stream_.avail_in = static_cast<uInt>(stored.size());
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    const auto room = static_cast<uInt>(std::min<std::size_t>(buffer.size(), kWindow));
    stream_.avail_out = room;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    Step step{stored.size() - stream_.avail_in, room - stream_.avail_out, false, false};
    step.is_damaged = result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR;
    step.is_between = result == Z_STREAM_END;
    if (step.is_between) inflateReset(&stream_);
    return step;
  }

 private:
  z_stream stream_{};
};

class ZstdUnpacker : public ByteSource::Unpacker {
 public:
  ZstdUnpacker() : stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMostWindowLog);
  }

  Step step(std::string_view stored, std::span<std::byte> buffer) override {
    ZSTD_inBuffer in{stored.data(), stored.size(), 0};
    ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream_.get(), &out, &in);
    return {in.pos, out.pos, ZSTD_isError(left) != 0, left == 0};
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream_;
};

std::unique_ptr<ByteSource::Unpacker> unpacker_for(std::string_view head) {
  if (head.starts_with(kGzipMagic)) return std::make_unique<GzipUnpacker>();
  if (head.starts_with(kZstdMagic)) return std::make_unique<ZstdUnpacker>();
  return std::make_unique<Copier>();
}

}  // namespace

ByteSource::ByteSource(std::string path, ReadStored read_stored)
    : path_(std::move(path)), read_stored_(std::move(read_stored)) {}

ByteSource::~ByteSource() = default;

void ByteSource::fill() {
  window_.resize(kWindow);
  window_.resize(read_stored_(std::as_writable_bytes(std::span(window_))));
  used_ = 0;
  stored_ += window_.size();
  is_at_end_ = window_.size() < kWindow;
}

void ByteSource::fail(const char* reason) {
  error_ = ingest::Error{path_, stored_ - (window_.size() - used_), reason};
}

std::size_t ByteSource::read(std::span<std::byte> buffer) {
  if (!unpacker_) {
    fill();
    unpacker_ = unpacker_for(window_);
  }
  std::size_t done = 0;
  while (done < buffer.size() && !error_) {
    if (used_ == window_.size() && !is_at_end_) fill();
    const std::string_view stored = std::string_view(window_).substr(used_);
    if (stored.empty() && is_at_end_ && is_between_) break;
    const Unpacker::Step step = unpacker_->step(stored, buffer.subspan(done));
    used_ += step.taken;
    done += step.given;
    unpacked_ += step.given;
    is_between_ = step.is_between;
    if (step.is_damaged) fail("the compressed data is damaged");
    if (unpacked_ > kMostUnpacked) fail("it unpacks to more than 16 GiB");
    const bool is_stuck = step.taken == 0 && step.given == 0;
    if (!error_ && is_stuck && is_at_end_ && used_ == window_.size() && !is_between_) {
      fail("the compressed data is cut short");
    }
  }
  return done;
}

base::Outcome<std::string, ingest::Error> read_all(ByteSource& source, std::uint64_t most) {
  std::string all;
  std::size_t size = 0;
  for (;;) {
    all.resize(size + kWindow);
    const std::size_t count =
        source.read(std::as_writable_bytes(std::span(all)).subspan(size, kWindow));
    size += count;
    if (source.error()) return *source.error();
    if (size > most) {
      return ingest::Error{"", std::nullopt,
                           fmt::format("it unpacks to more than {} MiB", most >> 20)};
    }
    if (count < kWindow) break;
  }
  all.resize(size);
  return all;
}

namespace {

constexpr std::size_t kStep = std::size_t{256} << 10;
constexpr std::string_view kSpace = " \t\r\n";

std::string_view without_leading_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

std::optional<std::uint64_t> take_number(std::string_view& text, std::string_view digits,
                                         int base) {
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  text = digits.substr(static_cast<std::size_t>(end - digits.data()));
  return value;
}

}  // namespace

void Lines::refill() {
  window_.erase(0, used_);
  used_ = 0;
  const std::size_t kept = window_.size();
  window_.resize(kept + kStep);
  const std::size_t count = source_.read(std::as_writable_bytes(std::span(window_)).subspan(kept));
  window_.resize(kept + count);
  is_at_end_ = count < kStep || source_.error();
}

std::optional<std::string_view> Lines::next() {
  std::size_t end = window_.find('\n', used_);
  while (end == std::string::npos && !is_at_end_) {
    const std::size_t looked_at = window_.size() - used_;
    if (looked_at > kLongestLine) {
      error_ = ingest::Error{"", std::nullopt,
                             "line " + std::to_string(number_ + 1) + ": longer than 4 MiB"};
      return std::nullopt;
    }
    refill();
    end = window_.find('\n', looked_at);
  }
  if (end == std::string::npos && source_.error()) {  // What was whole before it has been given.
    error_ = source_.error();
    return std::nullopt;
  }
  if (end == std::string::npos && used_ == window_.size()) return std::nullopt;
  const std::size_t stop = end == std::string::npos ? window_.size() : end;
  std::string_view line = std::string_view(window_).substr(used_, stop - used_);
  used_ = end == std::string::npos ? stop : stop + 1;
  ++number_;
  if (number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<std::uint64_t> take_decimal(std::string_view& text) {
  return take_number(text, without_leading_space(text), 10);
}

std::optional<std::uint64_t> take_hexadecimal(std::string_view& text) {
  std::string_view digits = without_leading_space(text);
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  return take_number(text, digits, 16);
}

bool take(std::string_view& text, std::string_view what) {
  const std::string_view rest = without_leading_space(text);
  if (!rest.starts_with(what)) return false;
  text = rest.substr(what.size());
  return true;
}

std::string_view trimmed(std::string_view text) {
  text = without_leading_space(text);
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

}  // namespace geiger::imports
