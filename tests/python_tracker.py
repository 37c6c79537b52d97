#!/usr/bin/env python3
"""python/geiger.py records blocks, cells and tests: Tracker, %%geiger, limit_memory and limit_leaks."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import harness

GEIGER = harness.BUILD / "bin" / "geiger"
MODULES = pathlib.Path(__file__).resolve().parents[1] / "python"
PYTHON = "/usr/bin/python3"
PATIENCE = 120

BLOCKS = """
import geiger, sys, threading
kept = []
def take(number): kept.append([bytearray(1000) for _ in range(number)])
take(4000)                                        # before: not in the file
with geiger.Tracker(sys.argv[1], "--interval", "1"):
    take(2000)
    thread = threading.Thread(target=take, args=(1000,))
    thread.start(); thread.join()
take(4000)
"""
MARKED = """
import geiger
kept = []
def take(number): kept.append([bytearray(1000) for _ in range(number)])
take(1000)
assert geiger.mark("warm")
take(2000)
geiger.stop()
take(8000)
geiger.start()
with geiger.Tracker("block"):
    take(4000)
take(500)
"""
TESTS = """
import pytest
left = []
@pytest.mark.limit_memory("4 MB")
def test_small(): [bytearray(1000) for _ in range(2000)]
@pytest.mark.limit_memory("4 MB")
def test_large(): [bytearray(1000) for _ in range(8000)]
@pytest.mark.limit_leaks("1 MB")
def test_leaks(): left.append([bytearray(1000) for _ in range(4000)])
@pytest.mark.limit_leaks("1 MB")
def test_frees(): [bytearray(1000) for _ in range(4000)]
def test_without(): pass
"""


class PythonTracker(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.directory = pathlib.Path(self.temporary.name)
        self.environment = {**harness.environment([]), "PYTHONPATH": str(MODULES),
                            "PATH": f"{GEIGER.parent}:{os.environ['PATH']}"}

    def run_it(self, *command, status=0):
        done = subprocess.run([str(part) for part in command], cwd=self.directory, env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def objects_of(self, file, *options):
        """Of the bytearrays' bytes, which are 1,001."""
        table = json.loads(self.run_it(GEIGER, "table", "--json", "--size", "1001B..1001B", "--function", "take*",
                                       *options, file))
        return table["total"]["objects"]["value"]

    def test_a_block_is_recorded_in_all_threads(self):
        self.run_it(PYTHON, "-c", BLOCKS, "block.geiger")
        self.assertEqual(self.objects_of("block.geiger"), 3000)

    def test_marks_and_pauses(self):
        self.run_it(GEIGER, "run", "-q", "--interval", "1", "-o", "a.geiger", "--", PYTHON, "-c", MARKED)
        self.assertEqual(self.objects_of("a.geiger"), 7500)
        self.assertEqual(self.objects_of("a.geiger", "--from", "warm", "--to", "block begin"), 2000)
        self.assertEqual(self.objects_of("a.geiger", "--from", "block begin", "--to", "block end"), 4000)

    def test_nothing_happens_without_geiger(self):
        self.run_it(PYTHON, "-c", "import geiger\nassert not geiger.mark('x')\ngeiger.stop()\ngeiger.start()")

    def test_a_magic_of_ipython(self):
        """load_ipython_extension() with what it asks of IPython."""
        said = self.run_it(PYTHON, "-c", "import geiger\nclass Shell:\n"
                           "    def register_magic_function(self, function, kind, name): self.magic = function\n"
                           "    def run_cell(self, cell): exec(cell, {})\n"
                           "shell = Shell()\ngeiger.load_ipython_extension(shell)\n"
                           "shell.magic('table --kind peak --json', 'x = bytearray(10_000_000)')")
        self.assertGreaterEqual(json.loads(said)["total"]["bytes"]["hi"], 10_000_000)

    def test_limits_of_tests(self):
        if subprocess.run([PYTHON, "-c", "import pytest"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no pytest")
        (self.directory / "test_it.py").write_text(TESTS)
        said = self.run_it(PYTHON, "-m", "pytest", "-p", "geiger", "-q", "-p", "no:cacheprovider", "test_it.py",
                           status=1)
        self.assertIn("2 failed, 3 passed", said)
        self.assertRegex(said, r"FAILED test_it.py::test_large")
        self.assertRegex(said, r"FAILED test_it.py::test_leaks")
        self.assertRegex(said, r"held at its peak more than allowed: .* limit 4 MB")
        self.assertRegex(said, r"left behind more than allowed: test_leaks.* limit 1 MB")


if __name__ == "__main__":
    unittest.main()
