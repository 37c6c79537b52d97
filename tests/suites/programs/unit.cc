// What a compiler works for: templates, maps, strings, regular expressions.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

std::map<std::string, std::vector<std::string>> words(const std::string& text) {
  std::map<std::string, std::vector<std::string>> result;
  const std::regex word("[a-z]+");
  for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
    result[at->str().substr(0, 1)].push_back(at->str());
  }
  for (auto& [first, list] : result) std::sort(list.begin(), list.end(), std::greater<>());
  return result;
}

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
};
template <int N>
struct Square : Shape {
  double area() const override { return N * N; }
};
std::vector<std::unique_ptr<Shape>> shapes() {
  std::vector<std::unique_ptr<Shape>> result;
  result.push_back(std::make_unique<Square<1>>());
  result.push_back(std::make_unique<Square<2>>());
  return result;
}
