// Compiles one tiny program of each kind and looks at it.
#include "run/target_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace geiger::run {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class CheckTarget : public testing::Test {
 protected:
  CheckTarget() {
    std::string pattern = fs::temp_directory_path() / "geiger-test-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~CheckTarget() override { fs::remove_all(root_); }

  std::string write(const std::string& name, const std::string& text, mode_t mode = 0755) const {
    std::string path = root_ / name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }

  // False where the compiler cannot do it here (no 32-bit or musl parts).
  bool compile(const std::string& command, const std::string& name,
               const std::string& source = "int main(void) { return 0; }\n") const {
    const std::string from = write(name + ".c", source, 0644);
    const std::string to = root_ / name;
    const std::string line = command + " -o '" + to + "' '" + from + "' 2>/dev/null";
    return std::system(line.c_str()) == 0;  // NOLINT(cert-env33-c)
  }

  [[nodiscard]] Obstacle of(const std::string& name) const {
    return check_target(root_ / name).obstacle;
  }

  fs::path root_;
};

TEST_F(CheckTarget, FindsNothingWrongWithAnOrdinaryProgram) {
  ASSERT_TRUE(compile("cc", "plain"));
  EXPECT_EQ(of("plain"), Obstacle::kNone);
  EXPECT_EQ(check_target(root_ / "plain").sentence(), "");
  ASSERT_TRUE(compile("cc -no-pie", "fixed"));
  EXPECT_EQ(of("fixed"), Obstacle::kNone);
}

TEST_F(CheckTarget, SearchesPathAsAShellDoes) {
  EXPECT_EQ(check_target("sh").path.substr(check_target("sh").path.rfind('/')), "/sh");
  EXPECT_EQ(check_target("no-such-program-anywhere").obstacle, Obstacle::kNotFound);
  EXPECT_EQ(check_target("").obstacle, Obstacle::kNotFound);
  EXPECT_EQ(of("missing"), Obstacle::kNotFound);
  write("data", "x", 0644);
  EXPECT_EQ(of("data"), Obstacle::kNotExecutable);
  EXPECT_EQ(check_target(root_).obstacle, Obstacle::kNotExecutable);
}

TEST_F(CheckTarget, SeesStaticPrograms) {
  ASSERT_TRUE(compile("cc -static", "static"));
  EXPECT_EQ(of("static"), Obstacle::kStatic);
  if (compile("cc -static-pie", "static-pie")) {
    EXPECT_EQ(of("static-pie"), Obstacle::kStatic);
  }
  const auto advice = check_target(root_ / "static").advice();
  ASSERT_EQ(advice.size(), 3U);
  EXPECT_THAT(advice[2], HasSubstr("target_link_libraries(static PRIVATE geiger::static)"));
}

TEST_F(CheckTarget, SaysThatGoAllocatesByItself) {
  // The note that Go's linker writes.
  ASSERT_TRUE(
      compile("cc -static", "go",
              "__attribute__((section(\".note.go.buildid\"), aligned(4), used)) static const "
              "struct { int name, text, kind; char of[4], id[4]; } note = "
              "{4, 4, 4, \"Go\", \"ab\"};\nint main(void) { return 0; }\n"));
  const TargetCheck check = check_target(root_ / "go");
  EXPECT_EQ(check.obstacle, Obstacle::kStatic);
  ASSERT_EQ(check.advice().size(), 1U);
  EXPECT_THAT(check.advice()[0], HasSubstr("runtime/pprof"));
}

TEST_F(CheckTarget, SeesTheRuntimeInStaticPrograms) {
  const auto compile_with_note_of = [&](const std::string& name) {
    return compile("cc -static", name,
                   R"(__asm__(".section .note.x, \"a\", @note\n .long 7, 6, 1\n .asciz \")" + name +
                       R"(\"\n .balign 4\n .asciz \"0.1.0\"\n .balign 4\n .previous");)"
                       "\nint main(void) { return 0; }\n");
  };
  ASSERT_TRUE(compile_with_note_of("geiger"));
  EXPECT_EQ(of("geiger"), Obstacle::kNone);
  EXPECT_TRUE(check_target(root_ / "geiger").advice().empty());
  ASSERT_TRUE(compile_with_note_of("teiger"));
  EXPECT_EQ(of("teiger"), Obstacle::kStatic);
}

TEST_F(CheckTarget, SeesAnOwnMalloc) {
  ASSERT_TRUE(compile("cc", "own",
                      "#include <stddef.h>\n"
                      "void* malloc(size_t n) { (void)n; return NULL; }\n"
                      "void free(void* p) { (void)p; }\n"
                      "int main(void) { return malloc(1) != NULL; }\n"));
  EXPECT_EQ(of("own"), Obstacle::kOwnMalloc);
}

TEST_F(CheckTarget, SeesSanitizers) {
  int seen = 0;
  for (const char* command : {"gcc -fsanitize=address", "gcc -fsanitize=thread",
                              "gcc -fsanitize=leak", "clang -fsanitize=address"}) {
    if (!compile(command, "sanitized")) continue;
    ++seen;
    EXPECT_EQ(of("sanitized"), Obstacle::kSanitizer) << command;
    EXPECT_TRUE(check_target(root_ / "sanitized").must_stay_bare());
    EXPECT_THAT(check_target(root_ / "sanitized").sentence(), HasSubstr("Sanitizer"));
  }
  if (seen == 0) GTEST_SKIP() << "no sanitizer is installed";
}

TEST_F(CheckTarget, SeesOtherLoaders) {
  const bool has_32_bit = compile("cc -m32", "narrow");
  const bool has_musl = compile("musl-gcc", "musl");
  if (has_32_bit) {
    EXPECT_EQ(of("narrow"), Obstacle::k32Bit);
  }
  if (has_musl) {
    EXPECT_EQ(of("musl"), Obstacle::kNone);
  }
  if (!has_32_bit && !has_musl) GTEST_SKIP() << "neither -m32 nor musl-gcc works here";
}

TEST_F(CheckTarget, SeesPrivileges) {
  if (getuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_TRUE(compile("cc", "root"));
  const std::string path = root_ / "root";
  ASSERT_EQ(chmod(path.c_str(), 04755), 0);
  EXPECT_EQ(of("root"), Obstacle::kNone) << "our own user gains nothing";
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(path.c_str(), 04755), 0);
  EXPECT_EQ(of("root"), Obstacle::kPrivileged);
  EXPECT_THAT(check_target(path).sentence(), HasSubstr("setuid"));
}

TEST_F(CheckTarget, FollowsScriptsToTheirInterpreter) {
  ASSERT_TRUE(compile("cc -static", "interpreter"));
  write("script", "#! " + (root_ / "interpreter").string() + " -x\n");
  EXPECT_EQ(of("script"), Obstacle::kStatic);
  EXPECT_EQ(check_target(root_ / "script").examined, root_ / "interpreter");
  write("by-env", "#!/usr/bin/env -S sh -e\n");
  EXPECT_EQ(of("by-env"), Obstacle::kNone);
  write("no-shebang", "echo hi\n");
  EXPECT_EQ(of("no-shebang"), Obstacle::kNone);
  write("empty", "");
  EXPECT_EQ(of("empty"), Obstacle::kNone);
  write("bare-shebang", "#!");
  EXPECT_EQ(of("bare-shebang"), Obstacle::kNone);
}

TEST_F(CheckTarget, SaysWhyAFileCannotBeRun) {
  const std::string source = write("app.c", "int main() {}\n", 0644);
  EXPECT_EQ(check_target(source).sentence(),
            "cannot run '" + source + "': it is source code: compile it, and run the program");
  EXPECT_EQ(check_target(source).obstacle, Obstacle::kNotExecutable);
  EXPECT_EQ(check_target(root_).sentence(),
            "cannot run '" + root_.string() + "': it is a directory");
  const std::string script = write("script", "#!/bin/sh -e\n", 0644);
  EXPECT_THAT(check_target(script).sentence(),
              HasSubstr("it is not executable: chmod +x, or run /bin/sh -e " + script));
  EXPECT_THAT(check_target(write("a.py", "print()\n", 0644)).sentence(), HasSubstr("run python3 "));
  EXPECT_THAT(check_target(write("data", "x", 0644)).sentence(),
              HasSubstr("': it is not executable"));
  const TargetCheck orphan = check_target(write("orphan", "#!/no/such/shell\n"));
  EXPECT_EQ(orphan.obstacle, Obstacle::kNotFound);
  EXPECT_THAT(orphan.sentence(), HasSubstr("its interpreter '/no/such/shell' does not exist"));
}

TEST_F(CheckTarget, TellsBinariesFromScripts) {
  ASSERT_TRUE(compile("cc", "plain"));
  EXPECT_EQ(binary_of(root_ / "plain"), root_ / "plain");
  EXPECT_EQ(binary_of(write("script", "echo\n")), "");
  EXPECT_EQ(binary_of(root_ / "missing"), "");
  EXPECT_NE(binary_of("true"), "") << "by PATH";
}

TEST_F(CheckTarget, SaysThatAFileIsHereButNotInPath) {
  write("app.c", "int main() {}\n", 0644);
  const auto before = fs::current_path();
  fs::current_path(root_);
  const TargetCheck check = check_target("app.c");
  fs::current_path(before);
  EXPECT_EQ(check.obstacle, Obstacle::kNotFound);
  EXPECT_THAT(check.sentence(),
              HasSubstr("not in PATH; in this directory: ./app.c, but it is source"));
}

// Every prefix of a program, and every single damaged byte of its headers, gives
// some verdict without harm.
TEST_F(CheckTarget, SurvivesDamage) {
  ASSERT_TRUE(compile("cc", "whole"));
  std::ifstream file(root_ / "whole", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  for (std::size_t cut = 0; cut < 1024; cut += 7) {
    write("cut", bytes.substr(0, cut));
    (void)of("cut");
  }
  for (std::size_t at = 4; at < 1024; ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(~damaged[at]);
    write("damaged", damaged);
    (void)of("damaged");
  }
}

}  // namespace
}  // namespace geiger::run
