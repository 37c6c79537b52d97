#!/usr/bin/env python3
"""Residency and stranded bytes against a program that knows them, seeds 1..40.

The program (hosts/residency.cc) asks mincore about every page of every block, and adds up
the free bytes of its heap's pages.  Observed from outside at an instant when nothing
changes any more:

* At interval 1 the profiles are that truth: to the byte for pages, to 1 % for the heap,
  where chunks of the C library share pages with the program's.
* Of a process that may not be read from outside, the runtime's own answers are that truth too.
* At larger intervals the share of 95 % intervals that cover the truth is within 4 standard
  errors of what simulated draws of the same objects let expect (false alarm 6e-5 per
  share, three shares; the seeds are fixed, so it happens always or never).

    residency.py --break        takes every object for wholly resident: must fail
    residency.py --seeds 5      fewer runs, for trying things
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

import harness
import trace_reader
import unreadable

# Freed chunks that look used from outside.
NO_CACHES = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"}
PAGES_INTERVAL = 64 * harness.KIB
HEAP_INTERVAL = 16 * harness.KIB
HIDDEN_INTERVAL = harness.KIB  # of 8 bytes per millisecond that go on when all is done
# Root may look into every process.
OTHER_USER = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
# Takes a system call filter that allows everything along into another program.
FILTERED = """
import ctypes, os, struct, sys
allow = ctypes.create_string_buffer(struct.pack("<HBBI", 6, 0, 0, 0x7fff0000))
filter = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 1, ctypes.addressof(allow)))
prctl = ctypes.CDLL(None).prctl
assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, filter) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def geiger(*arguments):
    return harness.run_bare([harness.BUILD / "bin" / "geiger", *arguments])


class Residency(unittest.TestCase):
    seeds = 40
    is_broken = False

    def test_nobody_is_asked_whose_calls_are_filtered(self):
        """A filter may end a process for a call that it does not make by itself."""
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            trace = os.path.join(directory, "filtered.geiger")
            outcome = harness.run_bare(
                [*OTHER_USER, harness.BUILD / "bin" / "geiger", "run", "-q", "--no-symbolize",
                 "--interval", 1, "-o", trace, "/usr/bin/python3", "-c", FILTERED,
                 harness.host("residency"), "hidden", "1500"], cwd=directory)
            self.assertEqual(outcome.status, 0, outcome.stderr)
            answer = self.answered(trace)
            self.assertNotIn(b"by_mincore", answer.stdout, answer.stderr)

    def run_once(self, directory, mode, interval, seed, env):
        """One run whose last snapshot is of the time when all was done; its truth."""
        trace = os.path.join(directory, f"{mode}.{interval}.{seed}.geiger")
        as_other = OTHER_USER if mode == "hidden" else []
        for hold in (200, 800, 3000, 6000, 20000):  # a busy machine observes late
            outcome = harness.run_bare(
                [*as_other, harness.BUILD / "bin" / "geiger", "run", "-q", "-f", "--no-symbolize",
                 "--fragmentation", "--seed", seed, "--interval", interval, "-o", trace,
                 harness.host("residency"), mode, hold], env=env, cwd=directory)
            self.assertEqual(outcome.status, 0, outcome.stderr)
            truth = json.loads(outcome.stdout)
            if self.observed_at(trace, mode) >= truth["done"]:
                return trace, truth
        self.fail("no snapshot after the program was done")

    def observed_at(self, trace, mode):
        report = self.answered(trace) if mode == "hidden" else geiger("rss", "--json", "--at",
                                                                      "last", trace)
        if report.status != 0:
            return 0
        report = json.loads(report.stdout)
        after = report["by_mincore"]["last_ns"] if mode == "hidden" else report["after_ns"]
        summary = json.loads(geiger("summary", "--json", trace).stdout)
        return summary["processes"][0]["start_ns"] + after

    def answered(self, trace):
        return geiger("table", "--kind", "resident", "--json", trace)

    def compare(self, kinds, mode, interval, seeds, env=None):
        """What the analysis says of each kind in the same runs, and the program's truth."""
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            runs = [self.run_once(directory, mode, interval, seed, env) for seed in seeds]
            truth = runs[0][1]
            path = os.path.join(directory, "truth.json")
            with open(path, "w") as file:
                json.dump(truth, file)
            return {kind: self.analyse(kind, interval, path, [trace for trace, _ in runs])
                    for kind in kinds}, truth

    def analyse(self, kind, interval, truth, traces, *changes):
        command = [str(harness.BUILD / "bin" / "residency_analysis"),
                   *(["--break"] if self.is_broken else changes), kind, str(interval), truth,
                   *traces]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    def check_shares(self, kinds, mode, interval, env=None):
        results, _ = self.compare(kinds, mode, interval, range(1, self.seeds + 1), env)
        for kind, result in results.items():
            with self.subTest(kind=kind):
                self.check_share(kind, result)

    def check_share(self, kind, result):
        for run in result["runs"]:
            self.assertNotIn("fault", run)
        intervals = result["intervals"]
        share, predicted = result["covered"] / intervals, result["predicted"] / intervals
        simulated = predicted * (1 - predicted) / 4000
        error = math.sqrt(result["variance"] / intervals**2 + simulated)
        print(f"{kind}: {share:.4f} of {intervals} cover, predicted {predicted:.4f} +- {error:.4f}")
        self.assertLess(abs(share - predicted), 4 * error + 1 / intervals)
        self.assertGreater(share, 0.95 - 4 * math.sqrt(0.95 * 0.05 / intervals))

    def test_interval_one_is_mincore(self):
        results, _ = self.compare(("resident", "untouched"), "pages", 1, [1])
        for kind, result in results.items():
            run, = result["runs"]
            self.assertEqual(run["estimate"], run["truth"], kind)

    def test_nobody_is_asked_who_can_be_read(self):
        with tempfile.TemporaryDirectory() as directory:
            trace, _ = self.run_once(directory, "pages", 1, 1, None)
            self.assertEqual(trace_reader.read(trace).residency, [])

    def test_interval_one_is_mincore_inside(self):
        results, _ = self.compare(("resident",), "hidden", 1, [1])
        run, = results["resident"]["runs"]
        self.assertEqual(run["estimate"], run["truth"])

    def test_what_was_asked_inside_says_so(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            trace, _ = self.run_once(directory, "hidden", 1, 1, None)
            asked = json.loads(self.answered(trace).stdout)["by_mincore"]
            self.assertEqual((asked["processes"], asked["unanswered"]), (1, 0))
            self.assertGreater(asked["answered"], 10_000)
            self.assertIn("measured by mincore inside the process at ",
                          geiger("table", "--kind", "resident", trace).stdout.decode())
            for kind in ("swapped", "untouched"):
                refusal = geiger("table", "--kind", kind, trace)
                self.assertEqual(refusal.status, 1)
                said, = [line for line in refusal.stderr.decode().splitlines() if kind in line]
                self.assertIn(f"{kind} is not available: its pages could not be read from outside,"
                              " and mincore inside the process", said)

    def test_answers_that_are_missing_widen_the_intervals(self):
        """A third of the answers is left out, at random or those of the most resident bytes."""
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            runs = [self.run_once(directory, "hidden", HIDDEN_INTERVAL, seed, None)
                    for seed in range(1, min(self.seeds, 10) + 1)]
            path = os.path.join(directory, "truth.json")
            with open(path, "w") as file:
                json.dump(runs[0][1], file)
            shares = {}
            for change in ("--drop", "--drop-largest", "--forget"):
                result = self.analyse("resident", HIDDEN_INTERVAL, path,
                                      [trace for trace, _ in runs], change)
                shares[change] = result["covered"] / result["intervals"]
            print("a third unanswered:", shares, "of", result["intervals"])
            least = 0.95 - 4 * math.sqrt(0.95 * 0.05 / result["intervals"])
            self.assertGreater(shares["--drop"], least)
            self.assertGreater(shares["--drop-largest"], least)
            self.assertLess(shares["--forget"], least)

    def test_more_samples_than_are_looked_up_leave_limits(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            trace = os.path.join(directory, "many.geiger")
            outcome = harness.run_bare(
                [*OTHER_USER, harness.BUILD / "bin" / "geiger", "run", "-q", "--no-symbolize",
                 "--interval", 1, "-o", trace, "/usr/bin/python3", "-c",
                 unreadable.program(80_000)], cwd=directory)
            self.assertEqual(outcome.status, 0, outcome.stderr)
            report = json.loads(self.answered(trace).stdout)
            asked = report["by_mincore"]
            self.assertEqual(asked["answered"], 65_536)
            self.assertGreater(asked["unanswered"], 10_000)
            total = report["total"]["bytes"]
            self.assertEqual(total["lo"], total["value"])
            self.assertGreater(total["hi"], total["value"] + 700 * 10_000)
            self.assertLess(total["value"], 80_000 * 700)
            self.assertGreater(total["hi"], 80_000 * 700)
            self.assertTrue(any(row["self"]["bytes"]["hi"] > row["self"]["bytes"]["value"]
                                for row in report["rows"]))
            said = geiger("table", "--kind", "resident", trace).stdout.decode()
            self.assertIn("have no answer and count as between none and all of their bytes",
                          " ".join(said.split()))

    def test_interval_one_is_the_heap(self):
        results, truth = self.compare(("stranded",), "heap", 1, [1], NO_CACHES)
        run, = results["stranded"]["runs"]
        self.assertNotIn("fault", run)
        print("stranded:", run, "malloc says", truth["free"], "free,", truth["top"], "at the top")
        self.assertLess(abs(run["estimate"] / run["truth"] - 1), 0.01)
        self.assertLess(run["estimate"], 1.01 * truth["free"])

    def test_pages(self):
        self.check_shares(("resident", "untouched"), "pages", PAGES_INTERVAL)

    def test_heap(self):
        self.check_shares(("stranded",), "heap", HEAP_INTERVAL, NO_CACHES)


if __name__ == "__main__":
    if "--break" in sys.argv:
        sys.argv.remove("--break")
        Residency.is_broken = True
    if "--seeds" in sys.argv:
        at = sys.argv.index("--seeds")
        Residency.seeds = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main()
