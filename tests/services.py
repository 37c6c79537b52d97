#!/usr/bin/env python3
"""Programs as they run in production: workers that become another user or change their root,
programs that write over their environment.  Nothing of them may go missing without a word.

Needs root, as such services do.
"""
import collections
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness
import trace_reader
from harness import KIB, MIB

GEIGER = str(harness.BUILD / "bin" / "geiger")
NOBODY = 65534
PATIENCE = 60  # seconds; only what hangs takes that long

# Forks workers, each of which gives up root's rights as the words say, with "later" only at the
# line "0", and allocates for every line: as many times as the line says.  At the line "-1" a worker
# executes itself.
PROGRAM = """
import os, signal, sys
kept = []
def drop(words):
    if "chroot" in words:
        os.chroot(words[words.index("chroot") + 1])
        os.chdir("/")
    if "closed" in words:
        os.closerange(0, 3)
    if "user" in words:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    if "timer" in words:
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
def work(read, tell):
    global kept
    while line := os.read(read, 64):
        if int(line) == 0:
            drop(sys.argv)
        if int(line) == -1:
            with open("/proc/self/cmdline") as command:
                words = command.read().split("\\0")[:-1]
            os.set_inheritable(read, True)
            os.set_inheritable(tell, True)
            os.execv(words[0], [*words[:3], "worker", str(read), str(tell), *sys.argv[1:]])
        kept += [bytes(600) for _ in range(int(line))]
        os.write(tell, b"x")
    sys.exit()
if sys.argv[1:2] == ["worker"]:
    read, tell = map(int, sys.argv[2:4])
    os.write(tell, b"x")
    work(read, tell)
read, write = os.pipe()
back, tell = os.pipe()
pid = os.fork()
if pid == 0:
    os.close(write)
    if "later" not in sys.argv:
        drop(sys.argv)
    work(read, tell)
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
class ServiceTest(harness.ProcessTest):
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
            command or [GEIGER, "run", "--python", "off", *options, "--", "/usr/bin/python3", "-c", PROGRAM, *words],
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

    def while_allocating(self, *words):
        """What geiger says to the words, while the worker allocates."""
        with subprocess.Popen([GEIGER, *map(str, words), "--wait", f"{PATIENCE}s"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.directory,
                              env=harness.environment([], {"XDG_RUNTIME_DIR": self.runtime})) as ctl:
            while ctl.poll() is None:
                self.allocate(100)
            said = ctl.stdout.read()
        self.assertEqual(ctl.returncode, 0, said)
        return said

    def sleeper(self, *words, prefix=(), **variables):
        """A program that sleeps without a supervisor; the pid of its worker."""
        environment = {"GEIGER_MODE": "dormant", "GEIGER_INTERVAL": "4096",
                       "XDG_RUNTIME_DIR": self.runtime, **variables}
        return self.start([], command=[
            *prefix, "env", *(f"{name}={value}" for name, value in environment.items()),
            f"LD_PRELOAD={harness.preload_entry()}", "/usr/bin/python3", "-c", PROGRAM, *words])

    def owner_of_trace(self, said):
        """Of the one that geiger says the worker records to, which is deleted in the end."""
        trace = said.split(" records to ")[1].strip()
        self.addCleanup(shutil.rmtree, os.path.dirname(trace), ignore_errors=True)
        return os.stat(trace).st_uid


class Services(ServiceTest):
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
        self.assertIn("Every process that was seen, and every segment, has its trace", self.geiger("doctor", run))

    def test_a_worker_of_another_user_goes_on_in_segments(self):
        self.check_worker("user")

    def test_a_worker_with_another_root_goes_on_in_segments(self):
        os.mkdir(os.path.join(self.directory, "root"))
        self.check_worker("chroot", os.path.join(self.directory, "root"), "user")

    def test_snapshots_of_a_worker_of_another_user(self):
        worker = self.start(["user"], "--interval", "64", "--snapshot-on", "every=100ms")
        end = time.monotonic() + PATIENCE
        while len(list(pathlib.Path(self.directory).glob(f"geiger-*/*.{worker}.*.geiger"))) < 3:
            self.assertLess(time.monotonic(), end, "no snapshots")
            self.allocate(100)
            time.sleep(0.05)
        said = self.end()
        self.assertNotIn("still running", said)
        self.assertGreater(len(self.traces(worker)), 2)

    def test_a_worker_in_its_next_segment_is_recording(self):
        """Whenever it is looked at."""
        worker = self.start(["user"], "--interval", "4KiB")
        self.allocate()

        def repeat(count, words):
            return subprocess.Popen(
                ["sh", "-c", f"for i in $(seq {count}); do '{GEIGER}' ctl {worker} {words}; done"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env=harness.environment([]))
        with repeat(10000, "segment") as asking, repeat(200, "status --json") as looking:
            states = collections.Counter()
            reader = threading.Thread(target=lambda: states.update(
                json.loads(line)["processes"][0]["state"] for line in looking.stdout))
            reader.start()
            while looking.poll() is None:
                self.allocate(10)
            reader.join()
            asking.kill()
        self.assertEqual(states, {"recording": 200})
        self.end()

    def test_a_supervisor_that_does_not_answer_is_not_waited_for(self):
        """Also where signals interrupt the wait again and again."""
        self.start(["user", "timer"], "--interval", "64", "--segments", "1MiB")
        self.allocate(100)
        self.process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(20):
                ready, _, _ = select.select([self.process.stdout], [], [], 0)
                self.assertFalse(ready)
                self.process.stdin.write("2500\n")
                self.process.stdin.flush()
                ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
                self.assertTrue(ready, "the worker hangs")
                self.process.stdout.readline()
        finally:
            self.process.send_signal(signal.SIGCONT)
        self.end()

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
            self.assertIn("no further segment could be created (Permission denied)",
                          " ".join(self.geiger(verb, run).split()))

    def test_a_dormant_run_leaves_its_file(self):
        """Also of a program whose worker is another user, and that was asked without a directory. One
        that is made for it here, and not used, goes again."""
        os.chmod(self.directory, 0o755)
        worker = self.start(["user"], "--dormant", "--interval", "4KiB", "-o", "run.geiger")
        said = self.while_allocating("ctl", worker, "start")
        self.assertIn("run.geiger.parts", said)
        self.allocate()
        self.end()
        self.assertEqual(sorted(os.listdir(self.directory)), ["run.geiger", "runtime"])
        (process,) = json.loads(self.geiger("summary", "--json", "run.geiger"))["processes"]
        self.assertEqual(process["pid"], worker)

    def test_a_sleeping_worker_of_another_user_is_started_by_root(self):
        """Its own directory is root's, so it takes the one that is made for it."""
        own = os.path.join(self.directory, "own")
        os.mkdir(own, 0o700)
        for variables in ({}, {"GEIGER_DIR": own}):
            with self.subTest(variables):
                worker = self.sleeper("user", **variables)
                self.assertRegex(self.geiger("ctl", "list"), rf"(?m)^ *{worker}  dormant")
                said = self.while_allocating("ctl", worker, "start")
                trace = said.split(" records to ")[1].strip()
                self.addCleanup(shutil.rmtree, os.path.dirname(trace), ignore_errors=True)
                self.assertEqual(os.stat(trace).st_uid, NOBODY)
                self.assertEqual(os.listdir(own), [])
                self.allocate()
                self.while_allocating("ctl", worker, "stop")
                # As large as what was written, so that it can be copied by anything.
                self.assertLess(os.stat(trace).st_size, 4 * MIB)
                trace_reader.read(trace).check()
                self.assertIn("allocated", self.geiger("summary", trace))
                self.end()

    def test_a_call_follows_a_worker_that_becomes_another_user(self):
        """It is called as root; when it looks for the call, it may only read what is its own."""
        root = os.path.join(self.directory, "root")
        os.makedirs(os.path.join(root, "tmp"))
        os.chmod(os.path.join(root, "tmp"), 0o1777)
        for words in (["user"], ["user", "chroot", root]):
            with self.subTest(words):
                # So coarse that what the change itself allocates does not make it look.
                worker = self.sleeper("later", *words, GEIGER_INTERVAL=str(4 * MIB))
                self.call_while_it_changes(worker)

    def test_a_call_follows_a_program_that_was_executed(self):
        """The one before in the same process answered calls too."""
        worker = self.sleeper("later", "user", GEIGER_INTERVAL=str(4 * MIB))
        said = self.while_allocating("ctl", worker, "start")
        self.assertEqual(self.owner_of_trace(said), 0)
        self.while_allocating("ctl", worker, "stop")
        self.allocate(-1)
        self.call_while_it_changes(worker)

    def call_while_it_changes(self, worker):
        with subprocess.Popen([GEIGER, "ctl", str(worker), "start", "--wait", f"{PATIENCE}s"],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              cwd=self.directory) as ctl:
            self.wait_for_call_of(worker)
            self.allocate(0)
            while ctl.poll() is None:
                self.allocate()
            said = ctl.stdout.read()
        self.assertEqual(ctl.returncode, 0, said)
        self.assertEqual(self.owner_of_trace(said), NOBODY)
        self.end()

    def wait_for_call_of(self, pid):
        for _ in range(PATIENCE * 50):
            status = json.loads(self.geiger("ctl", pid, "status", "--json"))
            if status["processes"][0].get("asked_to_record"):
                return
            time.sleep(0.02)
        self.fail(f"nobody called {pid}")

    def test_a_worker_that_became_another_user_is_called_again(self):
        """It goes on to look where it was called as root."""
        worker = self.sleeper("later", "user")
        said = self.while_allocating("ctl", worker, "start")
        self.assertEqual(self.owner_of_trace(said), 0)
        self.while_allocating("ctl", worker, "stop")
        self.allocate(0)
        said = self.while_allocating("ctl", worker, "start")
        self.assertEqual(self.owner_of_trace(said), NOBODY)
        self.end()

    def test_a_directory_that_is_read_only_for_a_sleeper_is_passed_over(self):
        """It is writable here: systemd's ProtectSystem=strict and DynamicUser= make such mounts."""
        place = os.path.join(self.directory, "place")
        os.mkdir(place)
        worker = self.sleeper(GEIGER_DIR=place, prefix=[
            "unshare", "-m", "sh", "-c",
            f'mount --bind {self.directory} {self.directory} && '
            f'mount -o remount,bind,ro {self.directory} && mount --bind {self.runtime} {self.runtime} '
            '&& exec "$@"', "sh"])
        said = self.while_allocating("ctl", worker, "start")
        trace = said.split(" records to ")[1].strip()
        self.addCleanup(shutil.rmtree, os.path.dirname(trace), ignore_errors=True)
        self.assertFalse(trace.startswith(self.directory), trace)
        self.allocate()
        self.while_allocating("ctl", worker, "stop")
        trace_reader.read(trace).check()
        self.assertEqual(sorted(os.listdir(self.directory)), ["place", "runtime"])
        self.end()

    def test_a_sleeping_worker_is_attached_to(self):
        worker = self.sleeper("user")
        for _ in range(2):
            with subprocess.Popen([GEIGER, "attach", "--interval", "4KiB", str(worker)],
                                  stderr=subprocess.PIPE, text=True, cwd=self.directory) as attach:
                self.assertIn("attached to", attach.stderr.readline())
                self.allocate()
                attach.send_signal(signal.SIGINT)
                said = attach.stderr.read()
            self.assertEqual(attach.returncode, 0, said)
            (run,) = pathlib.Path(self.directory).glob("geiger-*")
            self.assertIn("Every process that was attached to", self.geiger("doctor", run))
            shutil.rmtree(run)
        self.while_allocating("ctl", worker, "start")
        self.while_allocating("ctl", worker, "stop")
        self.end()

    def test_traces_without_a_supervisor_are_as_large_as_what_was_written(self):
        directory = os.path.join(self.directory, "geiger-traces")
        os.mkdir(directory, 0o700)
        worker = self.sleeper(GEIGER_DIR=directory, GEIGER_MODE="nopython", GEIGER_SEGMENT=str(MIB),
                              GEIGER_INTERVAL="64")
        for _ in range(30):
            self.allocate()
        self.end()
        self.assertGreater(len(self.traces(worker)), 2)
        for path in pathlib.Path(directory).iterdir():
            status = path.stat()
            self.assertLessEqual(status.st_size, 512 * status.st_blocks)  # Without holes.
            trace_reader.read(str(path)).check()


class Jails(ServiceTest):
    """As Debian's haproxy: a root without anything in it, not even /proc, that may not be written to, and
    no descriptor but what the work needs."""

    def jailed(self):
        jail = os.path.join(self.directory, "jail")
        os.mkdir(jail, 0o755)
        worker = self.sleeper("later", "chroot", jail, "closed", "user")
        self.allocate(0)
        self.assertEqual(os.listdir(f"/proc/{worker}/root"), [])
        self.assertRegex(self.geiger("ctl", "list"), rf"(?m)^ *{worker}  dormant")
        self.descriptors = os.listdir(f"/proc/{worker}/fd")
        return worker

    def check_recorded(self, worker, trace):
        self.assertEqual(os.listdir(f"/proc/{worker}/root"), [])
        self.assertEqual(os.listdir(f"/proc/{worker}/fd"), self.descriptors)
        summary = json.loads(self.geiger("summary", "--json", trace).splitlines()[0])
        self.assertEqual([process["pid"] for process in summary["processes"]], [worker])
        self.assertGreater(summary["samples"], 10)
        self.assertIn("python3", self.geiger("table", "--by", "module", trace))

    def test_attach(self):
        worker = self.jailed()
        for _ in range(2):
            with subprocess.Popen([GEIGER, "attach", "--interval", "4KiB", "-f", "-o", "r.geiger", str(worker)],
                                  stderr=subprocess.PIPE, text=True, cwd=self.directory) as attach:
                self.assertIn("attached to", attach.stderr.readline())
                self.allocate()
                attach.send_signal(signal.SIGINT)
                said = attach.stderr.read()
            self.assertEqual(attach.returncode, 0, said)
            self.check_recorded(worker, "r.geiger")
        self.end()

    def test_start_and_stop(self):
        worker = self.jailed()
        for _ in range(2):
            said = self.while_allocating("ctl", worker, "start")
            self.assertEqual(self.owner_of_trace(said), 0)
            trace = said.split(" records to ")[1].strip()
            self.assertTrue(trace.startswith(self.directory), said)
            self.allocate()
            self.geiger("ctl", worker, "mark", "here")
            live = self.geiger("live", "--json", "--updates", "1", worker).splitlines()[0]
            self.assertEqual([process["state"] for process in json.loads(live)["processes"]], ["recording"])
            self.assertIn("dormant again", self.geiger("ctl", worker, "stop"))
            self.check_recorded(worker, trace)
            self.assertIn("here", self.geiger("marks", trace))
            shutil.rmtree(os.path.dirname(trace))
        self.end()

    def test_start_in_a_directory(self):
        worker = self.jailed()
        place = os.path.join(self.directory, "place")
        os.mkdir(place)
        said = self.while_allocating("ctl", worker, "start", "-d", place)
        self.assertIn(f"records to {place}/", said)
        self.geiger("ctl", worker, "stop")
        self.end()


class CleanedUp(ServiceTest):
    """What a cleaner of old files deletes while programs sleep."""

    def as_nobody(self, *words, status=0):
        return subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", GEIGER, *map(str, words)],
            capture_output=True, text=True, cwd="/", timeout=PATIENCE).stderr

    def sleeper_without(self, clean):
        """Of nobody's, with its place in a /tmp of its own."""
        os.chmod(self.directory, 0o755)
        self.runtime = os.path.join(self.directory, "own")
        os.mkdir(self.runtime, 0o700)
        os.chown(self.runtime, NOBODY, NOBODY)
        worker = self.sleeper(prefix=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
        self.allocate()
        clean(pathlib.Path(self.runtime, "geiger"))
        return worker

    def test_a_sleeper_is_started_by_root_and_makes_its_page_again(self):
        for clean in (lambda place: (place / "bell").unlink(), shutil.rmtree):
            worker = self.sleeper_without(clean)
            self.assertRegex(self.geiger("ctl", "list"), rf"(?m)^ *{worker}  dormant +")
            said = self.as_nobody("ctl", worker, "start")
            self.assertIn("bell was deleted", said)
            self.assertIn(f"sudo geiger ctl {worker} start", said)
            started = self.while_allocating("ctl", worker, "start")
            self.assertEqual(self.owner_of_trace(started), NOBODY)
            self.geiger_stops(worker)
            bells = [line.split()[-1] for line in
                     pathlib.Path(f"/proc/{worker}/maps").read_text().splitlines() if "/bell" in line]
            self.assertEqual([pathlib.Path(bell).name for bell in bells], ["bell"], bells)
            self.end()
            for left in bells:
                if not left.startswith(self.directory):
                    shutil.rmtree(os.path.dirname(left))
            shutil.rmtree(self.runtime)

    def geiger_stops(self, worker):
        self.assertIn("dormant again", self.while_allocating("ctl", worker, "stop"))

    def test_a_recording_without_its_page_is_stopped_by_root(self):
        worker = self.sleeper_without(lambda place: None)
        said = self.while_allocating("ctl", worker, "start")
        self.owner_of_trace(said)
        shutil.rmtree(pathlib.Path(self.runtime, "geiger"))
        self.assertIn("only root can control", self.as_nobody("ctl", worker, "stop"))
        self.geiger_stops(worker)
        self.end()



if __name__ == "__main__":
    unittest.main()
