// One file that shows a page: the template that web/ builds, with the data in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace geiger::page {

/// `html` with `document` (page.h) in the script element that waits for it: compressed and in
/// base64, so that no name can end the element. Nothing if `html` has no such element, or
/// several.
[[nodiscard]] std::optional<std::string> with_data(std::string_view html,
                                                   std::string_view document);

}  // namespace geiger::page
