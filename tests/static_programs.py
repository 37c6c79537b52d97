#!/usr/bin/env python3
"""Programs that are linked statically, with libgeiger-static.a: in C and C++ over glibc and musl, in
Rust, and in Go with cgo. They behave as without it, totals are exact, stacks are whole and named.

What a C library or a language allocates for itself is the same however long a program runs: the
traces of two runs must differ by what the program says it asked for more, to the byte.

usage: static_programs.py GEIGER
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

GEIGER = sys.argv.pop(1) if len(sys.argv) > 1 and os.sep in sys.argv[1] else (
    harness.BUILD / "bin" / "geiger")
SOURCES = harness.ROOT / "tests" / "static"
PLAIN = ["-g", "-O1", "-fno-builtin", "-Wall", "-Wextra"]
DEPTH = 11  # of the function that allocates below itself


def flags():
    """As a reader gets them."""
    return subprocess.run(
        ["pkg-config", "--libs", f"--define-variable=libdir={harness.BUILD}/lib", "geiger-static"],
        env={**os.environ, "PKG_CONFIG_PATH": str(harness.BUILD / "package")}, check=True,
        capture_output=True, text=True).stdout.split()


class StaticPrograms(harness.ProcessTest):
    @classmethod
    def setUpClass(cls):
        harness.require("pkg-config")
        cls.here = pathlib.Path(tempfile.mkdtemp(prefix="static-"))
        cls.flags = flags()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.here, ignore_errors=True)

    def build(self, name, *command, with_runtime=True):
        program = self.here / name
        if not program.exists():
            done = subprocess.run([*command, "-o", program, *(self.flags if with_runtime else ())],
                                  capture_output=True, text=True, cwd=self.here)
            self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def build_c(self, **options):
        return self.build("c", "gcc", "-static", *PLAIN, SOURCES / "program.c", **options)

    def build_rust(self):
        harness.require("rustc")
        return self.build_with("rust", lambda program: [
            "rustc", "-g", "-O", "-C", "target-feature=+crt-static", "-C",
            f"link-args={' '.join(self.flags)}", "-o", program, SOURCES / "program.rs"])

    def build_go(self):
        harness.require("go")
        cache = harness.BUILD / "go-cache"
        return self.build_with("go", lambda program: [
            "env", f"GOCACHE={cache}", "CGO_CFLAGS=-g -O1 -fno-builtin", "go", "build", "-ldflags",
            f"-linkmode external -extldflags '-static {' '.join(self.flags)}'", "-o", program,
            SOURCES / "program.go"])

    def build_with(self, name, command_for):
        program = self.here / name
        done = subprocess.run(command_for(program), capture_output=True, text=True, cwd=self.here)
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def record(self, program, rounds, interval=1):
        """What each process said it asked for, and its trace; children last."""
        bare = harness.run_bare([program, str(rounds)])
        with harness.Recorder(interval) as recorder:
            recorder.preloads = []
            recorded = recorder.run([program, str(rounds)])
        self.assertEqual(recorded.outcome, bare)
        self.assertEqual((bare.status, bare.stderr), (0, b""))
        asked = [tuple(map(int, line.split()[1:])) for line in sorted(bare.stdout.splitlines())]
        return asked, sorted(recorded.traces, key=lambda trace: trace.total("bytes"))

    def assert_exact_and_whole(self, program):
        (asked, traces), (more_asked, more_traces) = self.record(program, 100), self.record(program, 250)
        self.assertEqual(len(traces), len(asked))
        for few, many, trace, more in zip(asked, more_asked, traces, more_traces):
            more.check()
            self.assertEqual(more.total("bytes") - trace.total("bytes"), many[0] - few[0])
            self.assertEqual(len(more.samples) - len(trace.samples), many[1] - few[1])
            self.assertEqual(sum(more.stacks[sample.stack].truncated for sample in more.samples), 0)
            self.assertGreaterEqual(len(self.deep_samples(more)), many[1])

    @staticmethod
    def deep_samples(trace):
        return [s for s in trace.samples if len(trace.stacks[s.stack].frames) > DEPTH]

    def assert_named(self, program, function, *options):
        trace = self.here / "run.geiger"
        done = subprocess.run([GEIGER, "run", "-q", "-f", "-o", trace, "--interval", "1", *options,
                               "--", program, "300"], capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        rows = json.loads(subprocess.run([GEIGER, "table", "--by", "function", "--json", trace],
                                         check=True, capture_output=True).stdout)["rows"]
        self.assertIn(function, rows[0]["name"])

    def test_c(self):
        self.assert_exact_and_whole(self.build_c())
        self.assert_named(self.build_c(), "ask_once")

    def test_position_independent(self):
        program = self.build("pie", "gcc", "-static-pie", "-fPIE", *PLAIN, SOURCES / "program.c")
        self.assert_exact_and_whole(program)
        self.assert_named(program, "ask_once")

    def test_cxx_with_link_time_optimization(self):
        program = self.build("cxx", "g++", "-static", "-flto", *PLAIN, "-x", "c++",
                             SOURCES / "program.c", "-x", "none")
        self.assert_exact_and_whole(program)
        self.assert_named(program, "ask_once")

    def test_musl(self):
        harness.require("musl-gcc")
        program = self.build("musl", "musl-gcc", "-static", *PLAIN, "-w", SOURCES / "program.c")
        self.assert_exact_and_whole(program)
        self.assert_named(program, "ask_once")

    def test_the_first_thread_starts_the_recording(self):
        harness.require("musl-gcc")
        self.assert_recorded_from_the_first_thread(self.build(
            "first", "musl-gcc", "-static", *PLAIN, "-w",
            harness.ROOT / "tests" / "hosts" / "first_threads.c"))

    def test_rust(self):
        self.assert_exact_and_whole(self.build_rust())
        self.assert_named(self.here / "rust", "ask_once")

    def test_go(self):
        # Go starts threads as it likes, and the C library allocates for each; stacks end where Go begins.
        [asked], [trace] = self.record(self.build_go(), 250)
        trace.check()
        largest = 2 * (20 + 49)
        own = [sample for sample in self.deep_samples(trace) if sample.requested <= largest]
        self.assertEqual((sum(sample.requested for sample in own), len(own)), asked)
        self.assertEqual(sum(sample.requested for sample in trace.samples), trace.total("bytes"))
        self.assert_named(self.here / "go", "ask_once")

    def test_samples_agree_with_totals(self):
        _, traces = self.record(self.build_c(), 3000, interval=4096)
        for trace in traces:
            self.assertGreater(len(trace.samples), 100)
            self.assertLess(abs(trace.z()), 5)

    def test_programs_that_restrict_themselves(self):
        program = self.build("sandboxed", "g++", "-static", "-std=c++20", *PLAIN, "-w",
                             harness.ROOT / "tests" / "hosts" / "sandboxed.cc")
        for name in harness.scenarios("sandboxed"):
            if not name.startswith("dispatches"):  # To all code but the C library, here a part of it.
                with self.subTest(name), harness.Recorder(4096) as recorder:
                    recorder.preloads = []
                    bare = harness.run_bare([program, name])
                    self.assertEqual(recorder.run([program, name]).outcome, bare)

    def test_guard_mode_changes_nothing(self):
        self.assert_named(self.build_c(), "ask_once", "--guard=1")

    def test_run_says_what_to_add_to_the_build(self):
        program = self.build("without", "gcc", "-static", *PLAIN, SOURCES / "program.c",
                             with_runtime=False)
        done = subprocess.run([GEIGER, "run", "--", program, "1"], cwd=self.here,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("find_package(geiger REQUIRED)\n", done.stderr)
        self.assertIn("target_link_libraries(without PRIVATE geiger::static)\n", done.stderr)

    def test_children_of_other_programs_are_recorded(self):
        trace = self.here / "children.geiger"
        subprocess.run([GEIGER, "run", "-q", "-f", "-o", trace, "--", "/bin/sh", "-c",
                        f"{self.build_c()} 3000; exit 0"], check=True, capture_output=True)
        summary = json.loads(subprocess.run([GEIGER, "summary", "--json", trace], check=True,
                                            capture_output=True).stdout)
        names = [pathlib.Path(process["executable"]).name for process in summary["processes"]]
        self.assertEqual(names.count("c"), 2)


if __name__ == "__main__":
    unittest.main()
