#!/usr/bin/env python3
"""What `geiger run` itself does besides the program, in executed instructions and system calls.

Instructions are counted by callgrind, of geiger alone: its children are not looked into. Both
limits leave room for libraries of other versions; they are there to notice what is added.
"""
import re
import subprocess
import tempfile
import unittest

import harness

GEIGER = str(harness.BUILD / "bin" / "geiger")
MOST_INSTRUCTIONS = 6_000_000  # Of them 3 million are the loader's.
MOST_CALLS = 450


class Supervisor(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def counted(self, *tool):
        done = subprocess.run([*tool, GEIGER, "run", "-q", "-o", "a.geiger", "-f", "--", "true"],
                              cwd=self.directory, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_instructions(self):
        harness.require("valgrind")
        said = self.counted("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
        instructions = int(re.search(r"Collected : (\d+)", said)[1])
        self.assertLess(instructions, MOST_INSTRUCTIONS)

    def test_system_calls(self):
        harness.require("strace")
        said = self.counted("strace", "-c")
        calls = int(re.search(r"100\.00 +\S+ +\d+ +(\d+)", said)[1])
        self.assertLess(calls, MOST_CALLS)


if __name__ == "__main__":
    unittest.main()
