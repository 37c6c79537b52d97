#!/usr/bin/env python3
"""SIGKILL at random instants loses no record that the program had got past.

The host counts in a shared file what its four threads have begun and what malloc and free
have returned; every call is a sample.  After the kill the trace must hold at least the
samples and frees that were acknowledged, and at most those that were begun; its totals
must never exceed what was begun either.

    killed.py                      200 kills, what ctest runs
    killed.py --kills 1000         as many as docs/internals/reliability.md records, on every file
                                   system that is given by --directory

The times are seeded; they are random only in that the scheduler adds to them.
"""
import argparse
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import harness
import trace_reader

THREADS = 4
FIELDS = struct.Struct("<QQQQ")  # allocations begun, returned; frees begun, returned


def counted(path):
    """The host's four counters, summed over its threads, each of which has a cache line; and
    whether it has started them all."""
    data = pathlib.Path(path).read_bytes()
    if len(data) < 64 * THREADS:
        return 0, 0, 0, 0, False
    lines = [FIELDS.unpack_from(data, 64 * i) for i in range(THREADS)]
    return (*map(sum, zip(*lines)), all(line[0] > 0 for line in lines))


def kill_once(interval, size, delay, parent=None, reads=False):
    """Runs, kills after `delay` seconds; returns the host's counters and the trace.

    With `reads`, the command line must open the trace too.
    """
    with tempfile.NamedTemporaryFile() as shared, harness.Recorder(
            interval, capacity=harness.GIB, parent=parent) as recorder:
        process = recorder.start([harness.host("acknowledge"), shared.name, str(size)])
        deadline = time.monotonic() + 20
        while counted(shared.name)[1] == 0 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        path, = pathlib.Path(recorder.directory).glob("*.geiger")
        if reads:
            subprocess.run([harness.BUILD / "bin" / "geiger", "stats", path], check=True,
                           capture_output=True)
        return counted(shared.name), trace_reader.read(path)


class Outcome:
    """What a series of kills has shown."""

    def __init__(self):
        self.kills = self.samples = self.frees = self.unacknowledged = self.uncommitted = 0

    def add(self, counters, trace):
        self.kills += 1
        self.samples += len(trace.samples)
        self.frees += len(trace.frees)
        self.unacknowledged += len(trace.samples) - counters[1]
        self.uncommitted += trace.uncommitted

    def __str__(self):
        return (f"{self.kills} kills, {self.samples} samples and {self.frees} frees recovered, "
                f"{self.unacknowledged} of them not yet acknowledged, "
                f"{self.uncommitted} records half written")


class Killed(unittest.TestCase):
    def check_one(self, counters, trace, size, what):
        allocating, allocated, freeing, freed, has_started = counters
        # The runtime sees a few allocations of the program before its threads start.
        before = [sample for sample in trace.samples if sample.requested != size]
        found = len(trace.samples) - len(before)
        self.assertGreater(allocated, 0, what)
        self.assertGreaterEqual(found, allocated, f"{what}: samples lost")
        self.assertLessEqual(found, allocating, f"{what}: more samples than calls")
        self.assertGreaterEqual(len(trace.frees), freed, f"{what}: frees lost")
        self.assertLessEqual(len(trace.frees), freeing + len(before), f"{what}: more frees")
        known = allocating * size + sum(sample.requested for sample in before)
        # What starts a thread is smaller than the larger interval, and so may be no sample; or
        # the kill came between its bytes and its record.
        is_told = trace.header.interval == 1 and has_started
        unsampled = 0 if is_told else 4 * harness.KIB
        self.assertLessEqual(trace.total("bytes"), known + unsampled, what)
        self.assertEqual(sum(trace.header.drops), 0, trace.drops())
        refs = {sample.ref for sample in trace.samples}
        self.assertTrue(all(free.sample in refs for free in trace.frees), what)

    def check(self, interval, size, kills, parent=None):
        generator = random.Random(interval)
        outcome = Outcome()
        for number in range(kills):
            counters, trace = kill_once(interval, size, generator.uniform(0, 0.03), parent,
                                        reads=parent is not None and number % 10 == 0)
            self.check_one(counters, trace, size, f"kill {number}")
            outcome.add(counters, trace)
        self.assertGreater(outcome.samples, 100 * kills)
        return outcome

    def test_every_call(self):
        self.check(1, 64, 100)

    def test_certain_objects(self):
        self.check(4096, 4096, 100)


def main():
    if "--kills" not in sys.argv:
        unittest.main()
    parser = argparse.ArgumentParser(description="kills at random instants")
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--directory", action="append", default=[])
    options = parser.parse_args()
    for parent in options.directory or [tempfile.gettempdir()]:
        for interval, size in ((1, 64), (4096, 4096)):
            outcome = Killed().check(interval, size, options.kills // 2, parent)
            print(f"{parent}, interval {interval}, blocks of {size}: {outcome}", flush=True)


if __name__ == "__main__":
    main()
