#!/usr/bin/env python3
"""What holds memory, from copies of a running process (--snapshot): right where a scan of the process itself is
not, and nothing of it is left in the process.

usage: holders_snapshot.py GEIGER
"""
import glob
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import holders

GEIGER = holders.GEIGER


def pid_of(program):
    trace, = os.listdir(program.file + ".parts")
    return int(trace.split(".")[-3])


def copies_of(program):
    """Other processes with its trace that are traced."""
    found = []
    for place in glob.glob("/proc/[0-9]*"):
        try:
            with open(place + "/status", encoding="utf-8") as file:
                is_traced = "TracerPid:\t0\n" not in file.read()
            with open(place + "/maps", encoding="utf-8") as file:
                has_trace = program.file + ".parts" in file.read()
        except OSError:
            continue
        if is_traced and has_trace and place != f"/proc/{pid_of(program)}":
            found.append(place)
    return found


def is_traced(pid):
    """Whether any of its threads is."""
    for status in glob.glob(f"/proc/{pid}/task/*/status"):
        with open(status, encoding="utf-8") as file:
            if "TracerPid:\t0\n" not in file.read():
                return True
    return False


def state_of(pid):
    """What others see of a process: its children, signals, mappings, open files."""
    def read(name):
        with open(f"/proc/{pid}/{name}", encoding="utf-8") as file:
            return file.read()

    shown = ("SigPnd", "SigBlk", "SigIgn", "SigCgt", "ShdPnd", "Threads", "TracerPid")
    signals = [line for line in read("status").splitlines() if line.startswith(shown)]
    children = [read(f"task/{task}/children") for task in sorted(os.listdir(f"/proc/{pid}/task"))]
    maps = [line.split()[:2] for line in read("maps").splitlines() if "[heap]" not in line]
    return signals, children, maps, sorted(os.listdir(f"/proc/{pid}/fd"))


class OfManyThreads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = holders.Program("churn_slowly")

    @classmethod
    def tearDownClass(cls):
        cls.program.end()

    def test_what_moves_is_not_lost(self):
        found = holders.sums(json.loads(self.program.ask("--json", "--snapshot")))
        self.assertEqual(set(found["moved"][0]) & set(holders.UNREACHABLE), set())
        lost = sum(size for hold, size in found["lost"][0].items() if hold in holders.UNREACHABLE)
        self.assertGreaterEqual(lost, 600 * 48)



class OfAllKinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = holders.Program()

    @classmethod
    def tearDownClass(cls):
        cls.program.end()

    def test_nothing_is_left(self):
        pid = pid_of(self.program)
        before = state_of(pid)
        self.program.ask("--snapshot")
        self.assertEqual(state_of(pid), before)
        self.assertEqual(copies_of(self.program), [])

    def test_the_copy_ends_with_its_scanner(self):
        pid = pid_of(self.program)
        before = state_of(pid)
        scanner = subprocess.Popen([GEIGER, "holders", "--snapshot", "--budget", "1%", self.program.file + ".parts"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not copies_of(self.program) and scanner.poll() is None:
            time.sleep(0.002)
        self.assertIsNone(scanner.poll())
        scanner.send_signal(signal.SIGKILL)
        scanner.wait()
        while copies_of(self.program):
            time.sleep(0.002)
        self.assertEqual(state_of(pid), before)


    def test_the_process_outlives_a_scanner_that_is_killed_while_it_is_stopped(self):
        pid = pid_of(self.program)
        before = state_of(pid)
        stopped = 0
        for _ in range(10):
            scanner = subprocess.Popen([GEIGER, "holders", "--snapshot", self.program.file + ".parts"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not is_traced(pid) and scanner.poll() is None:
                continue
            stopped += is_traced(pid)
            scanner.kill()
            scanner.wait()
        while is_traced(pid) or copies_of(self.program):
            time.sleep(0.002)
        self.assertGreater(stopped, 0)
        self.assertEqual(state_of(pid), before)

    def test_every_kind_is_told(self):
        found = holders.sums(json.loads(self.program.ask("--json", "--snapshot")))
        for name in found:
            if name.startswith(("by_", "lost", "hidden")):
                wanted = holders.UNREACHABLE if name in holders.LOST + holders.HIDDEN else ("reached",)
                self.assertEqual(set(found[name][0]) - set(wanted), set(), name)


class OfOneThread(unittest.TestCase):
    def test_one_copy_decides(self):
        with tempfile.TemporaryDirectory(prefix="geiger-holders-") as here:
            run = os.path.join(here, "run.geiger")
            with subprocess.Popen([GEIGER, "run", "-q", "--interval", "1", "-o", run, "--", "sh", "-c",
                                   "x=here; echo $x; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True) as recording:
                self.assertEqual(recording.stdout.readline(), "here\n")
                asked = subprocess.run([GEIGER, "holders", "--json", "--snapshot", run + ".parts"],
                                       capture_output=True, check=True)
                recording.communicate("\n")
        report = json.loads(asked.stdout)
        self.assertEqual((report["scans"], report["faults"]), (1, []))


if __name__ == "__main__":
    unittest.main()
