#!/usr/bin/env python3
"""Small objects of CPython are counted, each once, whatever its allocators are."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import harness
import pythons
import trace_reader

SCRIPTS = pathlib.Path(__file__).resolve().parent / "python"
PYTHON_ENTRY_POINTS = range(14, 20)
SAMPLED, BY_MALLOC = "sampled", "by_malloc"
FEW = 8  # blocks that the counting itself takes


class PythonObjects(unittest.TestCase):
    def record(self, python, *options, script="chain.py", environment=(), words=()):
        with tempfile.TemporaryDirectory() as directory:
            trace = pathlib.Path(directory) / "trace.geiger"
            done = subprocess.run([harness.BUILD / "bin" / "geiger", "run", "-q", "--no-symbolize",
                                   *options, "-o", trace, "--", python, *words, SCRIPTS / script],
                                  env=dict(os.environ, **dict(environment)),
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout, trace_reader.read(trace)

    @staticmethod
    def live_at(trace, time, entry_points):
        freed = {free.sample: free.time for free in trace.frees}
        return sum(sample.entry_point in entry_points and sample.time < time <=
                   freed.get(sample.ref, time) for sample in trace.samples)

    def check_counts(self, python, entry_points=PYTHON_ENTRY_POINTS, **how):
        said, trace = self.record(python, "--interval", "1", **how)
        before, t0, full, t1, less, t2 = map(int, said.split())
        live = [self.live_at(trace, time, entry_points) for time in (t0, t1, t2)]
        self.assertGreater(full - before, 39000)
        self.assertAlmostEqual(live[1] - live[0], full - before, delta=FEW)
        self.assertAlmostEqual(live[2] - live[1], less - full, delta=FEW)
        self.assert_counted_once(trace)
        (*_, interpreter) = trace.interpreters.values()
        return interpreter

    def assert_counted_once(self, trace):
        """A block that is counted twice seems to come back while it lives."""
        self.assertFalse([free for free in trace.frees if free.unseen])

    def test_larger_ones_are_counted_by_malloc_alone(self):
        """Also where they are as large as the interval, and leave the countdown alone."""
        for python in pythons.some_interpreters():
            for environment in {}, {"PYTHONMALLOC": "debug"}:
                for interval in "1", "4KiB":
                    with self.subTest(python, interval=interval, **environment):
                        _, trace = self.record(python, "--interval", interval, script="growing.py",
                                               environment=environment.items())
                        large = [s for s in trace.samples if s.requested > 512
                                 and s.entry_point in PYTHON_ENTRY_POINTS]
                        self.assertEqual(large, [])
                        self.assert_counted_once(trace)

    def test_each_small_object_is_counted_once(self):
        for python in pythons.some_interpreters():
            with self.subTest(python):
                self.assertEqual(self.check_counts(python).small_objects, SAMPLED)

    def test_also_with_the_debugging_allocator(self):
        for python in pythons.some_interpreters():
            for how in ({"environment": {"PYTHONMALLOC": "debug"}.items()},
                        {"environment": {"PYTHONMALLOC": "pymalloc"}.items()},
                        {"words": ["-X", "dev"]}, {"words": ["-bXdev"]}):
                with self.subTest(python, **how):
                    self.assertEqual(self.check_counts(python, **how).small_objects, SAMPLED)

    def test_malloc_counts_what_malloc_serves(self):
        for python in pythons.some_interpreters():
            with self.subTest(python):
                _, trace = self.record(python, "--interval", "1",
                                       environment={"PYTHONMALLOC": "malloc"}.items())
                (*_, interpreter) = trace.interpreters.values()
                self.assertEqual(interpreter.small_objects, BY_MALLOC)
                points = [sample.entry_point for sample in trace.samples]
                self.assertFalse(set(points) & set(PYTHON_ENTRY_POINTS))
                self.assertGreater(len(points), 40000)

    def test_code_goes_along_into_the_next_segments(self):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run([harness.BUILD / "bin" / "geiger", "run", "-q", "--no-symbolize",
                                   "--interval", "256", "--segments", "1MiB,30", "--",
                                   "/usr/bin/python3", "-S", SCRIPTS / "keeping.py"],
                                  cwd=directory, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            traces = [trace_reader.read(path) for path in pathlib.Path(directory).glob("*/*.geiger")]
            traces.sort(key=lambda trace: trace.header.segment)
            # The first ones are full before the script begins; one may begin when all is freed.
            has_code = "".join("+" if "keep" in {code.name for code in trace.code.values()} else "-"
                               for trace in traces)
            self.assertRegex(has_code, r"^-*\+{6,}-?$")
            for trace in traces:
                trace.check()
                # Of a handful of functions, each is there once, and carried once.
                self.assertLess(len(trace.code), 2 * len({(c.name, c.file, c.first_line)
                                                          for c in trace.code.values()}) + 1)

    def test_only_stacks(self):
        _, trace = self.record("/usr/bin/python3", "--interval", "1", "--python", "stacks")
        self.assertFalse({s.entry_point for s in trace.samples} & set(PYTHON_ENTRY_POINTS))
        self.assertTrue(trace.interpreted_frames())

    def test_off(self):
        _, trace = self.record("/usr/bin/python3", "--interval", "1", "--python", "off")
        self.assertFalse({s.entry_point for s in trace.samples} & set(PYTHON_ENTRY_POINTS))
        self.assertFalse(trace.interpreted_frames())


if __name__ == "__main__":
    unittest.main()
