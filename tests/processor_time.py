#!/usr/bin/env python3
"""The processor time of a recording, against what the kernel and the program itself say.

All limits hold whatever else the machine does: the recorded stretch contains one that the program measures, and is
contained in one that this test measures.
"""
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import unittest

import harness

GEIGER = harness.BUILD / "bin" / "geiger"
# Works for so many seconds of processor time, then says how long that was.
WORK = """import os, signal, sys, time
def work(seconds):
    from_ = time.process_time_ns()
    while time.process_time_ns() < from_ + seconds * 1e9: bytearray(100000)
    return time.process_time_ns() - from_
"""
SECONDS = 0.3


def used_by(pid):
    """What the process has used so far, by its own clock (clock_getcpuclockid(3))."""
    return time.clock_gettime_ns(~pid << 3 | 2)


class ProcessorTime(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)

    def geiger(self, *words):
        return subprocess.run([GEIGER, *map(str, words)], cwd=self.here, capture_output=True, text=True, check=False)

    def summary(self):
        return json.loads(self.geiger("summary", "--json", "run.geiger").stdout)

    def run_of(self, program, *options):
        """Seconds that it and geiger used, the summary, and the numbers that it printed."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self.geiger("run", "-q", *options, "-o", "run.geiger", "--", sys.executable, "-c", WORK + program)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return 1e9 * used, self.summary(), [int(word) for word in done.stdout.split()]

    def test_of_a_run(self):
        used, summary, (worked,) = self.run_of(f"print(work({SECONDS}))")
        self.assertLessEqual(worked, summary["processor_time_ns"])
        self.assertLessEqual(summary["processor_time_ns"], used)
        self.assertFalse(summary["is_processor_time_least"])
        self.assertIn("of processor time)", self.geiger("summary", "run.geiger").stdout.replace("\n", " "))

    def test_of_several_processes(self):
        used, summary, worked = self.run_of(
            f"child = os.fork()\nprint(work({SECONDS}), flush=True)\nif child: os.waitpid(child, 0)")
        self.assertEqual(len(worked), 2)
        self.assertLessEqual(sum(worked), summary["processor_time_ns"])
        self.assertLessEqual(summary["processor_time_ns"], used)
        each = [process["processor_time_ns"] for process in summary["processes"]]
        self.assertEqual(sum(each), summary["processor_time_ns"])
        for process, least in zip(sorted(each), sorted(worked)):
            self.assertLessEqual(least, process)

    def test_of_a_process_that_executes_another_program(self):
        used, summary, worked = self.run_of(
            f"print(work({SECONDS}), flush=True)\n"
            f"os.execv(sys.executable, [sys.executable, '-c', {WORK + f'print(work({SECONDS}))'!r}])")
        self.assertEqual([process["is_processor_time_least"] for process in summary["processes"]], [False, False])
        self.assertLessEqual(sum(worked), summary["processor_time_ns"])
        self.assertLessEqual(summary["processor_time_ns"], used)

    def test_of_segments(self):
        used, summary, (worked,) = self.run_of(f"print(work({SECONDS}))", "--segments", "1MiB", "--interval", "4KiB")
        self.assertGreater(len(summary["processes"][0]["segments"]), 1)
        self.assertLessEqual(worked, summary["processor_time_ns"])
        self.assertLessEqual(summary["processor_time_ns"], used)

    def test_of_a_killed_process_it_is_a_lower_limit(self):
        used, summary, (worked,) = self.run_of(
            f"print(work({SECONDS}), flush=True); time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)")
        self.assertGreater(worked, 0)
        self.assertTrue(summary["is_processor_time_least"])
        self.assertLessEqual(summary["processor_time_ns"], used)
        text = self.geiger("summary", "run.geiger").stdout.replace("\n", " ")
        self.assertIn("(at least ", text)

    def test_of_an_attached_process_only_what_was_recorded(self):
        program = WORK + f"work({SECONDS})\nprint(0, flush=True)\nwork(1e6)"
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
            try:
                process.stdout.readline()
                before = used_by(process.pid)
                done = self.geiger("attach", "--duration", "0.3s", "-o", "run.geiger", process.pid)
                after = used_by(process.pid)
                self.assertEqual(done.returncode, 0, done.stderr)
            finally:
                process.kill()
        summary = self.summary()
        self.assertFalse(summary["is_processor_time_least"])
        self.assertGreater(summary["processor_time_ns"], 0)
        self.assertLessEqual(summary["processor_time_ns"], after - before)


if __name__ == "__main__":
    unittest.main()
