#!/usr/bin/env python3
"""Compares running a program with running it under `geiger run`.

usage: run_behaviour.py GEIGER [NAME...]

Everything a caller can observe must be the same: output, exit code, signals, job
control. What geiger says itself starts with "geiger: " and is not compared. The
checks do not need a working runtime: an empty or a missing library will do.
"""

import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

GEIGER = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "geiger"
PATIENCE = 60  # seconds; only a hang takes that long

# Says when it is ready, then reports each signal it gets, one line each.
REPORTER = r"""
import os, signal, sys
def report(number, frame):
    os.write(1, b"got %d\n" % number)
    if number == signal.SIGTERM:
        os._exit(43)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
               signal.SIGUSR2, signal.SIGWINCH, signal.SIGALRM, signal.SIGCONT, signal.SIGRTMIN + 3):
    signal.signal(number, report)
woken, wake = os.pipe()
os.set_blocking(wake, False)
signal.set_wakeup_fd(wake)
os.write(1, b"ready %d\n" % os.getpid())
while True:  # pause() could miss a signal that comes just before it.
    os.read(woken, 1)
"""


def under_geiger(argv, *options):
    return [GEIGER, "run", *options, "--", *argv]


def without_own_lines(text):
    """Standard error without what geiger said."""
    return b"".join(line for line in text.splitlines(True) if not line.startswith(b"geiger: "))


class Behaviour(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="geiger-behaviour-")
        os.chmod(self.directory, 0o755)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def run_in_directory(self, argv, **arguments):
        return subprocess.run(argv, cwd=self.directory, capture_output=True, timeout=PATIENCE,
                              check=False, **arguments)

    def assert_same(self, argv, options=(), **arguments):
        """Asserts the same exit code and output with and without geiger. Returns the bare run."""
        bare = self.run_in_directory(argv, **arguments)
        profiled = self.run_in_directory(under_geiger(argv, *options), **arguments)
        self.assertEqual(bare.returncode, profiled.returncode, profiled.stderr)
        self.assertEqual(bare.stdout, profiled.stdout)
        self.assertEqual(bare.stderr, without_own_lines(profiled.stderr))
        return bare

    def start(self, argv, **arguments):
        process = subprocess.Popen(argv, cwd=self.directory, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **arguments)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"waited in vain for {what}")
            time.sleep(0.01)

    def run_directories(self):
        return sorted(name for name in os.listdir(self.directory) if name.startswith("geiger-"))


class Codes(Behaviour):
    def test_exit_codes(self):
        for code in (*range(0, 256, 5), 1, 2, 124, 125, 126, 127, 128, 129, 254):
            self.assert_same(["sh", "-c", f"exit {code}"], ["-q"])

    def test_deaths_by_signal(self):
        for name in ("HUP", "INT", "QUIT", "ABRT", "KILL", "USR1", "SEGV", "PIPE", "TERM", "SYS",
                     "XFSZ", "RTMIN"):
            kill = (f"import os, resource, signal as s; s.signal(s.SIG{name}, s.SIG_DFL) "
                    f"if s.SIG{name} != s.SIGKILL else 0; "
                    f"resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); "
                    f"os.kill(os.getpid(), s.SIG{name})")
            bare = self.assert_same([sys.executable, "-c", kill])
            self.assertLess(bare.returncode, 0, name)

    def test_a_killed_program_is_said_to_be_killed(self):
        kill = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
        result = self.run_in_directory(under_geiger(kill, "-o", "killed.geiger"))
        if b"is missing" in result.stderr:
            self.skipTest("there is no runtime library")
        self.assertRegex(result.stderr, rb"geiger: \S+ \(pid \d+\) was killed by SIGKILL")
        self.assertIn(b": killed by SIGKILL", self.run_in_directory(
            [GEIGER, "summary", "killed.geiger"]).stdout)
        process, = json.loads(self.run_in_directory(
            [GEIGER, "summary", "--json", "killed.geiger"]).stdout)["processes"]
        self.assertEqual((process["ending"], process["end_signal"]), ("killed", signal.SIGKILL))
        left = self.run_in_directory(under_geiger(["sh", "-c", "exit 7"]))
        self.assertNotIn(b"was killed", left.stderr)

    def test_no_core_file_of_its_own(self):
        self.run_in_directory(["bash", "-c", f"ulimit -c unlimited; '{GEIGER}' run -q -- "
                               "bash -c 'ulimit -c 0; kill -SEGV $$'"])
        self.assertEqual([n for n in os.listdir(self.directory) if n.startswith("core")], [])

    def test_programs_that_cannot_run(self):
        plain = os.path.join(self.directory, "plain")
        with open(plain, "w", encoding="ascii") as file:
            file.write("x")
        lost = os.path.join(self.directory, "lost")
        with open(lost, "w", encoding="ascii") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(lost, 0o755)
        for program, code in (("/no/such/program", 127), ("no-such-program", 127), (plain, 126),
                              (self.directory, 126), (lost, 127), ("", 127)):
            result = self.run_in_directory(under_geiger([program]))
            self.assertEqual(result.returncode, code, program)
            self.assertIn(b"geiger: cannot run", result.stderr)
            self.assertEqual(result.stdout, b"")
        self.assertEqual(self.run_directories(), [])

    def test_own_usage_errors(self):
        for words in (["--bogus", "true"], ["--interval", "0", "true"], ["--interval", "5x", "true"],
                      [], ["--unwind", "magic", "true"], ["--delay", "soon", "true"],
                      ["--seed", "x", "true"], ["-o"]):
            result = self.run_in_directory([GEIGER, "run", *words])
            self.assertEqual(result.returncode, 2, words)
            self.assertTrue(result.stderr.startswith(b"geiger: "), result.stderr)
        result = self.run_in_directory([GEIGER, "rnu"])
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"did you mean 'run'?", result.stderr)

    def test_a_script_without_shebang(self):
        path = os.path.join(self.directory, "script")
        with open(path, "w", encoding="ascii") as file:
            file.write("echo from $0; exit 9\n")
        os.chmod(path, 0o755)
        result = self.run_in_directory(under_geiger(["./script"], "-q"))
        self.assertEqual((result.returncode, result.stdout), (9, b"from ./script\n"))


class Surroundings(Behaviour):
    def test_arguments_arrive_verbatim(self):
        words = ["", "[a,b]", "--", "-o", "--interval=1", "a b", "\n", "run", "table", "=", "ä", "'"]
        program = [sys.executable, "-c", "import sys; print(sys.argv)", *words]
        self.assert_same(program)
        unmarked = self.run_in_directory([GEIGER, "run", "-q", *program])
        self.assertEqual(unmarked.stdout, self.run_in_directory(program).stdout)

    def test_argv0_is_as_typed(self):
        self.assert_same(["sh", "-c", "cat /proc/$$/cmdline"])

    def test_streams_pass_through(self):
        data = os.urandom(300_000)
        self.assert_same(["cat"], input=data)
        self.assert_same(["sh", "-c", "echo out; echo err >&2; wc -c"], input=data)

    def test_a_reader_that_goes_away(self):
        line = "{} sh -c 'yes | head -c 10000000' | head -n 1; echo ${{PIPESTATUS[0]}}"
        outputs = [self.run_in_directory(["bash", "-c", line.format(prefix)]).stdout
                   for prefix in ("env", f"'{GEIGER}' run -q --")]
        self.assertEqual(*outputs)

    def test_closed_streams_stay_closed(self):
        show = ("import os\nfor fd in range(0, 20):\n  try: os.fstat(fd); "
                "os.write(9, b'%d ' % fd)\n  except OSError: pass")
        for closed in ("", "0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
            seen = []
            for prefix in ("", f"'{GEIGER}' run -q -- "):
                result = os.path.join(self.directory, "fds")
                self.run_in_directory(["bash", "-c", f'{prefix}python3 -c "$0" 9>{result} {closed}',
                                       show])
                with open(result, "rb") as file:
                    seen.append(file.read())
            self.assertEqual(seen[0], seen[1], closed)

    def test_descriptors_pass_through(self):
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)
        os.set_inheritable(write_end, True)
        self.run_in_directory(under_geiger(["sh", "-c", f"echo hi >&{write_end}"]),
                              pass_fds=[write_end])
        os.close(write_end)
        self.assertEqual(os.read(read_end, 10), b"hi\n")

    def test_environment(self):
        environment = {"PATH": os.environ["PATH"], "A": "1", "EMPTY": "", "ODD": "a=b\nc"}
        show = [sys.executable, "-c", "import os; print({k: v for k, v in os.environ.items() "
                "if not k.startswith(('GEIGER_', 'LD_PRELOAD', 'LC_CTYPE'))})"]
        self.assert_same(show, env=environment)

    def test_inherited_signal_state(self):
        show = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]

        def odd_state():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGCHLD})
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTSTP):
                signal.signal(number, signal.SIG_IGN)

        def ignores_children():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)

        for state in (None, odd_state, ignores_children):
            self.assert_same(show, preexec_fn=state)

    def test_scarce_descriptors(self):
        for limit in range(4, 12):
            self.assert_same(["sh", "-c", "echo ran; exit 3"], ["-q"],
                             preexec_fn=lambda limit=limit: resource.setrlimit(
                                 resource.RLIMIT_NOFILE, (limit, limit)))

    def test_limits_and_umask(self):
        self.assert_same(["bash", "-c", "ulimit -a; umask"], preexec_fn=lambda: os.umask(0o177))


class Signals(Behaviour):
    def ready(self, argv, **arguments):
        process = self.start(argv, **arguments)
        line = process.stdout.readline()
        self.assertTrue(line.startswith(b"ready "), line)
        return process, int(line.split()[1])

    def test_signals_to_geiger_alone_are_passed_on(self):
        process, _ = self.ready(under_geiger([sys.executable, "-uc", REPORTER]))
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
                       signal.SIGWINCH, signal.SIGALRM, signal.SIGRTMIN + 3, signal.SIGCONT):
            process.send_signal(number)
            self.assertEqual(process.stdout.readline(), b"got %d\n" % number)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.stdout.readline(), b"got 15\n")
        self.assertEqual(process.wait(PATIENCE), 43)

    def test_death_by_a_forwarded_signal(self):
        process, _ = self.ready(under_geiger(["sh", "-c", "echo ready $$; exec sleep 100"]))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), -signal.SIGTERM)

    def test_ignored_hang_up_as_under_nohup(self):
        process, _ = self.ready(under_geiger(["sh", "-c", "echo ready $$; read x; echo survived"]),
                                stdin=subprocess.PIPE,
                                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        process.stdin.write(b"\n")
        process.stdin.close()
        self.assertEqual(process.stdout.readline(), b"survived\n")
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_stop_and_continue(self):
        process, program = self.ready(under_geiger([sys.executable, "-uc", REPORTER]))
        os.kill(program, signal.SIGSTOP)
        stopped = os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        self.assertEqual(stopped.si_status, signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.stdout.readline(), b"got %d\n" % signal.SIGCONT)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 43)

    def test_children_left_behind_do_not_hold_it_up(self):
        begin = time.monotonic()
        result = self.run_in_directory(
            under_geiger(["sh", "-c", "sleep 20 >/dev/null 2>&1 & echo $!"]))
        self.assertLess(time.monotonic() - begin, 15)
        os.kill(int(result.stdout), signal.SIGKILL)


    def test_processes_left_behind_are_reported(self):
        # The child has not allocated anything, so it has no trace; it inherited the environment.
        fork = ("import os, time; child = os.fork()\nif child: print(child, flush=True); os._exit(0)\n"
                "os.close(1); os.close(2); time.sleep(60)")
        for options, place in (([], None), (["-o", "out.geiger"], "out.geiger.parts")):
            result = self.run_in_directory(
                under_geiger([sys.executable, "-c", fork], *options))
            child = int(result.stdout)
            self.addCleanup(os.kill, child, signal.SIGKILL)
            if b"is missing" in result.stderr:
                self.skipTest("there is no runtime library")
            self.assertRegex(result.stderr, rb"geiger: 1 process [^\n]*still running and ")
            # Else it could not be recorded from here on.
            self.assertTrue(os.path.isdir(os.path.join(
                self.directory, place or self.run_directories()[0])))
        result = self.run_in_directory(under_geiger(["sh", "-c", "sleep 0"]))
        self.assertNotIn(b"still running", result.stderr)


class Terminal(Behaviour):
    """A shell with job control on a pseudo-terminal runs geiger as a user would."""

    def start_shell(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.directory)
            os.environ.update(PS1="$ ", TERM="dumb", HISTFILE="")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        self.shell, self.terminal = pid, terminal
        self.seen = b""

    def type(self, text):
        os.write(self.terminal, text.encode())

    def expect(self, pattern):
        """Waits for a match behind everything expected before."""
        deadline = time.monotonic() + PATIENCE
        while True:
            match = re.search(pattern.encode(), self.seen)
            if match:
                self.seen = self.seen[match.end():]
                return match
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self.terminal], [], [], max(left, 0))
            self.assertTrue(ready, f"waited in vain for {pattern!r}; saw {self.seen!r}")
            self.seen += os.read(self.terminal, 4096)

    def begin(self, program):
        path = os.path.join(self.directory, "program.py")
        with open(path, "w", encoding="ascii") as file:
            file.write(program)
        self.start_shell()
        self.type(f"'{GEIGER}' run -q -- {sys.executable} program.py\n")
        ready = self.expect(r"ready (\d+)\r\n")
        self.addCleanup(self.end, int(ready.group(1)))
        return ready

    @staticmethod
    def end(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_interrupt_arrives_once(self):
        self.begin(REPORTER)
        self.type("\x03")
        self.expect("got 2\r\n")
        self.type("\x1c")
        self.expect("got 3\r\n")
        self.type("\x03")
        self.expect("got 2\r\n")
        time.sleep(0.1)
        self.assertNotIn(b"got", self.seen)

    def test_suspend_and_resume(self):
        pid = int(self.begin(REPORTER).group(1))
        self.type("\x1a")
        self.expect("Stopped")
        self.wait_for(lambda: self.state_of(pid) == "T", "the program to stop")
        self.type("fg\n")
        self.expect("got 18\r\n")
        self.type("\x03")
        self.expect("got 2\r\n")
        self.type("\x1a")
        self.expect("Stopped")
        self.type("bg\n")
        self.expect("got 18\r\n")
        self.type("kill -TERM %1\n")
        self.expect("got 15\r\n")
        self.type("wait %1; echo code=$?\n")
        self.expect("(code=43|Exit 43)")

    def test_window_size(self):
        import fcntl
        import struct
        self.begin(REPORTER)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 44, 0, 0))
        self.expect(f"got {int(signal.SIGWINCH)}\r\n")

    def test_reading_the_terminal_in_the_background(self):
        self.start_shell()
        self.type(f"'{GEIGER}' run -q -- cat &\n")
        self.type("until jobs | grep Stopped; do sleep 0.05; done\n")
        self.expect(r"\nuntil|\$ until")
        self.expect("Stopped  ")
        self.wait_for(lambda: self.has_line_editor() and self.is_shells(), "the prompt")
        self.type("fg\n")
        # What is typed sooner is not echoed.
        self.wait_for(lambda: not (self.has_line_editor() or self.is_shells()), "the program")
        self.type("hello\n")
        self.expect("hello\r\nhello\r\n")
        self.type("\x04")

    def has_line_editor(self):
        return not termios.tcgetattr(self.terminal)[3] & termios.ICANON

    def is_shells(self):
        return os.tcgetpgrp(self.terminal) == self.shell

    @staticmethod
    def state_of(pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0]


class Container(Behaviour):
    """Process 1 of a pid namespace."""

    def setUp(self):
        super().setUp()
        self.prefix = ["unshare", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*self.prefix, "true"], check=False, capture_output=True).returncode:
            self.skipTest("pid namespaces are not permitted")

    def test_codes(self):
        for code in (0, 3, 255):
            argv = under_geiger(["sh", "-c", f"exit {code}"], "-q")
            self.assertEqual(self.run_in_directory(self.prefix + argv).returncode, code)
        argv = under_geiger(["sh", "-c", "kill -TERM $$"], "-q")
        self.assertEqual(self.run_in_directory(self.prefix + argv).returncode, 128 + 15)

    def test_orphans_are_reaped(self):
        script = ("for i in 1 2 3 4 5; do (true & ); done; "
                  "for n in $(seq 200); do z=$(grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null); "
                  "[ -z \"$z\" ] && break; sleep 0.05; done; echo zombies: $z")
        result = self.run_in_directory(self.prefix + under_geiger(["bash", "-c", script], "-q"))
        self.assertEqual(result.stdout, b"zombies:\n")

    def test_signals_reach_the_program(self):
        argv = under_geiger(["bash", "-c", "trap 'echo term; exit 5' TERM; kill -TERM 1; "
                             "while :; do sleep 0.05; done"], "-q")
        result = self.run_in_directory(self.prefix + argv)
        self.assertEqual((result.returncode, result.stdout), (5, b"term\n"))


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


class Pressure(Behaviour):
    """What geiger does after the program's end may be killed: the code is the program's."""

    def assert_recorded(self, stderr, path):
        self.assertIn(b"geiger: the work after the program's end was killed by SIGKILL", stderr)
        self.assertIn(f"'geiger symbolize {path}' adds them".encode(), stderr)
        self.assertEqual([n for n in os.listdir(self.directory) if n.endswith(".part")], [])
        summary = json.loads(self.run_in_directory([GEIGER, "summary", "--json", path]).stdout)
        self.assertTrue(summary["processes"])
        return summary

    def test_the_work_after_the_end_is_killed(self):
        for _ in range(10):  # On a busy machine it may be over before it is seen.
            before = os.listdir(self.directory)
            process = self.start(under_geiger(["sh", "-c", "sleep 60 >&- 2>&- & echo $!; exit 7"]))
            self.addCleanup(os.kill, int(process.stdout.readline()), signal.SIGKILL)
            is_killed = self.kill_worker_of(process)
            self.assertEqual(process.wait(PATIENCE), 7)
            if is_killed:
                [run] = set(os.listdir(self.directory)) - set(before)
                return self.assert_recorded(process.stderr.read(), run)
        self.fail("the work after the end was never seen")

    @staticmethod
    def kill_worker_of(process):
        """Whether it was seen. It lives for a second at least, as the program left a process."""
        while process.poll() is None:
            try:
                for child in children_of(process.pid):
                    if os.path.samefile(f"/proc/{child}/exe", GEIGER):
                        os.kill(child, signal.SIGKILL)
                        return True
            except OSError:  # One of them has ended.
                continue
        return False

    @unittest.skipUnless(os.geteuid() == 0, "needs root, for a group of its own")
    def test_too_little_memory_for_what_was_recorded(self):
        """300,000 samples, and the memory to read half of them."""
        limits = {"/sys/fs/cgroup/memory": "memory.limit_in_bytes", "/sys/fs/cgroup": "memory.max"}
        root = next((root for root in limits if os.path.exists(f"{root}/cgroup.procs")), None)
        group = f"{root}/geiger-behaviour-{os.getpid()}"
        try:
            os.mkdir(group)
            self.addCleanup(os.rmdir, group)
            with open(f"{group}/{limits[root]}", "w", encoding="ascii") as file:
                file.write(str(40 << 20))
        except OSError as error:
            self.skipTest(f"no group with a limit of memory: {error}")
        program = "for i in range(300000): bytes(600)"
        done = self.run_in_directory(
            ["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec \"$@\"", "sh",
             *under_geiger(["python3", "-c", program + "\nraise SystemExit(9)"], "-o", "r.geiger",
                           "--interval", "1")])
        self.assertEqual(done.returncode, 9, done.stderr)
        summary = self.assert_recorded(done.stderr, "r.geiger")
        self.assertGreaterEqual(summary["samples"], 300000)


class Output(Behaviour):
    def test_an_unwritable_directory_does_not_stop_the_program(self):
        script = f"cd /proc && '{GEIGER}' run -- sh -c 'echo ran; exit 4'"
        result = self.run_in_directory(["sh", "-c", script])
        self.assertEqual((result.returncode, result.stdout), (4, b"ran\n"))
        self.assertRegex(result.stderr, b"geiger: .*unprofiled")

    def test_a_vanished_directory_does_not_stop_the_program(self):
        script = f"mkdir gone && cd gone && rmdir ../gone && '{GEIGER}' run -- sh -c 'echo ran'"
        result = self.run_in_directory(["sh", "-c", script])
        self.assertEqual((result.returncode, result.stdout), (0, b"ran\n"))

    def test_a_missing_output_directory_does_not_stop_the_program(self):
        result = self.run_in_directory(under_geiger(["echo", "ran"], "-o", "no/such/out.geiger"))
        self.assertEqual((result.returncode, result.stdout), (0, b"ran\n"))
        self.assertRegex(result.stderr, b"geiger: .*unprofiled")

    def test_an_existing_file_is_kept_without_force(self):
        path = os.path.join(self.directory, "out.geiger")
        with open(path, "w", encoding="ascii") as file:
            file.write("precious")
        result = self.run_in_directory(under_geiger(["echo", "ran"], "-o", "out.geiger"))
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertIn(b"-f replaces it", result.stderr)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")
        result = self.run_in_directory(under_geiger(["echo", "ran"], "-f", "-o", "out.geiger"))
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertIn(b"is not a geiger trace", result.stderr)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")
        os.unlink(path)
        for _ in range(2):
            result = self.run_in_directory(under_geiger(["echo", "ran"], "-f", "-o", "out.geiger"))
            self.assertEqual((result.returncode, result.stdout), (0, b"ran\n"))

    def leaves_empty_traces(self, *options):
        """A run in which two processes die before their traces have a header."""
        hostile = "printf '=\\033[31m<b>\\342\\200\\256'"
        script = (f": > $GEIGER_DIR/x.123.0.geiger; truncate -s 9000 \"$GEIGER_DIR/$({hostile})."
                  "7.0.geiger\"; seq 1000 | sort >/dev/null; exit 6")
        result = self.run_in_directory(under_geiger(["sh", "-c", script], *options))
        if b"is missing" in result.stderr:
            self.skipTest("there is no runtime library")
        self.assertEqual((result.returncode, result.stdout), (6, b""))
        return result.stderr

    def assert_told_once(self, said):
        lines = [line for line in said.splitlines() if b"its allocations are not known" in line]
        lines.sort()
        self.assertEqual(len(lines), 2, said)
        self.assertRegex(lines[0], rb"^geiger: =[^\x1b]*<b>.*, pid 7: killed before its recording")
        self.assertNotIn(b"\xe2\x80\xae", lines[0])
        self.assertRegex(lines[1], b"^geiger: x, pid 123: not recorded: the process was killed at start-up, or ")
        self.assertNotIn(b"too short", said)

    def test_a_trace_that_was_never_begun_is_told_of_and_no_more(self):
        said = self.leaves_empty_traces("-o", "out.geiger")
        self.assert_told_once(said)
        self.assertNotIn(b"remain in", said)
        self.assertEqual(os.listdir(self.directory), ["out.geiger"])
        self.assert_told_once(self.leaves_empty_traces())
        directory, = (name for name in os.listdir(self.directory) if name != "out.geiger")
        for run in ("out.geiger", directory):
            for verb in ("summary", "table", "stats"):
                result = self.run_in_directory([GEIGER, verb, run])
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assert_told_once(result.stderr)
                self.assertNotIn(b"its allocations are not known", result.stdout)
            warnings = json.loads(self.run_in_directory([GEIGER, "summary", "--json", run]).stdout)
            self.assertEqual(len(warnings["warnings"]), 2)

    def mount_without_fallocate(self):
        """ext2, on a loop device of 32 MiB. Where it is mounted."""
        if os.geteuid() != 0 or not shutil.which("mkfs.ext2", path="/sbin:/usr/sbin"):
            self.skipTest("mounting is not permitted")
        image, place = (os.path.join(self.directory, name) for name in ("image", "place"))
        os.mkdir(place)
        with open(image, "wb") as file:
            file.truncate(32 << 20)
        subprocess.run(["/sbin/mkfs.ext2", "-q", "-F", image], check=True)
        if subprocess.run(["mount", "-o", "loop", image, place], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("there is no loop device")
        self.addCleanup(subprocess.run, ["umount", place], check=True)
        return place

    def test_a_file_system_without_fallocate_keeps_every_record(self):
        directory = os.path.join(self.mount_without_fallocate(), "run")
        # Long enough that storage is fed while it runs, at both ends of the watermark.
        perl = ["perl", "-e", 'push @a, "x" x 50 for 1..60000; select(undef, undef, undef, .3);'
                              ' push @a, "x" x 50 for 1..60000; print scalar @a']
        self.assert_same(perl, ["--interval", "1", "-o", directory])
        summary = json.loads(self.run_in_directory([GEIGER, "summary", "--json", directory]).stdout)
        self.assertGreater(summary["samples"], 120000)
        self.assertEqual(summary["warnings"], [])

    def test_quiet(self):
        said = self.run_in_directory(under_geiger(["true"], "-q")).stderr
        if b"is missing" in said:
            self.skipTest("there is no runtime library")
        self.assertEqual(said, b"")

    def test_windows_do_not_change_the_program(self):
        self.assert_same(["sh", "-c", "sleep 0.2; echo done; exit 6"],
                         ["--delay", "50ms", "--duration", "50ms"])

    def test_programs_that_stay_unprofiled_say_so(self):
        source = os.path.join(self.directory, "t.c")
        with open(source, "w", encoding="ascii") as file:
            file.write('#include <stdio.h>\nint main(void) { puts("ran"); return 8; }\n')
        for compiler, word in ((["cc", "-static"], b"statically"), (["gcc", "-fsanitize=address"], b"AddressSanitizer"),
                               (["cc", "-m32"], b"32-bit")):
            program = os.path.join(self.directory, "t")
            built = shutil.which(compiler[0]) and subprocess.run(
                [*compiler, "-o", program, source], capture_output=True, check=False)
            if not built or built.returncode:
                continue  # this machine's compiler has no such target
            try:
                self.run_in_directory([program])
            except OSError:
                continue  # and neither has its kernel
            with self.subTest(compiler=compiler):
                self.assert_same([program])
                # As a child, silently. A sanitizer insists on being loaded first.
                way_out = "env -u LD_PRELOAD " if word == b"AddressSanitizer" else ""
                self.assert_same(["sh", "-c", f"{way_out}{program}; exit $?"])
                result = self.run_in_directory(under_geiger([program]))
                self.assertEqual(result.stderr.count(word), 1, result.stderr)


    def test_an_installation_that_ld_preload_cannot_hold(self):
        prefix = os.path.join(self.directory, "a b:c")
        library = os.path.join(os.path.dirname(os.path.dirname(GEIGER)), "lib", "geiger")
        if not os.path.isdir(library):
            self.skipTest("there is no runtime library")
        shutil.copytree(library, os.path.join(prefix, "lib", "geiger"))
        os.mkdir(os.path.join(prefix, "bin"))
        moved = shutil.copy(GEIGER, os.path.join(prefix, "bin"))
        before = set(os.listdir("/tmp"))
        result = self.run_in_directory([moved, "run", "-q", "--", "sh", "-c",
                                        "echo $LD_PRELOAD; ls / >/dev/null"])
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertRegex(result.stdout, rb"^/tmp/geiger-lib-\w+/lib/\$LIB/libgeiger-preload.so\n$")
        self.assertEqual([name for name in set(os.listdir("/tmp")) - before
                          if name in result.stdout.decode()], [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
