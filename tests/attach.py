#!/usr/bin/env python3
"""Attaches to running programs and leaves them again: they must notice nothing.

    attach.py [NAME...]            the cases of ctest
    attach.py cycles COUNT         attach and detach redis, node and java under load
"""
import array
import collections
import contextlib
import ctypes
import errno
import glob
import json
import os
import pathlib
import pwd
import re
import resource
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import harness
import trace_reader

GEIGER = str(harness.BUILD / "bin" / "geiger")
PATIENCE = 60


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"never came: {what}")
        time.sleep(0.01)


def status_of(pid, key):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return line.split(":", 1)[1].strip()
    return ""


def descriptors(pid):
    return sorted(os.listdir(f"/proc/{pid}/fd"), key=int)


def words_into_the_runtime(pid):
    """How many words in the data of modules, the runtime's own left out, lead into its code."""
    code, data = [], []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        begin, end = (int(number, 16) for number in fields[0].split("-"))
        path = fields[5] if len(fields) > 5 else ""
        if path.startswith("/memfd:geiger"):
            code += [(begin, end)] if "x" in fields[1] else []
        elif path.startswith("/") and "x" not in fields[1] and "p" in fields[1]:
            data.append((begin, end))
    count = 0
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end in data:
            memory.seek(begin)
            with contextlib.suppress(OSError):
                block = memory.read(end - begin)
                words = array.array("Q", block[:len(block) // 8 * 8])
                count += sum(low <= word < high for word in words for low, high in code)
    return count


def forbid_ptrace():
    """From here on this process may not trace: EPERM, whatever its rights are."""
    class Program(ctypes.Structure):
        _fields_ = [("count", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
    load, equal, allow, deny = (struct.pack("<HBBI", *words) for words in (
        (0x20, 0, 0, 0), (0x15, 0, 1, 101), (0x06, 0, 0, 0x7fff0000), (0x06, 0, 0, 0x50001)))
    text = ctypes.create_string_buffer(load + equal + deny + allow)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)
    program = Program(4, ctypes.addressof(text))
    if libc.prctl(22, 2, ctypes.byref(program)) != 0:
        raise OSError(ctypes.get_errno(), "no filter")


class AttachTest(unittest.TestCase):
    def setUp(self):
        if not shutil.which("unshare"):
            self.skipTest("not installed: unshare")
        self.directory = tempfile.mkdtemp(prefix="attach-")
        os.chmod(self.directory, 0o755)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def start(self, arguments, **options):
        options.setdefault("stdin", subprocess.PIPE)
        process = subprocess.Popen([str(word) for word in arguments], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=harness.environment([]),
                                   text=True, **options)
        self.addCleanup(self.stop, process)
        return process

    def stop(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()

    def host(self, *arguments):
        process = self.start([harness.host("attached"), *arguments])
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def ask(self, process):
        process.stdin.write("?\n")
        process.stdin.flush()
        bytes_asked, failed = process.stdout.readline().split()
        self.assertEqual(failed, "0")
        return int(bytes_asked)

    def end(self, process):
        process.stdin.close()
        self.assertEqual(process.stdout.read(), "done\n")
        self.assertEqual(process.wait(PATIENCE), 0)

    def geiger(self, *arguments, **options):
        return subprocess.run([GEIGER, *map(str, arguments)], cwd=self.directory, text=True,
                              capture_output=True, timeout=PATIENCE, check=False, **options)

    def attach(self, pid, seconds=0.5, interval=65536, *options):
        """One recording; returns its first trace."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.directory, "r.geiger"))
        done = self.geiger("attach", "--duration", f"{seconds}s", "--interval", interval, "-o",
                           "r.geiger", *options, pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("stopped for", done.stderr)
        return trace_reader.read(os.path.join(self.directory, "r.geiger"))

    def assert_refused(self, done, *words):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual([n for n in os.listdir(self.directory) if "geiger" in n], [])

    def assert_sound(self, trace):
        trace.check()
        self.assertEqual(trace_reader.STATES[trace.header.state], "stopped")
        self.assertTrue(trace.header.mode & 64)
        # Six standard deviations either way: a false alarm in 500 million, of some 40 recordings.
        self.assertLess(abs(trace.z()), 6)


class Hosts(AttachTest):
    def test_totals_against_the_program(self):
        """What the program asked for between two questions brackets what is recorded: the
        questions before and after the recording bound it from above, those around a pause
        inside it are not needed, as settled totals leave nothing out."""
        process = self.host("loops", "2")
        before = self.ask(process)
        trace = self.attach(process.pid, 0.7)
        after = self.ask(process)
        self.assert_sound(trace)
        self.assertGreater(trace.total("bytes"), 0)
        # Slots of 16 KiB that threads count at once, and what is on the way.
        self.assertLessEqual(trace.total("bytes"), after - before + (1 << 20))
        self.assertGreater(len(trace.samples), 10)
        # One thread may have been inside its slow path when the recording ended.
        self.assertLessEqual(trace.unsettled_threads(), 1)
        self.end(process)

    def test_exactly_what_a_quiet_program_asks_for(self):
        """A program that allocates on request only: the total is the truth to the byte."""
        script = ("import ctypes, sys\n"
                  "malloc = ctypes.CDLL(None).malloc\n"
                  "library = ctypes.CDLL('libz.so.1')\n"
                  "library.zlibVersion.restype = ctypes.c_char_p\n"
                  "print('ready', flush=True)\n"
                  "kept = []\n"
                  "for line in sys.stdin:\n"
                  "    kept.append(bytes(int(line)))\n"
                  "    print(len(kept), flush=True)\n")
        process = self.start(["python3", "-c", script])
        process.stdout.readline()
        with subprocess.Popen([GEIGER, "attach", "--interval", "1", "-o", "r.geiger",
                               str(process.pid)], cwd=self.directory, stderr=subprocess.PIPE,
                              text=True) as attached:
            self.assertIn("stopped for", attached.stderr.readline())
            for _ in range(20):
                process.stdin.write("1000000\n")
                process.stdin.flush()
                process.stdout.readline()
            attached.send_signal(signal.SIGINT)
            attached.stderr.read()
        trace = trace_reader.read(os.path.join(self.directory, "r.geiger"))
        self.assert_sound(trace)
        large = [s for s in trace.samples if s.requested == 1000033]
        self.assertEqual(len(large), 20)

    def test_a_full_cache_is_not_a_suspect(self):
        """Its allocations stay and the frees of what was there before are not seen, as of a leak;
        its blocks in use stay as many."""
        process = self.start([harness.host("full_cache")])
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.attach(process.pid, 5, 4096)
        leaks = json.loads(self.geiger("leaks", "--all", "--json", "r.geiger").stdout)
        self.assertNotEqual(leaks["finding"], "suspects")
        self.assertEqual(leaks["growing_chunks"], [])
        put = max(leaks["sites"], key=lambda site: site["growth"]["bytes"])
        self.assertEqual(put["late"]["by"], "chunks")
        self.assertGreaterEqual(put["late"]["in_use_from"], 20_000 * 2064)
        change = put["late"]["in_use_to"] - put["late"]["in_use_from"]
        self.assertLess(abs(change), 10_000)  # Of the queue's own blocks.
        self.end(process)

    def test_a_library_that_comes_later(self):
        """Its calls of malloc are its own, so they are seen once its slots are turned."""
        script = ("import ctypes, sys\nplugin = None\nprint('ready', flush=True)\n"
                  "for line in sys.stdin:\n"
                  "    plugin = plugin or ctypes.CDLL(sys.argv[1])\n"
                  "    plugin.plugin_allocate.restype = ctypes.c_void_p\n"
                  "    block = plugin.plugin_allocate(ctypes.c_size_t(int(line)))\n"
                  "    plugin.plugin_release(ctypes.c_void_p(block))\n"
                  "    print('done', flush=True)\n")
        process = self.start(["python3", "-c", script, harness.host("libplugin.so")])
        process.stdout.readline()
        with subprocess.Popen([GEIGER, "attach", "--interval", "65536", "-o", "r.geiger",
                               str(process.pid)], cwd=self.directory, stderr=subprocess.PIPE,
                              text=True) as attached:
            self.assertIn("stopped for", attached.stderr.readline())
            def allocate(size):
                process.stdin.write(f"{size}\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "done\n")
            def has_seen_it():
                allocate(1000003)
                part, = pathlib.Path(self.directory, "r.geiger.parts").glob("*.geiger")
                return any(s.requested == 1000003 for s in trace_reader.read(part).samples)
            wait_until(has_seen_it, "the library's slots to be turned")
            for _ in range(20):
                allocate(1000033)
            attached.send_signal(signal.SIGINT)
            attached.stderr.read()
        trace = trace_reader.read(os.path.join(self.directory, "r.geiger"))
        self.assert_sound(trace)
        self.assertEqual(sum(s.requested == 1000033 for s in trace.samples), 20)

    def test_dlopen_loops(self):
        process = self.host("dlopen", harness.host("libplugin.so"))
        self.ask(process)
        for _ in range(3):
            self.assert_sound(self.attach(process.pid, 0.3))
        self.end(process)

    def test_fibers_on_small_stacks(self):
        process = self.host("fibers")
        self.assert_sound(self.attach(process.pid, 0.3))
        self.end(process)

    def test_signals_all_the_time(self):
        process = self.host("handler")
        for _ in range(3):
            self.assert_sound(self.attach(process.pid, 0.2))
        self.end(process)

    def test_a_sleep_goes_on(self):
        process = self.host("sleep", "1500")
        time.sleep(0.1)
        self.attach(process.pid, 0.2)
        self.assertEqual(process.stdout.readline(), "0 1\n")
        self.end(process)

    def test_slots_are_given_back(self):
        process = self.host("loops", "1")
        with subprocess.Popen([GEIGER, "attach", str(process.pid)], cwd=self.directory,
                              stderr=subprocess.PIPE, text=True) as attached:
            self.assertIn("stopped for", attached.stderr.readline())
            self.assertGreater(words_into_the_runtime(process.pid), 5)
            attached.send_signal(signal.SIGINT)
            attached.stderr.read()
        self.assertEqual(words_into_the_runtime(process.pid), 0)
        self.end(process)

    def test_the_stack_that_is_kept_is_empty(self):
        """What calls leave on it would look like pointers of the program to who reads its memory."""
        process = self.host("loops", "1")
        self.attach(process.pid, 0.1)
        spans = [[int(number, 16) for number in line.split()[0].split("-")] + [line.split()[1]]
                 for line in pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines()]
        kept = [above for below, above in zip(spans, spans[1:])
                if below[1] - below[0] == 1 << 16 and below[2] == "---p" and below[1] == above[0]
                and above[1] - above[0] >= 1 << 18 and above[2] == "rw-p"]
        self.assertEqual(len(kept), 1)
        with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(kept[0][0])
            self.assertEqual(memory.read(1 << 18).strip(b"\0"), b"")
        self.end(process)

    def test_descriptors_stay(self):
        process = self.host("loops", "1")
        before = descriptors(process.pid)
        self.attach(process.pid, 0.1)
        self.assertEqual(descriptors(process.pid), before)
        self.end(process)

    def test_a_stopped_process_stays_stopped(self):
        process = self.host("sleep", "0")
        self.assertEqual(process.stdout.readline(), "0 1\n")
        # One that was stopped inside its allocator is refused, and says so.
        for _ in range(100):
            process.send_signal(signal.SIGSTOP)
            wait_until(lambda: status_of(process.pid, "State").startswith("T"), "stopped")
            done = self.geiger("attach", "--duration", "0.1s", "-o", "r.geiger", process.pid)
            if done.returncode == 0:
                break
            self.assert_refused(done, "stopped inside its allocator")
            process.send_signal(signal.SIGCONT)
            # Stopped again at once it would not have gone on at all.
            wait_until(lambda: status_of(process.pid, "State").startswith("S"), "continued")
        self.assertEqual(done.returncode, 0, done.stderr)
        # The kernel lets it stop again before it goes on, once a processor is free for that.
        wait_until(lambda: status_of(process.pid, "State").startswith("T"), "stopped again")
        process.send_signal(signal.SIGCONT)
        self.ask(process)
        self.end(process)

    def test_twenty_cycles(self):
        process = self.host("loops", "2")
        for _ in range(20):
            self.assert_sound(self.attach(process.pid, 0.02, 262144, "--no-symbolize"))
            self.ask(process)
        maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines()
        traces = {line.split()[4] for line in maps if ".geiger" in line}
        self.assertLessEqual(len(traces), 2, traces)
        self.end(process)

    def test_segments_snapshots_and_a_budget(self):
        """As in a run: rotated, a segment for each snapshot, and an interval that rises."""
        process = self.host("loops", "2")
        done = self.geiger("attach", "--duration", "2s", "--interval", "64", "--segments",
                           "1MiB,4", "--snapshot-on", "every=300ms", "--mark-on", "every=200ms",
                           "--budget", "2000/s", process.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        traces = [trace_reader.read(path) for path in
                  pathlib.Path(self.directory).glob("geiger-*/*.geiger")]
        self.assertLessEqual(len(traces), 4)
        self.assertGreater(max(trace.header.segment for trace in traces), 2)
        self.assertGreater(max(epoch.interval for trace in traces
                               for epoch in trace.epochs.values()), 64)
        self.end(process)

    def test_an_end_is_said(self):
        process = self.host("loops", "2")
        with subprocess.Popen([GEIGER, "attach", "-o", "r.geiger", str(process.pid)],
                              cwd=self.directory, stderr=subprocess.PIPE, text=True) as attached:
            self.assertIn("stopped for", attached.stderr.readline())
            process.kill()
            rest = attached.stderr.read()
        self.assertEqual(attached.returncode, 3)
        self.assertRegex(rest, rf"process {process.pid} ended after \d+\.\d s of recording")
        trace_reader.read(os.path.join(self.directory, "r.geiger")).check()

    def test_names_children_that_were_there(self):
        process = self.start(["sh", "-c", "sleep 60 & sleep 60 & read line"])
        wait_until(lambda: len(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
                               .read_text().split()) == 2, "two children")
        done = self.geiger("attach", "--duration", "100ms", "-o", "r.geiger", process.pid)
        self.assertIn("its 2 child processes are not recorded: attach to each", done.stderr)

    def test_says_what_growth_it_settles(self):
        process = self.host("loops", "2")
        done = self.geiger("attach", "--duration", "1s", "--interval", "16KiB", "-o", "r.geiger",
                           process.pid)
        settled = re.search(r"at 16 KiB growth of one site is settled above ([\d.]+) ([KM])iB/s "
                            r"in [\d.]+ s", done.stderr)
        # 20 samples at least.
        least = float(settled[1]) * {"K": 1, "M": 1024}[settled[2]]
        self.assertGreaterEqual(least, 20 * 16)
        self.end(process)

    def test_children_by_fork(self):
        script = ("import os, sys\nprint('ready', flush=True)\nsys.stdin.readline()\n"
                  "pid = os.fork()\nkept = [bytes(100000) for i in range(100)]\n"
                  "if pid: os.waitpid(pid, 0)\n"
                  "print('done', flush=True)\n")
        process = self.start(["python3", "-c", script])
        process.stdout.readline()
        with subprocess.Popen([GEIGER, "attach", "--interval", "65536", str(process.pid)],
                              cwd=self.directory, stderr=subprocess.PIPE, text=True) as attached:
            self.assertIn("stopped for", attached.stderr.readline())
            process.stdin.write("\n")
            process.stdin.flush()
            attached.stderr.read()
        names = glob.glob(os.path.join(self.directory, "geiger-*", "*.geiger"))
        self.assertEqual(len(names), 2, names)
        for name in names:
            self.assertGreater(len(trace_reader.read(name).samples), 20)

    def leave_attached(self, process):
        with subprocess.Popen([GEIGER, "attach", "-f", str(process.pid)], cwd=self.directory,
                              stderr=subprocess.PIPE, text=True) as attached:
            self.assertIn("stopped for", attached.stderr.readline())
            attached.kill()

    def test_a_killed_supervisor(self):
        process = self.host("loops", "1")
        self.leave_attached(process)
        self.ask(process)
        again = self.geiger("attach", process.pid)
        self.assertEqual(again.returncode, 1)
        self.assertIn("already being recorded", again.stderr)
        done = self.geiger("detach", process.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("detached", done.stderr)
        self.assertEqual(self.geiger("detach", process.pid).returncode, 1)
        self.end(process)

    def test_the_process_outlives_geiger_that_is_killed_at_any_of_its_steps(self):
        process = self.host("loops", "2")
        deadly = dict(os.environ, LD_PRELOAD=str(harness.host("libdeadly_ptrace.so")))

        def is_traced():
            return any("TracerPid:\t0\n" not in status.read_text()
                       for status in pathlib.Path(f"/proc/{process.pid}/task").glob("*/status"))

        killed = collections.Counter()
        for order in (("attach", "-f", "--duration", "1ms"), ("detach",)):
            for step in range(1, 200):
                if order[0] == "detach":
                    self.leave_attached(process)
                deadly["PTRACE_DEADLY"] = str(step)
                done = self.geiger(*order, process.pid, env=deadly)
                wait_until(lambda: not is_traced(), "the thread goes on")
                self.ask(process)
                self.geiger("detach", process.pid)
                if done.returncode == 0:
                    break
                self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
                killed[order[0]] += 1
        self.assertGreater(min(killed["attach"], killed["detach"]), 10)
        self.end(process)

    def test_orders_at_the_same_time_are_carried_out_one_after_another(self):
        process = self.host("loops", "3")
        self.attach(process.pid, 0.1)  # From now on its stack for calls is kept.
        for i in range(10):
            attach = [("attach", "--duration", "300ms", "-o", f"{i}-{j}.geiger") for j in range(3)]
            orders = [subprocess.Popen([GEIGER, *order, str(process.pid)], cwd=self.directory,
                                       stderr=subprocess.PIPE, text=True)
                      for order in (*attach, *3 * [("detach",)])]
            for order in orders:
                said = order.communicate(timeout=PATIENCE)[1]
                if order.returncode != 0:
                    self.assertRegex(said, "already being recorded|is not attached|not being recorded")
            self.geiger("detach", process.pid)
            self.ask(process)
        self.end(process)


class Programs(AttachTest):
    def test_python(self):
        script = "import json\nprint('ready', flush=True)\nwhile True: json.dumps(list(range(9999)))\n"
        process = self.start(["python3", "-c", script])
        process.stdout.readline()
        self.assert_sound(self.attach(process.pid))
        self.assertIsNone(process.poll())

    def test_an_empty_libpthread_before_libc(self):
        process = self.start([sys.executable, "-c", "import ctypes; ctypes.CDLL('libpthread.so.0'); "
                              "print('ready', flush=True); input()"])
        self.assertEqual(process.stdout.readline(), "ready\n")
        mapped = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
        self.assertLess(mapped.index("/libpthread"), mapped.index("/libc.so"))
        self.attach(process.pid, .1)

    def test_redis(self):
        harness.require("redis-server", "redis-cli")
        socket = os.path.join(self.directory, "s")
        process = self.start(["redis-server", "--port", "0", "--unixsocket", socket, "--save", ""])
        client = ["redis-cli", "-s", socket]
        harness.wait_for_redis(socket, process)
        load = self.start([*client, "-r", "-1", "lpush", "key", "x" * 500])
        self.assert_sound(self.attach(process.pid))
        load.kill()
        answer = subprocess.run([*client, "ping"], capture_output=True, text=True, check=True)
        self.assertEqual(answer.stdout, "PONG\n")

    def test_sqlite_that_waits_for_input(self):
        harness.require("sqlite3")
        process = self.start(["sqlite3", ":memory:"])
        process.stdin.write("select 'waits';\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "waits\n")
        with subprocess.Popen([GEIGER, "attach", "--interval", "4096", "-o", "r.geiger",
                               str(process.pid)], cwd=self.directory, stderr=subprocess.PIPE,
                              text=True) as attached:
            self.assertIn("stopped for", attached.stderr.readline())
            process.stdin.write("select sum(length(hex(randomblob(1000)))) from "
                                "generate_series(1,500);\nselect 42;\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "1000000\n")
            attached.send_signal(signal.SIGINT)
            attached.stderr.read()
        trace = trace_reader.read(os.path.join(self.directory, "r.geiger"))
        self.assert_sound(trace)
        self.assertGreater(len(trace.samples), 50)
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_node(self):
        harness.require("node")
        script = "console.log('ready'); setInterval(() => Buffer.alloc(200000), 5)"
        process = self.start(["node", "-e", script])
        process.stdout.readline()
        self.assert_sound(self.attach(process.pid))
        self.assertIsNone(process.poll())


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Surroundings(AttachTest):
    def test_a_limit_of_file_sizes(self):
        """Of less than the library: what it writes beyond would end it."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        process = self.start([harness.host("attached"), "loops", "1"], preexec_fn=limit)
        self.assertEqual(process.stdout.readline(), "ready\n")
        for _ in range(2):
            self.assert_refused(self.geiger("attach", "--duration", "50ms", process.pid), "")
            self.ask(process)
        self.end(process)

    def test_another_mount_namespace(self):
        """Neither the library nor the directory can be seen from there, by root or by another user,
        whose limits only some roots may ask for by prlimit()."""
        library = harness.preload_library().parent
        for user in ("root", "nobody"):
            with self.subTest(user):
                process = self.start([
                    "unshare", "-m", "sh", "-c",
                    f"mount -t tmpfs tmpfs '{library}' && mount -t tmpfs tmpfs /tmp && exec \"$@\"",
                    "sh", "setpriv", f"--reuid={user}", "--clear-groups", "/usr/bin/perl", "-e",
                    "$|=1; print \"ready\\n\"; while (1) { my $x = 'a' x 100000; }"])
                process.stdout.readline()
                self.assert_sound(self.attach(process.pid))
                self.assertEqual(os.listdir(f"/proc/{process.pid}/root/tmp"), [])
                self.stop(process)

    def test_another_user(self):
        nobody = pwd.getpwnam("nobody")
        process = self.start(["/usr/bin/perl", "-e",
                              "$|=1; print \"ready\\n\"; while (1) { my $x = 'a' x 100000; }"],
                             user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
        process.stdout.readline()
        self.assert_sound(self.attach(process.pid))


# The runtime's three orders, as the injector gives them, but from the program's own thread.
GIVES_ORDERS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
settings = f"GEIGER_DIR={sys.argv[2]}\\nGEIGER_INTERVAL=4096\\n".encode()
begin, follow, end = (getattr(library, f"geiger_{order}_v1")
                      for order in ("attach", "attach_follow", "detach"))
orders = [(follow,), (end,), (begin, b"GEIGER_DIR=relative"), (begin, b"GEIGER_DIR=/nowhere/at"),
          (begin, settings), (begin, settings), (follow,), (end,), (end,), (follow,),
          (begin, settings), (end,)]
print(*(order[0](*order[1:]) for order in orders))
"""


class Refusals(AttachTest):
    def test_orders_at_the_wrong_time(self):
        bad_settings, is_recording, nothing_to_do = -1, -2, -4
        with tempfile.TemporaryDirectory() as directory:
            done = harness.run_bare(
                [sys.executable, "-c", GIVES_ORDERS, harness.preload_library(), directory])
            self.assertEqual(done.status, 0, done.stderr)
            self.assertEqual([int(word) for word in done.stdout.split()],
                             [nothing_to_do, nothing_to_do, bad_settings, errno.ENOENT, 0,
                              is_recording, 0, 0, nothing_to_do, nothing_to_do, 0, 0])
            self.assertEqual(len(os.listdir(directory)), 2)
            for name in os.listdir(directory):
                trace_reader.read(os.path.join(directory, name)).check()

    def test_an_order_to_a_preloaded_runtime(self):
        script = ("import ctypes; own = ctypes.CDLL(None);"
                  "print(own.geiger_attach_v1(b'GEIGER_DIR=/tmp'), own.geiger_detach_v1())")
        recorded = harness.record([sys.executable, "-c", script], 4096)
        self.assertEqual(recorded.outcome.stdout, b"-2 -4\n", recorded.outcome)

    def test_no_such_process(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        self.assert_refused(self.geiger("attach", ended.pid), "no process")
        self.assert_refused(self.geiger("detach", ended.pid), "no process")

    def test_usage(self):
        for words in (["attach"], ["attach", "x"], ["attach", "0"], ["attach", "1", "--interval", "0"], ["detach"]):
            self.assertEqual(self.geiger(*words).returncode, 2, words)

    def test_a_zombie(self):
        process = subprocess.Popen(["true"])
        wait_until(lambda: status_of(process.pid, "State").startswith("Z"), "its end")
        self.assert_refused(self.geiger("attach", process.pid), "zombie")
        process.wait()

    def test_a_thread_of_the_kernel(self):
        if not os.path.exists("/proc/2/status") or status_of(2, "VmSize"):
            self.skipTest("no threads of the kernel are seen here")
        self.assert_refused(self.geiger("attach", 2), "kernel")

    def test_without_geiger(self):
        process = self.host("loops", "1")
        self.assert_refused(self.geiger("detach", process.pid), "not attached")
        self.end(process)

    def test_static(self):
        process = self.start([harness.host("attached_static"), "sleep", "0"])
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assert_refused(self.geiger("attach", process.pid), "statically linked")

    def preloaded(self, variables):
        environment = harness.environment([harness.preload_entry()], variables)
        process = subprocess.Popen([harness.host("attached"), "loops", "1"], env=environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.stop, process)
        process.stdout.readline()
        return process

    def test_preloaded(self):
        """One that sleeps is attached to, as often as one likes; one that records is not."""
        with tempfile.TemporaryDirectory() as traces:
            recording = self.preloaded({"GEIGER_DIR": traces})
            self.assert_refused(self.geiger("attach", recording.pid), "already being recorded")
            self.ask(recording)
            self.end(recording)
        sleeper = self.preloaded({})
        for file in ("first.geiger", "second.geiger"):
            done = self.geiger("attach", "--duration", "200ms", "-o", file, sleeper.pid)
            self.assertEqual(done.returncode, 0, done.stderr)
            trace_reader.read(os.path.join(self.directory, file)).check()
        self.ask(sleeper)
        self.end(sleeper)

    def test_traced(self):
        harness.require("strace")
        process = self.host("loops", "1")
        tracer = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(process.pid)],
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(tracer.wait)
        self.addCleanup(tracer.kill)
        wait_until(lambda: status_of(process.pid, "TracerPid") != "0", "strace")
        self.assert_refused(self.geiger("attach", process.pid), "traced by process")

    def start_filtered(self, call, action):
        """A program whose system call of this number has this end."""
        script = ("import ctypes, struct\nlibc = ctypes.CDLL(None)\nclass P(ctypes.Structure):\n"
                  "    _fields_ = [('n', ctypes.c_ushort), ('f', ctypes.c_void_p)]\n"
                  "text = b''.join(struct.pack('<HBBI', *words) for words in (\n"
                  f"    (0x20, 0, 0, 0), (0x15, 0, 1, {call}), (6, 0, 0, {action}), (6, 0, 0, 0x7fff0000)))\n"
                  "libc.prctl(38, 1, 0, 0, 0)\nfilter = ctypes.create_string_buffer(text)\n"
                  "assert libc.prctl(22, 2, ctypes.byref(P(4, ctypes.addressof(filter)))) == 0\n"
                  "print('ready', flush=True)\nwhile True: bytes(100000)\n")
        process = self.start(["python3", "-c", script])
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_seccomp(self):
        process = self.start_filtered(999, 0x80000000)
        if os.geteuid() != 0:  # Only root can read filters.
            self.assert_refused(self.geiger("attach", process.pid), "seccomp", "--despite-seccomp")
            self.assert_sound(self.attach(process.pid, 0.2, 65536, "--despite-seccomp"))
            return
        self.assert_sound(self.attach(process.pid, 0.2, 65536))

    @unittest.skipUnless(os.geteuid() == 0, "only root can read filters")
    def test_seccomp_that_would_kill(self):
        for action in (0x80000000, 0, 0x30000):  # The process, the thread, SIGSYS.
            process = self.start_filtered({"x86_64": 319, "aarch64": 279}[os.uname().machine], action)
            for options in ([], ["--despite-seccomp"]):
                self.assert_refused(self.geiger("attach", *options, process.pid),
                                    "would be killed for memfd_create", "geiger run")
            self.assertIsNone(process.poll())

    def test_programs_that_restrict_themselves_afterwards(self):
        """By each function: whatever is taken away, the program ends as it does alone."""
        program = harness.host("sandboxed")
        for name in harness.scenarios("sandboxed"):
            with self.subTest(name):
                bare = subprocess.run([program, name, "wait"], input="", text=True, check=False,
                                      stdout=subprocess.PIPE, timeout=PATIENCE)
                process = self.start([program, name, "wait"])
                self.assertEqual(process.stdout.readline(), "ready\n")
                with subprocess.Popen([GEIGER, "attach", "-f", "-o", "r.geiger", "--interval", "4096",
                                       str(process.pid)], cwd=self.directory,
                                      stderr=subprocess.PIPE, text=True) as attached:
                    self.assertIn("stopped for", attached.stderr.readline())
                    process.stdin.close()
                    self.assertEqual("ready\n" + process.stdout.read(), bare.stdout)
                    self.assertEqual(process.wait(PATIENCE), bare.returncode)
                    attached.stderr.read()

    def build(self, text, *flags):
        """A program that says "ready" and waits for its input to end."""
        source, program = (os.path.join(self.directory, name) for name in ("p.c", "p"))
        pathlib.Path(source).write_text(
            f"#include <stdio.h>\n#include <stdlib.h>\n{text}\nint main(void) {{ free(malloc(9));"
            "puts(\"ready\"); fflush(stdout); while (getchar() != EOF) {} puts(\"done\"); }\n")
        built = subprocess.run([*flags, "-fno-builtin", source, "-o", program], check=False,
                               capture_output=True, text=True)
        if built.returncode != 0:
            self.skipTest(f"{' '.join(flags)} builds nothing here")
        try:
            process = self.start([program])
        except OSError as error:  # The kernel runs no 32-bit programs.
            self.skipTest(f"{' '.join(flags)}: {error}")
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def refuse_program(self, word, text, *flags):
        process = self.build(text, *flags)
        maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
        self.assert_refused(self.geiger("attach", process.pid), word)
        self.assertEqual(pathlib.Path(f"/proc/{process.pid}/maps").read_text(), maps)
        self.end(process)

    def test_32_bit(self):
        self.refuse_program("32-bit", "", "gcc", "-m32")

    def test_musl(self):
        harness.require("musl-gcc")
        self.refuse_program("musl", "", "musl-gcc")

    def test_own_allocator(self):
        self.refuse_program(
            "malloc", "static char heap[1 << 20]; static size_t used;\n"
            "void* malloc(size_t n) { used += n + 15 & -16ul; return heap + used - (n + 15 & -16ul); }"
            "\nvoid free(void* p) { (void)p; }"
            "\nvoid* calloc(size_t n, size_t m) { return malloc(n * m); }"
            "\nvoid* realloc(void* p, size_t n) { (void)p; return malloc(n); }", "gcc", "-rdynamic")

    def test_a_kernel_that_forbids_it(self):
        """As yama does, here by a filter on geiger itself."""
        process = self.host("loops", "1")
        done = self.geiger("attach", process.pid, preexec_fn=forbid_ptrace)
        self.assert_refused(done, "does not permit tracing")
        self.end(process)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_yama_is_named(self):
        process = self.host("loops", "1")
        hide = ("mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && "
                "echo 2 > /proc/sys/kernel/yama/ptrace_scope && exec \"$@\"")
        done = subprocess.run(["unshare", "-m", "sh", "-c", hide, "sh", GEIGER, "attach",
                               str(process.pid)], cwd=self.directory, text=True, check=False,
                              capture_output=True, timeout=PATIENCE, preexec_fn=forbid_ptrace)
        self.assert_refused(done, "kernel.yama.ptrace_scope is 2")
        self.end(process)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_without_proc(self):
        process = self.host("loops", "1")
        for verb in ("attach", "detach"):
            done = subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc && "
                                   "exec \"$@\"", "sh", GEIGER, verb, str(process.pid)],
                                  cwd=self.directory, text=True, check=False, capture_output=True,
                                  timeout=PATIENCE)
            self.assert_refused(done, "/proc is not mounted")
        self.end(process)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_number_that_is_used_again(self):
        """The recording ends with its process, and the next of that number is left alone."""
        process = self.host("loops", "1")
        with subprocess.Popen([GEIGER, "attach", "-o", "r.geiger", str(process.pid)],
                              cwd=self.directory, stderr=subprocess.PIPE, text=True) as attached:
            self.assertIn("stopped for", attached.stderr.readline())
            attached.send_signal(signal.SIGSTOP)  # It shall not look in between.
            self.stop(process)
            other = self.host_numbered(process.pid)
            maps = pathlib.Path(f"/proc/{other.pid}/maps").read_text()
            attached.send_signal(signal.SIGCONT)
            attached.stderr.read()
            self.assertEqual(attached.wait(PATIENCE), 3)
        self.assertEqual(pathlib.Path(f"/proc/{other.pid}/maps").read_text(), maps)
        os.unlink(os.path.join(self.directory, "r.geiger"))
        self.assert_refused(self.geiger("detach", other.pid), "not attached")
        self.assertEqual(other.stdout.readline(), "0 1\n")
        self.end(other)

    def host_numbered(self, pid):
        """The host that waits, as the process `pid`, which has ended."""
        for _ in range(50):
            pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
            process = self.start([harness.host("attached"), "sleep", "0"])
            if process.pid == pid:
                self.assertEqual(process.stdout.readline(), "ready\n")
                return process
            self.stop(process)
        return self.skipTest("the number went to others every time")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_as_another_user(self):
        nobody = pwd.getpwnam("nobody")
        process = self.host("loops", "1")
        done = subprocess.run([GEIGER, "attach", str(process.pid)], cwd="/", text=True,
                              capture_output=True, user=nobody.pw_uid, group=nobody.pw_gid,
                              extra_groups=[], timeout=PATIENCE, check=False)
        if "Permission denied" not in done.stderr:
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("another user", done.stderr)
        self.end(process)


def cycles(count):
    """Prints, per program, cycles, deaths, and the median and largest stop."""
    case = Programs()
    case.setUp()
    socket = os.path.join(case.directory, "s")
    programs = {
        "redis": ["redis-server", "--port", "0", "--unixsocket", socket, "--save", ""],
        "node": ["node", "-e", "setInterval(() => { for (let i = 0; i < 50; ++i) "
                               "Buffer.alloc(20000).toString('hex') }, 1)"],
        "java": ["java", "-Xmx64m", "-XX:+UseSerialGC", *java_program(case.directory)],
    }
    for name, command in programs.items():
        if not shutil.which(command[0]):
            print(f"{name}: not installed")
            continue
        process = case.start(command)
        time.sleep(1.5)
        load = [case.start(["redis-benchmark", "-s", socket, "-l", "-q", "-c", "4", "-d", "300",
                            "-t", "set,lpush"])] if name == "redis" else []
        stops, refused = [], []
        for _ in range(count):
            if process.poll() is not None:
                break
            done = case.geiger("attach", "--duration", "20ms", "--no-symbolize", "-f", "-o",
                               "c.geiger", process.pid)
            stop = re.search(r"stopped for ([\d.]+) ms", done.stderr)
            if stop:
                stops.append(float(stop[1]))
            else:
                refused.append(done.stderr.strip())
        died = process.poll() is not None
        print(f"{name}: {len(stops)} cycles, {len(refused)} refused, deaths {int(died)}, "
              f"stop median {statistics.median(stops or [0]):.2f} ms, "
              f"largest {max(stops or [0]):.2f} ms", *refused[:3], sep="\n  ", flush=True)
        for other in [*load, process]:
            case.stop(other)
    case.doCleanups()


def java_program(directory):
    source = os.path.join(directory, "Load.java")
    pathlib.Path(source).write_text(
        "public class Load { public static void main(String[] a) throws Exception { for (;;) {"
        "java.nio.ByteBuffer.allocateDirect(50000); new java.util.zip.Deflater().end();"
        "Thread.sleep(1); } } }\n")
    return [source]


if __name__ == "__main__":
    if sys.argv[1:2] == ["cycles"]:
        cycles(int(sys.argv[2]))
    else:
        unittest.main()
