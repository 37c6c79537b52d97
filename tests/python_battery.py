#!/usr/bin/env python3
"""Python programs that are hard on a profiler do the same with and without geiger."""
import pathlib
import subprocess
import tempfile
import unittest

import harness
import pythons

NASTY = sorted((pathlib.Path(__file__).resolve().parent / "python" / "nasty").glob("*.py"))
INTERVALS = ["512KiB"] if harness.IS_SMALL else ["1", "512KiB"]


class PythonBattery(unittest.TestCase):
    @staticmethod
    def outcome(*words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def test_the_same_with_and_without(self):
        for python in pythons.some_interpreters():
            for script in NASTY:
                bare = self.outcome(python, script)
                for interval in INTERVALS:
                    with self.subTest(python=python, script=script.name, interval=interval), \
                            tempfile.TemporaryDirectory() as directory:
                        trace = pathlib.Path(directory) / "trace.geiger"
                        recorded = self.outcome(
                            harness.BUILD / "bin" / "geiger", "run", "-q", "--no-symbolize",
                            "--interval", interval, "-o", trace, "--", python, script)
                        self.assertEqual(recorded, bare)
                        said = self.outcome(harness.BUILD / "bin" / "geiger", "doctor", trace)
                        self.assertNotIn("DEFECT", said[1])


if __name__ == "__main__":
    unittest.main()
