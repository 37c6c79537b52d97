#!/usr/bin/env python3
"""The storage for the trace ends at any moment: the program must not notice.

Each run records into a tmpfs of another size, so that the end comes while the file is
made, while its first extent is taken, or anywhere later.  The program must do as it does
bare, the trace must read, and what is missing must be known: everything up to the stop is
there, the stop has a reason and a time, and the records that found no room are counted.

    full_disk.py                   20 sizes, what ctest runs
    full_disk.py --runs 300        as many as docs/internals/reliability.md records

A second way to run out is RLIMIT_FSIZE, which needs no right to mount.
"""
import argparse
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import unittest

import harness
import trace_reader

FULL = 1  # why a trace stopped: its capacity was used up
COMMAND = [harness.host("edges"), "properties"]
HEADER_KIB = 256  # what a trace takes at least


class FullDisk(harness.ProcessTest):
    @classmethod
    def setUpClass(cls):
        cls.bare = harness.run_bare(COMMAND)
        with harness.Recorder(1) as recorder:
            whole, = recorder.run(COMMAND).traces
        cls.samples = [(s.requested, s.entry_point) for s in whole.samples]
        cls.bytes = whole.total("bytes")

    def check_prefix(self, trace, what):
        """The records are those of an undisturbed run, up to where they end."""
        found = [(s.requested, s.entry_point) for s in trace.samples]
        self.assertEqual(found, self.samples[:len(found)], f"{what}: another prefix")
        known = sum(size for size, _ in found)
        missing = trace.drops()["trace_full"]
        self.assertGreaterEqual(trace.total("bytes"), known, what)
        self.assertLessEqual(trace.total("bytes"), self.bytes, what)
        return len(found), missing

    @staticmethod
    def lost_samples(trace):
        """At interval 1 each call is a sample: calls that no sample tells of."""
        return trace.total("calls") - len(trace.samples)

    def check_left(self, directory, what):
        """Returns (samples, drops, stop reason), or None if not even a header had room."""
        paths = list(pathlib.Path(directory).glob("*.geiger"))
        if not paths or paths[0].stat().st_size == 0:
            return None
        trace = trace_reader.read(paths[0])
        samples, missing = self.check_prefix(trace, what)
        if trace.header.stop_reason == 0:
            self.assertEqual(samples, len(self.samples), f"{what}: ended without a reason")
            return samples, 0, 0
        self.assertGreater(missing, 0, what)
        self.assertGreater(trace.header.stop_monotonic, 0, what)
        self.assertLessEqual(self.lost_samples(trace), missing, f"{what}: losses not counted")
        return samples, missing, trace.header.stop_reason

    def run_in(self, kib):
        """One run in a tmpfs of `kib` KiB."""
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", place],
                           check=True)
            try:
                outcome = harness.run_bare(COMMAND, [harness.preload_library()],
                                           {"GEIGER_DIR": place, "GEIGER_INTERVAL": "1",
                                            "GEIGER_SEED": "1"})
                self.assert_same_outcome(self.bare, outcome, f"{kib} KiB")
                return self.check_left(place, f"{kib} KiB")
            finally:
                subprocess.run(["umount", place], check=True)

    def check_sizes(self, runs):
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"],
                                               capture_output=True).returncode != 0:
            self.skipTest("mounting is not permitted")
        generator = random.Random(runs)
        most = len(self.samples) * 128 // 1024 + 512
        outcomes = [self.run_in(generator.randrange(4, most)) for _ in range(runs)]
        none = sum(outcome is None for outcome in outcomes)
        whole = sum(outcome is not None and outcome[2] == 0 for outcome in outcomes)
        self.assertGreater(runs - none - whole, runs // 3)
        return (f"{runs} sizes from 4 KiB to {most} KiB: {none} without room for a trace, "
                f"{runs - none - whole} cut off, {whole} whole")

    def test_sizes(self):
        self.check_sizes(20)

    def test_file_size_limit(self):
        for kib in (4, 128, 256, 260, 300, 512, 1000, 1500):
            with self.subTest(kib=kib), harness.Recorder(1) as recorder:
                recorded = recorder.run(COMMAND, preexec_fn=lambda kib=kib: resource.setrlimit(
                    resource.RLIMIT_FSIZE, (kib * 1024, kib * 1024)))
                self.assert_same_outcome(self.bare, recorded.outcome, f"{kib} KiB")
                left = self.check_left(recorder.directory, f"{kib} KiB")
                self.assertEqual(left is None, kib < HEADER_KIB)
                if left:
                    self.assertEqual(left[2], FULL)


def main():
    if "--runs" not in sys.argv:
        unittest.main()
    parser = argparse.ArgumentParser(description="storage that ends at any moment")
    parser.add_argument("--runs", type=int, required=True)
    FullDisk.setUpClass()
    print(FullDisk().check_sizes(parser.parse_args().runs))


if __name__ == "__main__":
    main()
