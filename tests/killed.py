#!/usr/bin/env python3
"""SIGKILL at random instants loses no record that the program had got past.

The host counts in a shared file what malloc and free have returned; every call is a
sample.  After the kill the trace must hold at least as many samples and frees, less
what the program never acknowledged.  200 kills at seeded random times; the times are
random only in that the scheduler adds to them.
"""
import os
import pathlib
import random
import signal
import struct
import tempfile
import time
import unittest

import harness
import trace_reader

KILLS = 200
THREADS = 4


def acknowledged(path):
    """(allocated, freed) summed over the threads; each has a cache line."""
    data = pathlib.Path(path).read_bytes()
    if len(data) < 64 * THREADS:
        return 0, 0
    pairs = [struct.unpack_from("<QQ", data, 64 * i) for i in range(THREADS)]
    return sum(a for a, _ in pairs), sum(f for _, f in pairs)


def kill_once(interval, size, delay):
    """Runs, kills after `delay` seconds; returns acknowledged and recovered pairs."""
    with tempfile.NamedTemporaryFile() as shared, harness.Recorder(
            interval, capacity=harness.GIB) as recorder:
        process = recorder.start([harness.host("acknowledge"), shared.name, str(size)])
        deadline = time.monotonic() + 20
        while acknowledged(shared.name)[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        path, = pathlib.Path(recorder.directory).glob("*.geiger")
        trace = trace_reader.read(path)
        return acknowledged(shared.name), (len(trace.samples), len(trace.frees)), trace


class Killed(unittest.TestCase):
    def check(self, interval, size, kills):
        generator = random.Random(interval)
        total = 0
        for number in range(kills):
            promised, found, trace = kill_once(interval, size, generator.uniform(0, 0.03))
            self.assertGreater(promised[0], 0)
            self.assertGreaterEqual(found[0], promised[0], f"kill {number}: samples lost")
            self.assertGreaterEqual(found[1], promised[1], f"kill {number}: frees lost")
            self.assertEqual(sum(trace.header.drops), 0, trace.drops())
            total += found[0]
        self.assertGreater(total, 100 * kills)

    def test_every_call(self):
        self.check(1, 64, KILLS // 2)

    def test_certain_objects(self):
        self.check(4096, 4096, KILLS // 2)


if __name__ == "__main__":
    unittest.main()
