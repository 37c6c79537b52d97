#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <tuple>

#include "analysis/symbolize/outside_names.h"

namespace geiger::symbolize {
namespace {

struct Seen {
  std::string function, file;
  std::uint32_t line;
  bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.function << " | " << seen.file << " | " << seen.line;
}

Seen seen(std::string_view name) {
  const profile::Frame frame = jit_frame(name);
  return {frame.function, frame.file, frame.line};
}

TEST(JitName, FunctionsOfScriptsHaveAPlace) {
  EXPECT_EQ(seen("JS:*handler /srv/app.js:12:17"), (Seen{"handler", "/srv/app.js", 12}));
  EXPECT_EQ(seen("JS:~handler /srv/app.js:12:17"), seen("JS:^handler /srv/app.js:12:17"));
  EXPECT_EQ(seen("LazyCompile:~parse node:internal/url:5"),
            (Seen{"parse", "node:internal/url", 5}));
  EXPECT_EQ(seen("JS:+get size file:///a b/m.mjs:3:10"), (Seen{"get size", "/a b/m.mjs", 3}));
  EXPECT_EQ(seen("JS:~run evalmachine.<anonymous>:2:1"),
            (Seen{"run", "evalmachine.<anonymous>", 2}));
}

TEST(JitName, FunctionsWithoutANameAreCalledSo) {
  EXPECT_EQ(seen("JS:~ /srv/app.js:17:66"), (Seen{"<anonymous>", "/srv/app.js", 17}));
  EXPECT_EQ(seen("Eval:~ /srv/app.js:1:1"), (Seen{"<module>", "/srv/app.js", 1}));
  EXPECT_EQ(seen("Script:~ /srv/app.js:1"), (Seen{"<module>", "/srv/app.js", 1}));
}

TEST(JitName, MethodsOfJavaHaveNoResult) {
  EXPECT_EQ(seen("void app.Leak.remember(int)"), (Seen{"app.Leak.remember(int)", "", 0}));
  EXPECT_EQ(seen("java.lang.Object a.B.get(java.lang.Object, long)"),
            (Seen{"a.B.get(java.lang.Object, long)", "", 0}));
}

TEST(JitName, OthersStayAsTheyAre) {
  for (const char* name :
       {"", "f", "py::run:/app/main.py", "Builtin:MathMax", "Interpreter", "StubRoutines (1)",
        "JS:", "JS:~", "JS:~f", "JS:~f /a.js", "JS:~f :1", "JS:~f /a.js:x:y", "I2C/C2I adapters",
        "void ns::Class::f(int)", "f(a, b.c)", "a b c.d(e)", "a b(c.d)", ")(", "a )"}) {
    EXPECT_EQ(seen(name), (Seen{name, "", 0}));
  }
  EXPECT_EQ(seen("JS:~f /a.js:99999999999"), (Seen{"JS:~f /a.js:99999999999", "", 0}));
}

TEST(JitName, AnyBytesWillDo) {
  std::mt19937 random(7);
  const std::string_view parts[] = {"JS:", "~", " ", "/", ":", "1", "(", ")", ".", "a", "\0"};
  for (int i = 0; i < 20'000; ++i) {
    std::string name;
    for (auto count = random() % 12; count > 0; --count) name += parts[random() % std::size(parts)];
    EXPECT_LE(jit_frame(name).function.size(), std::max(name.size(), std::size_t{11}));
  }
}

}  // namespace
}  // namespace geiger::symbolize
