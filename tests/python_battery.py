#!/usr/bin/env python3
"""Python programs that are hard on a profiler do the same with and without geiger: under the
interpreter of the machine and the newest found; --all takes all that are found, and more intervals.
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import harness
import python_frames

NASTY = sorted((pathlib.Path(__file__).resolve().parent / "python" / "nasty").glob("*.py"))


class PythonBattery(unittest.TestCase):
    interpreters = sorted({*list(python_frames.interpreters())[:1], *list(
        python_frames.interpreters())[-1:]})
    intervals = ["1", "512KiB"]

    @staticmethod
    def outcome(*words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def test_the_same_with_and_without(self):
        for python in self.interpreters:
            for script in NASTY:
                bare = self.outcome(python, script)
                for interval in self.intervals:
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
    if "--all" in sys.argv:
        sys.argv.remove("--all")
        PythonBattery.interpreters = list(python_frames.interpreters())
        PythonBattery.intervals = ["1", "4KiB", "512KiB"]
    unittest.main()
