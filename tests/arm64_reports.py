#!/usr/bin/env python3
"""A trace is read on one processor as on another: every report and export, byte for byte.

Traces recorded on x86-64, and on AArch64 under qemu-user, are read by the command lines of both.
Exit code 77, and the reason, where what tests/arm64.py needs is missing.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import arm64
import harness

HERE = harness.BUILD / "bin" / "geiger"
THERE = arm64.BUILD / "bin" / "geiger"
READERS = (["table"], ["table", "--by", "line"], ["table", "--kind", "peak"], ["tree"], ["summary"],
           ["leaks"], ["lifetimes"], ["stats"], ["rss"], ["doctor"], ["plan"])
EXPORTS = ("pprof", "speedscope", "firefox", "dhat", "heaptrack", "heap_v2", "folded", "csv", "jsonl",
           "sql")
PROGRAM = [":memory:", arm64.SQL_PROGRAM]
EMULATED = arm64.emulator(arm64.ROOT / "bookworm")
LIBRARIES = [arm64.ROOT / "bookworm/usr/lib/aarch64-linux-gnu/libsqlite3.so.0",
             arm64.ROOT / "bookworm/lib/aarch64-linux-gnu/libc.so.6"]


class Reports(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def read_by_both(self, *words):
        """The same status, text and bytes."""
        commands = ([HERE], [*EMULATED, THERE])
        here, there = (subprocess.run([*command, *words], cwd=self.folder, capture_output=True,
                                      check=False) for command in commands)
        self.assertEqual((here.returncode, here.stderr, here.stdout),
                         (there.returncode, there.stderr, there.stdout), words)
        return here.stdout

    def compare(self, trace):
        bytes_read = 0
        for words in READERS:
            for form in ([], ["--json"]):
                bytes_read += len(self.read_by_both(*words, *form, trace))
        for name in EXPORTS:
            exported = self.read_by_both("export", name, "-o", "-", trace)
            self.assertGreater(len(exported), 1000, name)
            bytes_read += len(exported)
        print(f"{pathlib.Path(trace).name}: {bytes_read} bytes")

    def test_recorded_on_x86_64(self):
        done = arm64.run(HERE, "run", "-q", "--interval", "4KiB", "-o", "here.geiger", "--", "sqlite3",
                         *PROGRAM, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.compare("here.geiger")

    def test_recorded_on_aarch64(self):
        library = next(arm64.BUILD.glob("lib/geiger/lib/*/libgeiger-preload.so"))
        variables = {"LD_PRELOAD": library, "GEIGER_INTERVAL": 4096,
                     "GEIGER_DIR": self.folder}
        options = [option for key, value in variables.items() for option in ("-E", f"{key}={value}")]
        program = arm64.ROOT / "bookworm" / "usr" / "bin" / "sqlite3"
        done = arm64.run(*EMULATED, *options, program, *PROGRAM,
                         cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout)
        (trace,) = self.folder.glob("*.geiger")
        self.symbolize(trace, [program, *LIBRARIES])
        self.assertIn(b"sqlite3", self.read_by_both("table", trace))
        self.compare(trace)

    def symbolize(self, trace, modules):
        """Names from files that are found by their build ids alone; the same on both."""
        for module in modules:
            notes = arm64.run("readelf", "-n", module).stdout
            build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
            link = self.folder / "debug" / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(module.resolve())
        copy = pathlib.Path(shutil.copy(trace, self.folder / "copy"))
        options = ["symbolize", "--debug-dir", self.folder / "debug"]
        for command, file in ([HERE], trace), ([*EMULATED, THERE], copy):
            done = arm64.run(*command, *options, file, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(trace.read_bytes(), copy.read_bytes())


if __name__ == "__main__":
    REASON = arm64.prepare("geiger", "geiger_preload")
    if REASON:
        print(f"skipped: {REASON}")
        sys.exit(arm64.SKIPPED)
    unittest.main()
