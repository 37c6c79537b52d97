#!/usr/bin/env python3
"""Programs as they run in production: workers that become another user or change their root,
programs that write over their environment.  Nothing of them may go missing without a word.

Needs root, as such services do.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness
import trace_reader
from harness import KIB, MIB

GEIGER = str(harness.BUILD / "bin" / "geiger")
NOBODY = 65534
PATIENCE = 20

# Forks workers, each of which gives up root's rights as the words say, and allocates for every
# line: as many times as the line says.
PROGRAM = """
import os, sys
kept = []
def drop(words):
    if "chroot" in words:
        os.chroot(words[words.index("chroot") + 1])
        os.chdir("/")
    if "user" in words:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
read, write = os.pipe()
back, tell = os.pipe()
pid = os.fork()
if pid == 0:
    os.close(write)
    drop(sys.argv[1:])
    for line in os.fdopen(read):
        kept += [bytes(600) for _ in range(int(line))]
        os.write(tell, b"x")
    sys.exit()
os.close(read)
os.close(tell)
print(pid, flush=True)
for line in sys.stdin:
    os.write(write, line.encode())
    os.read(back, 1)
    print("done", flush=True)
os.close(write)
os.waitpid(pid, 0)
"""


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Services(harness.ProcessTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="services-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.runtime = os.path.join(self.directory, "runtime")
        os.mkdir(self.runtime, 0o700)
        self.process = None

    def start(self, words, *options, command=None):
        """A `geiger run` of the program; the pid of its worker."""
        environment = harness.environment([], {"XDG_RUNTIME_DIR": self.runtime})
        self.process = subprocess.Popen(
            command or [GEIGER, "run", *options, "--", "/usr/bin/python3", "-c", PROGRAM, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=self.directory, env=environment)
        self.addCleanup(self.process.kill)
        return int(self.process.stdout.readline())

    def allocate(self, count=2500):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        self.assertEqual(self.process.stdout.readline(), "done\n")

    def end(self):
        """What was written to stderr."""
        _, said = self.process.communicate(timeout=PATIENCE)
        self.assertEqual(self.process.returncode, 0, said)
        return said

    def geiger(self, *words, status=0):
        done = subprocess.run([GEIGER, *map(str, words)], capture_output=True, text=True,
                              cwd=self.directory, timeout=PATIENCE,
                              env=harness.environment([], {"XDG_RUNTIME_DIR": self.runtime}))
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def wait_for_end_of(self, pid):
        for _ in range(PATIENCE * 50):
            if not os.path.exists(f"/proc/{pid}"):
                return
            time.sleep(0.02)
        self.fail(f"{pid} does not end")

    def traces(self, pid):
        """Of a process, by segment, each read by the second reader and sealed."""
        paths = pathlib.Path(self.directory).glob(f"geiger-*/*.{pid}.*.geiger")
        traces = [trace_reader.read(str(path)) for path in paths]
        for path in pathlib.Path(self.directory).glob("geiger-*/*.geiger"):
            self.assertLess(path.stat().st_size, 64 * MIB, path)
        return sorted(traces, key=lambda trace: trace.header.segment)

    def check_worker(self, *words):
        worker = self.start(words, "--interval", "64", "--segments", "1MiB,4")
        for _ in range(40):
            self.allocate()
        said = self.end()
        self.assertNotIn("still running", said)
        segments = [trace.header.segment for trace in self.traces(worker)]
        self.assertEqual(len(segments), 4, said)
        self.assertGreater(segments[0], 0)  # Older ones were deleted, as was asked for.
        self.assertEqual(segments, list(range(segments[0], segments[0] + 4)))
        (run,) = pathlib.Path(self.directory).glob("geiger-*")
        self.assertIn("Every process and segment got its trace", self.geiger("doctor", run))

    def test_a_worker_of_another_user_goes_on_in_segments(self):
        self.check_worker("user")

    def test_a_worker_with_another_root_goes_on_in_segments(self):
        os.mkdir(os.path.join(self.directory, "root"))
        self.check_worker("chroot", os.path.join(self.directory, "root"), "user")

    def test_snapshots_of_a_worker_of_another_user(self):
        worker = self.start(["user"], "--interval", "64", "--snapshot-on", "every=100ms")
        for _ in range(20):
            self.allocate(100)
            time.sleep(0.05)
        said = self.end()
        self.assertNotIn("still running", said)
        self.assertGreater(len(self.traces(worker)), 2)

    def test_a_worker_without_a_trace_is_told_of(self):
        """Its supervisor is gone, and the directory is not its own."""
        worker = self.start(["user"], "--interval", "64", "--segments", "1MiB")
        self.process.kill()
        self.process.wait()
        for _ in range(20):
            self.allocate()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        self.wait_for_end_of(worker)
        (run,) = pathlib.Path(self.directory).glob("geiger-*")
        for verb in ("summary", "doctor"):
            self.assertIn("no next segment could be made (Permission denied)",
                          " ".join(self.geiger(verb, run).split()))


if __name__ == "__main__":
    unittest.main()
