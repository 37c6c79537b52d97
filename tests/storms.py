#!/usr/bin/env python3
"""Much of one thing: processes, modules, threads; nothing hangs, is lost or keeps growing.

    storms.py                      a tenth or less of it, what ctest runs
    storms.py --all                what docs/internals/reliability.md records: 10,000 forks, 10,000 vforks
                                   with exec and 1,000 spawns under four allocating threads;
                                   10,000 dlopen and dlclose; 10,000 threads at once and
                                   1,000,000 one after another

The runtime's own memory is what its trace lists (docs/internals/trace-format.md) and its library's
writable pages; it is read from outside while the program waits.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import harness
import trace_reader

RANGES = 64


def runtime_ranges(header):
    """(start, bytes) of what the runtime has mapped for itself, from the trace's header."""
    at = trace_reader.HEADER.size
    words = memoryview(header[at:at + 16 * RANGES]).cast("Q")
    return [(words[i], words[i + 1]) for i in range(0, 2 * RANGES, 2) if words[i + 1]]


def resident_bytes(pid, ranges):
    """Resident bytes of the runtime: its ranges, and its library's writable pages."""
    total, counts = 0, False
    with open(f"/proc/{pid}/smaps", encoding="ascii", errors="replace") as smaps:
        last_was_ours = False
        for line in smaps:
            start = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) .*?(/.*)?$", line)
            if start:
                low, high = int(start[1], 16), int(start[2], 16)
                inside = any(low < at + size and at < high for at, size in ranges)
                is_library = (start[4] or "").endswith("libgeiger-preload.so")
                # .bss follows the library's data without a name.
                is_bss = last_was_ours and not start[4]
                last_was_ours = is_library
                counts = inside or is_bss or (is_library and "w" in start[3])
            elif counts and line.startswith("Private_Dirty:"):
                total += int(line.split()[1]) * 1024
    return total


class Watched:
    """A storm that stops at each "at N" until it has been looked at."""

    def __init__(self, recorder, arguments):
        self.recorder = recorder
        self.process = recorder.start([harness.host("storms"), *arguments],
                                      stdin=subprocess.PIPE)
        self.seen = {}

    def run(self):
        """Returns the last line; `seen` maps N to the runtime's resident bytes."""
        last = b""
        for line in self.process.stdout:
            if line.startswith(b"at "):
                self.seen[int(line.split()[1])] = self.look()
                self.process.stdin.write(b"\n")
                self.process.stdin.flush()
            last = line
        self.process.stdin.close()
        self.process.stderr.close()
        self.process.stdout.close()
        status = self.process.wait(60)
        assert status == 0, f"status {status}"
        return last.decode().strip()

    def look(self):
        path, = pathlib.Path(self.recorder.directory).glob("storms.*.geiger")
        with open(path, "rb") as file:
            ranges = runtime_ranges(file.read(4096))
        return resident_bytes(self.process.pid, ranges)


class Storms(harness.ProcessTest):
    interval = 512 * harness.KIB

    def check_processes(self, forks, vforks, spawns):
        with harness.Recorder(self.interval) as recorder:
            recorded = recorder.run([harness.host("storms"), "processes", str(forks), str(vforks),
                                     str(spawns)], timeout=1200)
            self.assertEqual(recorded.outcome.stdout.decode(),
                             f"forks {forks} vforks {vforks} spawns {spawns}\n")
            self.assertEqual(recorded.outcome.stderr, b"")
            self.assertEqual(recorded.outcome.status, 0)
            # The first process, each second fork, and each program that was run.
            expected = 1 + (forks + 1) // 2 + vforks + spawns
            self.assertEqual(len(recorded.paths), expected)
            pids = {trace.header.pid for trace in recorded.traces}
            forked = [t for t in recorded.traces if t.header.mode & 4]
            self.assertEqual(len(forked), (forks + 1) // 2)
            for trace in recorded.traces:
                trace.check()
                self.assertEqual(sum(trace.header.drops), 0, trace.drops())
            return f"{expected} processes that allocated, {len(recorded.paths)} readable traces, " \
                   f"{len(pids)} pids"

    def check_modules(self, cycles):
        with harness.Recorder(4096) as recorder:
            watched = Watched(recorder, ["modules", str(cycles)])
            self.assertEqual(watched.run(), f"cycles {cycles}")
            early, late = watched.seen[cycles // 10], watched.seen[cycles]
            self.assertLess(late - early, harness.MIB)
            return f"{cycles} cycles: {early // 1024} KiB after a tenth, {late // 1024} KiB at the end"

    def check_threads(self, alive, created, step):
        with harness.Recorder(self.interval) as recorder:
            watched = Watched(recorder, ["threads", str(alive), str(created), str(step)])
            self.assertEqual(watched.run(), f"threads {alive + created}")
            first, last = watched.seen[alive], watched.seen[max(watched.seen)]
            self.assertLess(last - first, harness.MIB, watched.seen)
            path, = pathlib.Path(recorder.directory).glob("*.geiger")
            trace = trace_reader.read(path)
            self.assertEqual(len(trace.threads), alive + created + 1)
            self.assertEqual(sum(trace.header.drops), 0, trace.drops())
            return (f"{alive} at once: {first // 1024} KiB; after {created} more: "
                    f"{last // 1024} KiB")


class Quick(Storms):
    def test_processes(self):
        self.check_processes(300, 200, 50)

    def test_modules(self):
        self.check_modules(1000)

    def test_threads(self):
        self.check_threads(500, 8000, 4000)


def whole():
    storms = Storms()
    print("modules:", storms.check_modules(10_000), flush=True)
    print("threads:", storms.check_threads(10_000, 1_000_000, 250_000), flush=True)
    for part in range(4):  # 256 KiB of disk each, so not all at once
        print(f"processes, {part + 1} of 4:", storms.check_processes(2500, 2500, 250), flush=True)


if __name__ == "__main__":
    if "--all" in sys.argv:
        whole()
    else:
        unittest.main()
