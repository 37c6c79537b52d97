#!/usr/bin/env python3
"""Programs that sleep until `geiger ctl` wants a recording of them.

What a recording holds is compared with what the program says it allocated between two
instants that were acknowledged; what it costs to sleep with the bare program.
"""
import json
import os
import pathlib
import re
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
PATIENCE = 60  # seconds; only what hangs takes that long
NOBODY = 65534


class Program:
    """The host `asleep`, or any program that answers each line with one line."""

    def __init__(self, test, arguments=None, mode="dormant", interval=4 * KIB, env=None, **options):
        self.env = {"GEIGER_MODE": mode, "GEIGER_INTERVAL": str(interval),
                    "XDG_RUNTIME_DIR": test.runtime, **(env or {})}
        self.process = subprocess.Popen(
            arguments or [harness.host("asleep")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=harness.environment([harness.preload_entry()], self.env), text=True,
            cwd=test.directory, **options)
        self.total = 0
        test.addCleanup(self.end)

    @property
    def pid(self):
        return self.process.pid

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def allocate(self, size=1000, count=8000):
        """In both threads; returns the total so far."""
        self.total = int(self.tell(f"a {2 * size * (count // 2)} {size}"))
        return self.total

    def end(self):
        for pipe in (self.process.stdin, self.process.stdout):
            if not pipe.closed:
                pipe.close()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Control(harness.ProcessTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="control-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.runtime = os.path.join(self.directory, "runtime")
        os.mkdir(self.runtime, 0o700)
        self.traces = os.path.join(self.directory, "traces")
        os.mkdir(self.traces, 0o700)

    def ctl(self, *words, expect=0, **options):
        done = subprocess.run([GEIGER, "ctl", *map(str, words)], capture_output=True, text=True,
                              cwd=self.directory, timeout=PATIENCE,
                              env=harness.environment([], {"XDG_RUNTIME_DIR": self.runtime}),
                              **options)
        self.assertEqual(done.returncode, expect, done.stderr)
        if expect and "status" not in words:
            self.assertRegex(done.stderr.splitlines()[0], r"^geiger: .")
            if expect == 1:
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr if done.stderr else done.stdout

    def while_allocating(self, program, *words, allocate=None, **options):
        """A request, and a program that allocates until it is answered."""
        result = []
        def ask():
            try:
                result.append(self.ctl(*words, "--wait", f"{PATIENCE}s", **options))
            except AssertionError as error:
                result.append(error)
        asking = threading.Thread(target=ask)
        asking.start()
        while asking.is_alive():
            (allocate or (lambda: program.allocate(count=100)))()
            asking.join(0.01)
        if isinstance(result[0], AssertionError):
            raise result[0]
        return result[0]

    def start(self, program, *words, **options):
        return self.while_allocating(program, program.pid, "start", "-d", self.traces, *words,
                                     **options)

    def status(self, pid):
        return json.loads(self.ctl(pid, "status", "--json"))["processes"][0]

    def recorded(self):
        """In the order they were made: PROGRAM.PID.N.geiger."""
        return sorted(pathlib.Path(self.traces).glob("*.geiger"),
                      key=lambda path: int(path.name.split(".")[-2]))


class Windows(Control):
    def test_totals_lie_between_what_was_allocated_within_and_around(self):
        program = Program(self, interval=32 * KIB)
        covered = windows = 0
        for _ in range(12):
            before = program.allocate(count=20)
            self.start(program)
            began = program.allocate(count=200)  # Now both threads take part.
            ended = program.allocate()
            self.while_allocating(program, program.pid, "stop")
            inside, around = ended - began, program.total - before
            trace = trace_reader.read(self.recorded()[-1])
            self.assertGreaterEqual(trace.total("bytes"), inside)
            self.assertLessEqual(trace.total("bytes"), around)
            self.assertFalse([thread for thread in trace.threads.values() if thread.armed],
                             "not settled")
            report = json.loads(subprocess.run(
                [GEIGER, "summary", "--json", str(trace.path)], check=True, capture_output=True,
                text=True).stdout)
            estimate = report["allocated"]["bytes"]
            windows += 1
            covered += estimate["lo"] <= around and estimate["hi"] >= inside
        self.assertEqual(len(self.recorded()), windows)
        # 95 % intervals: fewer than 6 of 12 have a probability of 5e-7. Threads draw in an order that
        # no seed fixes.
        self.assertGreaterEqual(covered, 6)

    def test_nothing_is_recorded_outside(self):
        program = Program(self)
        program.allocate()
        self.assertEqual(self.recorded(), [])
        self.start(program)
        self.while_allocating(program, program.pid, "stop")
        (path,) = self.recorded()
        def records():
            with open(path, "rb") as file:  # Its size is its capacity: a hole behind them.
                return file.read(16 * MIB)[8192:]
        before = records()
        program.allocate()
        self.assertEqual(records(), before)
        self.assertEqual(trace_reader.read(path).header.state, 5)


class Requests(Control):
    def test_of_a_life(self):
        program = Program(self)
        program.allocate()
        self.assertEqual(self.status(program.pid)["state"], "dormant")
        self.assertIn("is not recording", self.ctl(program.pid, "stop", expect=1))
        self.assertIn("cannot set a mark", self.ctl(program.pid, "mark", "m", expect=1))
        self.assertIn("will record", self.ctl(program.pid, "interval", "8KiB"))
        self.start(program)
        self.assertIn("is already recording", self.ctl(program.pid, "start", expect=1))
        self.assertEqual(self.status(program.pid)["interval"], 8 * KIB)
        self.while_allocating(program, program.pid, "mark", "warm")
        self.while_allocating(program, program.pid, "interval", "2KiB")
        self.assertEqual(self.status(program.pid)["interval"], 2 * KIB)
        program.allocate()
        status = self.status(program.pid)
        self.assertEqual(status["state"], "recording")
        self.assertGreater(status["samples"], status["live_samples"])
        self.while_allocating(program, program.pid, "stop")
        self.assertIn("is not recording", self.ctl(program.pid, "stop", expect=1))
        marks = json.loads(subprocess.run([GEIGER, "marks", "--json", *self.recorded()], check=True,
                                          capture_output=True, text=True).stdout)
        self.assertEqual([mark["name"] for mark in marks["marks"]], ["warm"])
        self.assertEqual(program.end(), 0)

    def test_marks_of_an_idle_program(self):
        """They are written beside it: it need not allocate."""
        program = Program(self)
        self.start(program)
        for name in ("first", "second"):
            self.assertIn(f"has the mark '{name}'", self.ctl(program.pid, "mark", name))
        marks = json.loads(subprocess.run([GEIGER, "marks", "--json", *self.recorded()], check=True,
                                          capture_output=True, text=True).stdout)
        self.assertEqual([mark["name"] for mark in marks["marks"]], ["first", "second"])
        program.allocate()
        self.while_allocating(program, program.pid, "stop")
        trace_reader.read(self.recorded()[0]).check()

    def test_that_wait(self):
        """A program that allocates nothing is told later, and says nothing is wrong."""
        program = Program(self)
        program.allocate()
        message = self.ctl(program.pid, "start", "-d", self.traces, "--wait", "50ms", expect=1)
        self.assertIn("has not allocated enough yet", message)
        self.assertTrue(self.status(program.pid)["asked_to_record"])
        self.assertIn("already asked to record", self.ctl(program.pid, "start", expect=1))
        program.allocate()
        self.assertEqual(self.status(program.pid)["state"], "recording")

    def test_that_cannot_be_carried_out(self):
        program = Program(self)
        program.allocate()
        os.chmod(self.traces, 0o500)
        if os.geteuid() == 0:
            os.rmdir(self.traces)  # Root may write anywhere.
            self.assertIn("No such file", self.ctl(program.pid, "start", "-d", self.traces, expect=2))
        else:
            self.start(program, expect=1)
        self.assertEqual(self.status(program.pid)["state"], "dormant")
        self.assertEqual(program.tell("q"), "")
        self.assertEqual(program.end(), 0)

    def of_run(self, run):
        """Of a `geiger run` of the host: how to make it allocate, its directory, its id."""
        def allocate():
            run.stdin.write("a 100000 100\n")
            run.stdin.flush()
            return run.stdout.readline()
        allocate()
        (directory,) = pathlib.Path(self.directory).glob("geiger-asleep.*")
        return allocate, directory, int(directory.name.rsplit(".", 1)[1])

    def test_of_a_program_under_run(self):
        run = subprocess.Popen([GEIGER, "run", "-q", "--interval", "4KiB", "--",
                                harness.host("asleep")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, cwd=self.directory,
                               env=harness.environment([]))
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.stdin.close)
        self.addCleanup(run.wait)
        allocate, directory, pid = self.of_run(run)
        ask = lambda *words: self.while_allocating(None, pid, *words, allocate=allocate)
        self.assertIn("is already recording", self.ctl(pid, "start", expect=1))
        ask("interval", "1KiB")
        ask("mark", "under run")
        ask("stop")
        self.assertEqual(self.status(pid)["state"], "paused")
        self.assertIn("is not recording", self.ctl(pid, "stop", expect=1))
        ask("start")
        self.assertEqual(self.status(pid)["state"], "recording")
        run.stdin.write("q\n")
        run.stdin.flush()
        self.assertEqual(run.wait(PATIENCE), 0)
        self.assertIn("under run", subprocess.run([GEIGER, "marks", str(directory)], check=True,
                                                  capture_output=True, text=True).stdout)

    def test_of_a_dormant_run_end_in_its_directory(self):
        run = subprocess.Popen([GEIGER, "run", "--dormant", "--interval", "4KiB", "--",
                                harness.host("asleep")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=self.directory,
                               env=harness.environment([], {"XDG_RUNTIME_DIR": self.runtime}))
        allocate, directory, pid = self.of_run(run)
        self.assertEqual(list(directory.iterdir()), [])
        told = self.while_allocating(None, pid, "start", allocate=allocate)
        self.assertIn(str(directory), told)
        output = run.communicate("a 100000 100\nq\n", PATIENCE)
        self.assertEqual(run.returncode, 0)
        self.assertIn("geiger: ", output[1])
        self.assertEqual(len(list(directory.glob("*.geiger"))), 1)

    def test_wrong_ones(self):
        self.assertIn("no process", self.ctl(0x7ffffff0, "start", expect=1))
        self.assertIn("does not have geiger loaded", self.ctl(os.getpid(), expect=1))
        for words in (["x"], ["0"], ["-1"], ["1", "go"], ["1", "mark"], ["1", "mark", ""],
                      ["1", "mark", "x" * 200], ["1", "interval"], ["1", "interval", "0"],
                      ["1", "interval", "2TiB"], ["1", "interval", "nan"], ["1", "start", "x"],
                      ["1", "start", "--wait", "x"], ["1", "start", "-d", "/nonexistent"]):
            self.ctl(*words, expect=2)

    def test_of_a_process_that_ends_meanwhile(self):
        program = Program(self)
        program.allocate()

        def kill_when_asked():
            while not self.status(program.pid).get("asked_to_record"):
                time.sleep(0.01)
            program.process.kill()
        killer = threading.Thread(target=kill_when_asked)
        killer.start()
        self.assertIn("has ended", self.ctl(program.pid, "start", "-d", self.traces, "--wait",
                                            f"{PATIENCE}s", expect=1))
        killer.join()
        program.process.wait()
        (left,) = [name for name in os.listdir(os.path.join(self.runtime, "geiger"))
                   if name != "bell"]
        self.ctl()  # Removes what is left of it.
        self.assertEqual(os.listdir(os.path.join(self.runtime, "geiger")), ["bell"], left)

    def test_of_a_list(self):
        program = Program(self)
        program.allocate()
        for words in ((), ("list",)):
            listed = {process["pid"]: process
                      for process in json.loads(self.ctl(*words, "--json"))["processes"]}
            self.assertEqual(listed[program.pid]["state"], "dormant")
            self.assertRegex(self.ctl(*words), rf"(?m)^ *{program.pid}  dormant .* asleep")
        self.assertIn("'stop' needs a process id", self.ctl("list", "stop", expect=2))
        self.assertIn("geiger ctl list", self.ctl("asleep", expect=2))

    def test_watch_deletes_only_its_own_snapshots(self):
        """The segment that the user started, with a mark, and one that the user asked for stay."""
        code = ("import sys\nkept = []\nfor line in sys.stdin:\n"
                "    kept.append(b'.' * int(line))\n    bytes(100000)\n    print(1, flush=True)\n")
        program = Program(self, [sys.executable, "-c", code])

        def allocate():
            program.tell("1")
        self.start(program, allocate=allocate)
        self.while_allocating(program, program.pid, "mark", "begun by me", allocate=allocate)
        watch = subprocess.Popen([GEIGER, "ctl", str(program.pid), "watch", "--snapshot-on",
                                  "rss+=24MiB", "--keep", "1", "--mark-on", "every=10ms"],
                                 env=harness.environment([], {"XDG_RUNTIME_DIR": self.runtime}))
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        self.await_segments([0], allocate)
        # 1 is begun by the first snapshot, and is one itself when the second ends it.
        for left in ([0, 1], [0, 1, 2], [0, 2, 3]):
            program.tell(str(26 * MIB))
            self.await_segments(left, allocate)
        self.while_allocating(program, program.pid, "segment", allocate=allocate)
        self.await_segments([0, 2, 3, 4], allocate)
        for left in ([0, 2, 3, 4, 5], [0, 3, 4, 5, 6]):
            program.tell(str(26 * MIB))
            self.await_segments(left, allocate)
        program.end()
        watch.wait(PATIENCE)
        said = {verb: subprocess.run([GEIGER, verb, self.traces], capture_output=True, text=True)
                for verb in ("marks", "summary")}
        self.assertIn("begun by me", said["marks"].stdout)
        head = said["summary"].stdout.split("interval  ")[0]
        self.assertIn("2 segments were deleted: their allocations are not included", head)

    def test_exec_does_not_double_marks(self):
        """The shell's image ends where it calls exec: only the new one has conditions."""
        run = os.path.join(self.directory, "exec.geiger")
        # A busy machine looks late: the program goes on until it has its mark, and a little longer.
        code = (f"import glob, time; time.sleep(.3); kept = bytearray(64 << 20)\n"
                f"end = time.monotonic() + {PATIENCE}\n"
                f"is_marked = lambda: any(b'rss>48MiB' in open(path, 'rb').read(1 << 20)\n"
                f"                        for path in glob.glob('{run}.parts/*.geiger'))\n"
                "while not is_marked() and time.monotonic() < end: bytes(100000); time.sleep(.01)\n"
                "for _ in range(30): bytes(100000); time.sleep(.01)")
        done = subprocess.run([GEIGER, "run", "-q", "-f", "-o", run, "--mark-on", "rss>48MiB", "--",
                               "bash", "-c", 'exec "$@"', "bash", sys.executable, "-c", code],
                              env=harness.environment([]), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        marks = json.loads(subprocess.run([GEIGER, "marks", "--json", run], check=True,
                                          capture_output=True).stdout)["marks"]
        self.assertEqual(len([mark for mark in marks if mark["name"].startswith("rss>")]), 1, marks)

    def await_segments(self, numbers, allocate):
        """Until these are left of the only recording, and the last is watched: it is asked for a
        mark, which a watch does where it looks for conditions. The program allocates meanwhile."""
        end = time.monotonic() + PATIENCE
        while True:
            traces = self.recorded()
            found = [int(path.name.split(".")[-2]) for path in traces]
            if found == numbers and b"every=" in trace_reader.written_bytes(traces[-1]):
                return
            self.assertLess(time.monotonic(), end, f"{found} instead of {numbers}")
            allocate()
            time.sleep(0.01)

    def test_of_one_that_restricted_its_system_calls(self):
        code = ("import ctypes, sys\n"
                "libc = ctypes.CDLL(None)\n"
                "class Filter(ctypes.Structure): _fields_ = [('code', ctypes.c_ushort), "
                "('jt', ctypes.c_ubyte), ('jf', ctypes.c_ubyte), ('k', ctypes.c_uint)]\n"
                "class Program(ctypes.Structure): _fields_ = [('len', ctypes.c_ushort), "
                "('filter', ctypes.POINTER(Filter))]\n"
                # Load the number; openat, getpid and mkdirat kill, all else is allowed.
                "rules = (Filter * 6)((0x20, 0, 0, 0), (0x15, 3, 0, 257), (0x15, 2, 0, 39), "
                "(0x15, 1, 0, 258), (6, 0, 0, 0x7fff0000), (6, 0, 0, 0x80000000))\n"
                "assert libc.prctl(38, 1, 0, 0, 0) == 0\n"
                "assert libc.prctl(22, 2, ctypes.byref(Program(6, rules)), 0, 0) == 0\n"
                "for line in sys.stdin:\n"
                "    kept = [bytes(int(line)) for _ in range(100)]\n"
                "    print('ok', flush=True)\n")
        program = Program(self, ["/usr/bin/python3", "-c", code])
        self.assertEqual(program.tell("10000"), "ok")
        message = self.ctl(program.pid, "start", "-d", self.traces, expect=1)
        self.assertIn("seccomp", message)
        self.assertRegex(self.ctl("list"), rf"(?m)^ *{program.pid}  dormant, cannot start")
        self.assertIn("seccomp", self.ctl(program.pid, "status"))
        self.assertEqual(program.tell("10000"), "ok")
        self.assertEqual(program.end(), 0)


class Children(Control):
    def test_of_a_sleeper_are_called_by_themselves(self):
        program = Program(self)
        program.allocate()
        self.start(program)  # What was asked of the parent is not asked of the child.
        self.while_allocating(program, program.pid, "stop")
        program.tell("f")
        (child,) = [int(name) for name in
                    pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children")
                    .read_text().split()]
        program.allocate()
        self.assertEqual(self.status(child)["state"], "dormant")
        self.while_allocating(program, child, "start", "-d", self.traces)
        self.assertEqual(self.status(program.pid)["state"], "dormant")
        began = program.total
        ended = program.allocate()
        self.while_allocating(program, child, "stop")
        (trace,) = [trace for trace in map(trace_reader.read, self.recorded())
                    if trace.header.pid == child]
        self.assertGreaterEqual(trace.total("bytes"), ended - began - 4 * KIB)
        program.tell("q")
        self.assertEqual(program.end(), 0)

    def test_by_exec_sleep_again(self):
        shell = Program(self, ["/bin/bash", "-c", "read line; echo $line; exec " +
                               harness.host("asleep")], interval=256)
        self.assertEqual(shell.tell("hello"), "hello")
        shell.allocate()
        self.assertEqual(self.status(shell.pid)["state"], "dormant")
        self.start(shell)
        self.assertEqual(self.status(shell.pid)["state"], "recording")


class Costs(Control):
    """What sleeping asks of the system."""

    def calls(self, arguments, env, preload):
        output = os.path.join(self.directory, "strace.out")
        settings = [word for item in env.items() for word in ("-E", "=".join(item))]
        if preload:
            settings += ["-E", f"LD_PRELOAD={harness.preload_library()}"]
        subprocess.run(["strace", "-f", "-qq", "-o", output, *settings, *arguments], check=True,
                       capture_output=True, env=harness.environment([]))
        names = re.findall(r"(?m)^\d+ +(\w+)\(", pathlib.Path(output).read_text())
        return {name: names.count(name) for name in set(names)}

    def loop(self, count, preload=True):
        # One arena: whether glibc makes another depends on how the threads meet.
        env = {"XDG_RUNTIME_DIR": self.runtime, "GEIGER_MODE": "dormant",
               "GEIGER_INTERVAL": "4096", "MALLOC_ARENA_MAX": "1"}
        return self.calls([harness.host("loops"), "malloc+free", str(count), "2"], env, preload)

    def test_no_system_call_after_the_start(self):
        harness.require("strace")
        self.loop(1000)  # Makes the bell.
        few, many = self.loop(100000), self.loop(400000)
        for calls in (few, many):
            calls.pop("futex", None)
        self.assertEqual(few, many)
        bare = self.loop(100000, preload=False)
        extra = sum(few.values()) - sum(count for name, count in bare.items() if name != "futex")
        self.assertLessEqual(extra, 26, (few, bare))
        self.assertEqual(few.get("close", 0) - bare.get("close", 0),
                         few.get("openat", 0) - bare.get("openat", 0))

    def test_off_and_wrong_settings_do_nothing(self):
        for mode in ("off", "dormant,off", "nonsense"):
            program = Program(self, mode=mode)
            program.allocate()
            self.assertEqual(self.status(program.pid)["state"], "inert", mode)
            self.assertIn("library in it is disabled", self.ctl(program.pid, "start", expect=1))
            program.end()
        self.assertEqual(os.listdir(self.runtime), [])

    def test_without_any_setting_it_sleeps(self):
        program = Program(self, interval=512 * KIB)
        program.allocate()
        self.assertEqual(self.status(program.pid)["state"], "dormant")


class Places(Control):
    """Only the user and root reach a program that sleeps."""

    def place(self):
        return os.path.join(self.runtime, "geiger")

    def assert_left_alone(self, victim):
        program = Program(self)
        program.allocate()
        self.assertEqual(program.end(), 0)
        self.assertEqual(os.listdir(victim), [])

    def test_a_link_is_not_followed(self):
        victim = os.path.join(self.directory, "victim")
        os.mkdir(victim, 0o700)
        os.symlink(victim, self.place())
        self.assert_left_alone(victim)

    def test_a_directory_open_to_others_is_not_used(self):
        os.mkdir(self.place())
        os.chmod(self.place(), 0o777)
        self.assert_left_alone(self.place())

    def test_a_bell_that_is_a_link_is_not_followed(self):
        os.mkdir(self.place(), 0o700)
        victim = os.path.join(self.directory, "secret")
        pathlib.Path(victim).write_bytes(b"x" * 8192)
        os.symlink(victim, os.path.join(self.place(), "bell"))
        program = Program(self)
        program.allocate()
        self.assertEqual(program.end(), 0)
        self.assertEqual(pathlib.Path(victim).read_bytes(), b"x" * 8192)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_directory_of_another_user_is_not_used(self):
        os.mkdir(self.place(), 0o700)
        os.chown(self.place(), NOBODY, NOBODY)
        self.assert_left_alone(self.place())

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_root_controls_anybody_and_others_only_their_own(self):
        os.chmod(self.directory, 0o755)
        os.chown(self.runtime, NOBODY, NOBODY)
        os.chown(self.traces, NOBODY, NOBODY)
        program = Program(self, user=NOBODY, group=NOBODY)
        program.allocate()
        if self.status(program.pid)["state"] == "inert":
            self.skipTest("another user cannot read the build")
        self.start(program)
        self.assertEqual(os.stat(self.recorded()[0]).st_uid, NOBODY)
        roots = Program(self, env={"XDG_RUNTIME_DIR": "/nonexistent"})
        roots.allocate()
        self.assertIn("belongs to another user",
                      self.ctl(roots.pid, "start", expect=1, user=NOBODY, group=NOBODY))


class Real(Control):
    def test_redis(self):
        harness.require("redis-server", "redis-cli", "redis-benchmark")
        socket = os.path.join(self.directory, "redis.sock")
        server = Program(self, ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                                "--logfile", "/dev/null"], interval=64 * KIB)
        harness.wait_for_redis(socket, server.process)
        load = lambda: subprocess.run(["redis-benchmark", "-s", socket, "-n", "3000", "-q", "-t",
                                       "set", "-d", "2000", "-r", "1000"], check=True,
                                      capture_output=True)
        load()
        self.assertEqual(self.status(server.pid)["state"], "dormant")
        ask = lambda *words: self.while_allocating(None, server.pid, *words, allocate=load)
        ask("start", "-d", self.traces)
        ask("mark", "loaded")
        ask("interval", "16KiB")
        ask("stop")
        load()
        subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=True,
                       capture_output=True)
        self.assertEqual(server.process.wait(PATIENCE), 0)
        trace = trace_reader.read(self.recorded()[0])
        self.assertGreater(trace.total("bytes"), MIB)
        trace.check()

    def test_python(self):
        code = ("import sys\nfor line in sys.stdin:\n"
                "    kept = [bytes(int(line)) for _ in range(1000)]\n    print('ok', flush=True)\n")
        program = Program(self, ["/usr/bin/python3", "-c", code])
        allocate = lambda: program.tell("5000")
        ask = lambda *words: self.while_allocating(None, program.pid, *words, allocate=allocate)
        ask("start", "-d", self.traces)
        allocate()
        ask("stop")
        self.assertGreater(trace_reader.read(self.recorded()[0]).total("bytes"), 5000 * 1000)
        self.assertEqual(program.end(), 0)
        # A process that ends by exit() removes its rendezvous.
        self.assertEqual(os.listdir(os.path.join(self.runtime, "geiger")), ["bell"])

    def test_sqlite(self):
        harness.require("sqlite3")
        program = Program(self, ["sqlite3", "-batch", ":memory:"])
        allocate = lambda: program.tell("select length(hex(randomblob(200000)));")
        self.assertEqual(allocate(), "400000")
        ask = lambda *words: self.while_allocating(None, program.pid, *words, allocate=allocate)
        ask("start", "-d", self.traces)
        ask("mark", "query")
        ask("stop")
        trace_reader.read(self.recorded()[0]).check()


if __name__ == "__main__":
    unittest.main()
