#!/usr/bin/env python3
"""An interval that regulates itself (GEIGER_INTERVAL=auto, the default of `geiger run`).

What it costs is not timed here: the rule is tested with clocks of its own (governor_test). Here
real programs change it as they run, and every total stays right.
"""
import json
import pathlib
import subprocess
import tempfile
import unittest

import harness
import trace_reader
from harness import KIB, MIB

GEIGER = str(harness.BUILD / "bin" / "geiger")
FIRST, FINEST, COARSEST = 16 * KIB, 8 * KIB, 512 * KIB


def is_own(size):
    return 3001 <= size <= 3999 and size % 2 == 1


def intervals(trace):
    return [epoch.interval for epoch in trace.epochs.values()]


def deviations(samples, trace, total):
    """Standard deviations between the estimate and the truth, at most: of objects of y bytes, drawn
    with probability pi, y^2 (1 - pi) / pi < y T, here with the largest T. That of the samples
    themselves is too small where chance drew few."""
    estimate = sum(sample.requested / trace.inclusion_probability(sample) for sample in samples)
    return abs(estimate - total) / (total * max(intervals(trace))) ** 0.5


class Regulated(unittest.TestCase):
    def record(self, arguments, interval="auto", env=None):
        with harness.Recorder(interval, env=env) as recorder:
            outcome = harness.finish(recorder.start(arguments), None, 300)
            self.assertEqual(outcome.status, 0, outcome)
            paths = pathlib.Path(recorder.directory).glob("*.geiger")
            return outcome, [trace_reader.read(path) for path in sorted(paths)]

    def test_a_furious_program(self):
        """Hardly does anything but allocate: it is throttled when the credit of the young, 0.25 ms,
        is spent, of at least 0.15 us for each sample, and the totals stay right: within five standard
        deviations, which chance exceeds less than once in 100,000 runs where 33 samples are live. A thread
        that is about to throttle may be stopped while others draw, so the bound is for each of them."""
        for threads in (1, 4):
            outcome, (trace,) = self.record([harness.host("bounded"), threads, 2_000_000, 5_000])
            used = intervals(trace)
            self.assertEqual(used[0], FIRST)
            self.assertGreaterEqual(max(used), 8 * FIRST)
            for interval in used:
                self.assertIn(interval, range(FINEST, COARSEST + 1))
                self.assertEqual(interval & (interval - 1), 0)
            first = next(iter(trace.epochs))
            drawn = sum(sample.epoch == first for sample in trace.samples)
            _, total, _, live = map(int, outcome.stdout.split())
            self.assertLess(drawn, 3000 * threads)
            own = [sample for sample in trace.samples if is_own(sample.requested)]
            self.assertLess(deviations(own, trace, total), 5)
            alive = [sample for sample in trace.live() if is_own(sample.requested)]
            self.assertLess(deviations(alive, trace, live), 5)

    def test_children_begin_anew(self):
        _, traces = self.record([harness.host("processes"), "forks"])
        self.assertGreater(len(traces), 2)
        for trace in traces:
            self.assertEqual(intervals(trace)[0], FIRST, trace.path)

    def test_segments_go_on_with_it(self):
        """The governor outlives a segment, and so does what it has decided."""
        _, traces = self.record([harness.host("bounded"), 1, 2_000_000, 1_000],
                                env={"GEIGER_SEGMENT": str(256 * KIB)})
        traces.sort(key=lambda trace: trace.header.segment)
        self.assertGreater(len(traces), 2)
        for before, after in zip(traces, traces[1:]):
            self.assertIn(intervals(after)[0], intervals(before))
        self.assertGreater(intervals(traces[-1])[0], FIRST)

    def test_a_smaller_share(self):
        """A tenth of a percent allows an interval ten times as long."""
        _, (trace,) = self.record([harness.host("bounded"), 1, 2_000_000, 1_000], "auto:1000")
        self.assertGreater(max(intervals(trace)), COARSEST)


class Run(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def geiger(self, *words):
        return subprocess.run([GEIGER, *map(str, words)], cwd=self.directory, text=True,
                              capture_output=True, timeout=300, check=False)

    def run_host(self, *options):
        done = self.geiger("run", "-q", *options, "-o", "a.geiger", "-f", "--",
                           harness.host("bounded"), 1, 300_000, 1_000)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return intervals(trace_reader.read(self.directory / "a.geiger"))

    def test_what_the_options_mean(self):
        self.assertEqual(self.run_host()[0], FIRST)
        self.assertEqual(self.run_host("--interval", "auto", "--seed", "1")[0], FIRST)
        self.assertEqual(self.run_host("--interval", "64KiB"), [64 * KIB])
        self.assertEqual(self.run_host("--seed", "1"), [512 * KIB])
        self.assertGreater(max(self.run_host("--budget", "0.05%")), COARSEST)

    def test_a_dormant_program_needs_a_size(self):
        done = self.geiger("run", "--dormant", "--interval", "auto", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--interval: a dormant program needs a size, not auto", done.stderr)

    def test_reports_of_several_intervals(self):
        """Totals, the peak, the self-check, a comparison with a run of one interval, and what
        other tools read: sums are of weights, also where a format has one period."""
        used = self.run_host()
        self.assertGreater(len(set(used)), 2)
        summary = json.loads(self.geiger("summary", "--json", "a.geiger").stdout)
        check = summary["self_check"]
        self.assertTrue(check["passed"], check)
        self.assertTrue(check["hits"]["is_testable"])
        self.assertLess(abs(check["hits"]["z"]), 5)
        exact = trace_reader.read(self.directory / "a.geiger").total("bytes")
        self.assertEqual(summary["exact"]["bytes"], exact)
        (self.directory / "a.geiger").rename(self.directory / "b.geiger")
        self.run_host("--interval", "64KiB")
        done = self.geiger("check", "--max-growth", "20%", "b.geiger", "a.geiger")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for form in ("pprof", "heap_v2"):
            done = self.geiger("export", form, "-o", f"b.{form}", "b.geiger")
            self.assertEqual(done.returncode, 0, done.stderr)
            table = self.geiger("table", "--json", f"b.{form}")
            document = json.loads(table.stdout)
            value = document["total"]["bytes"]["value"]
            self.assertLess(abs(value / exact - 1), 0.2, form)


if __name__ == "__main__":
    unittest.main()
