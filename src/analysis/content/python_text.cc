#include "analysis/content/python_text.h"

namespace geiger::content {

std::optional<PythonText> text_of(TextType type, const TextHead& head, std::uint32_t version) {
  constexpr std::uint64_t kMostReferences = 0xffffffff;  // Those of what is never freed.
  constexpr Bytes kMostLength = Bytes{1} << 40;
  const std::uint64_t length = head[2];
  if (head[0] == 0 || head[0] > kMostReferences || length > kMostLength) return std::nullopt;
  const auto tag = static_cast<std::uint64_t>(type);
  if (type == TextType::kBytes) return PythonText{{length, tag}, 32, length};
  constexpr std::uint64_t kCompact = 0x20, kAscii = 0x40, kShape = 0x7c;
  const std::uint64_t shape = head[4] & kShape;
  const std::uint64_t width = shape >> 2 & 7;
  if ((shape & kCompact) == 0 || (width != 1 && width != 2 && width != 4)) return std::nullopt;
  const bool is_ascii = (shape & kAscii) != 0;
  const bool has_wide_copy = version < 0x030c0000;  // wstr and its length.
  const Bytes before = is_ascii ? (has_wide_copy ? 48 : 40) : (has_wide_copy ? 72 : 56);
  return PythonText{{length, tag | shape << 8}, before, length * width};
}

}  // namespace geiger::content
