#!/usr/bin/env python3
"""What `cmake --install` leaves: programs of others are built against it by find_package and
by pkg-config, the examples too, after the installed tree was moved.
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import harness

DOWNSTREAM = harness.ROOT / "tests" / "downstream"
EXAMPLES = harness.ROOT / "examples"
STANDARDS = ("c++17", "c++20")
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wno-sign-conversion",
          "-Wundef", "-Werror"]


def run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ends with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="geiger package "))  # with a blank
        run(["cmake", "--install", harness.BUILD, "--prefix", cls.directory / "first"])
        cls.prefix = cls.directory / "moved"
        (cls.directory / "first").rename(cls.prefix)
        cls.environment = harness.environment([], {
            "CMAKE_PREFIX_PATH": str(cls.prefix),
            "PKG_CONFIG_PATH": str(next(cls.prefix.rglob("geiger.pc")).parent)})

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory, ignore_errors=True)

    def configure(self, source, build, **options):
        run(["cmake", "-S", source, "-B", build, "-D", "CMAKE_BUILD_TYPE=Release"],
            env=self.environment, **options)

    def test_installs_headers_and_nothing_of_ours(self):
        names = {path.relative_to(self.prefix / "include").as_posix()
                 for path in (self.prefix / "include").rglob("*") if path.is_file()}
        self.assertIn("geiger/arena.h", names)
        self.assertIn("geiger/sampling/skip_count.inl", names)
        self.assertFalse([name for name in names if not re.fullmatch(
            r"geiger/[a-z_/]+\.(h|hpp|inl)", name)])

    def test_each_header_stands_alone(self):
        include = self.prefix / "include"
        headers = sorted(path.relative_to(include) for path in include.rglob("*.h"))
        self.assertGreater(len(headers), 6)
        for compiler in COMPILERS:
            for standard in STANDARDS:
                text = "".join(f"#include <{header}>\n" for header in headers)
                for body in [text, *(f"#include <{header}>\n" for header in headers)][:1 if (
                        compiler, standard) != ("g++", "c++17") else None]:
                    run([compiler, f"-std={standard}", *STRICT, "-I", include, "-fsyntax-only",
                         "-x", "c++", "-"], input=body)

    def test_sampling_needs_no_exceptions_and_no_type_information(self):
        run(["g++", "-std=c++17", *STRICT, "-fno-exceptions", "-fno-rtti", "-I",
             self.prefix / "include", "-fsyntax-only", "-x", "c++", "-"],
            input="#include <geiger/bernoulli_trial.h>\n#include <geiger/arena.h>\n")

    def test_installs_what_users_read_and_type(self):
        share = self.prefix / "share"
        for place in ("bash-completion/completions/geiger", "zsh/vendor-completions/_geiger",
                      "fish/vendor_completions.d/geiger.fish", "doc/geiger/guide/tutorial.md",
                      "doc/geiger/tutorial/greeter.cc", "doc/geiger/copyright",
                      "geiger/geiger-report.schema.json", "geiger/sql/estimates.sql"):
            self.assertTrue((share / place).is_file(), place)
        if shutil.which("scdoc"):
            for page in ("man1/geiger.1.gz", "man1/geiger-run.1.gz", "man5/geiger.5.gz"):
                self.assertTrue((share / "man" / page).is_file(), page)
        licences = {path.name for path in (share / "doc/geiger/licences").iterdir()}
        self.assertLessEqual({"libcli11-dev.txt", "llvm-14-dev.txt"}, licences)

    def test_python_finds_its_module(self):
        path = run([self.prefix / "bin" / "geiger", "--python-path"]).rstrip("\n")
        self.assertEqual(pathlib.Path(path), self.prefix / "share" / "geiger" / "python")
        said = run(["python3", "-c", "import geiger; print(geiger.__file__)"],
                   env=harness.environment([], {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}))
        self.assertEqual(pathlib.Path(said.strip()).parent, pathlib.Path(path))

    def test_find_package(self):
        build = self.directory / "with cmake"
        self.configure(DOWNSTREAM / "cmake", build)
        run(["cmake", "--build", build])
        self.assertEqual(run([build / "app"]), "1 float 51\n")
        preload = pathlib.Path((build / "preload.txt").read_text().strip())
        self.assertTrue(preload.samefile(next(self.prefix.rglob("x86_64*/libgeiger-preload.so"))))

    def test_find_package_refuses_another_version(self):
        source = self.directory / "other"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(other NONE)\n"
            "find_package(geiger 9 REQUIRED)\n")
        with self.assertRaisesRegex(AssertionError, r"compatible\s+with requested version"):
            self.configure(source, self.directory / "other build")

    def test_pkg_config(self):
        """As a reader types it. pkgconf cannot quote a blank in an rpath, so by a link without."""
        harness.require("pkg-config", "make")
        link = pathlib.Path(tempfile.mkdtemp(prefix="geiger-")) / "prefix"
        self.addCleanup(shutil.rmtree, link.parent)
        link.symlink_to(self.prefix)
        build = self.directory / "pkg"
        shutil.copytree(DOWNSTREAM, build)
        environment = {**self.environment,
                       "PKG_CONFIG_PATH": str(next(link.glob("lib*/**/geiger.pc")).parent)}
        run(["make", "-C", build / "pkg-config"], env=environment)
        self.assertEqual(run([build / "pkg-config" / "app"]), "1 float 51\n")
        self.assertEqual(run([build / "pkg-config" / "api"]),
                         "no error, interposed 1, in memory 1\n")
        run(["sh", "-c", "cc api.c $(pkg-config --cflags --libs geiger) -o typed"], cwd=build,
            env=environment)
        self.assertEqual(run([build / "typed"]), "no error, interposed 1, in memory 1\n")

    def test_pkg_config_of_a_prefix_with_a_blank(self):
        harness.require("pkg-config", "make")
        build = self.directory / "pkg of a blank"
        shutil.copytree(DOWNSTREAM, build)
        libraries = build / "libraries"  # Where the loader is told to look.
        linked = run(["pkg-config", f"--define-variable=rpath={libraries.name}", "--libs",
                      "geiger"], env=self.environment)
        self.assertTrue(linked.rstrip().endswith("-Wl,-rpath,libraries"), linked)
        run(["sh", "-c", "eval cc api.c $(pkg-config --cflags geiger) "
             + shlex.quote(linked.strip()) + " -o api"], cwd=build, env=self.environment)
        preload = run(["pkg-config", "--variable=preload", "geiger"], env=self.environment).strip()
        preload = pathlib.Path(preload.replace("\\ ", " "))
        self.assertTrue(preload.exists(), preload)
        libraries.mkdir()
        for library in (preload, next(self.prefix.rglob("libgeiger.so.0"))):
            (libraries / library.name).symlink_to(library)
        self.assertEqual(run(["./api"], cwd=build), "no error, interposed 1, in memory 1\n")

    def test_examples_build_and_run_against_it(self):
        build = self.directory / "examples"
        self.configure(EXAMPLES, build)
        run(["cmake", "--build", build, "--parallel", "2"])
        said = run(["ctest", "--test-dir", build], env=self.environment)
        self.assertIn("100% tests passed", said)

    def test_the_installed_command_records(self):
        build = self.directory / "recorded"
        build.mkdir()
        program = build / "app"
        run(["g++", "-std=c++20", "-I", self.prefix / "include", DOWNSTREAM / "main.cc", "-o",
             program])
        run([self.prefix / "bin" / "geiger", "run", "-q", "--seed", "1", "--", program], cwd=build,
            env=harness.environment([]))
        summary = run([self.prefix / "bin" / "geiger", "summary"], cwd=build)
        self.assertIn("4 MiB exact", summary)


if __name__ == "__main__":
    unittest.main()
