#!/usr/bin/env python3
"""Requests for no bytes: objects like others, sampled as one byte would be.

At T = 1 every one is recorded, with what the allocator gave for it. Above, each is a sample with
probability 1/T, independently of all others. The trials of all else are what they were.
"""
import json
import math
import subprocess
import tempfile
import unittest

import harness

ROUNDS = 100_000
GEIGER = harness.BUILD / "bin" / "geiger"


def truth(recorded):
    return [int(word) for word in recorded.outcome.stdout.split()]


def empties(trace):
    return [sample for sample in trace.samples if sample.requested == 0]


class ZeroBytes(harness.ProcessTest):
    def test_at_interval_1_all_are_recorded(self):
        recorded = harness.record([harness.host("empty"), ROUNDS], 1)
        filled, empty, freed, usable = truth(recorded)
        self.assertEqual((filled, empty, freed), (100_001, 200_008, 100_000))
        self.assert_sound(recorded)
        trace, = recorded.traces
        self.assertEqual(len(empties(trace)), empty)
        self.assertEqual(sum(s.usable for s in empties(trace)), usable)
        self.assertGreaterEqual(len(trace.samples), filled + empty)
        refs = {sample.ref for sample in empties(trace)}
        self.assertEqual(sum(free.sample in refs for free in trace.frees), freed)
        self.assertEqual(sum(s.requested for s in trace.samples), trace.total("bytes"))

    def reports(self, verb, *options, recording=("--interval", "1")):
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/empty.geiger"
            run = subprocess.run([GEIGER, "run", "-q", *recording, "-o", path, "--",
                                  harness.host("empty"), "1000"], capture_output=True, check=True)
            report = subprocess.run([GEIGER, verb, "--json", *options, path], check=True,
                                    capture_output=True)
            return [int(word) for word in run.stdout.split()], json.loads(report.stdout)

    def test_reports_count_them(self):
        (filled, empty, freed, _), table = self.reports("table", "--by", "size", "--kind", "live")
        row, = [row for row in table["rows"] if row["name"] == "0 B"]
        objects = row["self"]["objects"]
        self.assertEqual(objects["value"], empty - freed)
        self.assertEqual([objects["lo"], objects["hi"]], [empty - freed] * 2)
        self.assertEqual(row["self"]["bytes"]["value"], 0)

    def test_that_they_have_no_bytes_is_certain(self):
        recording = ("--interval", "256", "--seed", "1")
        _, stats = self.reports("stats", recording=recording)
        _, table = self.reports("table", "--by", "size", "--kind", "live", recording=recording)
        row, = [row["self"] for row in table["rows"] if row["name"] == "0 B"]
        sizes, = [sizes for sizes in stats["sizes"] if sizes["most"] == 0]
        for measure in (row, sizes):
            self.assertGreater(measure["objects"]["lo"], 0)
            self.assertEqual((measure["bytes"]["lo"], measure["bytes"]["hi"]), (0, 0))

    def test_overhead_includes_theirs(self):
        (_, _, _, usable), table = self.reports("table", "--by", "size", "--kind", "overhead")
        row, = [row for row in table["rows"] if row["name"] == "0 B"]
        self.assertEqual(row["self"]["bytes"]["value"], usable)

    def test_above_each_is_a_sample_with_the_probability_of_a_byte(self):
        interval, seeds = 64, 20
        found = tried = 0
        for seed in range(1, seeds + 1):
            recorded = harness.record([harness.host("empty"), 20_000], interval, seed=seed)
            _, empty, _, _ = truth(recorded)
            self.assert_sound(recorded)
            trace, = recorded.traces
            found += len(empties(trace))
            tried += empty
            # The trials are of bytes, and the bytes those that were asked for.
            self.assertLess(abs(trace.z()), 5)
            for sample in empties(trace):
                self.assertAlmostEqual(trace.inclusion_probability(sample), 1 / interval)
        self.assert_drawn(found, tried, 1 / interval)

    def assert_drawn(self, found, tried, p):
        """Within five standard errors: false alarm 6e-7, and the seeds are fixed."""
        self.assertLess(abs(found - tried * p), 5 * math.sqrt(tried * p * (1 - p)))

    def test_many_in_a_row_over_geigers_own_malloc(self):
        """There the first byte of an object's block decides."""
        recorded = harness.record([harness.host("empty"), 0, 300_000], 256,
                                  behind=[harness.allocator_library()])
        _, empty, _, _ = truth(recorded)
        trace, = recorded.traces
        self.assert_drawn(len(empties(trace)), empty, 1 / 256)

    def test_bytes_of_others_are_exact(self):
        bare = harness.record([harness.host("empty"), 1000], 1).total("bytes")
        for interval in (64, 4096, 1 << 40):
            self.assertEqual(harness.record([harness.host("empty"), 1000], interval)
                             .total("bytes"), bare)


if __name__ == "__main__":
    unittest.main()
