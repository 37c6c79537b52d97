#include "analysis/page/html.h"

#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/transform_width.hpp>

#include "analysis/export/streams/gzip.h"

namespace geiger::page {
namespace {

/// The end of the element's start tag, and its end tag.
constexpr std::string_view kPlace = "id=\"data\"></script>";
constexpr std::size_t kBehindTag = std::string_view("id=\"data\">").size();

std::string compressed(std::string_view text) {
  std::string out;
  exports::GzipStream stream([&](std::string_view bytes) { out += bytes; },
                             exports::Effort::kSmall);
  stream.write(text);
  stream.finish();
  return out;
}

std::string in_base64(std::string bytes) {
  using boost::archive::iterators::base64_from_binary;
  using boost::archive::iterators::transform_width;
  using Encoded = base64_from_binary<transform_width<std::string::const_iterator, 6, 8>>;
  const std::size_t padding = (3 - bytes.size() % 3) % 3;
  bytes.append(padding, '\0');
  std::string out(Encoded(bytes.cbegin()), Encoded(bytes.cend()));
  out.replace(out.size() - padding, padding, padding, '=');
  return out;
}

}  // namespace

std::optional<std::string> with_data(std::string_view html, std::string_view document) {
  const std::size_t place = html.find(kPlace);
  if (place == std::string_view::npos || html.find(kPlace, place + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t split = place + kBehindTag;
  std::string out(html.substr(0, split));
  out += in_base64(compressed(document));
  out += html.substr(split);
  return out;
}

}  // namespace geiger::page
