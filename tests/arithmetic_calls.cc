// Calls functions of the page's arithmetic, as this processor computes it.
//
// Reads lines "NAME RESULTS NUMBER...": a function, and its arguments as the bits of doubles in
// hexadecimal. Writes a line for each: RESULTS numbers in the same form or, for 0, the text, whose
// lines become parts with "|" between them. web/tests/calls.ts does this with WebAssembly.
#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>

extern "C" double* numbers_area();
extern "C" const char* text_area();

int main() {
  std::ios::sync_with_stdio(false);
  double* const numbers = numbers_area();
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string name;
    int results = 0;
    in >> name >> results >> std::hex;
    int at = 0;
    for (std::uint64_t bits = 0; in >> bits;) numbers[at++] = std::bit_cast<double>(bits);
    const auto call = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, name.c_str()));
    if (call == nullptr) return 1;
    call();
    if (results == 0) {
      std::string text(text_area(), static_cast<std::size_t>(numbers[0]));
      std::replace(text.begin(), text.end(), '\n', '|');
      std::cout << text;
    }
    for (int i = 0; i < results; ++i) {
      std::cout << (i > 0 ? " " : "") << std::hex << std::bit_cast<std::uint64_t>(numbers[i]);
    }
    std::cout << '\n';
  }
}
