#!/usr/bin/env python3
"""Recordings within bounds lose nothing that they claim to hold.

At T = 1 every allocation is a sample, so what the traces say of the host program's own
blocks (tests/hosts/bounded.cc) must be exact: segments together hold each sample once, each
segment opens with all that lives, tallies count every sample.  Thinned recordings are held
to the truth by five standard deviations (two-sided chance 6e-7 per check, 12 checks).

    long_runs.py                what ctest runs
    long_runs.py --large        10^7 live samples and 10^6 stacks, with memory figures
"""
import collections
import contextlib
import os
import pathlib
import signal
import struct
import sys
import tempfile
import time
import unittest

import harness
import trace_reader

CARRIED, CHECKPOINT, THINNING, TALLY = 12, 13, 14, 15
VOID, UNTRACKED = 0x40, 0x04
MASK = (1 << 48) - 1
Tally = collections.namedtuple("Tally", "ref flags stack epoch requested allocated freed")


class Trace(trace_reader.Trace):
    """With the records of recordings that go on."""

    def __init__(self, data, path):
        self.carried_sizes, self.previous, self.voids, self.checkpoint = {}, {}, set(), None
        self.carried_chances = {}
        self.levels, self.tallied, self.all_threads = [], [], []
        super().__init__(data, path)
        self.image_start, self.segment = self.header.image_start, self.header.segment

    def _read_record(self, body, ref, word):
        kind, flags = word & 0xff, word >> 8 & 0xff
        if kind == CARRIED:
            if flags & VOID:
                self.voids.add(ref)
                return
            allocated, = struct.unpack_from("<Q", body, 16)
            address, requested = struct.unpack_from("<QQ", body, 32)
            self.carried_sizes[ref] = requested & MASK
            self.carried_chances[ref] = chance(self.header.seed, allocated, address)
            self.previous[ref], = struct.unpack_from("<I", body, 72)
        elif kind == CHECKPOINT:
            self.checkpoint = struct.unpack_from("<QQQ", body, 8)
        elif kind == THINNING:
            self.levels.append(struct.unpack_from("<I", body, 16)[0])
        elif kind == TALLY:
            _, stack, epoch, requested, _, _, _, allocated, freed = struct.unpack_from(
                "<QIIQQIIQQ", body, 8)
            self.tallied.append(Tally(ref, flags, stack, epoch, requested & MASK, allocated, freed))
        else:
            super()._read_record(body, ref, word)
            if kind == trace_reader.THREAD:
                self.all_threads.append((flags, self.threads[word >> 40]))

    def sizes(self):
        sizes = dict(self.carried_sizes)
        sizes.update((s.ref, s.requested) for s in self.samples)
        return sizes

    def live(self):
        """Record -> size of what lives at the end, as this trace alone tells it."""
        sizes = self.sizes()
        for free in self.frees:
            if free.sample not in self.voids:
                del sizes[free.sample]
        return sizes


def read(path):
    """Nothing of a trace whose program was killed before it had a header."""
    with open(path, "rb") as file:
        head = file.read(32)
        if head[:8] != trace_reader.MAGIC:
            return None
        tail, = struct.unpack_from("<Q", head, 24)
        return Trace(head + file.read(tail - len(head)), str(path))


def begun_trace(recorder):
    """The first trace that has a header, as soon as there is one."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for path in pathlib.Path(recorder.directory).glob("*.geiger"):
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                if file.read(8) == trace_reader.MAGIC:
                    return path
        time.sleep(0.005)
    raise AssertionError("no trace is begun")


def is_own(size):
    """Whether a size is one of the host's blocks."""
    return 3001 <= size <= 3999 and size % 2 == 1


def record(arguments, interval=1, env=None, **options):
    with harness.Recorder(interval, env=env, **options) as recorder:
        outcome = harness.finish(recorder.start([harness.host("bounded"), *arguments]), None, 300)
        assert outcome.status == 0, outcome
        truth = tuple(map(int, outcome.stdout.split()))
        paths = pathlib.Path(recorder.directory).glob("*.geiger")
        traces = sorted(map(read, paths), key=lambda trace: trace.segment)
        return truth, traces


class Segments(unittest.TestCase):
    ENV = {"GEIGER_SEGMENT": str(harness.MIB)}

    def check_links(self, before, after):
        """What is carried on lived, is the same, and is carried once."""
        lived = before.sizes()
        freed = {free.sample for free in before.frees}
        carried = list(after.previous.values())
        self.assertEqual(len(carried), len(set(carried)) + max(0, carried.count(0) - 1))
        for ref, previous in after.previous.items():
            if previous == 0:  # From an earlier one, past `before`.
                continue
            self.assertTrue(previous in lived, f"{previous} of segment {after.segment}")
            self.assertFalse(previous in freed, f"{previous} of segment {after.segment}")
            self.assertEqual(after.carried_sizes[ref], lived[previous])

    def check(self, threads, operations, live, env=None):
        (allocations, size, live_blocks, live_bytes), traces = record(
            [threads, operations, live], env={**self.ENV, **(env or {})})
        self.assertGreater(len(traces), 3)
        self.assertEqual([trace.segment for trace in traces], list(range(len(traces))))
        own = [s.requested for trace in traces for s in trace.samples if is_own(s.requested)]
        self.assertEqual((len(own), sum(own)), (allocations, size))
        for before, after in zip(traces, traces[1:]):
            self.assertEqual(before.image_start, after.image_start)
            self.assertEqual(before.header.state, 4)
            self.assertIsNotNone(after.checkpoint)
            self.check_links(before, after)
        last = [size for size in traces[-1].live().values() if is_own(size)]
        self.assertEqual((len(last), sum(last)), (live_blocks, live_bytes))
        for trace in traces:
            self.assertEqual(sum(trace.header.drops), 0, trace.drops())

    def test_one_thread(self):
        self.check(1, 60_000, 2_000)

    def test_threads_race_with_the_checkpoint(self):
        self.check(4, 30_000, 3_000)

    def test_totals_add_up(self):
        (_, size, _, _), traces = record([4, 30_000, 1_000], env=self.ENV)
        total = sum(thread.bytes + thread.pending for trace in traces
                    for flags, thread in trace.all_threads if not flags & 2)
        sampled = sum(s.requested for trace in traces for s in trace.samples)
        self.assertEqual(total, sampled)
        self.assertGreaterEqual(total, size)

    def test_the_oldest_go(self):
        (_, _, live_blocks, live_bytes), traces = record(
            [2, 60_000, 2_000], env={**self.ENV, "GEIGER_KEEP": "3"})
        self.assertEqual(len(traces), 3)
        self.assertGreater(traces[0].segment, 2)
        last = [size for size in traces[-1].live().values() if is_own(size)]
        self.assertEqual((len(last), sum(last)), (live_blocks, live_bytes))

    def test_each_suffix_estimates_the_live_heap(self):
        """At T = 64 KiB, from the last segment alone."""
        (_, _, _, live_bytes), traces = record(
            [2, 400_000, 10_000], interval=65536,
            env={"GEIGER_SEGMENT": str(harness.MIB), "GEIGER_KEEP": "1"})
        trace, = traces
        self.assertGreater(trace.segment, 0)
        pi = {size: trace_inclusion(size, 65536) for size in range(3001, 4000, 2)}
        live = [size for size in trace.live().values() if is_own(size)]
        estimate = sum(size / pi[size] for size in live)
        variance = sum(size * size * (1 - pi[size]) / pi[size] ** 2 for size in live)
        self.assertLess(abs(estimate - live_bytes), 5 * variance ** 0.5)

    def test_killed(self):
        """A kill at any moment leaves segments that can be read."""
        for delay in (0, 0.05, 0.1, 0.2, 0.3):
            with harness.Recorder(1, env={**self.ENV, "GEIGER_KEEP": "2"}) as recorder:
                process = recorder.start([harness.host("bounded"), 4, 10_000_000, 2_000])
                begun_trace(recorder)
                time.sleep(delay)
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                paths = pathlib.Path(recorder.directory).glob("*.geiger")
                traces = sorted(filter(None, map(read, paths)), key=lambda trace: trace.segment)
                self.assertTrue(traces)
                for before, after in zip(traces, traces[1:]):
                    self.check_links(before, after)


class Bursts(unittest.TestCase):
    STEP = 64 * 1024

    def test_the_interval_doubles_with_every_step(self):
        """As a budget asks for it: an interval serves for one step of the trace, and the next
        is twice as long; the total stays right (five standard deviations)."""
        with harness.Recorder(64) as recorder:
            process = recorder.start([harness.host("bounded"), 1, 3_000_000, 1_000])
            path = begun_trace(recorder)
            with open(path, "r+b", buffering=0) as file:
                file.seek(4136)
                file.write(struct.pack("<QQ", self.STEP, self.STEP))
            outcome = harness.finish(process, None, 300)
            self.assertEqual(outcome.status, 0, outcome)
            trace = read(path)
        intervals = [epoch.interval for epoch in trace.epochs.values()]
        self.assertEqual(intervals, [64 << i for i in range(len(intervals))])
        self.assertGreater(len(intervals), 4)
        places = [8 * ref for ref in trace.epochs]
        for before, after in list(zip(places, places[1:]))[1:]:
            self.assertIn(after - before, range(self.STEP, self.STEP + 4096))
        own = [sample for sample in trace.samples if is_own(sample.requested)]
        pi = [trace.inclusion_probability(sample) for sample in own]
        estimate = sum(sample.requested / chance for sample, chance in zip(own, pi))
        variance = sum(sample.requested ** 2 * (1 - chance) / chance ** 2
                       for sample, chance in zip(own, pi))
        total = int(outcome.stdout.split()[1])
        self.assertLess(abs(estimate - total), 5 * variance ** 0.5)


class JumpsOut(unittest.TestCase):
    def test_out_of_a_checkpoint(self):
        """A handler that jumps out while the next segment is opened leaves it to the next
        allocation: afterwards the program goes on in segments as before."""
        with harness.Recorder(1, env={"GEIGER_SEGMENT": str(harness.MIB)}) as recorder:
            outcome = harness.finish(recorder.start([harness.host("jumps")]), None, 300)
            self.assertEqual(outcome.status, 0, outcome)
            jumps, = map(int, outcome.stdout.split())
            self.assertGreater(jumps, 0)
            paths = pathlib.Path(recorder.directory).glob("*.geiger")
            traces = sorted(filter(None, map(read, paths)), key=lambda trace: trace.segment)
        self.assertEqual([trace.segment for trace in traces], list(range(len(traces))))
        for trace in traces[1:]:
            self.assertIsNotNone(trace.checkpoint, trace.path)
        # Per segment 1 MiB besides what it opens with, 80 bytes for each of 20,000 blocks.
        for trace in traces:
            self.assertLess(trace.header.tail, 6 * harness.MIB)


def trace_inclusion(size, interval):
    return 1 - (1 - 1 / interval) ** size


class Thinned(unittest.TestCase):
    def test_live_bytes(self):
        for cap in (1024, 4096, 20_000):
            (allocations, size, live_blocks, live_bytes), (trace,) = record(
                [4, 60_000, 12_000], env={"GEIGER_LIVE": str(cap)})
            own = [s for s in trace.samples if is_own(s.requested)]
            self.assertEqual((len(own), sum(s.requested for s in own)), (allocations, size))
            level = max(trace.levels)
            self.assertEqual(trace.levels, list(range(1, level + 1)))
            self.assertLessEqual(live_blocks, cap << level)
            kept = {s.ref: s.requested for s in own
                    if chance(trace.header.seed, s.time, s.address) >> (64 - level) == 0}
            for free in trace.frees:
                kept.pop(free.sample, None)
            keep = 2.0 ** -level
            for truth, power in ((live_blocks, 0), (live_bytes, 1)):
                estimate = sum(size ** power for size in kept.values()) / keep
                variance = sum(size ** (2 * power) for size in kept.values()) * (1 - keep) / keep ** 2
                self.assertLess(abs(estimate - truth), 5 * variance ** 0.5, (cap, power))

    def test_with_segments(self):
        (_, _, live_blocks, _), traces = record(
            [2, 60_000, 12_000], env={"GEIGER_LIVE": "4096", "GEIGER_SEGMENT": str(harness.MIB),
                                      "GEIGER_KEEP": "2"})
        trace = traces[-1]
        level = max(trace.levels)
        chances = {s.ref: chance(trace.header.seed, s.time, s.address) for s in trace.samples}
        chances.update(trace.carried_chances)
        kept = len([ref for ref, size in trace.live().items()
                    if is_own(size) and chances[ref] >> (64 - level) == 0])
        keep = 2.0 ** -level
        self.assertLess(abs(kept / keep - live_blocks), 5 * (kept * (1 - keep)) ** 0.5 / keep)


def chance(seed, instant, address):
    """As trace::chance_of."""
    def mixed(z):
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & (1 << 64) - 1
        z = (z ^ z >> 27) * 0x94d049bb133111eb & (1 << 64) - 1
        return z ^ z >> 31
    first = mixed(seed + instant * 0x9e3779b97f4a7c15 & (1 << 64) - 1)
    return mixed(first + address & (1 << 64) - 1)


class Aggregated(unittest.TestCase):
    def tallied(self, arguments, env=None):
        truth, (trace,) = record(arguments, env=env, mode=["aggregate"])
        self.assertFalse(trace.samples)
        self.assertFalse(trace.frees)
        own = [t for t in trace.tallied if is_own(t.requested)]
        return truth, trace, own

    def test_counts_are_exact(self):
        (allocations, size, live_blocks, live_bytes), trace, own = self.tallied([4, 60_000, 2_000])
        self.assertEqual(sum(t.allocated for t in own), allocations)
        self.assertEqual(sum(t.allocated * t.requested for t in own), size)
        self.assertEqual(sum(t.allocated - t.freed for t in own), live_blocks)
        self.assertEqual(sum((t.allocated - t.freed) * t.requested for t in own), live_bytes)
        self.assertEqual(sum(trace.header.drops), 0)

    def test_it_does_not_grow_with_time(self):
        _, short, _ = self.tallied([1, 30_000, 500])
        _, long, _ = self.tallied([1, 300_000, 500])
        self.assertLess(long.header.tail, short.header.tail + 4096)

    def test_when_it_is_full(self):
        """Of 200,000 stacks a trace of 8 MiB tells some apart, and counts all."""
        (allocations, size, _, _), trace, _ = self.tallied(
            [1, 200_000, 500, 200_000], env={"GEIGER_CAPACITY": str(8 * harness.MIB)})
        self.assertEqual(trace.header.stop_reason, 0)
        near = [t for t in trace.tallied if 2990 <= t.requested <= 4064]
        # What else the process allocates may have been rounded into the range.
        self.assertIn(sum(t.allocated for t in near), range(allocations, allocations + 8))
        total = sum(t.allocated * t.requested for t in near)
        self.assertLess(abs(total - size) / size, 0.016)
        self.assertGreater(sum(t.allocated for t in near if t.stack == 0), 0)
        self.assertGreater(sum(t.allocated for t in near if t.stack != 0), 0)

    def test_thinned(self):
        (allocations, _, live_blocks, _), trace, own = self.tallied(
            [2, 60_000, 12_000], env={"GEIGER_LIVE": "4096"})
        self.assertEqual(sum(t.allocated for t in own), allocations)
        keep = 2.0 ** -max(trace.levels)
        kept = sum(t.allocated - t.freed for t in own if not t.flags & UNTRACKED)
        self.assertLess(abs(kept / keep - live_blocks), 5 * (kept * (1 - keep)) ** 0.5 / keep)


def memory_of(pid, wanted):
    """Bytes of anonymous memory in the ranges that the runtime lists in its trace; at most, where
    the kernel has joined one with a neighbour (an arena of malloc's) to one mapping."""
    ranges = [struct.unpack_from("<QQ", wanted, 2328 + 16 * i) for i in range(64)]
    resident, inside = 0, 0
    with open(f"/proc/{pid}/smaps", encoding="ascii", errors="replace") as smaps:
        for line in smaps:
            head = line.split()[0]
            if "-" in head:
                start, end = (int(part, 16) for part in head.split("-"))
                inside = sum(max(0, min(end, begin + size) - max(start, begin))
                             for begin, size in ranges)
            elif head == "Rss:":
                resident += min(int(line.split()[1]) * 1024, inside)
    return resident


def most_memory(arguments, env, pause):
    """The host's outcome, the runtime's largest memory while it ran, and its last header."""
    with harness.Recorder(1, env={**env, "GEIGER_CAPACITY": str(16 * harness.GIB)},
                          mode=["nomappings"]) as recorder:
        process = recorder.start([harness.host("bounded"), *arguments])
        most, header = 0, b""
        while process.poll() is None:
            time.sleep(pause)
            for path in pathlib.Path(recorder.directory).glob("*.geiger"):
                with open(path, "rb") as file:
                    header = file.read(4096)
            try:
                most = max(most, memory_of(process.pid, header))
            except (OSError, struct.error):
                pass
        return harness.finish(process, None, 60), most, header


class Memory(unittest.TestCase):
    """What docs/guide/long-runs.md states: per live sample 59 bytes, besides a constant."""
    CONSTANT, EACH = 1 << 20, 59

    def check(self, *arguments):
        outcome, most, _ = most_memory(arguments, {"GEIGER_LIVE": str(1 << 24)}, 0.05)
        self.assertEqual(outcome.status, 0, outcome)
        live = int(outcome.stdout.split()[2])
        self.assertLess(most, self.CONSTANT + self.EACH * live)

    def test_of_a_program_that_only_allocates(self):
        self.check(1, 600_000, 100_000_000, 1, 17)

    def test_of_a_program_that_replaces_what_it_has(self):
        self.check(1, 2_000_000, 400_000, 1, 17)


def large():
    """Prints the runtime's memory per live sample and per stack."""
    for arguments, env in ((["1", "16000000", "10000000", "1", "17"], {"GEIGER_LIVE": str(1 << 24)}),
                           (["1", "16000000", "10000000", "1", "17"], {}),
                           (["1", "1048576", "1048576", "1048576", "17"], {})):
        outcome, most, header = most_memory(arguments, env, 0.5)
        print(" ".join(arguments), env, "status", outcome.status, outcome.stdout.decode().strip(),
              "runtime's memory", most, "trace", struct.unpack_from("<Q", header, 24)[0],
              "state", struct.unpack_from("<II", header, 32))


if __name__ == "__main__":
    if sys.argv[1:] == ["--large"]:
        large()
    else:
        unittest.main()
