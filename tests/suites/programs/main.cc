// Uses what unit.cc defines, so that a link-time optimiser has something to inline.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

std::map<std::string, std::vector<std::string>> words(const std::string& text);

int main() {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::string(1 + i % 9, 'a' + i % 26) + " ";
  std::size_t total = 0;
  for (const auto& [first, list] : words(text)) total += list.size() * first.size();
  std::printf("%zu\n", total);
  return total % 5;
}
