#include "analysis/import/lines.h"

#include <charconv>
#include <span>

namespace geiger::imports {
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
